// The ComparisonReport, written.
#include "wasm/comparison/comparison.hpp"
#include "wasm/diagnosis/ranking.hpp"

namespace polygraph::comparison {
namespace {

using diagnosis::categories;
using diagnosis::rounded;
using json::Writer;

constexpr int schema_version = 1;

void write_texts(Writer& writer, const std::vector<std::string>& texts) {
  writer.begin_array();
  for (const auto& text : texts) writer.value(text);
  writer.end_array();
}

void write_deltas(Writer& writer, const CategoryDeltas& deltas) {
  writer.begin_object();
  for (const Category category : categories) writer.key(name(category)).integer(deltas[diagnosis::index(category)]);
  writer.end_object();
}

/// The fields that outcomes and regressed queries share.
void write_values(Writer& writer, const QueryOutcome& query) {
  writer.field("recall_a", rounded(query.recall_a, 4));
  writer.field("recall_b", rounded(query.recall_b, 4));
  writer.field("grounded_a", query.grounded_a);
  writer.field("grounded_b", query.grounded_b);
  writer.field("answer_correct_a", query.correct_a);
  writer.field("answer_correct_b", query.correct_b);
}

std::string transition(Category from, Category to) { return std::string(name(from)) + " -> " + std::string(name(to)); }

/// The embedded report, without the results: they stand in the sides' own documents, and here as outcomes.
void write_side(Writer& writer, const Side& side) {
  writer.begin_object();
  if (side.document->stored) {
    diagnosis::write_fields(writer, *side.document->stored);
  } else {
    diagnosis::write_fields(writer, side.report);
    for (const auto& [name, value] : side.document->others) writer.key(name).raw(value);
  }
  writer.end_object();
}

void write_regression(Writer& writer, const Comparison& comparison) {
  const RegressionAnalysis& analysis = comparison.regression;
  writer.begin_object();
  writer.field("overall_regression", is_regression(analysis.verdict));
  writer.field("summary", analysis.summary);
  writer.field("verdict", name(analysis.verdict));
  writer.key("metric_regressions").begin_array();
  for (const MetricRegression& one : analysis.metric_regressions) {
    writer.begin_object();
    writer.field("metric_name", one.metric_name);
    writer.field("baseline_value", one.baseline_value);
    writer.field("current_value", one.current_value);
    writer.field("delta", one.delta);
    writer.field("threshold", one.threshold);
    writer.field("unit", one.unit);
    writer.end_object();
  }
  writer.end_array();
  writer.key("regressed_queries").begin_array();
  for (const RegressedQuery& one : analysis.regressed_queries) {
    const QueryOutcome& query = comparison.outcomes[one.outcome];
    writer.begin_object();
    writer.field("query_id", query.query_id);
    writer.field("baseline_diagnosis", name(query.diagnosis_a));
    writer.field("current_diagnosis", name(query.diagnosis_b));
    writer.field("transition", transition(query.diagnosis_a, query.diagnosis_b));
    write_values(writer, query);
    writer.field("reason", one.reason);
    writer.field("reason_code", one.reason_code);
    writer.end_object();
  }
  writer.end_array();
  writer.key("regressed_query_count").count(analysis.regressed_queries.size());
  writer.key("diagnosis_regressions").begin_array();
  for (const Transition& one : analysis.transitions) {
    writer.begin_object();
    writer.field("from_category", name(one.from));
    writer.field("to_category", name(one.to));
    writer.field("transition", transition(one.from, one.to));
    writer.key("count").count(one.query_ids.size());
    writer.key("query_ids");
    write_texts(writer, one.query_ids);
    writer.end_object();
  }
  writer.end_array();
  writer.key("increased_failures").begin_object();
  for (const auto& [category, grown] : analysis.increased_failures) writer.key(name(category)).integer(grown);
  writer.end_object();
  writer.key("important_regressions");
  write_texts(writer, analysis.important_regressions);
  writer.end_object();
}

}  // namespace

void write_tests(Writer& writer, const std::vector<PairedTest>& tests) {
  writer.begin_object();
  for (const PairedTest& test : tests) {
    writer.key(test.metric).begin_object();
    writer.field("delta", test.delta);
    writer.field("low", test.low);
    writer.field("high", test.high);
    writer.field("p", test.p);
    writer.field("p_holm", test.p_holm);
    writer.key("n").count(test.n);
    writer.end_object();
  }
  writer.end_object();
}

void write_fields(Writer& writer, const Comparison& comparison) {
  writer.field("dataset_name", comparison.dataset_name);
  writer.field("dataset_version", comparison.dataset_version);
  writer.field("pipeline_a_name", comparison.a.name);
  writer.field("pipeline_b_name", comparison.b.name);
  writer.field("quality_winner", comparison.winner_name(comparison.quality));
  writer.field("latency_winner", comparison.winner_name(comparison.latency));
  writer.field("overall_winner", comparison.winner_name(comparison.overall));
  writer.field("winner", comparison.winner_name(comparison.overall));
  writer.key("winner_side").begin_object();
  writer.field("quality", name(comparison.quality));
  writer.field("latency", name(comparison.latency));
  writer.field("overall", name(comparison.overall));
  writer.end_object();
  writer.field("trade_off", name(comparison.trade_off));
  writer.field("summary", comparison.summary);

  writer.key("metric_deltas").begin_object();
  writer.field("precision_at_k", comparison.deltas.precision_at_k);
  writer.field("recall_at_k", comparison.deltas.recall_at_k);
  writer.field("mrr", comparison.deltas.mrr);
  writer.field("answer_correctness", comparison.deltas.answer_correctness);
  writer.field("groundedness", comparison.deltas.groundedness);
  writer.field("mean_retrieval_ms", comparison.deltas.mean_retrieval_ms);
  writer.field("p95_retrieval_ms", comparison.deltas.p95_retrieval_ms);
  writer.end_object();
  writer.key("diagnosis_deltas");
  write_deltas(writer, comparison.category_deltas);
  writer.key("query_type_deltas").begin_object();
  for (const TypeDeltas& type : comparison.by_type) {
    writer.key(type.query_type).begin_object();
    writer.field("query_type", type.query_type);
    writer.field("recall_at_k", type.recall_at_k);
    writer.field("mrr", type.mrr);
    writer.field("answer_correctness", type.answer_correctness);
    writer.field("groundedness", type.groundedness);
    writer.key("total_failure_delta").integer(type.total_failure_delta);
    writer.key("failure_deltas");
    write_deltas(writer, type.failure_deltas);
    writer.end_object();
  }
  writer.end_object();

  writer.key("tests");
  write_tests(writer, comparison.tests);

  writer.key("queries_improved").count(comparison.improved);
  writer.key("queries_regressed").count(comparison.regressed);
  writer.key("queries_unchanged").count(comparison.unchanged);
  writer.key("query_outcomes").begin_array();
  for (const QueryOutcome& query : comparison.outcomes) {
    writer.begin_object();
    writer.field("query_id", query.query_id);
    writer.field("diagnosis_a", name(query.diagnosis_a));
    writer.field("diagnosis_b", name(query.diagnosis_b));
    write_values(writer, query);
    writer.field("outcome", name(query.outcome));
    writer.end_object();
  }
  writer.end_array();
  writer.key("regression_analysis");
  write_regression(writer, comparison);
  writer.key("only_in_a");
  write_texts(writer, comparison.only_in_a);
  writer.key("only_in_b");
  write_texts(writer, comparison.only_in_b);
  writer.key("warnings");
  write_texts(writer, comparison.warnings);
}

void write_comparison(Writer& writer, const Comparison& comparison) {
  writer.begin_object();
  writer.field("kind", "comparison");
  writer.key("schema").count(schema_version);
  write_fields(writer, comparison);
  writer.key("pipeline_a_report");
  write_side(writer, comparison.a);
  writer.key("pipeline_b_report");
  write_side(writer, comparison.b);
  writer.end_object();
}

}  // namespace polygraph::comparison
