// Two pipelines over one set of queries: deltas (B − A), what became of each query, who wins and at what price, and whether B
// is a regression. As a document: assets/schemas/comparison_report.schema.json.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/diagnosis/document.hpp"

namespace polygraph::comparison {

using diagnosis::Category;
using diagnosis::CategoryCounts;

enum class Winner : std::uint8_t { a, b, tie };
/// `A`, `B`, `TIE`.
std::string_view name(Winner winner) noexcept;

enum class Outcome : std::uint8_t { improved, regressed, unchanged };
std::string_view name(Outcome outcome) noexcept;

enum class TradeOff : std::uint8_t { none, quality_for_latency, better_and_faster, better_same_speed, faster_for_quality, same_quality_faster };
std::string_view name(TradeOff trade_off) noexcept;

enum class Verdict : std::uint8_t { quality, queries, latency, balanced, none, improved_slower, improved_secondary, improved, completion };
std::string_view name(Verdict verdict) noexcept;
/// Whether the verdict is an overall regression.
bool is_regression(Verdict verdict) noexcept;

/// One metric's values of the items that both pipelines have one for, in the order of A.
struct PairedSample {
  std::string metric;  ///< `recall@5`, `precision@5`, `mrr`, `correctness`, `groundedness`, `latency_ms`
  std::vector<double> a, b;
  bool boolean = false;  ///< verdicts: 0 and 1
};

/// A paired test of B − A, as `tests` of the document holds it.
struct PairedTest {
  std::string metric;
  double delta = 0;
  std::optional<double> low, high;  ///< 95 % interval
  double p = 1, p_holm = 1;         ///< corrected over all metrics of the comparison
  std::uint64_t n = 0;
};

/// Tests all samples of a comparison at once, so that it can correct over them; leaves out what it can't test. The comparison
/// itself knows no statistics: whoever calls it passes that of wasm/report/paired_tests.hpp here.
using PairedTester = std::function<std::vector<PairedTest>(const std::vector<PairedSample>&)>;

struct Options {
  double quality_tolerance = 0.02;
  double latency_tolerance_ms = 10;
  PairedTester test = {};  ///< none: `tests` stays empty, and the summary says nothing of significance
};

struct MetricDeltas {
  double precision_at_k = 0, recall_at_k = 0, mrr = 0;
  std::optional<double> answer_correctness, groundedness;
  double mean_retrieval_ms = 0, p95_retrieval_ms = 0;
};

using CategoryDeltas = std::array<std::int64_t, diagnosis::category_count>;

struct TypeDeltas {
  std::string query_type;
  double recall_at_k = 0, mrr = 0;
  std::optional<double> answer_correctness, groundedness;
  std::int64_t total_failure_delta = 0;
  CategoryDeltas failure_deltas{};
};

struct QueryOutcome {
  std::string query_id;
  Category diagnosis_a = Category::unknown, diagnosis_b = Category::unknown;
  double recall_a = 0, recall_b = 0;  ///< unrounded
  std::optional<bool> grounded_a, grounded_b, correct_a, correct_b;
  Outcome outcome = Outcome::unchanged;
};

struct MetricRegression {
  std::string metric_name;
  double baseline_value = 0, current_value = 0, delta = 0, threshold = 0;
  std::string unit;
};

struct RegressedQuery {
  std::size_t outcome = 0;  ///< index into the comparison's outcomes
  std::string reason, reason_code;
};

struct Transition {
  Category from = Category::pass, to = Category::pass;
  std::vector<std::string> query_ids;  ///< by code point
};

struct RegressionAnalysis {
  Verdict verdict = Verdict::none;
  std::string summary;
  std::vector<MetricRegression> metric_regressions;
  std::vector<RegressedQuery> regressed_queries;
  std::vector<Transition> transitions;
  std::vector<std::pair<Category, std::int64_t>> increased_failures;
  std::vector<std::string> important_regressions;
};

/// One side: its document, of which only `selection` counts where the ids of the sides differ.
struct Side {
  const diagnosis::Document* document = nullptr;
  std::string name;                     ///< as winners are called
  diagnosis::EvaluationReport report;   ///< over the shared ids
  std::vector<std::uint32_t> selection; ///< of the document's evaluation, rising
};

struct Comparison {
  std::string dataset_name, dataset_version;
  Side a, b;
  MetricDeltas deltas;               ///< rounded
  CategoryDeltas category_deltas{};
  std::vector<TypeDeltas> by_type;
  std::vector<QueryOutcome> outcomes;
  std::uint64_t improved = 0, regressed = 0, unchanged = 0;
  Winner quality = Winner::tie, latency = Winner::tie, overall = Winner::tie;
  std::string deciding_metric;       ///< the metric that named the quality winner; empty on a tie
  TradeOff trade_off = TradeOff::none;
  std::string summary;
  RegressionAnalysis regression;
  std::vector<std::string> only_in_a, only_in_b;  ///< by code point
  std::vector<std::string> warnings;
  std::vector<PairedTest> tests;

  const std::string& winner_name(Winner winner) const;
};

/// Compares two documents, which must outlive the result. Fails with `mismatch` for sides of different K or without a shared id.
Result<Comparison> compare(const diagnosis::Document& a, const diagnosis::Document& b, const Options& options = {});

/// What became of one query.
Outcome outcome(const QueryOutcome& query) noexcept;

/// `{metric: {delta, low, high, p, p_holm, n}}`
void write_tests(json::Writer& writer, const std::vector<PairedTest>& tests);

/// Writes the report's fields, the two EvaluationReports apart, into an object that is open.
void write_fields(json::Writer& writer, const Comparison& comparison);

/// The ComparisonReport as a document (`kind` "comparison"). The embedded reports are over the shared ids and come without
/// `results`: a hundred thousand of them are in the sides' own documents already.
void write_comparison(json::Writer& writer, const Comparison& comparison);

}  // namespace polygraph::comparison
