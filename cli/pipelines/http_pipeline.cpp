#include "cli/pipelines/http_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "cli/pipelines/messages.hpp"

namespace polygraph::pipelines {
namespace {

namespace net = boost::asio;
namespace ssl = boost::asio::ssl;
namespace http = boost::beast::http;
using boost::system::error_code;
using net::ip::tcp;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t max_head_bytes = 64 * 1024;
constexpr std::size_t body_shown_bytes = 200;
constexpr std::chrono::seconds max_idle{10};  ///< shorter than what most servers keep an idle connection for

struct Base {
  bool tls = false;
  std::string host, port, authority, path;
};

tl::unexpected<Error> wrong(std::string what) { return fail(ErrorCode::invalid_argument, "the pipeline's URL " + std::move(what), "pipeline"); }

Result<Base> read_base(std::string_view url) {
  Base base;
  if (url.starts_with("https://")) {
    base.tls = true;
    base.port = "443";
    url.remove_prefix(8);
  } else if (url.starts_with("http://")) {
    base.port = "80";
    url.remove_prefix(7);
  } else {
    return wrong("must begin with http:// or https://");
  }
  const auto slash = std::min(url.find('/'), url.size());
  const auto authority = url.substr(0, slash);
  auto path = url.substr(slash);
  // It is not repeated: there may be a password in it.
  if (authority.find('@') != std::string_view::npos) return wrong("must not hold a user or password");
  if (!std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c <= '~' && c != '#' && c != '?' && c != '\\'; })) {
    return wrong("holds a query, a fragment, or a character that must be percent-encoded");
  }
  while (path.ends_with('/')) path.remove_suffix(1);

  const bool bracketed = authority.starts_with('[');
  const auto host_end = bracketed ? authority.find(']') : std::min(authority.find(':'), authority.size());
  if (host_end == std::string_view::npos) return wrong("has no host");
  base.host = bracketed ? authority.substr(1, host_end - 1) : authority.substr(0, host_end);
  if (base.host.empty()) return wrong("has no host");
  auto port = authority.substr(bracketed ? host_end + 1 : host_end);
  if (!port.empty()) {
    std::uint16_t number = 0;
    const auto read = std::from_chars(port.data() + 1, port.data() + port.size(), number);
    if (port.front() != ':' || read.ec != std::errc() || read.ptr != port.data() + port.size() || number == 0) return wrong("has no sound port");
    base.port = port.substr(1);
  }
  base.authority = authority;
  base.path = path;
  return base;
}

/// A connection with the context that it lives on: whoever has it is alone with it.
struct Connection {
  explicit Connection(ssl::context* tls_context) : socket(context), deadline(context) {
    if (tls_context) tls.emplace(socket, *tls_context);
  }

  net::io_context context{1};
  tcp::socket socket;
  std::optional<ssl::stream<tcp::socket&>> tls;
  net::steady_timer deadline;
  boost::beast::flat_buffer buffer;
  Clock::time_point idle_since;
  bool stopped = false;  ///< told by its own context
};

/// What went wrong below HTTP, and whether another connection may do better.
struct Broken {
  std::string type, message;
  bool was_closed = false;  ///< before any byte of the answer
};

struct Answer {
  unsigned status = 0;
  std::string body, location;
  double ms = 0;
  bool keep_alive = false;
};

/// One exchange over one connection. Every step is asynchronous under one deadline, since a synchronous one knows none.
class Exchange {
 public:
  Exchange(Connection& connection, const Base& base, Clock::time_point deadline, std::chrono::milliseconds limit)
      : connection_(connection), base_(base), deadline_(deadline), limit_(limit) {}

