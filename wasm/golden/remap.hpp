// A golden set against an index: which of its ids are gone, which gold chunks have another text by now, and where they went.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wasm/golden/golden_set.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::golden {

/// Adds warnings: ids and pages that the index lacks, and gold chunks whose text is another than when they were judged.
void check_against(const index::Index& index, Checked& checked);

/// Gold ids, and pages, that the index lacks: what stops a run.
std::vector<Problem> unknown_gold(const index::Index& index, const Set& set);

enum class Match : std::uint8_t {
  digest,     ///< the same text under another id
  similar,    ///< a text that shares most of its terms with the old one
  reference,  ///< a chunk of the same page that holds what reference answer and evidence say; the old text isn't known
  none,
};
std::string_view name(Match match) noexcept;

/// A chunk id of an item that is gone or whose text changed, and the best guess at where its text is now.
struct Move {
  std::string item;
  std::uint64_t line = 0;
  std::string field;           ///< relevant_chunk_ids, source_chunk_id or pool_ids
  std::string from, to;        ///< `to` is empty where nothing fits
  bool gone = true;            ///< false: the id is there with another text
  Match match = Match::none;
  double score = 0;            ///< share of terms, 0 to 1
};

/// Finds new ids by the digest that the item kept, then by the terms of the old text where `old_index` has it (Jaccard, at least
/// 0.5), then by the terms of reference answer and evidence (at least 0.6 of them) on the same page.
std::vector<Move> propose_moves(const index::Index& index, const Set& set, const index::Index* old_index);

/// The set with the moves made, each id once, and with the digest of every gold chunk that the index holds. Grades move along.
Set remapped(const index::Index& index, const Set& set, const std::vector<Move>& moves);

/// The page of a chunk id: what stands before its last `#`.
std::string_view page_of(std::string_view chunk_id) noexcept;

}  // namespace polygraph::golden
