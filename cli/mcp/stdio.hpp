// Lines over a pair of descriptors: what a session is carried by when an assistant starts the program.
//
// Reading never blocks longer than until an interrupt; writing neither, though the client reads nothing.
#pragma once

#include <poll.h>
#include <signal.h>

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace polygraph::cli::mcp {

/// Of a message in; more than any call of these tools needs.
inline constexpr std::size_t most_line_bytes = std::size_t{1} << 20;

class Lines {
 public:
  /// The descriptors stay the caller's. `interrupted` is asked after every wait. SIGINT and SIGTERM are blocked by the caller
  /// before it starts threads, and let through here while the thread that made this waits.
  Lines(int in, int out, std::function<bool()> interrupted);

  enum class End { closed, reader_gone, interrupted, failed };
  struct Ended {
    End end = End::closed;
    int reason = 0;  ///< errno where it failed
  };
  /// Hands in line by line until the input ends, nobody reads the output, or an interrupt. A line that is too long is passed
  /// over and told of. A byte order mark at the very start is dropped; a last line without an end counts.
  Ended read(const std::function<void(std::string_view)>& line, const std::function<void()>& too_long);

  /// Writes a line and its end. Gives up when nobody reads any more, or on an interrupt.
  void write(const std::string& line);

  bool reader_gone() const;
  /// Why writing failed, where it did otherwise than by a reader that went away; 0: it did not.
  int write_failure() const;

 private:
  int wait(::pollfd* descriptors, unsigned long count) const;
  void take(std::string_view bytes, const std::function<void(std::string_view)>& line, const std::function<void()>& too_long);

  int in_, out_;
  std::function<bool()> interrupted_;
  std::thread::id reader_;
  sigset_t unblocked_;
  std::string partial_;
  bool overlong_ = false, first_ = true;
  mutable std::mutex writing_;
  int failure_ = 0;
};

}  // namespace polygraph::cli::mcp
