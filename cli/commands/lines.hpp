// Input that comes line by line.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <string_view>

#include "wasm/error.hpp"

namespace polygraph::cli {

/// More than any question or query may have, so that input without line ends can't fill the memory.
inline constexpr std::size_t max_line_bytes = std::size_t{1} << 20;

/// Calls `use` with each line that is not blank, without its line end (LF or CRLF) and without a byte order mark, for as
/// long as somebody reads stdout. Stops at the first error, which gets the line's number. How many lines were used.
Result<std::uint64_t> each_line(std::istream& input, const std::function<Result<void>(std::string_view)>& use);

}  // namespace polygraph::cli
