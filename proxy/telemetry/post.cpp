#include "proxy/telemetry/post.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <nlohmann/json.hpp>
#include <openssl/crypto.h>

namespace polygraph::telemetry {
namespace {

namespace net = boost::asio;
namespace ssl = boost::asio::ssl;
namespace beast_http = boost::beast::http;
using boost::system::error_code;
using net::ip::tcp;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_head_bytes = 16 * 1024, max_answer_bytes = 64 * 1024;

/// A name that is still being looked up can't be given up: its context would wait for the resolver in its destructor, which can
/// take longer than anybody is to wait here. It is kept instead, and goes with the process.
void abandon(std::unique_ptr<net::io_context> context) {
  static std::mutex mutex;
  static auto* const abandoned = new std::vector<std::unique_ptr<net::io_context>>;
  const std::lock_guard lock(mutex);
  abandoned->push_back(std::move(context));
}

}  // namespace

struct PostCancel::State {
  std::mutex mutex;
  net::io_context* running = nullptr;
  std::atomic<bool> cancelled = false;
};

PostCancel::PostCancel() : state_(std::make_unique<State>()) {}
PostCancel::~PostCancel() = default;

void PostCancel::cancel() {
  const std::lock_guard lock(state_->mutex);
  state_->cancelled = true;
  if (state_->running != nullptr) state_->running->stop();
}

namespace {

class Post {
 public:
  Post(const Target& target, Clock::time_point deadline, PostCancel::State& cancel)
      : target_(target), deadline_(deadline), cancel_(cancel), context_(std::make_unique<net::io_context>(1)) {
    const std::lock_guard lock(cancel_.mutex);
    cancel_.running = context_.get();
  }
  ~Post() {
    {
      const std::lock_guard lock(cancel_.mutex);
      cancel_.running = nullptr;
    }
    OPENSSL_cleanse(head_.data(), head_.size());
    tls_.reset();
    socket_.reset();
    resolver_.reset();
    if (resolving_) abandon(std::move(context_));
  }
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  std::string run(std::string_view body, const std::string& ca_file) {
    std::vector<tcp::endpoint> addresses;
    if (auto wrong = look_up(addresses); !wrong.empty()) return wrong;
    socket_.emplace(*context_);
    if (auto error = step([&](auto done) { net::async_connect(*socket_, addresses, done); })) return in_words("no connection", *error);
    if (target_.endpoint.tls) {
      if (auto wrong = shake_hands(ca_file); !wrong.empty()) return wrong;
      return exchange(*tls_, body);
    }
    return exchange(*socket_, body);
  }

 private:
  /// Starts an operation and works until it has ended, the deadline has come or the post was cancelled. Nothing when it succeeded.
  template <class Start>
  std::optional<error_code> step(Start&& start) {
    // Shared with the handler, which may outlive this call: an abandoned look-up ends later, or never.
    const auto ended = std::make_shared<std::optional<error_code>>();
    start([ended](error_code error, auto&&...) { *ended = error; });
    work(*ended);
    if (!*ended) {
      // What was under way ends at once with its socket, while all that it works on is still there.
      if (socket_) {
        error_code ignored;
        socket_->close(ignored);
        context_->restart();
        context_->poll();
      }
      return cancel_.cancelled ? error_code(net::error::operation_aborted) : error_code(net::error::timed_out);
    }
    return **ended ? *ended : std::nullopt;
  }

  void work(const std::optional<error_code>& ended) {
    while (!ended && !cancel_.cancelled && Clock::now() < deadline_) {
      if (context_->stopped()) context_->restart();
      // Between the question above and this call it may have been cancelled: then it was stopped after the restart, or it is seen now.
      if (cancel_.cancelled) return;
      context_->run_one_until(deadline_);
    }
  }

  static std::string in_words(const std::string& what, error_code error) {
    if (error == net::error::timed_out) return what + ": its time was over";
    if (error == net::error::operation_aborted) return what + ": the program ended first";
    return what + ": " + error.message();
  }

  std::string look_up(std::vector<tcp::endpoint>& addresses) {
    const auto& endpoint = target_.endpoint;
    if (endpoint.is_address) {
      error_code error;
      addresses.emplace_back(net::ip::make_address(endpoint.host, error), endpoint.port);
      return error ? in_words("no address", error) : "";
    }
    resolver_.emplace(*context_);
    const auto found = std::make_shared<std::vector<tcp::endpoint>>();
    const auto ended = std::make_shared<std::optional<error_code>>();
    resolving_ = true;
    resolver_->async_resolve(endpoint.host, std::to_string(endpoint.port), tcp::resolver::numeric_service,
                             [found, ended](error_code error, const tcp::resolver::results_type& results) {
                               for (const auto& each : results) found->push_back(each.endpoint());
                               *ended = error;
                             });
    work(*ended);
    if (!*ended) return in_words("its name was not found", cancel_.cancelled ? error_code(net::error::operation_aborted) : error_code(net::error::timed_out));
    resolving_ = false;
    if (**ended) return in_words("its name was not found", **ended);
    addresses = *found;
    return "";
  }

