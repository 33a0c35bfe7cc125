#include "proxy/upstream/connect_any.hpp"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>

namespace polygraph::proxy {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

tcp::endpoint at(const char* address, unsigned short port = 1) { return {net::ip::make_address(address), port}; }

/// A listener that accepts nobody.
class Listener {
 public:
  Listener(net::io_context& io, const char* address, int backlog) : acceptor_(io, tcp::v4()) {
    acceptor_.bind(at(address, 0));
    acceptor_.listen(backlog);
  }
  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

  /// Fills the queue of connections that nobody accepted, until the kernel drops what else knocks, as a firewall would.
  void swallow(net::io_context& io) {
    for (int i = 0; i < 8; ++i) {
      queued_.emplace_back(io, tcp::v4());
      queued_.back().non_blocking(true);
      const auto to = endpoint();  // Asio's own connect would wait for an answer
      ::connect(queued_.back().native_handle(), to.data(), static_cast<socklen_t>(to.size()));
    }
  }

 private:
  tcp::acceptor acceptor_;
  std::vector<tcp::socket> queued_;
};

struct Outcome {
  error_code error;
  std::optional<tcp::endpoint> to;
};

std::optional<Outcome> connect(net::io_context& io, const std::vector<tcp::endpoint>& addresses, std::chrono::seconds at_most) {
  std::optional<Outcome> outcome;
  const auto connecting = connect_any(io.get_executor(), addresses, [&](error_code error, tcp::socket socket) {
    EXPECT_FALSE(outcome) << "done is called once";
    outcome = Outcome{error, {}};
    if (!error) outcome->to = socket.remote_endpoint();
  });
  EXPECT_FALSE(outcome) << "never inside the call";
  io.run_for(at_most);
  if (!outcome) connecting->cancel();
  return outcome;
}

TEST(AlternateFamilies, TakeTurnsInTheResolversOrder) {
  EXPECT_EQ(alternate_families({at("::1"), at("::2"), at("::3"), at("127.0.0.1")}),
            (std::vector{at("::1"), at("127.0.0.1"), at("::2"), at("::3")}));
  EXPECT_EQ(alternate_families({at("127.0.0.1"), at("127.0.0.2"), at("::1")}), (std::vector{at("127.0.0.1"), at("::1"), at("127.0.0.2")}));
  EXPECT_TRUE(alternate_families({}).empty());
}

TEST(ConnectAny, AnAddressThatSwallowsPacketsCostsAMoment) {
  net::io_context io;
  Listener silent(io, "127.0.0.2", 0), answering(io, "127.0.0.1", 8);
  silent.swallow(io);
  ASSERT_FALSE(connect(io, {silent.endpoint()}, std::chrono::seconds(1))) << "the silent address answers: the test shows nothing";
  io.restart();
  const auto outcome = connect(io, {silent.endpoint(), silent.endpoint(), answering.endpoint()}, std::chrono::seconds(20));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error, error_code());
  EXPECT_EQ(outcome->to, answering.endpoint());
}

TEST(ConnectAny, ARefusalIsFollowedAtOnceByTheNext) {
  net::io_context io;
  tcp::endpoint closed;
  { closed = Listener(io, "127.0.0.1", 1).endpoint(); }
  Listener answering(io, "127.0.0.1", 8);
  const auto outcome = connect(io, {closed, answering.endpoint()}, std::chrono::seconds(20));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->to, answering.endpoint());
}

TEST(ConnectAny, AllThatFailGiveTheFirstError) {
  net::io_context io;
  tcp::endpoint closed;
  { closed = Listener(io, "127.0.0.1", 1).endpoint(); }
  const auto outcome = connect(io, {closed, closed, closed}, std::chrono::seconds(20));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error, net::error::connection_refused);
  io.restart();
  const auto none = connect(io, {}, std::chrono::seconds(20));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->error, net::error::not_found);
}

TEST(ConnectAny, CancelledItSaysNothing) {
  net::io_context io;
  Listener answering(io, "127.0.0.1", 8);
  bool called = false;
  const auto connecting = connect_any(io.get_executor(), {answering.endpoint()}, [&](error_code, tcp::socket) { called = true; });
  connecting->cancel();
  io.run();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace polygraph::proxy
