// One child process whose stdin, stdout and stderr are ours, and which never outlives us.
//
// Not thread-safe: one caller at a time. Destroying it ends the child and reaps it (no zombie).
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "wasm/error.hpp"

namespace polygraph::models {

/// Where `program` stands: itself when it holds a slash, otherwise the first executable of that name in PATH. `not_found`
/// when there is none.
Result<std::filesystem::path> find_program(std::string_view program);

class ChildProcess {
 public:
  /// Starts `argv[0]` (a path) with our environment in a process group of its own, so that an interrupt typed at the
  /// terminal reaches us alone. The child dies with us: its stdin ends, and the kernel kills it (PR_SET_PDEATHSIG) when
  /// the *thread* that called this ends — call it from one that lives as long as the child should (prctl(2)).
  static Result<ChildProcess> start(const std::vector<std::string>& argv);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  pid_t pid() const noexcept { return pid_; }

  enum class Event { readable, silent, ended, woken };
  struct Turn {
    Event event = Event::silent;
    std::size_t written = 0;  ///< bytes of `out` that the child took
  };

  /// Waits until something happened: some of `out` was written, bytes were appended to `in`, the child closed its stdout
  /// (`ended`), the descriptor `wake` became readable (`woken`), or nothing for `timeout` (`silent`). Drains stderr
  /// meanwhile. Never raises SIGPIPE.
  Turn exchange(std::span<const std::byte> out, std::vector<std::byte>& in, std::chrono::milliseconds timeout, int wake = -1);

  /// The end of what the child wrote to stderr, at most 8 KiB.
  const std::string& errors() const noexcept { return errors_; }
  /// The same with what it wrote until now, and forgets it.
  std::string take_errors();

  struct Ending {
    bool success = false;  ///< exited with status 0
    std::string words;     ///< "exited with status 1", "was killed by signal 9 (SIGKILL)"
  };
  /// Closes the child's stdin and waits up to `grace` for its end, then kills it. What is left of its process group, its own
  /// children, is killed in either case.
  Ending stop(std::chrono::milliseconds grace);

 private:
  ChildProcess() = default;
  void drain_errors();
  void release() noexcept;

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;
  std::string errors_;
};

}  // namespace polygraph::models
