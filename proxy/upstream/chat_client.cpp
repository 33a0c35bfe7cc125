#include "proxy/upstream/chat_client.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <openssl/crypto.h>

#include "proxy/upstream/chat_body.hpp"
#include "proxy/upstream/connect_any.hpp"
#include "proxy/upstream/endpoint.hpp"
#include "proxy/upstream/event_stream.hpp"
#include "proxy/upstream/format.hpp"
#include "proxy/upstream/rate_limits.hpp"
#include "proxy/upstream/response_head.hpp"

namespace polygraph::proxy {
namespace {

namespace net = boost::asio;
namespace ssl = boost::asio::ssl;
namespace beast_http = boost::beast::http;
using boost::system::error_code;
using net::ip::tcp;
using Clock = std::chrono::steady_clock;

constexpr std::size_t read_bytes = 16 * 1024;
/// Shorter than what endpoints keep an idle connection for, so that few calls meet one that is just being closed.
constexpr std::chrono::seconds max_idle_time{30};
/// What an answer may hold between two pieces of its body: the line that begins a chunk, with its extensions.
constexpr std::size_t max_between_bytes = 4096;
/// What framing may add to a reply of the largest size.
constexpr std::size_t max_framing_bytes = 64 * 1024;
/// 103 Early Hints and the like, before the answer itself.
constexpr unsigned max_interim_answers = 4;
/// After a stream said that it is done, the end of its framing is waited for this long: then the connection can be used again.
constexpr std::chrono::milliseconds framing_end_time{1000};
constexpr std::size_t max_why_bytes = 400;
/// Parts of a key this long are taken out of what an endpoint says: some repeat a refused key with its middle blackened.
constexpr std::size_t key_part_bytes = 6;

/// One connection, plain or TLS.
class Connection {
 public:
  Connection(const net::any_io_executor& executor, ssl::context* context) : socket_(executor) {
    if (context) tls_.emplace(socket_, *context);
  }

  tcp::socket& socket() noexcept { return socket_; }
  ssl::stream<tcp::socket&>* tls() noexcept { return tls_ ? &*tls_ : nullptr; }

  template <class Handler>
  void async_read(net::mutable_buffer buffer, Handler&& handler) {
    if (tls_) tls_->async_read_some(buffer, std::forward<Handler>(handler));
    else socket_.async_read_some(buffer, std::forward<Handler>(handler));
  }
  template <class Handler>
  void async_write_all(net::const_buffer buffer, Handler&& handler) {
    if (tls_) net::async_write(*tls_, buffer, std::forward<Handler>(handler));
    else net::async_write(socket_, buffer, std::forward<Handler>(handler));
  }

  /// Whether an idle connection is still open and silent. Bytes that nobody asked for would be taken for the next answer.
  /// Reads what TLS sends by itself (session tickets) on the way.
  bool is_usable() {
    char byte;
    error_code error;
    socket_.non_blocking(true, error);
    if (error) return false;
    if (tls_) tls_->read_some(net::buffer(&byte, 1), error);
    else socket_.read_some(net::buffer(&byte, 1), error);
    return error == net::error::would_block;
  }

