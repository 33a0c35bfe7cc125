// The offline judge: no language model, no network, always the same verdict. A stand-in where there is no key, not a judge of
// quality; its figures are headed *offline judge* and stand in rows of their own.
//
//   support(claim, passage) = entailment × overlap × literals
//     entailment  1 / (1 + e^-logit), the cross-encoder's logit of (claim, passage)
//     overlap     share of the claim's distinct terms (English analysis: no stop words, stems) that the passage holds
//     literals    share of its terms with a digit, `_`, `.` or `/` that the passage holds: another number or path is another claim
//   A passage supports a claim at 0.5 and above. Entailment is at most 1: where the words alone give less than 0.5 (for correctness:
//   0) the cross-encoder is not asked, and the verdict is the same.
//
// - faithfulness: supported sentences of the answer, by any passage of the context / sentences; each sentence is a statement.
// - groundedness: every sentence is supported; the others are named.
// - citation precision and recall: as the judge's, by the cited passage alone.
// - correctness: mean support of the reference answer's sentences by the answer, correct at 0.5; `score` is 1 + 4 × value.
// - answer relevancy: cosine of question and answer, both embedded as passages are, a negative one as 0; 0 for an answer that
//   says it can't answer. (The cross-encoder is no measure for it: an answer seldom names again what was asked about.)
//
// What it can't do: the cross-encoder was trained to rank passages for queries, so it measures closeness, not entailment. It
// misses negation ("is" and "is not" share their words), counts a paraphrase in other words as unsupported, and knows no
// reference answer's meaning. It reads 512 tokens of a pair. It is the model that ranked the passages, and the grader's
// strongest feature, so it agrees with them for reasons of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "wasm/agent/effect.hpp"
#include "wasm/error.hpp"
#include "wasm/judges/judge.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::judges {

inline constexpr double least_support = 0.5;

class OfflineJudge {
 public:
  /// `tokenizer` (embedder and cross-encoder share it) is used here and not kept. `max_tokens`: the models' longest input. Fails as
  /// Judge::create does. Salt plays no part.
  static Result<OfflineJudge> create(JudgeInput input, const text::WordPiece& tokenizer, std::size_t max_tokens = 512);

  OfflineJudge(OfflineJudge&&) noexcept;
  OfflineJudge& operator=(OfflineJudge&&) noexcept;
  ~OfflineJudge();

  /// All pairs to score, each once, in one effect; nothing where everything is decided without.
  std::optional<agent::ScoreRequest> request() const;
  /// Question and answer for answer relevancy; none where it is decided without.
  std::vector<agent::EmbedRequest> embeddings() const;
  /// The verdicts, from the logits in the order of the request's pairs and the vectors in that of embeddings() (empty for
  /// none). What failed, is of another number or not finite makes judge errors of the metrics that need it.
  Judgement judgement(const Result<agent::Logits>& logits, const Result<std::vector<agent::Embedding>>& vectors) const;

 private:
  struct Work;
  explicit OfflineJudge(std::unique_ptr<Work> work);
  std::unique_ptr<Work> work_;
};

/// Lexical part of the formula: overlap × literals. A claim without terms overlaps with nothing.
double lexical_support(std::string_view claim, std::string_view passage);

}  // namespace polygraph::judges
