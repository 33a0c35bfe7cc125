// Cuts a passage into the units an answer can quote: sentences, list items, table rows and code blocks.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace polygraph::text {

enum class UnitKind : std::uint8_t { sentence, list_item, table_row, code, heading };

struct Unit {
  UnitKind kind;
  std::uint32_t begin = 0;  ///< byte offsets into the passage, [begin, end), outer white space excluded
  std::uint32_t end = 0;
};

/// The units of `passage` (Markdown as the chunker writes it) in order, not overlapping. A fenced code block is one unit;
/// abbreviations, version numbers, file names and URLs do not end a sentence.
std::vector<Unit> units(std::string_view passage);

}  // namespace polygraph::text
