// What the tokenizer and the words for BM25 must know about a code point, from a table of 20 KB.
//
// The table holds the reference tokenizer's own view (its crates carry several versions of Unicode): generate.py asks it.
#pragma once

#include <cstdint>

namespace polygraph::text::unicode {

/// Flags of a code point; `properties` gives their union.
enum Property : std::uint8_t {
  drop = 1 << 0,         ///< removed by clean_text: controls, format characters, private use, U+0000, U+FFFD
  space = 1 << 1,        ///< white space, and what becomes it
  mark = 1 << 2,         ///< a nonspacing mark that strip_accents removes
  punctuation = 1 << 3,  ///< a word of its own to BertPreTokenizer
  ideograph = 1 << 4,    ///< set apart by handle_chinese_chars
  letter = 1 << 5,       ///< belongs to a word: letters, and spacing marks of any script
  digit = 1 << 6,        ///< decimal digit of any script
};

std::uint8_t properties(char32_t code_point) noexcept;

/// Canonical combining class; 0 for a starter.
std::uint8_t combining_class(char32_t code_point) noexcept;

bool is_capital(char32_t code_point) noexcept;

/// What is left of a code point after canonical decomposition, removal of nonspacing marks and lower casing.
struct Folded {
  char32_t code_points[3];
  std::uint8_t count;
};
/// For a code point that is neither `drop`, `space` nor `mark`.
Folded fold(char32_t code_point) noexcept;

}  // namespace polygraph::text::unicode