  /// Without a TLS shutdown: a peer that never answers it would hold us, and what was read is complete or refused already.
  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  tcp::socket socket_;
  std::optional<ssl::stream<tcp::socket&>> tls_;
};

/// What the calls of a client share.
struct Shared {
  Shared(net::any_io_executor given_executor, Upstream given, Endpoint given_endpoint)
      : executor(std::move(given_executor)), upstream(std::move(given)), endpoint(std::move(given_endpoint)) {}
  ~Shared() { OPENSSL_cleanse(upstream.key.data(), upstream.key.size()); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  std::shared_ptr<Connection> take_idle() {
    while (!idle.empty()) {
      auto [connection, since] = std::move(idle.back());
      idle.pop_back();
      if (Clock::now() - since < max_idle_time && connection->is_usable()) return connection;
      connection->close();
    }
    return nullptr;
  }

  void keep(std::shared_ptr<Connection> connection) {
    if (client_gone) return;
    if (idle.size() >= upstream.max_idle_connections) idle.erase(idle.begin());
    idle.emplace_back(std::move(connection), Clock::now());
  }

  net::any_io_executor executor;
  Upstream upstream;
  Endpoint endpoint;
  std::optional<ssl::context> tls;
  std::vector<std::pair<std::shared_ptr<Connection>, Clock::time_point>> idle;
  bool client_gone = false;
};

/// `text` with whatever it has in common with the key, from `least` bytes on, replaced; without control characters, and
/// not too long. Stays UTF-8.
std::string harmless(std::string_view text, std::string_view key, std::size_t least) {
  std::string clean;
  std::size_t at = 0;
  while (at < text.size() && clean.size() < max_why_bytes) {
    std::size_t shared = 0;
    if (!key.empty() && at + least <= text.size() && key.find(text.substr(at, least)) != std::string_view::npos) {
      shared = least;
      while (at + shared < text.size() && key.find(text.substr(at, shared + 1)) != std::string_view::npos) ++shared;
    }
    if (shared > 0) {
      clean += "[key]";
      at += shared;
    } else {
      const char c = text[at++];
      clean += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
    }
  }
  if (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) {  // the cut went through a character
    while ((static_cast<unsigned char>(clean.back()) & 0xc0) == 0x80) clean.pop_back();
    clean.pop_back();
  }
  return clean;
}

class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(std::shared_ptr<Shared> shared, ChatCall call, std::function<void(ChatReply)> done)
      : shared_(std::move(shared)),
        call_(std::move(call)),
        done_(std::move(done)),
        deadline_(shared_->executor),
        resolver_(shared_->executor),
        began_(Clock::now()),
        events_(shared_->upstream.max_reply_bytes),
        stream_(format().stream()) {}
  ~Call() { OPENSSL_cleanse(request_.data(), request_.size()); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void start() {
    net::post(shared_->executor, [self = shared_from_this()] {
      if (self->finished_) return;
      self->begin();
    });
  }

  void cancel() {
    net::dispatch(shared_->executor, [self = shared_from_this()] { self->finish(Outcome::cancelled, "the call was cancelled"); });
  }

 private:
  const Format& format() const { return format_of(shared_->upstream.format); }

  /// Handlers of a connection that was given up do nothing: `current` is what they belong to.
  bool stale(const std::shared_ptr<Connection>& current) const { return ended_ || connection_ != current; }

  void begin() {
    // One timer at one point in time stands over everything from here to the last byte, so no step can forget to arm it.
    deadline_.expires_at(call_.deadline);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->on_deadline();
    });
    if (call_.deadline <= Clock::now()) {
      on_deadline();
      return;
    }
    make_request();
    connection_ = shared_->take_idle();
    reused_ = connection_ != nullptr;
    if (reused_) send();
    else connect();
  }

  void make_request() {
    const auto& endpoint = shared_->endpoint;
    request_.reserve(512 + endpoint.path.size() + shared_->upstream.key.size() + call_.body.size());
    request_ += call_.list_models ? "GET " : "POST ";
    request_ += call_.list_models ? format().models_target(endpoint.path) : format().target(endpoint.path, call_.model, call_.stream);
    request_ += " HTTP/1.1\r\nHost: ";
    request_ += endpoint.authority;
    request_ += "\r\nUser-Agent: polygraph/" POLYGRAPH_VERSION "\r\nAccept: ";
    request_ += !call_.stream ? "application/json" : format().framing() == Framing::events ? "text/event-stream" : "application/x-ndjson";
    request_ += "\r\nAccept-Encoding: identity\r\n";
    if (!call_.list_models) {
      request_ += "Content-Type: application/json\r\nContent-Length: ";
      request_ += std::to_string(call_.body.size());
      request_ += "\r\n";
    }
    auto fields = format().fields(shared_->upstream.key);
    request_ += fields;
    OPENSSL_cleanse(fields.data(), fields.size());
    request_ += "\r\n";
    request_ += call_.body;
  }

  void on_deadline() {
    if (finished_) {
      end();  // what was waited for was only the end of the framing
    } else if (status_ != 0 && status_ != 200) {
      finish_refused();
    } else if (sent_) {
      finish(Outcome::timed_out, "the deadline passed before the reply was complete");
    } else {
      finish(Outcome::unavailable, "the deadline passed before the request was sent");
    }
  }

