// One query's way through the stages: BM25F, dense, fusion, rerank. It computes and never waits: what it needs from a
// model it names, and it goes on when it is handed the result or told that there will be none.
//
//   Retrieval r(index, query, config);
//   if (auto* q = r.wanted_embedding()) …embed… r.set_embedding(vector)  or  r.skip_embedding("no model")
//   if (auto pairs = r.wanted_pairs(); !pairs.empty()) …score… r.set_logits(logits)  or  r.skip_rerank("no model")
//   r.ranked()
//
// All ties are broken by chunk number, which is id order. Except in mode dense, what promotion.hpp promotes stands above
// everything else, before and after reranking.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wasm/index/reader.hpp"
#include "wasm/retrieval/config.hpp"
#include "wasm/retrieval/promotion.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::retrieval {

using index::ChunkNo;

/// A chunk in the ranked list, with what each stage said of it. Ranks count from 1. The fused score is that of the order
/// which reranking starts from: in a mode with one list, that list's score scaled to [0, 1] as `mix` scales it.
struct Candidate {
  ChunkNo chunk = 0;
  std::uint32_t rank = 0;                     ///< in the final list
  std::optional<std::uint32_t> bm25_rank, dense_rank, fused_rank, rerank_rank;
  std::optional<double> bm25_score, dense_score, fused_score;
  std::optional<double> rerank_score;         ///< the cross-encoder's logit
};

/// What a stage did: "used" (with "used: 7 of 20 candidates scored" for a host that stopped early), or why it did not run.
struct Stages {
  std::string lexical = "used";
  std::string dense = "used";
  std::string rerank = "used";
  bool operator==(const Stages&) const = default;
};

/// Over all chunks of the index; what refusal features are made of. Empty without a query vector.
struct DenseSummary {
  double max = 0, mean = 0, standard_deviation = 0;
};

/// `mismatch`: a host gave more logits than it was asked for.
Error too_many_logits(std::size_t came, std::size_t asked);

class Retrieval {
 public:
  /// `index` must outlive it. `query` must be UTF-8. The cross-encoder reads each passage beside `question`: what was asked,
  /// where `query` is a rewriting of it; empty: beside the query.
  Retrieval(const index::Index& index, std::string query, const Config& config, std::string question = {});

  const std::string& query() const noexcept { return query_; }
  const Config& config() const noexcept { return config_; }

  /// Token ids of the prefixed query while an embedding is wanted, otherwise null.
  const text::Encoding* wanted_embedding() const noexcept;
  /// `vector`: index.dimensions() floats, L2-normalised. Fails with `mismatch` on another length or a value that is
  /// not finite.
  Result<void> set_embedding(std::span<const float> vector);
  /// The same for a host that compared the vectors itself: one score a chunk, finite, what set_embedding() would compute.
  void set_dense_scores(std::vector<double> scores);
  /// Goes on lexically, whatever the mode.
  void skip_embedding(std::string why);

  struct Logit {
    ChunkNo chunk;
    float value;
  };
  /// Logits of an earlier retrieval over the same index, for the same question and pair length: these chunks are not wanted
  /// again. Does nothing unless scores are wanted.
  void reuse(std::span<const Logit> known);
  /// Chunks to score, best fused first, while scores are wanted; otherwise empty.
  std::span<const ChunkNo> wanted_pairs() const noexcept;
  /// The pair of one wanted chunk, as the cross-encoder reads it.
  text::Encoding pair(ChunkNo chunk) const;
  /// Logits of the first `logits.size()` wanted chunks (a host with a time budget may score fewer).
  /// Fails with `mismatch` on more logits than wanted chunks or one that is not finite.
  Result<void> set_logits(std::span<const float> logits);
  void skip_rerank(std::string why);

  bool finished() const noexcept;
  /// The list that is kept, best first; before rerank finished, in fused order.
  const std::vector<Candidate>& ranked() const noexcept { return ranked_; }
  /// What ordered ranked() among the candidates of one stage and one promotion: logit + rerank_mix * fused score for the
  /// reranked, behind them the fused score, or that of the only stage.
  double order_score(const Candidate& candidate) const noexcept;
  /// The first `top_k` of ranked() under the page cap.
  std::vector<ChunkNo> handed_on(std::uint32_t top_k) const;
  const Stages& stages() const noexcept { return stages_; }

  /// Scores over all chunks; empty where the stage did not run.
  std::span<const double> bm25_scores() const noexcept { return bm25_; }
  std::span<const double> dense_scores() const noexcept { return dense_; }
  std::optional<DenseSummary> dense_summary() const noexcept { return dense_summary_; }

 private:
  void search_lexically();
  void order_by_first_stages();
  void list_candidates();
  bool stands_above(ChunkNo a, ChunkNo b) const noexcept;
  bool scored(std::size_t place) const noexcept { return place < logits_.size() && logits_[place] == logits_[place]; }
  void finish_scoring();

  const index::Index* index_;
  std::string query_, question_;
  Config config_;
  std::vector<double> bm25_, dense_, fused_;
  std::optional<DenseSummary> dense_summary_;
  std::optional<text::Encoding> query_tokens_;
  std::vector<Promotion> promotions_;  ///< empty: none
  std::vector<ChunkNo> order_;         ///< of the first stages; longer than ranked_
  std::vector<float> logits_;          ///< of the first of order_; not a number: unscored
  std::vector<ChunkNo> wanted_;        ///< the unscored
  std::vector<Candidate> ranked_;
  Stages stages_;
  enum class Phase : std::uint8_t { embedding, scoring, finished };
  Phase phase_ = Phase::finished;
};

}  // namespace polygraph::retrieval