  tl::expected<void, Broken> connect() {
    tcp::resolver resolver(connection_.context);
    tcp::resolver::results_type found;
    error_code error = run([&](auto done) {
      resolver.async_resolve(base_.host, base_.port, tcp::resolver::numeric_service, [&, done](error_code failure, tcp::resolver::results_type results) {
        found = std::move(results);
        done(failure);
      });
    }, [&] { resolver.cancel(); });
    if (error) return broken(fmt::format("{} can't be resolved", base_.host), error);
    error = run([&](auto done) {
      net::async_connect(connection_.socket, found, [done](error_code failure, const tcp::endpoint&) { done(failure); });
    });
    if (error) return broken(fmt::format("no connection to {}", base_.authority), error);
    error_code ignored;
    connection_.socket.set_option(tcp::no_delay(true), ignored);
    if (!connection_.tls) return {};

    auto* const session = connection_.tls->native_handle();
    error_code no_address;
    net::ip::make_address(base_.host, no_address);
    const bool named = no_address ? SSL_set1_host(session, base_.host.c_str()) == 1 && SSL_set_tlsext_host_name(session, base_.host.c_str()) == 1
                                  : X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), base_.host.c_str()) == 1;
    if (!named) return tl::unexpected(Broken{"ConnectionFailed", fmt::format("the name {} can't be verified", base_.host)});
    error = run([&](auto done) { connection_.tls->async_handshake(ssl::stream_base::client, done); });
    if (!error) return {};
    if (const auto verdict = SSL_get_verify_result(session); verdict != X509_V_OK && !timed_out_) {
      return tl::unexpected(Broken{"ConnectionFailed", fmt::format("the certificate of {} was refused: {}", base_.authority, X509_verify_cert_error_string(verdict))});
    }
    return broken(fmt::format("no TLS with {}", base_.authority), error);
  }

  tl::expected<Answer, Broken> post(const std::string& target, const std::string& body, std::size_t max_body_bytes) {
    http::request<http::string_body> request(http::verb::post, target, 11);
    request.set(http::field::host, base_.authority);
    request.set(http::field::user_agent, "polygraph/" POLYGRAPH_VERSION);
    request.set(http::field::accept, "application/json");
    request.set(http::field::content_type, "application/json");
    request.body() = body;
    request.prepare_payload();
    // A failure is left to the read: a server may answer, and close, before it has read all of the request.
    std::ignore = run([&](auto done) {
      with_stream([&](auto& stream) { http::async_write(stream, request, [done](error_code failure, std::size_t) { done(failure); }); });
    });
    const auto sent = Clock::now();
    if (timed_out_) return tl::unexpected(late());

    http::response_parser<http::string_body> parser;
    parser.header_limit(max_head_bytes);
    parser.body_limit(max_body_bytes);
    error_code error = run([&](auto done) {
      with_stream([&](auto& stream) { http::async_read(stream, connection_.buffer, parser, [done](error_code failure, std::size_t) { done(failure); }); });
    });
    if (error == http::error::body_limit) return tl::unexpected(Broken{"TooLarge", fmt::format("the reply has more than {} bytes", max_body_bytes)});
    if (error) {
      auto why = broken(fmt::format("{} gave no whole reply", base_.authority), error).value();
      why.was_closed = !timed_out_ && !parser.got_some();
      return tl::unexpected(std::move(why));
    }
    Answer answer;
    answer.ms = std::chrono::duration<double, std::milli>(Clock::now() - sent).count();
    auto& reply = parser.get();
    answer.status = reply.result_int();
    answer.location = std::string(reply[http::field::location]);
    answer.keep_alive = reply.keep_alive() && connection_.buffer.size() == 0;
    answer.body = std::move(reply.body());
    return answer;
  }

 private:
  template <class Use>
  void with_stream(Use&& use) {
    if (connection_.tls) use(*connection_.tls);
    else use(connection_.socket);
  }

  template <class Begin>
  error_code run(Begin&& begin) {
    return run(std::forward<Begin>(begin), [] {});
  }

  /// Runs one asynchronous step to its end; the deadline ends it with an error.
  template <class Begin, class Cancel>
  error_code run(Begin&& begin, Cancel&& cancel) {
    if (connection_.stopped) return net::error::operation_aborted;
    error_code result;
    auto& timer = connection_.deadline;
    timer.expires_at(deadline_);
    timer.async_wait([&](error_code error) {
      if (error && !connection_.stopped) return;  // the step is done
      timed_out_ = !error;
      error_code ignored;
      connection_.socket.close(ignored);
      cancel();
    });
    begin([&](error_code error) {
      result = error;
      timer.cancel();
    });
    connection_.context.restart();
    connection_.context.run();
    return timed_out_ && !result ? error_code(net::error::operation_aborted) : result;
  }

  Broken late() const { return {"Timeout", fmt::format("no reply within {:g} s", static_cast<double>(limit_.count()) / 1000)}; }

  tl::unexpected<Broken> broken(std::string what, error_code error) const {
    if (timed_out_) return tl::unexpected(late());
    return tl::unexpected(Broken{"ConnectionFailed", fmt::format("{}: {}", what, error.message())});
  }

  Connection& connection_;
  const Base& base_;
  const Clock::time_point deadline_;
  const std::chrono::milliseconds limit_;
  bool timed_out_ = false;
};