  void connect() {
    reused_ = false;
    connection_ = std::make_shared<Connection>(shared_->executor, shared_->tls ? &*shared_->tls : nullptr);
    resolver_.async_resolve(shared_->endpoint.host, std::to_string(shared_->endpoint.port), tcp::resolver::numeric_service,
                            [self = shared_from_this(), current = connection_](error_code error, const tcp::resolver::results_type& found) {
                              if (self->stale(current)) return;
                              if (error) self->unavailable("the host can't be resolved", error);
                              else self->connect_to(found);
                            });
  }

  void connect_to(const tcp::resolver::results_type& found) {
    std::vector<tcp::endpoint> addresses;
    for (const auto& entry : found) addresses.push_back(entry.endpoint());
    if (!shared_->endpoint.tls) {
      // A resolver may say anything about "localhost"; the key goes over no wire in the clear.
      std::erase_if(addresses, [](const tcp::endpoint& address) { return !address.address().is_loopback(); });
      if (addresses.empty()) {
        finish(Outcome::unavailable, "the host is not this machine");
        return;
      }
    }
    connecting_ = connect_any(shared_->executor, addresses, [self = shared_from_this(), current = connection_](error_code error, tcp::socket socket) {
      self->connecting_.reset();
      if (self->stale(current)) return;
      if (error) {
        self->unavailable("can't connect", error);
        return;
      }
      current->socket() = std::move(socket);
      self->shake_hands();
    });
  }

  void shake_hands() {
    error_code ignored;
    connection_->socket().set_option(tcp::no_delay(true), ignored);
    auto* tls = connection_->tls();
    if (!tls) {
      send();
      return;
    }
    const auto& host = shared_->endpoint.host;
    auto* session = tls->native_handle();
    SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const bool named = shared_->endpoint.is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) == 1
                                                    : SSL_set1_host(session, host.c_str()) == 1 && SSL_set_tlsext_host_name(session, host.c_str()) == 1;
    if (!named) {
      finish(Outcome::unavailable, "the host's name can't be verified");
      return;
    }
    tls->async_handshake(ssl::stream_base::client, [self = shared_from_this(), current = connection_](error_code error) {
      if (self->stale(current)) return;
      if (!error) {
        self->send();
        return;
      }
      const auto verdict = SSL_get_verify_result(current->tls()->native_handle());
      if (verdict != X509_V_OK) {
        self->finish(Outcome::unavailable, std::string("the certificate was refused: ") + X509_verify_cert_error_string(verdict));
      } else {
        self->unavailable("the TLS handshake failed", error);
      }
    });
  }

  /// Writes and reads at once: an upstream may refuse a request before it has read all of it.
  void send() {
    sent_ = false;
    reply_.sent = true;  // from here on nobody knows what arrived
    connection_->async_write_all(net::buffer(request_), [self = shared_from_this(), current = connection_](error_code error, std::size_t) {
      // A failure is left to the read, which finds an early answer, or the end of the connection.
      if (!self->stale(current) && !error) self->sent_ = true;
    });
    read();
  }

  void read() {
    connection_->async_read(net::buffer(chunk_), [self = shared_from_this(), current = connection_](error_code error, std::size_t bytes) {
      if (self->stale(current)) return;
      if (bytes > 0) {
        self->take({self->chunk_.data(), bytes});
        if (self->stale(current)) return;
      }
      if (error) self->on_end(error);
      else self->read();
    });
  }

  void take(std::string_view bytes) {
    wire_bytes_ += bytes.size();
    if (wire_bytes_ > 2 * shared_->upstream.max_reply_bytes + max_framing_bytes) {
      bad_body("the reply is too long");
      return;
    }
    pending_ += bytes;
    if (!parser_ && !take_head()) return;
    take_body();
  }

