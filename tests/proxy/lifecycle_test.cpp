// Starting, serving many at once, observing, stopping.
#include <atomic>
#include <vector>

#include "tests/proxy/server_fixture.hpp"

namespace polygraph::http::testing {
namespace {

class Lifecycle : public ServerTest {};

TEST_F(Lifecycle, AnswersPipelinedRequestsInTheirOrder) {
  put("a", "first");
  put("b", std::string(700'000, 'b'));
  put("c", "third");
  start();
  auto connection = client();
  std::string requests;
  for (const char* target : {"/a", "/b", "/c", "/nothing", "/a"}) requests += std::string("GET ") + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
  connection.send(requests);
  EXPECT_EQ(connection.reply().value_or(Reply{}).body, "first");
  EXPECT_EQ(connection.reply().value_or(Reply{}).body.size(), 700'000U);
  EXPECT_EQ(connection.reply().value_or(Reply{}).body, "third");
  EXPECT_EQ(connection.reply().value_or(Reply{}).status, 404);
  EXPECT_EQ(connection.reply().value_or(Reply{}).body, "first");
}

TEST_F(Lifecycle, HoldsAThousandPipelinedRequestsToOneAnswerEach) {
  start();
  auto connection = client();
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  std::thread sender([&] { connection.send(requests); });
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(connection.reply().value_or(Reply{}).status, 200) << i;
  sender.join();
}

void serve_two_hundred(ServerTest&, std::uint16_t port, const std::string& content) {
  std::vector<Client> clients;
  for (int i = 0; i < 200; ++i) clients.emplace_back(port);
  for (auto& one : clients) one.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  for (auto& one : clients) {
    EXPECT_EQ(one.reply().value_or(Reply{}).body, content);
    EXPECT_EQ(one.reply().value_or(Reply{}).status, 200);
  }
}

TEST_F(Lifecycle, ServesTwoHundredConnectionsAtOnce) {
  const std::string content(600'000, 'z');
  put("large.bin", content);
  start();
  serve_two_hundred(*this, server_->port(), content);
}

TEST_F(Lifecycle, ServesTwoHundredConnectionsAtOnceOnTwoThreads) {
  const std::string content(600'000, 'z');
  put("large.bin", content);
  start({}, 2);
  serve_two_hundred(*this, server_->port(), content);
}

TEST_F(Lifecycle, StopEndsARunningDownloadAndClosesWhatIsIdle) {
  const std::string content(16'000'000, 'd');
  put("large.bin", content);
  start();
  auto idle = client();
  idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(idle.reply().value_or(Reply{}).status, 200);
  auto half = client();
  half.send("GET / HTTP/1.1\r\nHo");
  Client download(server_->port(), 4096);
  download.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
  std::string got = download.receive(1000);
  const auto port = server_->port();

  server_->stop();
  EXPECT_TRUE(idle.ends_within(3s));
  const auto refused = half.reply();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_NE(refused->body.find("shutting_down"), std::string::npos);
  got += download.rest();
  EXPECT_EQ(got.substr(got.find("\r\n\r\n") + 4), content);
  runner_.join();

  ServeOptions again;
  again.site = site_;
  again.port = port;
  again.log_descriptor = log_;
  EXPECT_TRUE(Server::start(again)) << "the port is free again at once";
}

TEST_F(Lifecycle, StopCutsWhatDoesNotEndInTime) {
  put("large.bin", std::string(32'000'000, 'd'));
  Settings settings;
  settings.limits.shutdown_timeout = 300ms;
  start(settings);
  Client stuck(server_->port(), 4096);
  stuck.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_FALSE(stuck.receive(100).empty());
  stop();
  EXPECT_LT(stuck.rest().size(), 32'000'000U);
}

TEST_F(Lifecycle, APortInUseIsNamedWithAFreeOne) {
  start();
  ServeOptions second;
  second.site = site_;
  second.port = server_->port();
  second.log_descriptor = log_;
  const auto started = Server::start(second);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::io);
  EXPECT_EQ(started.error().field, "port");
  const auto& message = started.error().message;
  EXPECT_NE(message.find("port " + std::to_string(second.port) + " on 127.0.0.1 is in use"), std::string::npos) << message;
  const auto offer = message.find("--port ");
  ASSERT_NE(offer, std::string::npos) << message;
  second.port = static_cast<std::uint16_t>(std::stoi(message.substr(offer + 7)));
  EXPECT_TRUE(Server::start(second));
}

TEST_F(Lifecycle, ASiteThatCanNotBeServedIsNamed) {
  for (const auto& folder : {folder_ / "nowhere", site_ / "index.html", std::filesystem::path("/")}) {
    ServeOptions options;
    options.site = folder;
    options.port = 0;
    const auto started = Server::start(options);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().field, "site");
    EXPECT_NE(started.error().message.find(folder.string()), std::string::npos);
  }
}

TEST_F(Lifecycle, ProbesAnswerOnBothPortsAndMetricsOnOneOnly) {
  start();
  get("/");
  get("/nothing");
  for (const auto port : {server_->port(), server_->metrics_port()}) {
    for (const char* target : {"/healthz", "/readyz"}) {
      Client probe(port);
      probe.send(std::string("GET ") + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
      EXPECT_EQ(probe.reply().value_or(Reply{}).status, 200) << target;
    }
  }
  EXPECT_EQ(get("/metrics").status, 404);
  auto open = client();
  open.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  open.reply();
  Client scraper(server_->metrics_port());
  scraper.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto metrics = scraper.reply();
  ASSERT_TRUE(metrics);
  EXPECT_NE(metrics->body.find("polygraph_requests_total{route=\"site\",status=\"200\"} 1\n"), std::string::npos) << metrics->body;
  EXPECT_NE(metrics->body.find("polygraph_requests_total{route=\"site\",status=\"404\"} 2\n"), std::string::npos) << metrics->body;
  EXPECT_NE(metrics->body.find("\npolygraph_connections "), std::string::npos);
}

TEST_F(Lifecycle, LogsOneJsonLineARequestWithoutItsQuery) {
  start();
  const auto id = get("/index.html?q=private", "", "GET").field("x-request-id");
  stop();
  server_.reset();
  const auto text = log_text();
  const auto at = text.find(id);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NE(text.find("\"event\":\"request\",\"request_id\":\"" + id +
                      "\",\"client\":\"127.0.0.1\",\"method\":\"GET\",\"path\":\"/index.html\",\"status\":200,\"ms\":"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("private"), std::string::npos);
}

}  // namespace
}  // namespace polygraph::http::testing
