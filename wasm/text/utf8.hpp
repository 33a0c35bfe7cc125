// UTF-8 in and out, one code point at a time (RFC 3629: no surrogates, nothing above U+10FFFF, shortest form only).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace polygraph::text {

struct CodePoint {
  char32_t value;      ///< U+FFFD where the bytes are not UTF-8
  std::uint8_t length; ///< bytes consumed, at least 1
  bool valid;
};

/// The code point at byte `offset` of `text`; `offset` must be less than `text.size()`.
CodePoint decode(std::string_view text, std::size_t offset) noexcept;

void append(std::string& out, char32_t code_point);

/// Byte offset of the first ill-formed sequence, or nothing when `text` is UTF-8.
std::optional<std::size_t> first_invalid(std::string_view text) noexcept;

/// Number of Unicode code points (an ill-formed byte counts as one).
std::size_t code_points(std::string_view text) noexcept;

}  // namespace polygraph::text
