// Metrics of an agent over a golden set: what each run's trace shows against its item, and the figures over all of them.
//
// Two steps, so that traces need not be kept: AgentMetrics::measure() turns one item and its run into numbers, aggregate() turns the
// numbers of all items into values with counts and intervals. Definitions that are not obvious stand beside the names below.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/agent/run.hpp"
#include "wasm/metrics/statistics.hpp"

namespace polygraph::metrics {

/// What became of one item under one metric. Only scored ones are in a value; the others are counted beside it.
enum class ItemState : std::uint8_t {
  scored,
  unscorable,   ///< there is nothing to score: no gold, a refusal, another type of question
  judge_error,
  failed,       ///< the run
};

struct Measured {
  double value = 0;  ///< where scored
  ItemState state = ItemState::unscorable;
};

enum class QuestionType : std::uint8_t { answerable, vague, unanswerable };

/// A golden item, as far as metrics look at it.
struct EvaluatedItem {
  QuestionType type = QuestionType::answerable;
  std::vector<std::string> relevant_chunk_ids;
  std::vector<std::string> relevant_pages;  ///< page ids: what stands before the last # of a chunk id
  std::vector<std::string> pool_ids = {};   ///< chunks that were judged for this question, gold or not; empty: it was not pooled
  bool refusal_known = true;                ///< false: a pipeline's bare answer, which may be a refusal; it has no refusal metrics
};

/// Of the first `k` of `ranked` those that nobody judged for this item; they count as not relevant. Nothing for an item without a pool.
std::vector<std::string> unjudged(const EvaluatedItem& item, std::span<const std::string> ranked, std::size_t k);

/// What judges said about one run. A refused or failed run's values are taken as unscorable or failed whatever stands here.
struct Judgements {
  Measured faithfulness, answer_relevancy;
  Measured correctness;   ///< (score - 1) / 4; correct at 0.5 and above
  Measured groundedness;  ///< 0 or 1
  Measured citation_precision, citation_recall;
};

/// Predictions of a grader against gold.
struct Confusion {
  std::uint64_t true_positive = 0, false_positive = 0, false_negative = 0, true_negative = 0;
  bool operator==(const Confusion&) const = default;
};

inline constexpr std::size_t nodes = 5;  ///< of agent::Node
inline constexpr std::size_t roles = 3;  ///< of agent::Task: grader, rewriter, generator

/// Calls of one role. A call from the cache has the tokens and the cost of the one that it repeats.
struct RoleUsage {
  std::uint64_t calls = 0, cached = 0;
  agent::Tokens tokens;
  double priced_usd = 0;       ///< of the calls with a price
  std::uint64_t unpriced = 0;  ///< calls without one; with any, there is no cost
};

/// The numbers of one item.
struct ItemMeasures {
  std::vector<Measured> values;  ///< in the order of AgentMetrics::definitions()
  std::vector<Measured> judged;  ///< judged@k: the share of the first k retrieved that pooling judged, at each cut-off
  Confusion grader_set, grader_chunk;
  bool graded = false;           ///< the grader was asked at least once
  std::uint32_t rewrites = 0, rewrites_scorable = 0, rewrites_succeeded = 0, rewrites_unanswerable = 0;
  bool reflects = false;         ///< the run's configuration has USE_REFLECTION
  std::vector<std::pair<agent::Node, double>> step_ms;
  std::array<RoleUsage, roles> usage;
};

/// One aggregated value: nothing where it is undefined. `scored` to `failed` count items; `n` is what the value is over: items for means,
/// predictions for the grader's, rewrites for their success.
struct MetricValue {
  std::optional<double> value, low, high;
  std::uint64_t n = 0, scored = 0, unscorable = 0, judge_error = 0, failed = 0;
};

struct LatencySummary {
  std::uint64_t count = 0;
  std::optional<double> mean, p50, p95, p99, min, max;
};

struct AgentSummary {
  std::vector<std::pair<std::string, MetricValue>> metrics;  ///< under the names that tables and documents show, in the order of a table
  Confusion grader_set, grader_chunk;
  std::uint64_t rewrites_unanswerable = 0;
  LatencySummary latency;                       ///< per query
  std::array<LatencySummary, nodes> node_latency;  ///< per step of a node
  std::array<RoleUsage, roles> usage;
  const MetricValue* find(std::string_view name) const noexcept;
};

/// One per-item metric. Its aggregate is the mean over scored items: with Wilson's interval where values are 0 or 1, a bootstrap's else.
struct MetricDefinition {
  std::string name;
  bool boolean = false;
};

class AgentMetrics {
 public:
  struct Options {
    std::size_t top_k = 4;  ///< retrieval is measured at this and at 1, 3, 5, 10
    bool pages = false;     ///< also over pages: for a set in which an item names relevant pages
  };
  explicit AgentMetrics(Options options);

  /// The per-item metrics, from recall@1 to cost_mean_usd. judged@k is none of them: it says how far the others can be believed, and
  /// no test compares it.
  std::span<const MetricDefinition> definitions() const noexcept { return definitions_; }

  /// `run` is nothing where none came about; that, and a run that failed, is the state `failed`. Retrieval is measured on the first
  /// retrieval of a failed run all the same, if it got that far. `judgements` is nothing where no judge is asked about this item; where
  /// one would be, a refused or failed run has judgements too (empty ones), since it counts as wrong in end_to_end_accuracy.
  ItemMeasures measure(const EvaluatedItem& item, const agent::Run* run, const Judgements* judgements = nullptr) const;

  /// Without judged@k for a set in which no item was pooled.
  AgentSummary aggregate(std::span<const ItemMeasures> items, std::uint64_t seed) const;

  /// Two configurations over the same items in the same order, every per-item metric tested. Several pairs at once draw once. A side
  /// that failed on every item has nothing to compare: it never is a significant loser.
  struct Pair {
    std::span<const ItemMeasures> a, b;
  };
  std::vector<std::vector<Comparison>> compare(std::span<const Pair> pairs, std::uint64_t seed) const;

 private:
  Options options_;
  std::vector<std::size_t> ks_;
  std::vector<MetricDefinition> definitions_;
};

/// `{"metrics": {name: {value, n, low, high, scored, unscorable, judge_error, failed}}, "grader": {set, chunk}, "rewrites_unanswerable",
/// "latency": {query, nodes}, "usage": {role: …}}`, one JSON value.
std::string to_json(const AgentSummary& summary);

}  // namespace polygraph::metrics
