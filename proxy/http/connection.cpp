#include "proxy/http/connection.hpp"

#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>
#include <utility>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>

#include "proxy/http/clock_text.hpp"

namespace polygraph::http {
namespace {

using boost::system::error_code;

/// One read's worth, shared by the connections of a thread; a whole head of the default limit fits twice.
constexpr std::size_t read_bytes = 32 * 1024;
/// What one connection may send before others get their turn.
constexpr std::uint64_t send_bytes_per_turn = 1024 * 1024;
/// After the last answer, what the client still sends is read and dropped for this long, up to this much: closing over
/// unread bytes would reset the connection, and the client could lose the answer (RFC 9112 §9.6).
constexpr Milliseconds drain_timeout{1000};
constexpr std::uint64_t max_drained_bytes = 1024 * 1024;
/// When to come back: after a restart, and when connections have likely ended.
constexpr unsigned retry_after_stop_seconds = 5;
constexpr unsigned retry_after_full_seconds = 1;

thread_local std::array<char, read_bytes> read_buffer;

std::string_view reason(unsigned status) {
  const auto text = beast_http::obsolete_reason(static_cast<beast_http::status>(status));
  return {text.data(), text.size()};
}

}  // namespace

ServerState::ServerState(const Settings& settings, std::string given_security_fields, int log_descriptor)
    : limits(settings.limits),
      security_fields(std::move(given_security_fields)),
      trusted(settings.trusted_proxies),
      allowed_origins(settings.allowed_origins),
      log(log_descriptor) {
  std::random_device random;
  next_id_ = (static_cast<std::uint64_t>(random()) << 32) | random();
}

std::array<char, 16> ServerState::next_request_id() noexcept {
  // SplitMix64's output function: a bijection, so no id comes twice, and neighbours look unrelated.
  auto z = next_id_.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  std::array<char, 16> id;
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = "0123456789abcdef"[(z >> (60 - 4 * i)) & 15];
  return id;
}

Connection::Connection(ServerState& state, const Router& router, Socket socket, std::string client, std::function<void()> on_close)
    : state_(state),
      router_(router),
      socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      on_close_(std::move(on_close)),
      client_(std::move(client)),
      scanner_(state.limits) {}

void Connection::start() {
  net::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->phase_ == Phase::closed) return;
    self->deadlines_.set(Deadlines::idle, Clock::now() + self->state_.limits.idle_timeout);
    self->wait_for_next();
  });
}

void Connection::start_refusing(Refusal refusal) {
  net::post(socket_.get_executor(), [self = shared_from_this(), refusal = std::move(refusal)] {
    if (self->phase_ == Phase::closed) return;
    self->began_ = Clock::now();
    self->request_id_ = self->state_.next_request_id();
    self->refuse(refusal, retry_after_full_seconds);
    self->wait_for_next();
  });
}

void Connection::stop() {
  net::post(socket_.get_executor(), [self = shared_from_this()] {
    self->keep_alive_ = false;
    switch (self->phase_) {
      case Phase::idle:
        // A request may have arrived that was not looked at yet: it is read, and answered that the server stops.
        self->on_readable();
        if (self->phase_ == Phase::idle) self->close();
        break;
      case Phase::head:
      case Phase::body:
        self->refuse({503, "shutting_down", "the server is shutting down"}, retry_after_stop_seconds);
        break;
      case Phase::handling:
      case Phase::answering:
      case Phase::draining:
      case Phase::closed: break;
    }
    self->wait_for_next();
  });
}

void Connection::cut() {
  net::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->phase_ == Phase::handling || self->phase_ == Phase::answering) self->log_request("shutting_down");
    self->close();
  });
}

void Connection::wait_for_next() {
  const bool reading = phase_ == Phase::idle || phase_ == Phase::head || phase_ == Phase::body || phase_ == Phase::draining;
  // While an answer runs nothing more is read: a client that pipelines without reading is held back by TCP.
  if (reading && !waiting_readable_) {
    waiting_readable_ = true;
    socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code error) {
      self->waiting_readable_ = false;
      if (error || self->phase_ == Phase::closed) return;
      if (self->phase_ != Phase::handling && self->phase_ != Phase::answering) self->on_readable();
      self->wait_for_next();
    });
  }
  update_timer();
}

