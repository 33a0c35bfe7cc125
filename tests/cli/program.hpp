// Runs the real program as a child, in a folder of the test's own whose path holds a space.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace polygraph::cli::test {

struct Outcome {
  int status = -1;  ///< 128 + the signal's number where one ended it
  std::string out, err;
};

/// What a call gets beside its arguments.
struct Surroundings {
  std::string input = {};                               ///< on stdin
  std::map<std::string, std::string> environment = {};  ///< beside PATH, HOME and POLYGRAPH_DIR
  std::filesystem::path stdin_path = {};                ///< instead of `input`
  std::filesystem::path stdout_path = {};               ///< a device, say; `Outcome::out` is empty then
  enum class Stdout { file, closed, pipe_without_reader } stdout_kind = Stdout::file;
  std::size_t max_file_bytes = 0;                       ///< how large a file the program may write; 0: any
};

/// A running program. Killed and reaped at the end of its scope.
class Running {
 public:
  explicit Running(pid_t pid, std::filesystem::path out, std::filesystem::path err) : pid_(pid), out_(std::move(out)), err_(std::move(err)) {}
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  std::string out() const;
  std::string err() const;
  /// Waits until `count` lines stand on stderr or stdout, or the program ended; false when neither came in time.
  bool wait_for_lines(std::size_t count, bool on_stderr, std::chrono::seconds limit = std::chrono::seconds(60));
  void signal(int number) const;
  Outcome wait();

 private:
  bool ended();
  pid_t pid_;
  int status_ = -1;
  bool reaped_ = false;
  std::filesystem::path out_, err_;
};

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest();
  ~ProgramTest() override;

  Outcome run(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});
  std::unique_ptr<Running> start(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path write(const std::filesystem::path& name, std::string_view content) const;
  /// A lexical index over a small handbook, `handbook.polygraph` in the folder.
  std::string lexical_index();
  /// The folder of that handbook's pages.
  std::string handbook();

 private:
  std::filesystem::path folder_;
  int calls_ = 0;
};

std::string read(const std::filesystem::path& file);
/// The whole text as one JSON value; fails the test when it is anything else.
nlohmann::json one_json(const std::string& text);
/// Each line as one JSON value.
std::vector<nlohmann::json> json_lines(const std::string& text);
std::vector<std::string> lines(const std::string& text);

}  // namespace polygraph::cli::test
