// Input that comes line by line.
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <string_view>

#include "wasm/error.hpp"

namespace polygraph::cli {

/// Calls `use` with each line that is not blank, without its line end (LF or CRLF) and without a byte order mark. Stops at
/// the first error, which gets the line's number.
inline Result<void> each_line(std::istream& input, const std::function<Result<void>(std::string_view)>& use) {
  std::string line;
  for (std::uint64_t number = 1; std::getline(input, line); ++number) {
    std::string_view view = line;
    if (number == 1 && view.starts_with("\xef\xbb\xbf")) view.remove_prefix(3);
    if (view.ends_with('\r')) view.remove_suffix(1);
    if (view.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (auto done = use(view); !done) {
      Error error = done.error();
      error.line = number;
      return tl::unexpected(error);
    }
  }
  return {};
}

}  // namespace polygraph::cli
