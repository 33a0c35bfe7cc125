// Golden sets as tables: CSV (RFC 4180) and TSV, a header naming the columns, lists separated by `|`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/golden/golden_set.hpp"

namespace polygraph::golden {

/// Reads a table whose header names `question` or `query`; nothing when the text has no such header. Columns are called as
/// the fields of an item or of a sample; tabs separate them where the header holds one, commas otherwise. Cells may be quoted
/// in both. An empty cell is a field that wasn't given. `relevance`, `chunk_digests` and `extra` are JSON objects. Without a column
/// `type`, items are answerable, or unanswerable where `should_refuse` is true.
std::optional<Checked> read_table(std::string_view text);

/// A set in a form that can't hold all of it, and what was left out: an item as a whole, or a field of it.
struct Written {
  std::string text;
  std::vector<Problem> left_out;
};

/// Only the columns that some item has. Leaves out ids of a list that hold the separator `|`. What isn't text in an unknown
/// field is written as JSON and comes back as text.
Written write_table(const Set& set, char delimiter = ',');

}  // namespace polygraph::golden
