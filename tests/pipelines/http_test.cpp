// Pipelines behind HTTP, over real sockets and TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "certificates.hpp"
#include "cli/pipelines/pipeline.hpp"

namespace polygraph::pipelines {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;
using net::ip::tcp;
using ::testing::HasSubstr;

std::string ok(const std::string& body, const std::string& fields = "") {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Answers each request with what `answer` makes of its target and body; an empty answer means none, and the connection stays.
class Server {
 public:
  using Answer = std::function<std::string(const std::string& target, const std::string& body)>;

  explicit Server(Answer answer, const proxy::testing::Certificates* certificates = nullptr)
      : answer_(std::move(answer)), acceptor_(context_, tcp::endpoint(net::ip::address_v4::loopback(), 0)) {
    if (certificates) {
      tls_.emplace(net::ssl::context::tls_server);
      tls_->use_certificate_chain(net::buffer(certificates->certificate));
      tls_->use_private_key(net::buffer(certificates->key), net::ssl::context::pem);
    }
    accepting_ = std::thread([this] { accept(); });
  }
  ~Server() {
    ending_ = true;
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    accepting_.join();
    {
      const std::lock_guard lock(mutex_);
      for (auto& socket : sockets_) ::shutdown(socket.native_handle(), SHUT_RDWR);
    }
    threads_.clear();
  }

  std::string url(const std::string& path = "") const {
    return std::string(tls_ ? "https" : "http") + "://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + path;
  }
  std::size_t connections() const { return connections_; }
  bool closes_after_each = false;

 private:
  void accept() {
    for (;;) {
      tcp::socket socket(context_);
      error_code error;
      acceptor_.accept(socket, error);
      if (ending_ || error) return;
      ++connections_;
      const std::lock_guard lock(mutex_);
      sockets_.push_back(std::move(socket));
      threads_.emplace_back([this, &kept = sockets_.back()] { talk(kept); });
    }
  }

  void talk(tcp::socket& socket) {
    error_code error;
    if (!tls_) {
      serve(socket);
    } else {
      net::ssl::stream<tcp::socket&> stream(socket, *tls_);
      stream.handshake(net::ssl::stream_base::server, error);
      if (!error) serve(stream);
    }
    ::shutdown(socket.native_handle(), SHUT_RDWR);
  }

  template <class Stream>
  void serve(Stream& stream) {
    std::string received;
    error_code error;
    for (;;) {
      const auto head = net::read_until(stream, net::dynamic_buffer(received), "\r\n\r\n", error);
      if (error) return;
      const auto target = received.substr(5, received.find(' ', 5) - 5);
      const auto length_at = received.find("Content-Length: ") + 16;
      const auto length = std::stoul(received.substr(length_at, received.find('\r', length_at) - length_at));
      if (received.size() < head + length) net::read(stream, net::dynamic_buffer(received), net::transfer_exactly(head + length - received.size()), error);
      if (error) return;
      const std::string body = received.substr(head, length);
      received.erase(0, head + length);
      const std::string reply = answer_(target, body);
      net::write(stream, net::buffer(reply), error);
      if (error || closes_after_each) return;
    }
  }

  Answer answer_;
  net::io_context context_;
  tcp::acceptor acceptor_;
  std::optional<net::ssl::context> tls_;
  std::atomic<bool> ending_{false};
  std::atomic<std::size_t> connections_{0};
  std::mutex mutex_;
  std::list<tcp::socket> sockets_;
  std::vector<std::jthread> threads_;
  std::thread accepting_;
};

std::unique_ptr<Pipeline> opened(const std::string& url, const Options& options = {}) {
  auto pipeline = open(url, options);
  EXPECT_TRUE(pipeline) << pipeline.error().message;
  return pipeline ? std::move(*pipeline) : nullptr;
}

Failed failure(const std::string& answer, const Options& options = {}) {
  const Server server([&](const auto&, const auto&) { return answer; });
  auto outcome = opened(server.url(), options)->retrieve("q", 5);
  EXPECT_FALSE(outcome) << answer.substr(0, 200);
  return outcome ? Failed{} : outcome.error();
}

TEST(HttpPipeline, PostsTheProtocolsBodies) {
  std::vector<std::pair<std::string, std::string>> requests;
  const Server server([&](const auto& target, const auto& body) {
    requests.emplace_back(target, body);
    return ok(target == "/rag/v1/retrieve" ? R"({"chunks":[{"id":"a","text":"t"}]})" : R"({"answer":"yes","refused":false})");
  });
  auto pipeline = opened(server.url("/rag/v1/"));
  EXPECT_EQ(pipeline->name(), server.url("/rag/v1"));
  const auto retrieved = pipeline->retrieve("what?", 3);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  EXPECT_EQ(retrieved->chunks, (std::vector<Chunk>{{"a", "t", std::nullopt, ""}}));
  const auto generated = pipeline->generate("what?", retrieved->chunks);
  ASSERT_TRUE(generated) << generated.error().message;
  EXPECT_EQ(generated->answer, "yes");
  EXPECT_EQ(generated->refused, false);
  EXPECT_EQ(requests, (std::vector<std::pair<std::string, std::string>>{
                          {"/rag/v1/retrieve", R"({"op":"retrieve","query":"what?","k":3,"id":1})"},
                          {"/rag/v1/generate", R"({"op":"generate","query":"what?","chunks":[{"id":"a","text":"t","score":null,"metadata":null}],"id":2})"}}));
  EXPECT_EQ(server.connections(), 1U) << "the connection is kept";
}

TEST(HttpPipeline, TakesABareStringForAnAnswer) {
  const Server server([](const auto&, const auto&) { return ok("\"just words\""); });
  EXPECT_EQ(opened(server.url())->generate("q", {})->answer, "just words");
}

TEST(HttpPipeline, ConnectsAgainWhereAKeptConnectionWasClosed) {
  Server server([](const auto&, const auto&) { return ok(R"({"chunks":[]})"); });
  server.closes_after_each = true;
  auto pipeline = opened(server.url());
  for (int i = 0; i < 20; ++i) {
    const auto retrieved = pipeline->retrieve("q", 5);
    ASSERT_TRUE(retrieved) << i << ": " << retrieved.error().message;
  }
  EXPECT_EQ(server.connections(), 20U);
}

TEST(HttpPipeline, SaysWhichStatusCame) {
  const auto unavailable = failure("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 11\r\n\r\nout to eat\n");
  EXPECT_EQ(unavailable.type, "HttpStatus");
  EXPECT_THAT(unavailable.message, HasSubstr("/retrieve answered with status 503: out to eat"));
  const std::string body = R"({"error":{"type":"KeyError","message":"'q'"}})";
  const auto own = failure("HTTP/1.1 500 Internal Server Error\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(own.type, "KeyError");
  EXPECT_THAT(own.message, HasSubstr("status 500: 'q'"));
}

TEST(HttpPipeline, FollowsNoRedirect) {
  const Server elsewhere([](const auto&, const auto&) { return ok(R"({"chunks":[]})"); });
  const auto redirected = failure("HTTP/1.1 307 Temporary Redirect\r\nLocation: " + elsewhere.url("/retrieve") + "\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(redirected.type, "HttpStatus");
  EXPECT_THAT(redirected.message, HasSubstr("a redirect to " + elsewhere.url("/retrieve") + ", which is not followed"));
  EXPECT_EQ(elsewhere.connections(), 0U);
}

TEST(HttpPipeline, SaysWhatIsWrongWithABody) {
  EXPECT_EQ(failure(ok("<html>")).type, "BadJson");
  EXPECT_THAT(failure(ok(R"({"chunks":[{"id":"a"}]})")).message, HasSubstr("chunks[0].text is missing"));
  EXPECT_THAT(failure(ok("[]")).message, HasSubstr("the reply: expected an object {id, chunks}, got an array ([])"));
  EXPECT_THAT(failure(ok(std::string(100'000, '['))).message, HasSubstr("deeper than 64"));
  EXPECT_EQ(failure(ok(std::string(200'000, ' ')), {.max_reply_bytes = 100'000}).type, "TooLarge");
  EXPECT_EQ(failure("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n" + std::string(200'000, ' ') + "\r\n0\r\n\r\n", {.max_reply_bytes = 100'000}).type, "TooLarge");
  EXPECT_EQ(failure("junk\r\n\r\n").type, "ConnectionFailed");
}

TEST(HttpPipeline, GivesUpAServerThatNeverReplies) {
  const auto silent = failure("", {.call_limit = 300ms});
  EXPECT_EQ(silent.type, "Timeout");
  EXPECT_EQ(silent.message, "no reply within 0.3 s");
  EXPECT_EQ(failure("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it", {.call_limit = 300ms}).type, "Timeout");
}

TEST(HttpPipeline, StopsCallsUnderWay) {
  std::atomic<int> asked{0};
  const Server server([&](const auto&, const auto&) {
    ++asked;
    asked.notify_all();
    return std::string();
  });
  auto pipeline = opened(server.url(), {.concurrency = 2});
  std::vector<std::string> types(3);
  {
    std::vector<std::jthread> threads;
    for (auto& type : types) {
      threads.emplace_back([&] {
        const auto outcome = pipeline->retrieve("q", 5);
        type = outcome ? "a reply" : outcome.error().type;
      });
    }
    while (asked < 2) asked.wait(asked);
    pipeline->stop();
  }
  EXPECT_EQ(types, (std::vector<std::string>{"Stopped", "Stopped", "Stopped"}));
  EXPECT_EQ(pipeline->retrieve("q", 5).error().type, "Stopped");
}

TEST(HttpPipeline, ReportsAReplyThatWasCut) {
  Server server([](const auto&, const auto&) { return std::string("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it"); });
  server.closes_after_each = true;
  const auto cut = opened(server.url())->retrieve("q", 5);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().type, "ConnectionFailed");
}

TEST(HttpPipeline, ReportsAServerThatIsNotThere) {
  std::string url;
  {
    const Server server([](const auto&, const auto&) { return std::string(); });
    url = server.url();
  }
  auto pipeline = opened(url);
  const auto outcome = pipeline->retrieve("q", 5);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().type, "ConnectionFailed");
  EXPECT_THAT(outcome.error().message, HasSubstr("no connection to 127.0.0.1"));
}

class HttpsPipeline : public ::testing::Test {
 protected:
  /// Asks a server with such a certificate, and knows the CA of `known`.
  Outcome<Retrieved> ask(const proxy::testing::Certificates& of_server, const proxy::testing::Certificates& known) {
    const auto file = std::filesystem::temp_directory_path() / ("polygraph ca " + std::to_string(::getpid()));
    std::ofstream(file) << known.ca;
    const Server server([](const auto&, const auto&) { return ok(R"({"chunks":[{"id":"a","text":"t"}]})"); }, &of_server);
    auto outcome = opened(server.url(), {.ca_file = file.string()})->retrieve("q", 5);
    std::filesystem::remove(file);
    return outcome;
  }
};

TEST_F(HttpsPipeline, VerifiesTheServer) {
  using proxy::testing::CertificateKind;
  const auto good = make_certificates(CertificateKind::good);
  const auto retrieved = ask(good, good);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  EXPECT_EQ(retrieved->chunks.size(), 1U);
  for (const auto kind : {CertificateKind::expired, CertificateKind::other_host, CertificateKind::unknown_ca}) {
    const auto wrong = make_certificates(kind);
    const auto refused = ask(wrong, wrong);
    ASSERT_FALSE(refused) << static_cast<int>(kind);
    EXPECT_EQ(refused.error().type, "ConnectionFailed");
    EXPECT_THAT(refused.error().message, HasSubstr("was refused"));
  }
}

TEST(HttpPipeline, RefusesWhatIsNoUrl) {
  for (const char* const wrong : {"http://", "http://user:secret@host/", "http://host:0/", "http://host:99999/", "http://host:x/", "http://host/a b",
                                  "http://host/?key=secret", "http://[::1/", "https://:80/"}) {
    const auto none = open(wrong, {});
    ASSERT_FALSE(none) << wrong;
    EXPECT_EQ(none.error().code, ErrorCode::invalid_argument) << wrong;
    EXPECT_THAT(none.error().message, ::testing::Not(HasSubstr("secret"))) << wrong;
  }
}

}  // namespace
}  // namespace polygraph::pipelines
