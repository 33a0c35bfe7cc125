// One client's connection: reads requests one after the other, checks them, hands them to the router, writes the answers,
// and keeps every limit and deadline of the table. All of it runs on the connection's own strand.
//
// While idle it holds no buffer: it waits for the socket to become readable and reads into memory that all connections
// of a thread share. Bytes are kept only for a request that is not complete or that waits for the answer before it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>

#include "proxy/http/answer.hpp"
#include "proxy/http/client_address.hpp"
#include "proxy/http/deadlines.hpp"
#include "proxy/http/head_scanner.hpp"
#include "proxy/http/limits.hpp"
#include "proxy/http/log.hpp"
#include "proxy/http/metrics.hpp"
#include "proxy/http/request.hpp"
#include "proxy/http/router.hpp"
#include "proxy/http/settings.hpp"

namespace polygraph::http {

namespace net = boost::asio;

/// What the connections of a server share. Outlives them all.
struct ServerState {
  ServerState(const Settings& settings, std::string given_security_fields, int log_descriptor);

  const Limits limits;
  const std::string security_fields;
  const TrustedProxies trusted;
  const std::vector<std::string> allowed_origins;
  Log log;
  Metrics metrics;
  std::atomic<bool> stopping{false};

  /// 16 hex digits, unlike every other of this process and, with high probability, of every other process.
  std::array<char, 16> next_request_id() noexcept;

 private:
  std::atomic<std::uint64_t> next_id_;
};

class Connection final : public AnswerTaker, public std::enable_shared_from_this<Connection> {
 public:
  using Strand = net::strand<net::io_context::executor_type>;
  using Socket = net::basic_stream_socket<net::ip::tcp, Strand>;

  /// `on_close` is called once, on the strand, when the socket is closed.
  Connection(ServerState& state, const Router& router, Socket socket, std::string client, std::function<void()> on_close);

  /// Serves until the client leaves, a limit is passed or the server stops.
  void start();
  /// Answers `refusal` without reading anything, and closes.
  void start_refusing(Refusal refusal);
  /// Any thread. An idle connection closes, an unfinished request gets 503, a running answer ends and then closes.
  void stop();
  /// Any thread. Closes now.
  void cut();

  void take(Answer answer) override;
  void when_gone(std::function<void()> left) override;

 private:
  enum class Phase : std::uint8_t { idle, head, body, handling, answering, draining, closed };
  enum class Sent : std::uint8_t { all, waiting, failed };

  void wait_for_next();
  void on_readable();
  void wait_writable();
  void on_writable();
  void on_timer();
  void update_timer();

  void read_requests(std::string_view data);
  std::size_t consume(std::string_view data);
  bool parse(std::string_view head);
  void ask_for_body();
  void dispatch();
  void answer(Answer answer);
  void refuse(const Refusal& refusal, std::optional<unsigned> retry_after = std::nullopt);
  Sent send();
  Sent send_available();
  void finish_answer();
  void add_cross_origin_fields();
  void take_from_stream(BodyStream& stream);
  void watch_for_leaving();
  void drain();
  void log_request(std::string_view error);
  void close();

  ServerState& state_;
  const Router& router_;
  Socket socket_;
  net::basic_waitable_timer<Clock, net::wait_traits<Clock>, Strand> timer_;
  std::function<void()> on_close_;
  std::string client_;
  Phase phase_ = Phase::idle;
  bool inside_handler_ = false;
  bool keep_alive_ = false;
  bool waiting_readable_ = false;
  bool timer_armed_ = false;
  Route route_ = Route::refused;
  Clock::time_point timer_at_;
  Deadlines deadlines_;

  HeadScanner scanner_;
  std::string input_;  // read, not yet used
  std::array<char, 16> request_id_{};
  Clock::time_point began_;
  std::unique_ptr<Request> request_;

  std::optional<Answer> answer_;
  std::string head_;             // of the answer, as it goes out
  bool send_body_ = false;       // false for HEAD and 304
  bool chunked_ = false;         // of a streamed body
  bool stream_ended_ = false;
  bool watching_ = false;        // for the client to leave while it waits
  std::function<void()> left_;
  std::uint64_t sent_ = 0;       // of head and body together
  std::uint64_t drained_ = 0;
};

}  // namespace polygraph::http
