// `serve`: what it says before, while and after it listens. Its HTTP is tested in tests/proxy.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cli/program.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A port of 127.0.0.1 that is in use for as long as this lives.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    number_ = std::to_string(ntohs(address.sin_port));
  }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  ~TakenPort() { ::close(socket_); }
  const std::string& number() const { return number_; }

 private:
  int socket_;
  std::string number_;
};

class Serve : public ProgramTest {
 protected:
  std::string site() { return write("my site/index.html", "<!doctype html><title>Ferry</title>").parent_path().string(); }
};

TEST_F(Serve, WritesOneJsonLineOnceItAnswersAndEndsCleanlyOnASignal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    auto server = start({"serve", "--site", site(), "--port", "0"});
    ASSERT_TRUE(server->wait_for_lines(1, false)) << server->err();
    server->signal(signal);
    const auto ended = server->wait();
    EXPECT_EQ(ended.status, 0);
    const auto line = one_json(ended.out);
    EXPECT_THAT(line["listening"].get<std::string>(), ContainsRegex("^http://127\\.0\\.0\\.1:[0-9]+$"));
    EXPECT_TRUE(line["pid"].is_number_integer());
  }
}

TEST_F(Serve, AnnouncesItselfToAPersonInsteadWhenAsked) {
  auto server = start({"serve", "--site", site(), "--port", "0", "--announce"});
  ASSERT_TRUE(server->wait_for_lines(1, true)) << server->out();
  server->signal(SIGTERM);
  const auto ended = server->wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, ContainsRegex("Polygraph answers at http://127\\.0\\.0\\.1:[0-9]+/ — Ctrl-C stops it\n"));
  EXPECT_THAT(ended.out, IsEmpty());
}

TEST_F(Serve, APortInUseIsNamedAndAnotherOffered) {
  const TakenPort port;
  const auto refused = run({"serve", "--site", site(), "--port", port.number(), "--announce"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, HasSubstr("port " + port.number() + " on 127.0.0.1 is in use"));
  EXPECT_THAT(refused.err, ContainsRegex("[0-9]+ is free: --port [0-9]+"));
}

TEST_F(Serve, CheckingTheConfigurationTakesNoPort) {
  const TakenPort port;
  const auto checked = run({"serve", "--site", site(), "--port", port.number(), "--index", lexical_index(), "--check-config"});
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.out, IsEmpty());
}

TEST_F(Serve, CheckingTheConfigurationFindsWhatWouldStopTheServer) {
  const auto broken = write("broken.polygraph", "no index").string();
  struct Case {
    int status;
    std::string words;
    std::vector<std::string> arguments;
  };
  for (const auto& [status, words, arguments] :
       {Case{3, (folder() / "nowhere").string(), {"--site", (folder() / "nowhere").string()}}, Case{3, "broken.polygraph", {"--site", site(), "--index", broken}},
        Case{3, "no.such.host.invalid", {"--site", site(), "--host", "no.such.host.invalid"}}, Case{2, "NONSENSE", {"--site", site(), "--set", "NONSENSE=1"}},
        Case{2, "MAX_CONNECTIONS", {"--site", site(), "--set", "MAX_CONNECTIONS=few"}}, Case{2, "--port", {"--site", site(), "--port", "70000"}},
        Case{2, "--threads", {"--site", site(), "--threads", "0"}}}) {
    for (const bool check : {true, false}) {
      auto call = arguments;
      call.insert(call.begin(), "serve");
      if (check) call.push_back("--check-config");
      const auto refused = run(call);
      EXPECT_EQ(refused.status, status) << words << ": " << refused.err;
      EXPECT_THAT(refused.err, HasSubstr(words));
      EXPECT_THAT(refused.out, IsEmpty());
    }
  }
}

}  // namespace
}  // namespace polygraph::cli::test
