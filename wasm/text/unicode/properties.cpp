#include "wasm/text/unicode/properties.hpp"

#include <algorithm>
#include <iterator>

namespace polygraph::text::unicode {
namespace {

struct Run {
  char32_t first;
  std::int32_t delta;
  std::uint8_t count, stride;
};
struct Block {
  char32_t first;
  std::uint16_t offset;
  std::uint8_t count, plane;
};
struct Expansion {
  char32_t from;
  char32_t to[3];
};
struct Capitals {
  char32_t first;
  std::uint8_t count, stride;
};

#include "wasm/text/unicode/tables.inc"

/// Value of the range that holds `code_point`; the first range begins at 0.
template <std::size_t size>
std::uint8_t range_value(const std::uint32_t (&ranges)[size], char32_t code_point) noexcept {
  const std::uint32_t key = static_cast<std::uint32_t>(code_point) << 8 | 0xFF;
  return static_cast<std::uint8_t>(*std::prev(std::upper_bound(std::begin(ranges), std::end(ranges), key)));
}

/// The last row that begins at or before `code_point`, or null.
template <class Row, std::size_t size>
const Row* row(const Row (&rows)[size], char32_t code_point) noexcept {
  const Row* after = std::upper_bound(std::begin(rows), std::end(rows), code_point,
                                      [](char32_t c, const Row& r) { return c < r.first; });
  return after == std::begin(rows) ? nullptr : after - 1;
}

template <class Row>
bool strided_contains(const Row& row, char32_t code_point) noexcept {
  const char32_t distance = code_point - row.first;
  return distance % row.stride == 0 && distance / row.stride < row.count;
}

// Hangul syllables decompose by arithmetic (The Unicode Standard, section 3.12).
constexpr char32_t syllable_base = 0xAC00, leading_base = 0x1100, vowel_base = 0x1161, trailing_base = 0x11A7;
constexpr char32_t trailing_count = 28, vowel_count = 21, syllable_count = 11172;

}  // namespace

std::uint8_t properties(char32_t code_point) noexcept { return range_value(property_ranges, code_point); }

std::uint8_t combining_class(char32_t code_point) noexcept { return range_value(class_ranges, code_point); }

bool is_capital(char32_t code_point) noexcept {
  if (code_point < 0x80) return code_point >= 'A' && code_point <= 'Z';
  const Capitals* found = row(capitals, code_point);
  return found != nullptr && strided_contains(*found, code_point);
}

Folded fold(char32_t code_point) noexcept {
  if (code_point < 0x80) return {{code_point >= 'A' && code_point <= 'Z' ? code_point + 32 : code_point}, 1};
  if (const char32_t syllable = code_point - syllable_base; syllable < syllable_count) {
    const char32_t trailing = syllable % trailing_count;
    return {{leading_base + syllable / trailing_count / vowel_count, vowel_base + syllable / trailing_count % vowel_count,
             trailing_base + trailing},
            static_cast<std::uint8_t>(trailing == 0 ? 2 : 3)};
  }
  if (const Run* run = row(runs, code_point); run != nullptr && strided_contains(*run, code_point)) {
    return {{static_cast<char32_t>(static_cast<std::int32_t>(code_point) + run->delta)}, 1};
  }
  if (const Block* block = row(blocks, code_point); block != nullptr && code_point - block->first < block->count) {
    const char32_t low = block_values[block->offset + (code_point - block->first)];
    return {{static_cast<char32_t>(block->plane) << 16 | low}, 1};
  }
  const auto* expansion = std::lower_bound(std::begin(expansions), std::end(expansions), code_point,
                                           [](const Expansion& e, char32_t c) { return e.from < c; });
  if (expansion != std::end(expansions) && expansion->from == code_point) {
    const auto& to = expansion->to;
    return {{to[0], to[1], to[2]}, static_cast<std::uint8_t>(to[2] == 0 ? 2 : 3)};
  }
  return {{code_point}, 1};
}

}  // namespace polygraph::text::unicode
