// One run, evaluated: the EvaluationReport of its results, every metric with its interval, and the failures worth reading. From
// stored results alone: nothing is run again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/comparison/matrix.hpp"
#include "wasm/diagnosis/document.hpp"
#include "wasm/error.hpp"
#include "wasm/json/writer.hpp"
#include "wasm/metrics/agent_metrics.hpp"
#include "wasm/report/paired_tests.hpp"

namespace polygraph::report {

/// What stands in a run's header about all of it.
struct RunFacts {
  std::string name;              ///< of the configuration or pipeline
  std::string identity;          ///< JSON object of the run's header; empty: it came from no file
  std::string config;            ///< JSON object; empty: none
  std::string index_digest;      ///< empty: a pipeline's own
  std::string golden_name, golden_digest, golden_source, subset;
  std::string judge;             ///< JSON object {provider, model, …}; empty: nobody judged
  bool offline_judge = false;    ///< its figures stand in rows of their own
  bool judge_calibrated = false;
  std::uint32_t k = diagnosis::default_k;
  std::size_t top_k = 4;
  std::uint64_t items = 0;       ///< that the complete run has, repeats counted
};

/// A failed item with what an agent's diagnosis says of it.
struct FailureCase {
  std::string query_id, query, kind;  ///< kind: the agent's diagnosis, or the category
  std::uint32_t number = 0;           ///< in the evaluation
};

/// What a first retrieval handed on and nobody judged for the item.
struct Unjudged {
  std::string query_id;
  std::vector<std::string> chunk_ids;  ///< of the first `top_k`, best first
};

struct EvaluatedRun {
  RunFacts facts;
  diagnosis::Document document;            ///< of the first repeat of each item
  metrics::AgentSummary summary;
  std::vector<std::string> ids;            ///< of `measures`, in the run's order
  std::vector<metrics::ItemMeasures> measures;  ///< one an item; its repeats averaged
  std::vector<std::pair<std::string, double>> spread;  ///< standard deviation of a metric between repeats; empty for one
  std::vector<Unjudged> unjudged;          ///< of the first repeat of each item; only items with any
  std::uint64_t done = 0;                  ///< lines of the run
  std::vector<FailureCase> failures;       ///< at most five, one of each kind first
  const diagnosis::Evaluation& evaluation() const { return *document.evaluation; }
  const diagnosis::EvaluationReport& report() const { return document.report; }
  bool complete() const noexcept { return done == facts.items; }
};

class RunEvaluator {
 public:
  explicit RunEvaluator(RunFacts facts);

  /// One line of the run: golden item, query result and judgement (`null`: none) as JSON. `result` must outlive the evaluation. Fails
  /// with `invalid_json`.
  Result<void> add(std::string_view golden, std::string_view result, std::string_view judgement, std::uint32_t repeat);
  /// Reads results again, for its failure cases; `passed` as write_evaluation has it.
  EvaluatedRun finish(const std::function<void()>& passed = {});

 private:
  EvaluatedRun run_;
  metrics::AgentMetrics metrics_;
  bool pages_ = false;
  std::vector<std::vector<metrics::ItemMeasures>> repeats_;  ///< of each item
};

/// Two runs over the items that both have, every metric tested (paired_tests.hpp).
struct TestedMetric {
  std::string name;
  metrics::Comparison test;
};
struct ComparedRuns {
  std::vector<TestedMetric> metrics;
  std::vector<std::string> only_in_a, only_in_b;
};
ComparedRuns compare(const EvaluatedRun& a, const EvaluatedRun& b);

/// Every pair of runs compared with its paired tests, ranking and front; runs of one name are numbered. The runs must outlive it. Fails as
/// comparison::matrix() does.
Result<comparison::Matrix> matrix_of(const std::vector<EvaluatedRun>& runs);

/// Several runs in one document (`kind` "matrix"): names, evaluations with their results, every pair compared by the rules of
/// wasm/comparison, ranking and front.
Result<void> write_matrix(json::Writer& writer, const std::vector<EvaluatedRun>& runs, const std::function<void()>& passed = {});

/// The document of one run (assets/schemas/evaluation_report.schema.json). Without `with_results` everything but the results and
/// what each metric has of them (`item_values`, `item_decisions`: columns in the order of the results). `passed` is told now and
/// then while results are read again: what they were read from can be let go.
void write_evaluation(json::Writer& writer, const EvaluatedRun& run, bool with_results, const std::function<void()>& passed = {});

}  // namespace polygraph::report
