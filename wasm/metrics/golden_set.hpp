// A golden set in its agent form: JSON Lines, one question a line with what a good answer rests on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::metrics {

enum class ItemType : std::uint8_t { answerable, vague, unanswerable };

struct GoldenItem {
  std::string id;
  ItemType type = ItemType::answerable;
  std::string question;
  std::string reference_answer;
  std::vector<std::string> relevant_chunk_ids;
  std::vector<std::string> relevant_pages;  ///< page ids, or file paths under the corpus root
  bool should_refuse = false;
  std::string kind;        ///< free text
  std::uint64_t line = 0;  ///< where the item stands, from 1
};

/// Reads a set; blank lines are skipped. Fails with `invalid_json` at the first item that lacks an id, a question or a known
/// type, has a field of the wrong JSON type, or repeats an id: `field` and `line` say where.
Result<std::vector<GoldenItem>> parse_golden_set(std::string_view json_lines);

std::string_view name(ItemType type) noexcept;

}  // namespace polygraph::metrics