class HttpPipeline final : public Pipeline {
 public:
  HttpPipeline(Base base, std::string name, const Options& options) : base_(std::move(base)), name_(std::move(name)), options_(options) {
    options_.concurrency = std::max(1u, options_.concurrency);
  }

  Result<void> prepare() {
    if (!base_.tls) return {};
    tls_.emplace(ssl::context::tls_client);
    tls_->set_verify_mode(ssl::verify_peer);
    error_code error;
    if (options_.ca_file.empty()) tls_->set_default_verify_paths(error);
    else tls_->load_verify_file(options_.ca_file, error);
    if (error) return fail(ErrorCode::io, fmt::format("certificates can't be read from {}: {}", options_.ca_file, error.message()));
    return {};
  }

  const std::string& name() const noexcept override { return name_; }
  bool generates() const noexcept override { return true; }

  void stop() noexcept override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (Connection* const connection : under_way_connections_) {
      net::post(connection->context, [connection] {
        connection->stopped = true;
        connection->deadline.cancel();
      });
    }
    free_.notify_all();
  }

  Outcome<Retrieved> retrieve(std::string_view query, unsigned k) override { return ask("/retrieve", retrieve_request(query, k), read_retrieved); }
  Outcome<Generated> generate(std::string_view query, std::span<const Chunk> chunks) override {
    return ask("/generate", generate_request(query, chunks), read_generated);
  }

 private:
  template <class T>
  Outcome<T> ask(std::string_view operation, std::string request, Outcome<T> (*read)(const nlohmann::json&)) {
    const Turn turn(*this);
    const auto begun = Clock::now();
    const auto stopped = [this] {
      const std::lock_guard lock(mutex_);
      return stopped_;
    };
    const auto failed = [&](std::string type, std::string message) {
      return tl::unexpected(Failed{.type = std::move(type),
                                   .message = std::move(message),
                                   .ms = std::chrono::duration<double, std::milli>(Clock::now() - begun).count()});
    };
    if (stopped()) return failed("Stopped", "the run was stopped");
    const auto answer = exchange(fmt::format("{}{}", base_.path, operation), fmt::format("{},\"id\":{}}}", request, turn.number));
    if (!answer) return stopped() ? failed("Stopped", "the run was stopped") : failed(answer.error().type, answer.error().message);
    if (answer->status != 200) {
      std::string message = fmt::format("{}{} answered with status {}", name_, operation, answer->status);
      if (answer->status >= 300 && answer->status < 400) message += fmt::format(", a redirect to {}, which is not followed", first_of(answer->location, body_shown_bytes));
      // Its own words, where it follows the protocol even then.
      if (const auto value = parse(answer->body)) {
        if (auto error = reported_error(*value)) return failed(std::move(error->type), fmt::format("{}: {}", message, error->message));
      }
      if (!answer->body.empty()) message += ": " + first_of(answer->body, body_shown_bytes);
      return failed("HttpStatus", std::move(message));
    }
    const auto value = parse(answer->body);
    if (!value) return failed("BadJson", fmt::format("the reply {}: {}", value.error(), first_of(answer->body, body_shown_bytes)));
    auto outcome = read(*value);
    if (outcome) outcome->ms = answer->ms;
    else outcome.error().ms = answer->ms;
    return outcome;
  }

  tl::expected<Answer, Broken> exchange(const std::string& target, const std::string& body) {
    const auto deadline = Clock::now() + options_.call_limit;
    for (;;) {
      auto connection = take_idle();
      const bool reused = connection != nullptr;
      if (!reused) connection = std::make_unique<Connection>(tls_ ? &*tls_ : nullptr);
      auto answer = exchange_over(*connection, reused, target, body, deadline);
      // A kept connection may have been closed just now, by a server that read nothing of this.
      if (!answer && reused && answer.error().was_closed) continue;
      if (answer && answer->keep_alive) keep(std::move(connection));
      return answer;
    }
  }

  tl::expected<Answer, Broken> exchange_over(Connection& connection, bool connected, const std::string& target, const std::string& body,
                                             Clock::time_point deadline) {
    const UnderWay under_way(*this, connection);
    Exchange exchange(connection, base_, deadline, options_.call_limit);
    if (!connected) {
      if (auto done = exchange.connect(); !done) return tl::unexpected(std::move(done.error()));
    }
    return exchange.post(target, body, options_.max_reply_bytes);
  }

  std::unique_ptr<Connection> take_idle() {
    const std::lock_guard lock(mutex_);
    while (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      if (Clock::now() - connection->idle_since < max_idle) return connection;
    }
    return nullptr;
  }

  void keep(std::unique_ptr<Connection> connection) {
    connection->idle_since = Clock::now();
    const std::lock_guard lock(mutex_);
    if (idle_.size() < options_.concurrency) idle_.push_back(std::move(connection));
  }

  /// One of the calls that may be under way at once.
  struct Turn {
    explicit Turn(HttpPipeline& pipeline) : owner(pipeline) {
      std::unique_lock lock(owner.mutex_);
      owner.free_.wait(lock, [&] { return owner.stopped_ || owner.under_way_ < owner.options_.concurrency; });
      ++owner.under_way_;
      number = ++owner.last_id_;
    }
    ~Turn() {
      {
        const std::lock_guard lock(owner.mutex_);
        --owner.under_way_;
      }
      owner.free_.notify_one();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    HttpPipeline& owner;
    std::uint64_t number = 0;
  };

  /// A connection that stop() must know of.
  struct UnderWay {
    UnderWay(HttpPipeline& pipeline, Connection& used) : owner(pipeline), connection(used) {
      const std::lock_guard lock(owner.mutex_);
      owner.under_way_connections_.insert(&connection);
      connection.stopped = owner.stopped_;
    }
    ~UnderWay() {
      const std::lock_guard lock(owner.mutex_);
      owner.under_way_connections_.erase(&connection);
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

    HttpPipeline& owner;
    Connection& connection;
  };

  const Base base_;
  const std::string name_;
  Options options_;
  std::optional<ssl::context> tls_;
  std::mutex mutex_;
  std::condition_variable free_;
  bool stopped_ = false;
  unsigned under_way_ = 0;
  std::set<Connection*> under_way_connections_;
  std::uint64_t last_id_ = 0;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace

Result<std::unique_ptr<Pipeline>> open_http(std::string_view url, const Options& options) {
  auto base = read_base(url);
  if (!base) return tl::unexpected(base.error());
  const std::string name = fmt::format("{}://{}{}", base->tls ? "https" : "http", base->authority, base->path);
  auto pipeline = std::make_unique<HttpPipeline>(std::move(*base), name, options);
  if (auto prepared = pipeline->prepare(); !prepared) return tl::unexpected(prepared.error());
  return pipeline;
}

}  // namespace polygraph::pipelines
