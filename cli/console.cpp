#include "cli/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "wasm/text/utf8.hpp"

namespace polygraph::cli {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;
bool stdout_broken = false;

bool is_terminal(int file_descriptor) { return isatty(file_descriptor) == 1; }

std::string duration(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace

Palette palette(int file_descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  if (!is_terminal(file_descriptor) || (no_color != nullptr && *no_color != '\0')) return {};
  return {"\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[32m", "\x1b[31m", "\x1b[0m"};
}

void print(std::string_view text) {
  if (stdout_broken) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  if (errno != EPIPE) throw OutputFailed{errno};
  stdout_broken = true;
}

void print_json(const nlohmann::ordered_json& value, int indent) {
  print(value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

bool reader_gone() noexcept { return stdout_broken; }

void say_waiting(std::string_view what) {
  if (is_terminal(STDIN_FILENO)) say(fmt::format("waiting for {} on stdin; Ctrl-D ends it", what));
}

void say(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fputc('\n', stderr);
}

ExitCode report(const Error& error, std::string_view file) {
  const Palette colours = palette(STDERR_FILENO);
  std::string place{file};
  if (error.line != 0) place += fmt::format("{}{}", place.empty() ? "line " : ":", error.line);
  if (!error.field.empty()) place += fmt::format("{}{}", place.empty() ? "" : ": ", error.field);
  say(fmt::format("{}error:{} {}{}{}", colours.bad, colours.reset, place, place.empty() ? "" : ": ", printable(error.message)));
  return exit_code(error.code);
}

ProgressLine::ProgressLine(std::string label) : label_(std::move(label)), terminal_(is_terminal(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() { finish(); }

void ProgressLine::update(std::uint64_t done, std::uint64_t total, std::string_view unit) {
  using namespace std::chrono_literals;
  const auto now = Clock::now();
  if (!begun_) {
    begun_ = true;
    started_ = now;
    first_done_ = done;
  }
  const bool last = done == total;
  if (!last && now - printed_ < (terminal_ ? 100ms : 2000ms)) return;
  printed_ = now;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  std::string line = fmt::format("{}: {} of {} {}", label_, done, total, unit);
  if (done > first_done_ && !last && seconds > 0.5) {
    const double rate = static_cast<double>(done - first_done_) / seconds;
    line += fmt::format(", about {} left", duration(static_cast<double>(total - done) / rate));
  }
  if (terminal_) {
    std::fputs(fmt::format("\r\x1b[K{}", line).c_str(), stderr);
    std::fflush(stderr);
    open_ = true;
  } else {
    say(line);
  }
}

void ProgressLine::finish() {
  if (open_) std::fputc('\n', stderr);
  open_ = false;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const text::CodePoint point = text::decode(text, i);
    const char32_t c = point.value;
    const bool control = (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
    const bool direction = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);  // would reorder the line
    if (!point.valid || control || direction) {
      text::append(out, 0xfffd);
    } else {
      out.append(text.substr(i, point.length));
    }
    i += point.length;
  }
  return out;
}

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_seen = 1; };
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second Ctrl-C ends the program at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return interrupt_seen != 0; }

}  // namespace polygraph::cli
