// What the brackets of a JSON text say before it is parsed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace polygraph::json {

/// Whether arrays and objects nest deeper than `limit`. Asked before parsing: a million brackets then cost no memory, and nothing that
/// walks the value later runs out of stack.
bool deeper_than(std::string_view text, std::size_t limit) noexcept;

/// End of the bracketed value that opens at `begin`, or nothing if it never closes. Strings are skipped over.
std::optional<std::size_t> balanced_end(std::string_view text, std::size_t begin) noexcept;

}  // namespace polygraph::json