void Connection::on_readable() {
  error_code error;
  const auto got = socket_.read_some(net::buffer(read_buffer), error);
  if (error == net::error::would_block || error == net::error::interrupted) return;
  if (error) {
    close();
    return;
  }
  if (phase_ == Phase::draining) {
    drained_ += got;
    if (drained_ > max_drained_bytes) close();
    return;
  }
  read_requests({read_buffer.data(), got});
}

void Connection::read_requests(std::string_view data) {
  std::string held;
  held.swap(input_);
  if (!held.empty()) data = held += data;
  const auto used = consume(data);
  if (used == data.size()) return;
  if (held.empty()) {
    input_.assign(data.substr(used));
  } else {
    held.erase(0, used);
    input_.swap(held);
  }
}

std::size_t Connection::consume(std::string_view data) {
  std::size_t used = 0;
  while (used < data.size()) {
    const auto rest = data.substr(used);
    if (phase_ == Phase::idle) {
      phase_ = Phase::head;
      began_ = Clock::now();
      request_id_ = state_.next_request_id();
      route_ = Route::refused;
      deadlines_.clear_all();
      scanner_.reset();
    }
    if (phase_ == Phase::head) {
      switch (scanner_.feed(rest)) {
        case HeadScanner::State::incomplete:
          deadlines_.set(Deadlines::head, began_ + state_.limits.header_timeout);
          deadlines_.set(Deadlines::total, began_ + state_.limits.total_timeout);
          return used;
        case HeadScanner::State::refused: refuse(scanner_.refusal()); return data.size();
        case HeadScanner::State::complete: break;
      }
      used += scanner_.end();
      deadlines_.clear(Deadlines::head);
      if (!parse(rest.substr(scanner_.begin(), scanner_.end() - scanner_.begin()))) return data.size();
      if (scanner_.body_bytes() == 0) {
        dispatch();
        continue;
      }
      phase_ = Phase::body;
      deadlines_.set(Deadlines::body, Clock::now() + state_.limits.body_timeout);
      deadlines_.set(Deadlines::total, began_ + state_.limits.total_timeout);
      if (used == data.size()) ask_for_body();
    } else if (phase_ == Phase::body) {
      const auto missing = scanner_.body_bytes() - request_->body.size();
      const auto part = rest.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(missing, rest.size())));
      request_->body += part;
      used += part.size();
      if (part.size() == missing) {
        deadlines_.clear(Deadlines::body);
        dispatch();
      }
    } else if (phase_ == Phase::handling || phase_ == Phase::answering) {
      return used;  // what follows waits for this answer
    } else {
      return data.size();  // refused or closed: nothing after it is read
    }
  }
  return used;
}

bool Connection::parse(std::string_view head) {
  beast_http::request_parser<beast_http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(head.size() + 1));
  parser.body_limit(boost::none);
  error_code error;
  parser.put(net::buffer(head.data(), head.size()), error);
  if (error || !parser.is_header_done()) {
    refuse({400, "bad_request", "the request is malformed: " + error.message()});
    return false;
  }
  keep_alive_ = parser.keep_alive();
  request_ = std::make_unique<Request>();
  request_->head = std::move(parser.get().base());
  request_->id = {request_id_.data(), request_id_.size()};
  request_->client = client_;
  if (!state_.trusted.empty()) {
    boost::system::error_code ignored;
    const auto peer = net::ip::make_address(client_, ignored);
    request_->client = client_address(peer, request_->list("X-Forwarded-For"), state_.trusted);
  }
  return true;
}

void Connection::ask_for_body() {
  const auto expect = request_->head[beast_http::field::expect];
  if (request_->head.version() != 11 || !boost::beast::iequals(expect, "100-continue")) return;
  // Nothing else is on its way out, so this either fits the socket's buffer whole or the connection is of no use.
  constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  error_code error;
  if (socket_.write_some(net::buffer(go_on.data(), go_on.size()), error) != go_on.size()) close();
}

