// Each limit and deadline of the table by itself, with short settings.
#include <fstream>
#include <vector>

#include "tests/proxy/server_fixture.hpp"

namespace polygraph::http::testing {
namespace {

class HardLimits : public ServerTest {
 protected:
  static Settings with(void (*change)(Limits&)) {
    Settings settings;
    change(settings.limits);
    return settings;
  }
};

TEST_F(HardLimits, CloseAnIdleConnectionWithoutAnAnswer) {
  start(with([](Limits& limits) { limits.idle_timeout = 200ms; }));
  auto fresh = client();
  EXPECT_TRUE(fresh.ends_within(3s));
  auto used = client();
  used.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(used.reply().value_or(Reply{}).status, 200);
  EXPECT_TRUE(used.ends_within(3s));
}

TEST_F(HardLimits, GiveARequestBegunLateInTheIdleTimeItsFullTime) {
  start(with([](Limits& limits) { limits.idle_timeout = 600ms; }));
  auto connection = client();
  std::this_thread::sleep_for(400ms);
  connection.send("GET / HTTP/1.1\r\n");
  std::this_thread::sleep_for(500ms);
  connection.send("Host: a\r\n\r\n");
  EXPECT_EQ(connection.reply().value_or(Reply{}).status, 200);
}

TEST_F(HardLimits, AnswerAHeadThatTakesTooLongEvenWhileItTrickles) {
  start(with([](Limits& limits) { limits.header_timeout = 300ms; }));
  auto connection = client();
  connection.send("GET / HTTP/1.1\r\nHost: a\r\nX: ");
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(50ms);
    connection.send("y");
  }
  const auto reply = connection.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 408);
  EXPECT_NE(reply->body.find("\"timeout\""), std::string::npos);
}

TEST_F(HardLimits, AnswerABodyThatTakesTooLong) {
  start(with([](Limits& limits) { limits.body_timeout = 200ms; }));
  auto connection = client();
  connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(connection.reply().value_or(Reply{}).status, 408);
  EXPECT_EQ(connection.rest(), "");
}

TEST_F(HardLimits, LeaveABodyThatIsTooLargeUnread) {
  start(with([](Limits& limits) { limits.max_body_bytes = 10; }));
  auto connection = client();
  connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(connection.reply().value_or(Reply{}).status, 413) << "not 100, and without waiting for the body";
}

TEST_F(HardLimits, AskForABodyThatFits) {
  start();
  auto connection = client();
  connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(connection.reply().value_or(Reply{}).status, 100);
  connection.send("ab");
  EXPECT_EQ(connection.reply().value_or(Reply{}).status, 405);
}

TEST_F(HardLimits, CutAClientThatTakesNothing) {
  put("large.bin", std::string(32'000'000, 'm'));
  start(with([](Limits& limits) { limits.write_timeout = 300ms; }));
  Client reader(server_->port(), 4096);
  reader.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_FALSE(reader.receive(100).empty());
  for (int i = 0; i < 100 && server_->connections() > 0; ++i) std::this_thread::sleep_for(50ms);
  EXPECT_EQ(server_->connections(), 0);
  EXPECT_LT(reader.rest().size(), 32'000'000U);
  stop();
  server_.reset();  // writes the log's rest
  EXPECT_NE(log_text().find("\"error\":\"timeout\""), std::string::npos);
}

TEST_F(HardLimits, CutAnAnswerThatIsTakenTooSlowlyAsAWhole) {
  put("large.bin", std::string(32'000'000, 'm'));
  start(with([](Limits& limits) { limits.total_timeout = 500ms; }));
  Client reader(server_->port(), 4096);
  reader.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
  std::size_t got = 0;
  for (auto part = reader.receive(4096); !part.empty(); part = reader.receive(4096)) {
    got += part.size();
    std::this_thread::sleep_for(1ms);
    ASSERT_LT(got, 32'000'000U) << "the whole file came";
  }
}

TEST_F(HardLimits, LetASlowReaderThatMakesProgressHaveAllOfALargeFile) {
  std::string content(3'000'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 2654435761U >> 13);
  put("large.bin", content);
  start(with([](Limits& limits) { limits.write_timeout = 1000ms; }));
  Client reader(server_->port(), 4096);
  reader.send("GET /large.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  std::string all;
  for (auto part = reader.receive(100'000); !part.empty(); part = reader.receive(100'000)) {
    all += part;
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_EQ(all.substr(all.find("\r\n\r\n") + 4), content);
}

TEST_F(HardLimits, RefuseAConnectionTooManyAtOnceAndRecover) {
  start(with([](Limits& limits) { limits.max_connections = 3; }));
  {
    std::vector<Client> taken;
    for (int i = 0; i < 3; ++i) {
      taken.push_back(client());
      taken.back().send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
      EXPECT_EQ(taken.back().reply().value_or(Reply{}).status, 200);
    }
    auto refused = client();
    const auto reply = refused.reply();  // nothing was sent
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 503);
    EXPECT_EQ(reply->field("retry-after"), "1");
    EXPECT_NE(reply->body.find("\"code\":\"too_many_connections\""), std::string::npos);
    EXPECT_NE(reply->body.find("\"retry_after\":1"), std::string::npos);
    EXPECT_EQ(refused.rest(), "");
    Client metrics(server_->metrics_port());
    metrics.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(metrics.reply().value_or(Reply{}).status, 200) << "the metrics port has room of its own";
  }
  for (int i = 0; i < 100 && server_->connections() > 0; ++i) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(get("/").status, 200);
}

}  // namespace
}  // namespace polygraph::http::testing
