// The judge of one answer, without I/O: it hands its host a list of requests and is resumed with each reply, in any order,
// until every metric has its verdict.
//
//   auto judge = Judge::create(input, tokenizer).value();
//   auto requests = judge.start();
//   while (!judge.finished()) { …answer one… requests = judge.resume(id, reply).value(); }
//   judge.judgement();
//
// What a reply says is read by reply.hpp. A reply that can't be read is asked for once more, saying what was wrong; after that
// the metric's state is `judge_error`. A refused or failed run asks nothing.
//
// - faithfulness: supported statements / statements. One verdict may be missing after the repair where others were given; it
//   counts as not supported and is recorded. No statement, or more missing, is a judge error.
// - answer relevancy: mean cosine, negative ones as 0, between the question and three questions made from the answer, all
//   embedded as passages are; 0 for a noncommittal answer.
// - correctness: (score - 1) / 4, correct at 0.5 and above; unscorable without a reference answer.
// - groundedness: 1 or 0. The judge never sees the reference answer here.
// - citation precision: citations whose passage supports a sentence they stand for / citations (a passage that is not in the
//   context supports nothing); citation recall: sentences with a supporting citation / sentences.
//
// Without context nothing is supported and without text nothing is said: such verdicts are given without asking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "wasm/agent/effect.hpp"
#include "wasm/error.hpp"
#include "wasm/judges/judgement.hpp"
#include "wasm/judges/reply.hpp"
#include "wasm/judges/request.hpp"
#include "wasm/judges/sentences.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::judges {

enum class AnswerStatus : std::uint8_t { answered, refused, failed };

struct JudgeInput {
  std::string question, answer;
  AnswerStatus status = AnswerStatus::answered;
  bool marked_refused = false;         ///< the pipeline says that this answer is a refusal: judged as one
  std::vector<Passage> context;        ///< the chunks that the answer was made from
  std::vector<CitedSpan> citations;
  std::string reference_answer;        ///< empty: none
  std::vector<Metric> metrics = {all_metrics.begin(), all_metrics.end()};
  std::string salt;                    ///< what nobody who writes an answer or a passage knows; the same for the same cached calls
};

/// What is longer is a judge error: half an answer is another answer.
inline constexpr std::size_t longest_answer_bytes = 32 * 1024;
/// Citations that one call judges.
inline constexpr std::size_t most_claims_per_call = 30;

using RequestId = std::uint32_t;  ///< 1, 2, … within one answer

struct Request {
  RequestId id = 0;
  std::variant<JudgeCall, agent::EmbedRequest> request;
};

/// A reply, an embedding, or why there is none: then the metric is a judge error at once.
using RequestResult = std::variant<JudgeReply, agent::Embedding, Error>;

class Judge {
 public:
  /// `tokenizer` (of the embedder; may be null: answer relevancy is a judge error then) must outlive the judge. `max_tokens`:
  /// the embedder's longest input. Fails with `invalid_argument` for an empty question.
  static Result<Judge> create(JudgeInput input, const text::WordPiece* tokenizer, std::size_t max_tokens = 512);

  Judge(Judge&&) noexcept;
  Judge& operator=(Judge&&) noexcept;
  ~Judge();

  /// The first requests; none where everything is decided. Call it once.
  std::vector<Request> start();
  /// Hands in one result and gets the requests that follow. Fails with `invalid_argument` for a request that is not open or a
  /// result of another kind; nothing changes then.
  Result<std::vector<Request>> resume(RequestId id, RequestResult result);

  bool finished() const noexcept;
  /// Complete once finished.
  const Judgement& judgement() const noexcept;

 private:
  struct Work;
  explicit Judge(std::unique_ptr<Work> work);
  std::unique_ptr<Work> work_;
};

/// The verdicts that need no judge: of a refused or failed run, and where there is nothing to score. True where `metric` is
/// decided.
bool decide_unasked(const JudgeInput& input, const CitedAnswer& cited, Metric metric, Judgement& judgement);

/// Cosine of two vectors, in double; nothing where they are none of one model (length, no norm, not finite).
std::optional<double> cosine(std::span<const float> a, std::span<const float> b);

/// Fills both citation metrics (those asked for) and the sentences. `supports[s][i]`: citation `sentences[s].citations[i]`
/// supports sentence `s`.
void score_citations(const CitedAnswer& cited, const std::vector<std::vector<bool>>& supports, Judgement& judgement);

}  // namespace polygraph::judges