void Connection::dispatch() {
  if (state_.stopping.load(std::memory_order_relaxed)) {
    refuse({503, "shutting_down", "the server is shutting down"}, retry_after_stop_seconds);
    return;
  }
  phase_ = Phase::handling;
  inside_handler_ = true;
  route_ = router_.handle(*request_, Responder(shared_from_this()));
  inside_handler_ = false;
  if (answer_) answer(*std::exchange(answer_, std::nullopt));
  else deadlines_.set(Deadlines::total, began_ + state_.limits.total_timeout);
}

void Connection::take(Answer given) {
  if (socket_.get_executor().running_in_this_thread() && inside_handler_) {
    answer_ = std::move(given);
    return;
  }
  net::post(socket_.get_executor(), [self = shared_from_this(), given = std::move(given)]() mutable {
    if (self->phase_ != Phase::handling) return;  // cut meanwhile
    self->answer(std::move(given));
    if (self->phase_ == Phase::idle) self->read_requests({});
    self->wait_for_next();
  });
}

void Connection::when_gone(std::function<void()> left) {
  net::post(socket_.get_executor(), [self = shared_from_this(), left = std::move(left)]() mutable {
    if (self->phase_ == Phase::closed) {
      left();
      return;
    }
    if (self->phase_ != Phase::handling && self->phase_ != Phase::answering) return;  // answered already
    self->left_ = std::move(left);
    self->watch_for_leaving();
  });
}

/// While a client waits, its end of the connection is watched: a reset, or an end of what it sends, ends the wait.
void Connection::watch_for_leaving() {
  if (!left_ || watching_ || waiting_readable_) return;
  watching_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code error) {
    self->watching_ = false;
    if (error || (self->phase_ != Phase::handling && self->phase_ != Phase::answering)) {
      if (!error) self->wait_for_next();
      return;
    }
    char byte = 0;
    const auto got = ::recv(self->socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return;  // a next request waits already: the end is no longer seen from here
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
      self->watch_for_leaving();
      return;
    }
    self->log_request("client_gone");
    self->close();
  });
}

void Connection::refuse(const Refusal& refusal, std::optional<unsigned> retry_after) {
  keep_alive_ = false;
  std::string().swap(input_);
  answer(error_answer(refusal, retry_after));
}

void Connection::answer(Answer given) {
  answer_ = std::move(given);
  auto& out = *answer_;
  if (out.close || state_.stopping.load(std::memory_order_relaxed)) keep_alive_ = false;

  head_ = "HTTP/1.1 ";
  head_ += std::to_string(out.status);
  head_ += ' ';
  head_ += reason(out.status);
  head_ += "\r\nDate: ";
  head_ += http_date();
  head_ += "\r\nX-Request-Id: ";
  head_.append(request_id_.data(), request_id_.size());
  head_ += "\r\n";
  chunked_ = stream_ended_ = false;
  if (out.streams()) {
    chunked_ = request_ && request_->head.version() == 11;
    if (chunked_) head_ += "Transfer-Encoding: chunked\r\n";
    else keep_alive_ = false;
  } else if (out.status != 304) {
    head_ += "Content-Length: ";
    head_ += std::to_string(out.body_bytes());
    head_ += "\r\n";
  }
  if (!keep_alive_) head_ += "Connection: close\r\n";
  else if (request_ && request_->head.version() == 10) head_ += "Connection: keep-alive\r\n";
  if (is_api(route_) && request_) add_cross_origin_fields();
  if (out.shared_fields) head_ += *out.shared_fields;
  head_ += out.fields;
  head_ += state_.security_fields;
  head_ += "\r\n";

  send_body_ = out.status != 304 && !(request_ && request_->method() == beast_http::verb::head);
  sent_ = 0;
  phase_ = Phase::answering;
  deadlines_.clear_all();
  switch (send()) {
    case Sent::all: finish_answer(); break;
    case Sent::waiting: {
      if (!answer_->streams() || sent_ < head_.size()) deadlines_.set(Deadlines::write, Clock::now() + state_.limits.write_timeout);
      deadlines_.set(Deadlines::total, began_ + state_.limits.total_timeout);
      break;
    }
    case Sent::failed: break;
  }
}

