// Golden sets as test collections: TREC topics and qrels, and BEIR's layout of corpus, queries and qrels.
//
// Blanks separate the columns of TREC's files, so blanks and control characters in ids are percent-encoded when they are
// written, as `search --trec` does; foreign ids are read as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/golden/golden_set.hpp"
#include "wasm/golden/table.hpp"

namespace polygraph::golden {

/// Queries of a collection that no judgement belongs to: BEIR's queries serve several splits. They are left out.
struct Collection {
  Checked checked;
  std::vector<std::string> unjudged;
};

/// `id<TAB>question` lines and `id iteration chunk grade` lines. A problem's `field` is `queries` or `qrels`, its line counts there.
Result<Collection> read_trec(std::string_view queries, std::string_view qrels);

struct TrecFiles {
  std::string queries, qrels;
  std::vector<Problem> left_out;  ///< items without gold chunks, and fields that neither file holds
};
TrecFiles write_trec(const Set& set);

/// queries.jsonl and one qrels file. What `write_beir` put into a query's metadata comes back.
Result<Collection> read_beir(std::string_view queries, std::string_view qrels);

struct BeirFiles {
  std::string queries, qrels;
};
/// Everything an item has beside its gold stands in the query's `metadata.polygraph`, so nothing is lost.
BeirFiles write_beir(const Set& set);

/// One line of BEIR's corpus.jsonl.
std::string beir_document(std::string_view id, std::string_view title, std::string_view text);

/// An id as a column of a TREC file.
std::string column(std::string_view id);

}  // namespace polygraph::golden
