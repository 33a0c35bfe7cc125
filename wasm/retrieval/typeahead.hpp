// Passages while somebody types: lexical only, the last word as a prefix, one typo forgiven, exact hits first.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "wasm/index/reader.hpp"

namespace polygraph::retrieval {

struct Hit {
  index::ChunkNo chunk = 0;
  double score = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> marks;  ///< byte ranges of the chunk's text that matched
};

/// At most `limit` hits, best first. A whole word counts above a prefix, a prefix above a typo (Damerau-Levenshtein
/// distance 1, words of five letters or more); a heading equal to the query comes first; for a query that is one
/// identifier, chunks that hold it literally stand above the others. A natural question always returns something.
std::vector<Hit> typeahead(const index::Index& index, std::string_view query, std::uint32_t limit);

}  // namespace polygraph::retrieval