/// Adds to head_, which for a stream holds whatever is to be sent next, what the stream has now.
void Connection::take_from_stream(BodyStream& stream) {
  constexpr std::string_view line_end = "\r\n";
  auto taken = stream.take([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    net::post(self->socket_.get_executor(), [self] { self->on_writable(); });
  });
  if (!taken.bytes.empty()) {
    if (chunked_) {
      std::array<char, 20> size{};
      head_.append(size.data(), static_cast<std::size_t>(std::snprintf(size.data(), size.size(), "%zx\r\n", taken.bytes.size())));
    }
    head_ += taken.bytes;
    if (chunked_) head_ += line_end;
  }
  if (!taken.finished) return;
  stream_ended_ = true;
  answer_->log = std::move(taken.log);
  if (taken.cut) keep_alive_ = false;
  else if (chunked_) head_ += "0\r\n\r\n";
}

/// Lets the pages of listed origins read the answer. Others may still send: this protects no quota.
void Connection::add_cross_origin_fields() {
  if (state_.allowed_origins.empty()) return;
  head_ += "Vary: Origin\r\n";
  const auto origin = request_->head[beast_http::field::origin];
  const std::string_view asked(origin.data(), origin.size());
  if (std::find(state_.allowed_origins.begin(), state_.allowed_origins.end(), asked) == state_.allowed_origins.end()) return;
  head_ += "Access-Control-Allow-Origin: ";
  head_ += asked;
  head_ += "\r\nAccess-Control-Expose-Headers: Retry-After, X-Request-Id\r\n";
}

Connection::Sent Connection::send() {
  for (;;) {
    const auto sent = send_available();
    if (sent != Sent::all || !answer_->streams() || stream_ended_ || !send_body_) return sent;
    const auto before = head_.size();
    take_from_stream(*std::get<std::shared_ptr<BodyStream>>(answer_->body));
    if (head_.size() > before || stream_ended_) continue;
    // All that was there is sent: nothing is late until there is more.
    deadlines_.clear(Deadlines::write);
    watch_for_leaving();
    return Sent::waiting;
  }
}

Connection::Sent Connection::send_available() {
  const auto& out = *answer_;
  const auto* file = send_body_ ? std::get_if<FileBytes>(&out.body) : nullptr;
  std::string_view memory;
  if (send_body_) {
    if (const auto* text = std::get_if<std::string>(&out.body)) memory = *text;
    else if (const auto* part = std::get_if<SharedBytes>(&out.body)) memory = std::string_view(*part->bytes).substr(part->offset, part->length);
  }
  const std::uint64_t in_memory = head_.size() + memory.size();
  const std::uint64_t all = in_memory + (file ? file->length : 0);
  const std::uint64_t turn_ends = sent_ + send_bytes_per_turn;
  const auto began_with = sent_;
  const auto made_progress = [&] {
    // A stream that begins to wait for its client after a pause has no deadline yet.
    if (sent_ > began_with || !deadlines_.is_set(Deadlines::write)) deadlines_.set(Deadlines::write, Clock::now() + state_.limits.write_timeout);
  };
  while (sent_ < all) {
    if (sent_ >= turn_ends) {
      made_progress();
      net::post(socket_.get_executor(), [self = shared_from_this()] { self->on_writable(); });
      return Sent::waiting;
    }
    error_code error;
    std::size_t written = 0;
    if (sent_ < in_memory) {
      const auto of_head = static_cast<std::size_t>(std::min<std::uint64_t>(sent_, head_.size()));
      const auto of_memory = static_cast<std::size_t>(sent_ - of_head);
      const std::array<net::const_buffer, 2> parts = {net::buffer(head_.data() + of_head, head_.size() - of_head),
                                                      net::buffer(memory.data() + of_memory, memory.size() - of_memory)};
      // MSG_MORE: the head leaves in one segment with the file's first bytes.
      written = socket_.send(parts, file ? MSG_MORE : 0, error);
    } else {
      auto offset = static_cast<off_t>(file->offset + (sent_ - in_memory));
      const auto left = static_cast<std::size_t>(std::min(all - sent_, turn_ends - sent_));
      const auto result = ::sendfile(socket_.native_handle(), file->file->descriptor(), &offset, left);
      if (result > 0) written = static_cast<std::size_t>(result);
      else if (result == 0) error = net::error::eof;  // the file became shorter: the promised length can't be kept
      else error = error_code(errno, boost::system::system_category());
    }
    sent_ += written;
    if (error == net::error::interrupted) continue;
    if (error == net::error::would_block || error == net::error::try_again) {
      made_progress();
      wait_writable();
      return Sent::waiting;
    }
    if (error) {
      log_request(error == net::error::eof ? "file_changed" : "client_gone");
      close();
      return Sent::failed;
    }
  }
  return Sent::all;
}

