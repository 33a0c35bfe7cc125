// The rules for a golden set that is shipped with results made on it: its questions don't give their sources away, enough of
// them need more than one chunk, and nothing was tuned on the pages it asks about.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "wasm/golden/golden_set.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::golden {

struct AuditLimits {
  std::size_t items = 0, answerable = 0, vague = 0, unanswerable = 0;  ///< least numbers; 0: any
};

struct AuditFinding {
  std::string rule;  ///< heading, title, two_chunks, disjoint, count, index, digest
  Problem problem;   ///< item, line and words
};

struct Audit {
  std::size_t items = 0, answerable = 0, vague = 0, unanswerable = 0;
  std::size_t two_chunks = 0;  ///< answerable items that need two chunks or more
  std::vector<AuditFinding> findings;
};

/// Checks the items that a person did not reject:
/// - heading: at most half of a question's distinct content words stand in its source heading, the last heading of the source
///   chunk's path (without one, the page's title). The source is `source_chunk_id`, else the first gold chunk, else the first page.
/// - title: a vague question names nothing of the title of its source page; without `source_chunk_id`, of any gold page.
/// - two_chunks: a quarter of the answerable items have two gold chunks or more (pages, where an item has no chunks).
/// - disjoint: no gold or source page of the set is one of `development`.
/// - index, digest: gold ids are in the index, with the text that was judged.
/// Content words are the terms of BM25 without stop words, parts of identifiers not counted apart.
Audit audit(const Set& set, const index::Index& index, const Set* development, const AuditLimits& limits);

}  // namespace polygraph::golden
