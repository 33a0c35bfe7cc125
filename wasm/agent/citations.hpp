// Inline citations: `[path/of/page#003]` in an answer, checked against the chunks that it was made from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/agent/run.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::agent {

struct CheckedAnswer {
  std::string text;                      ///< with valid citations only, each as `[id]`
  std::vector<Citation> citations;       ///< in text order
  std::vector<std::string> cited_ids;    ///< distinct, in order of first citation
  std::vector<std::string> dropped_ids;  ///< distinct ids that are not in the context; their citations are taken out
};

/// Checks every citation of `draft` (UTF-8). `[a#001, b#002]`, `[a#001; b#002]` and `【a#001】` are read as well. A citation
/// stands for the last sentence (or list item, table row, code block) before it; citations side by side share it.
CheckedAnswer check_citations(const index::Index& index, std::string_view draft, std::span<const std::string> context_ids);

/// A citation of a chunk, without its span.
Citation citation_of(const index::Index& index, index::ChunkNo chunk);

}  // namespace polygraph::agent