void Connection::wait_writable() {
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](error_code error) {
    if (!error) self->on_writable();
  });
}

void Connection::on_writable() {
  if (phase_ != Phase::answering) return;
  if (send() == Sent::all) {
    finish_answer();
    if (phase_ == Phase::idle) read_requests({});
  }
  wait_for_next();
}

void Connection::finish_answer() {
  log_request(answer_->error);
  left_ = nullptr;
  answer_.reset();
  request_.reset();
  deadlines_.clear_all();
  if (!keep_alive_) {
    drain();
    return;
  }
  phase_ = Phase::idle;
  deadlines_.set(Deadlines::idle, Clock::now() + state_.limits.idle_timeout);
}

void Connection::drain() {
  phase_ = Phase::draining;
  std::string().swap(input_);
  error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (error) {
    close();
    return;
  }
  deadlines_.set(Deadlines::drain, Clock::now() + drain_timeout);
}

void Connection::log_request(std::string_view error) {
  const auto status = answer_ ? answer_->status : 0;
  state_.metrics.count_request(route_, status);
  std::string_view method, path;
  if (request_) {
    const auto text = request_->head.method_string();
    method = {text.data(), text.size()};
    path = request_->path();
  }
  const std::chrono::duration<double, std::milli> took = Clock::now() - began_;
  const LogFields* const more = answer_ ? &answer_->log : nullptr;
  if (error.empty() && more != nullptr) error = more->error;
  const std::string_view client = request_ ? request_->client : std::string_view(client_);
  state_.log.request({{request_id_.data(), request_id_.size()}, client, method, path, status, took.count(), sent_, error, more});
}

void Connection::update_timer() {
  const auto next = deadlines_.earliest();
  // A timer that fires early finds nothing expired and is set again: moving a deadline back costs nothing, so a busy
  // connection does not touch its timer on every request.
  if (phase_ == Phase::closed || !next || (timer_armed_ && timer_at_ <= *next)) return;
  timer_armed_ = true;
  timer_at_ = *next;
  timer_.expires_at(timer_at_);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (error) return;
    self->timer_armed_ = false;
    self->on_timer();
    self->wait_for_next();
  });
}

void Connection::on_timer() {
  if (phase_ == Phase::closed) return;
  const auto expired = deadlines_.expired(Clock::now());
  if (!expired) return;
  switch (*expired) {
    case Deadlines::head: refuse({408, "timeout", "the request's head took too long"}); break;
    case Deadlines::body: refuse({408, "timeout", "the request's body took too long"}); break;
    case Deadlines::write:
    case Deadlines::total:
      log_request("timeout");
      close();
      break;
    case Deadlines::idle:
    case Deadlines::drain:
    case Deadlines::kinds: close(); break;
  }
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  phase_ = Phase::closed;
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
  answer_.reset();
  std::string().swap(input_);
  if (auto left = std::exchange(left_, nullptr)) left();
  if (on_close_) std::exchange(on_close_, nullptr)();
}

}  // namespace polygraph::http
