// What a person at the terminal sees. Results go to stdout, everything else to stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "cli/exit_code.hpp"
#include "wasm/error.hpp"

namespace polygraph::cli {

/// Escape sequences for one stream: empty strings where it is no terminal or NO_COLOR is set (https://no-color.org).
struct Palette {
  std::string_view bold, dim, accent, good, bad, reset;
};
Palette palette(int file_descriptor);

/// stdout takes no more: its disk is full, or it was closed. main() reports it and ends the program.
struct OutputFailed {
  int reason;  ///< errno
};

/// Writes `text` to stdout. A reader that went away is no failure: what is printed then goes nowhere, and the command
/// still gives its status. Throws OutputFailed for any other.
void print(std::string_view text);
/// One JSON value and a line end. Bytes that are not UTF-8 (of a file's name, say) become U+FFFD.
void print_json(const nlohmann::ordered_json& value, int indent = -1);
/// Whether the reader of stdout went away, so that more work for it is in vain.
bool reader_gone() noexcept;
/// Tells a person at the terminal that the program waits for `what` on stdin.
void say_waiting(std::string_view what);
/// One line on stderr.
void say(std::string_view line);
/// `error: …` on stderr with the place in front, and the status for it. `file` may be empty.
ExitCode report(const Error& error, std::string_view file = {});

/// A line on stderr that is rewritten in place on a terminal, and printed at most every two seconds elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(std::string label);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// `done` of `total` `unit`; the estimate is taken from the pace so far.
  void update(std::uint64_t done, std::uint64_t total, std::string_view unit);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point printed_{};
  std::uint64_t first_done_ = 0;
  bool terminal_, open_ = false, begun_ = false;
};

/// Text of a corpus or a model made safe for a terminal: control characters other than newline and tab become U+FFFD.
std::string printable(std::string_view text);

/// True once SIGINT or SIGTERM arrived (after watch_interrupts()); long work ends at the next safe point.
void watch_interrupts();
bool interrupted() noexcept;

}  // namespace polygraph::cli