  std::string shake_hands(const std::string& ca_file) {
    error_code error;
    tls_context_.emplace(ssl::context::tls_client);
    tls_context_->set_verify_mode(ssl::verify_peer, error);
    if (!error && SSL_CTX_set_min_proto_version(tls_context_->native_handle(), TLS1_2_VERSION) != 1) return "TLS 1.2 can't be asked for";
    if (!error) {
      if (ca_file.empty()) tls_context_->set_default_verify_paths(error);
      else tls_context_->load_verify_file(ca_file, error);
    }
    if (error) return in_words("the CA bundle can't be read", error);
    tls_.emplace(*socket_, *tls_context_);
    auto* session = tls_->native_handle();
    const auto& host = target_.endpoint.host;
    SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const bool named = target_.endpoint.is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) == 1
                                                   : SSL_set1_host(session, host.c_str()) == 1 && SSL_set_tlsext_host_name(session, host.c_str()) == 1;
    if (!named) return "the host's name can't be verified";
    const auto failed = step([&](auto done) { tls_->async_handshake(ssl::stream_base::client, done); });
    if (!failed) return "";
    const auto verdict = SSL_get_verify_result(session);
    return verdict != X509_V_OK ? std::string("the certificate was refused: ") + X509_verify_cert_error_string(verdict) : in_words("no TLS", *failed);
  }

  template <class Stream>
  std::string exchange(Stream& stream, std::string_view body) {
    const auto& endpoint = target_.endpoint;
    head_ = "POST " + (endpoint.path.empty() ? std::string("/") : endpoint.path) + " HTTP/1.1\r\nHost: " + endpoint.authority +
            "\r\nUser-Agent: polygraph/" POLYGRAPH_VERSION "\r\nAccept: application/json\r\nAccept-Encoding: identity\r\nConnection: close\r\n"
            "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    for (const auto& [name, value] : target_.fields) head_.append(name).append(": ").append(value).append("\r\n");
    head_ += "\r\n";
    // A receiver may refuse before it has read everything: the write's failure is left to the read, which finds what it said.
    const std::array<net::const_buffer, 2> request{net::buffer(head_), net::buffer(body)};
    const auto unsent = step([&](auto done) { net::async_write(stream, request, done); });
    if (unsent && (*unsent == net::error::timed_out || *unsent == net::error::operation_aborted)) return in_words("it did not take the request", *unsent);

    boost::beast::flat_buffer buffer(max_head_bytes + max_answer_bytes);
    beast_http::response_parser<beast_http::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(max_head_bytes));
    parser.body_limit(max_answer_bytes);
    const auto failed = step([&](auto done) { beast_http::async_read(stream, buffer, parser, done); });
    // A body that is cut, too long or late changes nothing about what the status said.
    if (!parser.is_header_done()) return in_words("no answer", failed.value_or(error_code(net::error::eof)));
    const unsigned status = parser.get().result_int();
    if (status < 200 || status > 299) return "it answered " + std::to_string(status);
    return parser.is_done() ? rejected(parser.get().body()) : "";
  }

  /// A 200 may say that it did not keep everything (OTLP, "Partial Success").
  static std::string rejected(const std::string& body) {
    const auto answer = nlohmann::json::parse(body, nullptr, false);
    if (!answer.is_object() || !answer.contains("partialSuccess")) return "";
    const auto& partial = answer["partialSuccess"];
    if (!partial.is_object() || !partial.contains("rejectedSpans")) return "";
    const auto& count = partial["rejectedSpans"];
    const bool none = count.is_number() ? count.get<double>() == 0 : !count.is_string() || count.get<std::string>() == "0";
    return none ? "" : "it rejected some of the spans";
  }

  const Target& target_;
  Clock::time_point deadline_;
  PostCancel::State& cancel_;
  std::unique_ptr<net::io_context> context_;
  std::optional<tcp::resolver> resolver_;
  bool resolving_ = false;
  std::optional<tcp::socket> socket_;
  std::optional<ssl::context> tls_context_;
  std::optional<ssl::stream<tcp::socket&>> tls_;
  std::string head_;  // holds keys
};

}  // namespace

std::string post(const Target& target, std::string_view body, const std::string& ca_file, Clock::time_point deadline, PostCancel& cancel) {
  return Post(target, deadline, cancel.state()).run(body, ca_file);
}

}  // namespace polygraph::telemetry
