#include "cli/commands/lines.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "cli/console.hpp"

namespace polygraph::cli {
namespace {

/// std::getline with a bound. False at the end of the input.
bool next_line(std::istream& input, std::string& line) {
  line.clear();
  auto& buffer = *input.rdbuf();
  for (int c = buffer.sbumpc(); c != std::char_traits<char>::eof(); c = buffer.sbumpc()) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
    if (line.size() > max_line_bytes) return true;
  }
  return !line.empty();
}

}  // namespace

Result<std::uint64_t> each_line(std::istream& input, const std::function<Result<void>(std::string_view)>& use) {
  std::uint64_t used = 0;
  std::string line;
  errno = 0;
  for (std::uint64_t number = 1; !reader_gone() && next_line(input, line); ++number) {
    if (line.size() > max_line_bytes) {
      return fail(ErrorCode::invalid_argument, fmt::format("has more than {} bytes", max_line_bytes), "", number);
    }
    std::string_view view = line;
    if (number == 1 && view.starts_with("\xef\xbb\xbf")) view.remove_prefix(3);
    if (view.ends_with('\r')) view.remove_suffix(1);
    if (view.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (auto done = use(view); !done) {
      Error error = done.error();
      error.line = number;
      return tl::unexpected(error);
    }
    ++used;
    errno = 0;
  }
  if (&input == &std::cin && std::ferror(stdin) != 0) return fail(ErrorCode::io, fmt::format("can't read it: {}", std::strerror(errno)));
  return used;
}

}  // namespace polygraph::cli