  /// Whether a head is complete and sound.
  bool take_head() {
    for (;;) {
      switch (head_.feed(pending_)) {
        case ResponseHeadScanner::State::incomplete: return false;
        case ResponseHeadScanner::State::refused: finish(Outcome::invalid, "the answer is malformed: " + head_.why()); return false;
        case ResponseHeadScanner::State::complete: break;
      }
      if (head_.status() >= 200) break;
      if (head_.status() == 101 || ++interim_answers_ > max_interim_answers) {
        finish(Outcome::invalid, "the answer is malformed: an interim answer that was not asked for");
        return false;
      }
      pending_.erase(0, head_.end());
      head_ = {};
    }
    parser_.emplace();
    parser_->eager(true);
    parser_->header_limit(static_cast<std::uint32_t>(head_.end() + 1));
    parser_->body_limit(shared_->upstream.max_reply_bytes);
    reply_.status = head_.status();
    error_code error;
    const auto used = parser_->put(net::buffer(pending_.data(), head_.end()), error);
    if (error == beast_http::error::body_limit) {
      status_ = head_.status();
      bad_body("the reply is too long");
      return false;
    }
    if ((error && error != beast_http::error::need_more) || used != head_.end() || !parser_->is_header_done()) {
      finish(Outcome::invalid, "the answer is malformed: " + (error ? error.message() : std::string("its head has another end")));
      return false;
    }
    status_ = head_.status();
    keep_alive_ = parser_->keep_alive();
    // Now, before trailers could add to the fields.
    std::vector<Field> fields;
    for (const auto& field : parser_->get()) {
      fields.emplace_back(Field{{field.name_string().data(), field.name_string().size()}, {field.value().data(), field.value().size()}});
    }
    reply_.rate_limits = format().read_limits(fields);
    for (const auto& [name, value] : fields) fields_.emplace_back(name, value);
    pending_.erase(0, head_.end());
    return true;
  }

  void take_body() {
    std::size_t used = 0;
    while (used < pending_.size() && !parser_->is_done()) {
      error_code error;
      const auto put = parser_->put(net::buffer(pending_.data() + used, pending_.size() - used), error);
      used += put;
      if (error == beast_http::error::need_more) break;
      if (error) {
        bad_body(error == beast_http::error::body_limit ? "the reply is too long" : "the reply's framing is malformed: " + error.message());
        return;
      }
      if (put == 0) break;
    }
    pending_.erase(0, used);
    if (!parser_->is_done() && pending_.size() > max_between_bytes) {
      bad_body("the reply's framing is malformed: a chunk's first line is too long");
      return;
    }
    if (finished_) {
      if (parser_->is_done()) end();
      return;
    }
    if (status_ == 200 && call_.stream && !take_events()) return;
    if (parser_->is_done()) on_complete();
  }

  /// Hands on what is certain not to be the beginning of the key; false when the call has ended.
  bool pass_on(std::string_view text, bool last) {
    if (!call_.on_delta) return true;
    unsaid_ += text;
    const std::string& key = shared_->upstream.key;
    std::size_t kept = 0;
    if (!key.empty()) {
      if (unsaid_.find(key) != std::string::npos) {
        finish(Outcome::invalid, "the reply repeats the key");
        return false;
      }
      kept = last ? 0 : std::min(unsaid_.size(), key.size() - 1);
      while (kept > 0 && !key.starts_with(std::string_view(unsaid_).substr(unsaid_.size() - kept))) --kept;
    }
    const std::string said = unsaid_.substr(0, unsaid_.size() - kept);
    unsaid_.erase(0, said.size());
    if (!said.empty()) call_.on_delta(said);
    return !finished_;  // it may have cancelled
  }

