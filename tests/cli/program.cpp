#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace polygraph::cli::test {
namespace {

constexpr std::chrono::milliseconds poll_interval{20};

/// Replaces descriptor `number` with `file`. In the child only: leaves with 126 where it can't be opened.
void redirect(int number, const std::filesystem::path& file, int flags) {
  const int opened = ::open(file.c_str(), flags, 0600);
  if (opened < 0 || ::dup2(opened, number) < 0) ::_exit(126);
  if (opened != number) ::close(opened);
}

}  // namespace

ProgramTest::ProgramTest() {
  std::string pattern = (std::filesystem::temp_directory_path() / "polygraph cli XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = std::filesystem::canonical(pattern);
}

ProgramTest::~ProgramTest() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::unique_ptr<Running> ProgramTest::start(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
  const auto number = std::to_string(++calls_);
  const auto io = folder_ / "io";
  std::filesystem::create_directories(io);
  const auto out = io / ("out" + number), err = io / ("err" + number);
  auto in = surroundings.stdin_path;
  if (in.empty()) {
    in = io / ("in" + number);
    std::ofstream(in, std::ios::binary) << surroundings.input;
  }
  auto environment = surroundings.environment;
  environment.emplace("HOME", folder_.string());
  environment.emplace("POLYGRAPH_DIR", (folder_ / "home").string());
  for (const char* kept : {"PATH", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(kept)) environment.emplace(kept, value);
  }
  std::vector<std::string> pairs;
  for (const auto& [name, value] : environment) pairs.push_back(name + "=" + value);
  std::vector<std::string> words{POLYGRAPH_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto pointers = [](std::vector<std::string>& strings) {
    std::vector<char*> all;
    for (auto& string : strings) all.push_back(string.data());
    all.push_back(nullptr);
    return all;
  };
  const auto argv = pointers(words), envp = pointers(pairs);

  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("no process");
  if (pid == 0) {
    if (::chdir(folder_.c_str()) != 0) ::_exit(126);
    redirect(STDIN_FILENO, in, O_RDONLY);
    redirect(STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC);
    if (surroundings.stdout_kind == Surroundings::Stdout::closed) {
      ::close(STDOUT_FILENO);
    } else if (surroundings.stdout_kind == Surroundings::Stdout::pipe_without_reader) {
      std::array<int, 2> ends{};
      if (::pipe(ends.data()) != 0 || ::dup2(ends[1], STDOUT_FILENO) < 0) ::_exit(126);
      ::close(ends[0]);
      ::close(ends[1]);
    } else {
      redirect(STDOUT_FILENO, surroundings.stdout_path.empty() ? out : surroundings.stdout_path, O_WRONLY | O_CREAT | O_TRUNC);
    }
    if (surroundings.max_file_bytes != 0) {
      const rlimit limit{surroundings.max_file_bytes, surroundings.max_file_bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      ::signal(SIGXFSZ, SIG_IGN);  // so that writing fails, as on a full disk
    }
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  return std::make_unique<Running>(pid, out, err);
}

Outcome ProgramTest::run(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
  return start(arguments, surroundings)->wait();
}

std::filesystem::path ProgramTest::write(const std::filesystem::path& name, std::string_view content) const {
  const auto file = folder_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  return file;
}

std::string ProgramTest::handbook() {
  write("hand book/moorings.md",
        "---\ntitle: Moorings\n---\n# Moorings\n\nMoor the ferry with two bow lines and two stern lines. Check every line before the night.\n\n"
        "## Storm lines\n\nAbove force 8, double the stern lines and set `storm_mode: true` in `moorings.yml`.\n");
  write("hand book/night watch.md",
        "# Night watch\n\nThe watch walks the deck every hour and writes the time into the log.\n\n"
        "## Lights\n\nStart the deck lights with `ferryctl lights --night`. A red lamp means that the harbour is closed.\n");
  write("hand book/galley/soup.md", "# Soup\n\nThe galley serves fish soup at noon. Soup is kept at 65 degrees.\n");
  return (folder_ / "hand book").string();
}

std::string ProgramTest::lexical_index() {
  const auto file = (folder_ / "handbook.polygraph").string();
  if (!std::filesystem::exists(file)) {
    const auto built = run({"index", "--lexical", "--corpus", "dir:" + handbook(), "--out", file});
    EXPECT_EQ(built.status, 0) << built.err;
  }
  return file;
}

Running::~Running() {
  if (!ended()) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
  }
}

bool Running::ended() {
  if (!reaped_) reaped_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return reaped_;
}

std::string Running::out() const { return read(out_); }
std::string Running::err() const { return read(err_); }

bool Running::wait_for_lines(std::size_t count, bool on_stderr, std::chrono::seconds limit) {
  for (const auto end = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < end;) {
    const bool last_look = ended();
    if (lines(on_stderr ? err() : out()).size() >= count) return true;
    if (last_look) return false;
    std::this_thread::sleep_for(poll_interval);
  }
  return false;
}

void Running::signal(int number) const { ::kill(pid_, number); }

Outcome Running::wait() {
  if (!reaped_) ::waitpid(pid_, &status_, 0);
  reaped_ = true;
  return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_), out(), err()};
}

std::string read(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

nlohmann::json one_json(const std::string& text) {
  auto value = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(value.is_discarded()) << "not one JSON value: " << text;
  EXPECT_TRUE(text.ends_with('\n'));
  return value;
}

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> values;
  for (const auto& line : lines(text)) values.push_back(one_json(line + "\n"));
  return values;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!stream.eof() || !line.empty()) all.push_back(line);
  }
  return all;
}

}  // namespace polygraph::cli::test
