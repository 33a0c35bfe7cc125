// What a judge found out about one answer: a verdict per metric with its evidence, and the fields that a query result takes
// from it. It is stored whole, so that reports are made again without asking anybody.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/judges/reply.hpp"

namespace polygraph::judges {

enum class Metric : std::uint8_t { faithfulness, answer_relevancy, correctness, groundedness, citation_precision, citation_recall };
inline constexpr std::size_t metric_count = 6;
inline constexpr std::array<Metric, metric_count> all_metrics = {Metric::faithfulness,  Metric::answer_relevancy,   Metric::correctness,
                                                                 Metric::groundedness, Metric::citation_precision, Metric::citation_recall};

enum class State : std::uint8_t {
  scored,
  unscorable,   ///< nothing to score: a refusal has no faithfulness
  judge_error,  ///< the judge gave no sound verdict; neither 0 nor 1
  failed,       ///< the run itself failed
};

/// A statement of the answer and whether the context supports it.
struct StatementVerdict {
  std::string text;
  Label label = Label::missing;  ///< `missing` counts as not supported
  std::string reason;
  bool operator==(const StatementVerdict&) const = default;
};

/// One metric. Beside state and value only what the metric has is filled.
struct MetricVerdict {
  State state = State::unscorable;
  std::optional<double> value;                ///< 0 to 1, exactly when scored
  std::string reason;                         ///< the judge's; why there is no value
  std::optional<bool> verdict;                ///< correctness (value >= 0.5), groundedness
  std::optional<double> score;                ///< correctness: 1 to 5
  bool weighted = false;                      ///< `score` is an expectation over token probabilities
  std::optional<double> confidence;           ///< of correctness and groundedness, where the judge gave one
  std::vector<StatementVerdict> statements;   ///< faithfulness
  std::uint32_t missing = 0;                  ///< statements or citations without a verdict, among the unsupported
  std::vector<std::string> unsupported_claims;  ///< groundedness
  std::vector<std::string> questions;         ///< answer_relevancy: what the answer answers
  std::vector<double> cosines;                ///< of those to the question, as measured
  std::optional<bool> noncommittal;
  bool operator==(const MetricVerdict&) const = default;
};

/// A sentence of the answer with what it cites.
struct SentenceSupport {
  std::string text;
  std::uint32_t begin = 0, end = 0;          ///< code points of the answer
  std::vector<std::string> cited_ids, supporting_ids;
  bool operator==(const SentenceSupport&) const = default;
};

/// What a query result takes over (formats: `metrics.answer_correct` …). Nothing where it was not judged.
struct ResultFields {
  std::optional<bool> answer_correct, grounded;
  std::optional<double> judge_confidence;    ///< the lower of the two metrics'
  std::optional<std::string> judge_reason;   ///< of both
  std::optional<std::string> judge_error;    ///< correctness or groundedness ended in one
  bool operator==(const ResultFields&) const = default;
};

struct Judgement {
  std::string judge = "llm";                 ///< `llm` or `offline`: figures of the two never share a row
  std::array<std::optional<MetricVerdict>, metric_count> metrics;  ///< nothing for a metric that was not asked for
  std::vector<SentenceSupport> sentences;    ///< of the citation metrics; empty unless one is scored
  std::string extra;                         ///< fields of a stored judgement that this version does not know, as a JSON object; or empty

  std::optional<MetricVerdict>& of(Metric metric) noexcept { return metrics[static_cast<std::size_t>(metric)]; }
  const std::optional<MetricVerdict>& of(Metric metric) const noexcept { return metrics[static_cast<std::size_t>(metric)]; }
  bool operator==(const Judgement&) const = default;
};

ResultFields result_fields(const Judgement& judgement);

std::string_view name(Metric metric) noexcept;
std::string_view name(State state) noexcept;
std::optional<Metric> metric_of(std::string_view name) noexcept;

/// One JSON object: {kind: "judgement", schema, judge, metrics: {name: {state, value, …}}, sentences}.
std::string to_json(const Judgement& judgement);
/// Reads what to_json wrote. Fails with `invalid_json` (field: the path) and `unsupported_version`.
Result<Judgement> judgement_from_json(std::string_view json);

}  // namespace polygraph::judges