  /// Lines that are complete, one by one; the rest is kept. False as EventStream says it.
  bool take_lines(std::string_view bytes, const std::function<bool(std::string_view)>& take) {
    for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      line_ += bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (line_.ends_with('\r')) line_.pop_back();
      const std::string line = std::exchange(line_, {});
      if (!line.empty() && !take(line)) return false;
    }
    line_ += bytes;
    return line_.size() <= shared_->upstream.max_reply_bytes;
  }

  /// False when the call has ended meanwhile.
  bool take_events() {
    std::string bytes;
    bytes.swap(parser_->get().body());
    const auto take = [this](std::string_view data) {
      auto text = stream_->add(data);
      if (!text) {
        finish(Outcome::invalid, text.error().message);
        return false;
      }
      return text->empty() || pass_on(*text, false);
    };
    const bool fits = format().framing() == Framing::events ? events_.feed(bytes, [&](const StreamEvent& event) { return take(event.data); }) : take_lines(bytes, take);
    if (!finished_ && !fits) finish(Outcome::invalid, "an event of the stream is too long");
    if (finished_) return false;
    if (stream_->done()) {
      on_complete();
      return false;
    }
    return true;
  }

  /// The body is complete, or its stream said that it is.
  void on_complete() {
    if (status_ != 200) {
      finish_refused();
      return;
    }
    if (call_.list_models) {
      finish_list();
      return;
    }
    auto read = call_.stream ? stream_->finish() : format().read(parser_->get().body());
    if (!read) {
      finish(Outcome::invalid, read.error().message);
      return;
    }
    if (call_.stream && !pass_on({}, true)) return;
    reply_.text = std::move(read->text);
    reply_.model = harmless(read->model, shared_->upstream.key, shared_->upstream.key.size());
    reply_.finish = std::move(read->finish);
    reply_.probabilities = std::move(read->probabilities);
    if (read->usage) {
      reply_.tokens_in = read->usage->in;
      reply_.tokens_out = read->usage->out;
    }
    if (!shared_->upstream.key.empty() && reply_.text.find(shared_->upstream.key) != std::string::npos) {
      reply_.text.clear();
      finish(Outcome::invalid, "the reply repeats the key");
      return;
    }
    finish(Outcome::answered, {});
  }

  void finish_list() {
    auto models = format().read_models(parser_->get().body());
    if (!models) {
      finish(Outcome::invalid, models.error().message);
      return;
    }
    const std::string& key = shared_->upstream.key;
    for (auto& each : *models) each.id = harmless(each.id, key, key.size());
    reply_.models = std::move(*models);
    finish(Outcome::answered, {});
  }

  /// The connection has ended, properly or not.
  void on_end(error_code error) {
    if (finished_) {
      end();
      return;
    }
    // TLS that ends without its close_notify was cut by somebody; only a proper end may end a body.
    if (parser_ && error == net::error::eof) {
      error_code incomplete;
      parser_->put_eof(incomplete);
      if (!incomplete && parser_->is_done()) {
        on_complete();
        return;
      }
    }
    if (status_ != 0) {
      bad_body("the reply was cut");
    } else if (reused_ && wire_bytes_ == 0) {
      // It was closed while it was idle, and we could not know yet.
      connection_->close();
      connect();
    } else if (!sent_) {
      unavailable("the connection failed before the request was sent", error);
    } else {
      finish(Outcome::invalid, wire_bytes_ == 0 ? "the connection ended without an answer" : "the answer was cut");
    }
  }

  /// A 200 is worth nothing without a sound body; any other status says enough.
  void bad_body(std::string why) {
    if (finished_) {
      end();
    } else if (status_ != 0 && status_ != 200) {
      parser_.reset();
      finish_refused();
    } else {
      finish(Outcome::invalid, std::move(why));
    }
  }

  void finish_refused() {
    std::vector<Field> fields(fields_.begin(), fields_.end());
    const auto refusal = format().read_refusal(status_, parser_ && parser_->is_done() ? std::string_view(parser_->get().body()) : std::string_view(), fields);
    std::string why = "upstream answered " + std::to_string(status_);
    // A refused key is often repeated in part.
    if (!refusal.message.empty() && refusal.refused_for != RefusedFor::key) why += ": " + refusal.message;
    reply_.limit = refusal.limit;
    reply_.refused_for = refusal.refused_for;
    if (refusal.retry_after) reply_.rate_limits.retry_after = std::max(*refusal.retry_after, reply_.rate_limits.retry_after.value_or(*refusal.retry_after));
    finish(refusal.outcome, std::move(why));
  }

  void unavailable(std::string_view what, error_code error) { finish(Outcome::unavailable, std::string(what) + ": " + error.message()); }

  void finish(Outcome outcome, std::string why) {
    if (finished_) return;
    finished_ = true;
    reply_.outcome = outcome;
    if (outcome != Outcome::answered) reply_.text.clear();
    reply_.why = harmless(why, shared_->upstream.key, std::min(shared_->upstream.key.size(), key_part_bytes));
    reply_.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
    net::post(shared_->executor, [self = shared_from_this(), done = std::exchange(done_, nullptr), reply = std::move(reply_)]() mutable {
      self->call_.on_delta = nullptr;  // not before: it may be what called us
      done(std::move(reply));
    });
    const bool only_framing_missing = outcome == Outcome::answered && !parser_->is_done() && keep_alive_;
    if (!only_framing_missing) {
      end();
      return;
    }
    deadline_.expires_after(framing_end_time);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->end();
    });
  }

  /// Gives the connection back, or closes it. Nothing happens after it.
  void end() {
    if (ended_) return;
    ended_ = true;
    deadline_.cancel();
    resolver_.cancel();
    if (connecting_) std::exchange(connecting_, nullptr)->cancel();
    if (!connection_) return;
    const bool reusable = parser_ && parser_->is_done() && keep_alive_ && !parser_->need_eof() && pending_.empty() && sent_;
    if (reusable) shared_->keep(std::move(connection_));
    else connection_->close();
    connection_.reset();
  }

  std::shared_ptr<Shared> shared_;
  ChatCall call_;
  std::function<void(ChatReply)> done_;
  net::steady_timer deadline_;
  tcp::resolver resolver_;
  std::shared_ptr<Connecting> connecting_;
  Clock::time_point began_;
  std::string request_;

  std::shared_ptr<Connection> connection_;
  bool reused_ = false;
  bool sent_ = false;       // the whole request
  bool finished_ = false;   // done was called, or is about to be
  std::string unsaid_;  // of a stream: what may be the beginning of the key
  bool ended_ = false;      // the connection is given up as well

  std::array<char, read_bytes> chunk_;
  std::string pending_;     // read, and not yet parsed
  std::size_t wire_bytes_ = 0;
  ResponseHeadScanner head_;
  unsigned interim_answers_ = 0;
  unsigned status_ = 0;     // once a sound head is there
  bool keep_alive_ = false;
  std::optional<beast_http::response_parser<beast_http::string_body>> parser_;
  EventStream events_;
  std::unique_ptr<ReplyStream> stream_;
  std::string line_;        // of a stream of lines: the one that is not complete
  std::vector<std::pair<std::string, std::string>> fields_;  // of the answer's head
  ChatReply reply_;
};

