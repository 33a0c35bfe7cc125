// The server as a process: one line on stdout once it answers, SIGTERM, the exit code.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

struct Process {
  pid_t pid = -1;
  int out = -1;
};

Process run(const std::string& site, const std::string& port) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(0, ::pipe(pipe.data()));
  const auto pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe[1], 1);
    ::close(pipe[0]);
    ::close(pipe[1]);
    ::execl(SERVE_PROGRAM, SERVE_PROGRAM, site.c_str(), port.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(pipe[1]);
  return {pid, pipe[0]};
}

std::string line_of(int descriptor) {
  std::string line;
  for (char c = 0; ::read(descriptor, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

int exit_code(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class ServeProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    site_ = std::filesystem::temp_directory_path() / ("polygraph-serve-" + std::to_string(::getpid()));
    std::filesystem::create_directories(site_);
    std::ofstream(site_ / "index.html") << "x";
  }
  void TearDown() override { std::filesystem::remove_all(site_); }
  std::filesystem::path site_;
};

class StopSignal : public ServeProcess, public ::testing::WithParamInterface<int> {};

TEST_P(StopSignal, FollowsALineThatSaysWhereItListensAndLeavesWithZero) {
  const auto process = run(site_, "0");
  const auto line = nlohmann::json::parse(line_of(process.out), nullptr, false);
  ASSERT_FALSE(line.is_discarded());
  EXPECT_EQ(line["pid"], process.pid);
  EXPECT_EQ(line["listening"].get<std::string>().rfind("http://127.0.0.1:", 0), 0U);
  EXPECT_EQ(line["metrics"].get<std::string>().rfind("http://127.0.0.1:", 0), 0U);
  EXPECT_NE(line["metrics"], line["listening"]);
  ::kill(process.pid, GetParam());
  EXPECT_EQ(exit_code(process.pid), 0);
  EXPECT_EQ(line_of(process.out), "") << "nothing follows the line";
  ::close(process.out);
}
INSTANTIATE_TEST_SUITE_P(Signals, StopSignal, ::testing::Values(SIGTERM, SIGINT));

TEST_F(ServeProcess, FailsWithoutALineWhenTheSiteIsNone) {
  const auto process = run(site_ / "nowhere", "0");
  EXPECT_EQ(line_of(process.out), "");
  EXPECT_EQ(exit_code(process.pid), 3);
  ::close(process.out);
}

}  // namespace