class Handle : public CallHandle {
 public:
  explicit Handle(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  ~Handle() override { call_->cancel(); }
  void cancel() override { call_->cancel(); }

 private:
  std::shared_ptr<Call> call_;
};

class Client : public ChatClient {
 public:
  explicit Client(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~Client() override {
    net::dispatch(shared_->executor, [shared = shared_] {
      shared->client_gone = true;
      shared->idle.clear();
    });
  }

  std::shared_ptr<CallHandle> call(ChatCall call, std::function<void(ChatReply)> done) override {
    auto started = std::make_shared<Call>(shared_, std::move(call), std::move(done));
    started->start();
    return std::make_shared<Handle>(std::move(started));
  }

 private:
  std::shared_ptr<Shared> shared_;
};

Result<void> prepare(ssl::context& context, const std::string& ca_file) {
  error_code error;
  context.set_verify_mode(ssl::verify_peer, error);
  if (!error && SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION) != 1) {
    return fail(ErrorCode::internal, "TLS 1.2 can't be asked for");
  }
  if (!error) {
    if (ca_file.empty()) context.set_default_verify_paths(error);
    else context.load_verify_file(ca_file, error);
  }
  if (error) return fail(ErrorCode::io, "the CA bundle " + ca_file + " can't be read: " + error.message(), "ca_file");
  return {};
}

}  // namespace

namespace {

Result<Endpoint> sound_endpoint(const Upstream& upstream) {
  auto endpoint = read_endpoint(upstream.url);
  if (!endpoint) return endpoint;
  // In a header field anything else would end the field or be refused without a word.
  if (!std::all_of(upstream.key.begin(), upstream.key.end(), [](char c) { return c > ' ' && c <= '~'; })) {
    return fail(ErrorCode::invalid_argument, "the key holds a character that no key has", "key");
  }
  return endpoint;
}

}  // namespace

Result<void> check(const Upstream& upstream) {
  if (auto endpoint = sound_endpoint(upstream); !endpoint) return tl::unexpected(endpoint.error());
  return {};
}

Result<std::shared_ptr<ChatClient>> make_chat_client(net::any_io_executor executor, Upstream upstream) {
  auto endpoint = sound_endpoint(upstream);
  if (!endpoint) return tl::unexpected(endpoint.error());
  auto shared = std::make_shared<Shared>(std::move(executor), std::move(upstream), std::move(*endpoint));
  if (shared->endpoint.tls) {
    shared->tls.emplace(ssl::context::tls_client);
    if (auto prepared = prepare(*shared->tls, shared->upstream.ca_file); !prepared) return tl::unexpected(prepared.error());
  }
  return std::make_shared<Client>(std::move(shared));
}

}  // namespace polygraph::proxy
