#include "wasm/report/comparison_text.hpp"

#include <algorithm>

namespace polygraph::report {
namespace {

using comparison::Category;
using comparison::Comparison;
using comparison::Matrix;
using comparison::Standing;
using comparison::Winner;
using diagnosis::EvaluationReport;

struct Line {
  std::string label;
  std::optional<double> a, b, delta;
  int decimals;
};

std::optional<double> if_any(std::uint64_t count, double value) { return count > 0 ? std::optional(value) : std::nullopt; }

std::vector<Line> lines(const Comparison& comparison) {
  const EvaluationReport& a = comparison.a.report;
  const EvaluationReport& b = comparison.b.report;
  const auto& d = comparison.deltas;
  const std::string k = "@" + std::to_string(a.retrieval.k);
  const auto scored = [](const EvaluationReport& report, double value) { return if_any(report.retrieval.scored_queries, value); };
  const auto timed = [](const EvaluationReport& report, double value) { return if_any(report.latency.count, value); };
  const bool both_timed = a.latency.count > 0 && b.latency.count > 0;
  const auto only_if = [](bool known, double value) { return known ? std::optional(value) : std::nullopt; };
  return {{"Recall" + k, scored(a, a.retrieval.mean_recall_at_k), scored(b, b.retrieval.mean_recall_at_k), d.recall_at_k, 4},
          {"Precision" + k, scored(a, a.retrieval.mean_precision_at_k), scored(b, b.retrieval.mean_precision_at_k), d.precision_at_k, 4},
          {"MRR", scored(a, a.retrieval.mrr), scored(b, b.retrieval.mrr), d.mrr, 4},
          {"Correctness", a.semantic.answer_correctness_rate, b.semantic.answer_correctness_rate, d.answer_correctness, 4},
          {"Groundedness", a.semantic.groundedness_rate, b.semantic.groundedness_rate, d.groundedness, 4},
          {"Retrieval, mean ms", timed(a, a.latency.mean_ms), timed(b, b.latency.mean_ms), only_if(both_timed, d.mean_retrieval_ms), 2},
          {"Retrieval, p95 ms", timed(a, a.latency.p95_ms), timed(b, b.latency.p95_ms), only_if(both_timed, d.p95_retrieval_ms), 2}};
}

std::string outcomes(const Comparison& comparison) {
  if (comparison.outcomes.empty()) return "no result of single queries to compare";
  return std::to_string(comparison.improved) + " improved, " + std::to_string(comparison.regressed) + " regressed, " + std::to_string(comparison.unchanged) +
         " unchanged";
}

std::string winner(const Comparison& comparison, Winner side) { return side == Winner::tie ? "tie" : comparison.winner_name(side); }

std::string signed_count(std::int64_t value) { return value > 0 ? "+" + std::to_string(value) : std::to_string(value); }

std::string arrow(const comparison::Transition& one) { return std::string(name(one.from)) + " -> " + std::string(name(one.to)); }

std::string standing_name(const Matrix& matrix, const Standing& one) { return matrix.contenders[one.contender].name; }

}  // namespace

std::string warning_sentence(const std::string& code) {
  if (code == "items_differ") return "The sides hold different queries: everything is over those that both have.";
  if (code == "no_query_results") return "A side has no results of single queries: there are no outcomes and no query regressions.";
  if (code == "completion_differs") return "The sides completed different shares of the queries.";
  if (code == "datasets_differ") return "The sides name different datasets or versions of one.";
  if (code == "latency_unmeasured") return "A side has no measured latency: latency decides nothing.";
  return code;
}

std::string comparison_text(const Comparison& comparison, const Ink& ink) {
  std::string out;
  const std::string bold(ink.bold), reset(ink.reset), dim(ink.dim);
  const auto line = [&](std::size_t indent, const std::string& text) { out += std::string(indent, ' ') + text + "\n"; };
  const auto paragraph = [&](std::size_t indent, const std::string& text) { line(indent, wrapped(one_line(text), indent, indent)); };
  const auto section = [&](const std::string& words) {
    out += '\n';
    line(0, bold + words + reset);
  };
  line(0, "A  " + bold + wrapped(one_line(comparison.a.name), 3, 3) + reset);
  line(0, "B  " + bold + wrapped(one_line(comparison.b.name), 3, 3) + reset);
  if (!comparison.dataset_name.empty()) paragraph(0, "over " + comparison.dataset_name + (comparison.dataset_version.empty() ? "" : " " + comparison.dataset_version));
  out += '\n';
  line(0, bold + wrapped(one_line("Winner: " + winner(comparison, comparison.overall)), 0, 0) + reset);
  paragraph(0, comparison.summary);
  paragraph(0, "Trade-off: " + std::string(name(comparison.trade_off)) + "; quality: " + winner(comparison, comparison.quality) +
                   "; latency: " + winner(comparison, comparison.latency) + ".");
  for (const auto& warning : comparison.warnings) paragraph(0, "Warning: " + warning_sentence(warning));
  const auto only = [&](const char* side, const std::vector<std::string>& ids) {
    if (ids.empty()) return;
    constexpr std::size_t most = 10;
    std::string words = "Only in " + std::string(side) + " (" + std::to_string(ids.size()) + "): ";
    for (std::size_t i = 0; i < std::min(most, ids.size()); ++i) words += (i == 0 ? "" : ", ") + ids[i];
    paragraph(2, words + (ids.size() > most ? ", …" : ""));
  };
  only("A", comparison.only_in_a);
  only("B", comparison.only_in_b);

  out += '\n';
  line(2, dim + left("", 24) + right("A", 14) + right("B", 14) + right("B - A", 14) + reset);
  for (const Line& one : lines(comparison)) {
    line(2, left(one.label, 24) + right(fixed(one.a, one.decimals), 14) + right(fixed(one.b, one.decimals), 14) + right(signed_fixed(one.delta, one.decimals), 14));
  }
  out += '\n';
  for (const Category category : diagnosis::categories) {
    const auto a = comparison.a.report.count(category), b = comparison.b.report.count(category);
    if (a == 0 && b == 0) continue;
    line(2, left(name(category), 28) + right(std::to_string(a), 10) + right(std::to_string(b), 14) +
                right(signed_count(comparison.category_deltas[diagnosis::index(category)]), 14));
  }
  if (!comparison.by_type.empty()) {
    out += '\n';
    line(2, dim + left("type (B - A)", 24) + right("recall", 10) + right("MRR", 10) + right("correct", 10) + right("grounded", 10) + right("failures", 10) + reset);
    constexpr std::size_t most = 12;
    for (std::size_t i = 0; i < std::min(most, comparison.by_type.size()); ++i) {
      const auto& type = comparison.by_type[i];
      line(2, left(shortened(one_line(type.query_type), 23), 24) + right(signed_fixed(type.recall_at_k, 4), 10) + right(signed_fixed(type.mrr, 4), 10) +
                  right(signed_fixed(type.answer_correctness, 4), 10) + right(signed_fixed(type.groundedness, 4), 10) +
                  right(signed_count(type.total_failure_delta), 10));
    }
  }
  if (!comparison.tests.empty()) {
    section("Paired tests (B - A)");
    for (const auto& test : comparison.tests) {
      const std::string interval = test.low && test.high ? "[" + fixed(*test.low, 4) + ", " + fixed(*test.high, 4) + "]" : "";
      line(2, left(test.metric, 16) + right(signed_fixed(test.delta, 4), 10) + "  " + left(interval, 22) + " p " + fixed(test.p, 4) + ", Holm " + fixed(test.p_holm, 4) +
                  "  n " + std::to_string(test.n));
    }
  }
  section("Queries");
  line(2, outcomes(comparison));
  const auto& regression = comparison.regression;
  section(is_regression(regression.verdict) ? "Regression: yes" : "Regression: no");
  paragraph(2, regression.summary);
  for (const auto& one : regression.metric_regressions) {
    paragraph(2, one.metric_name + ": " + fixed(one.baseline_value, 4) + " to " + fixed(one.current_value, 4) + (one.unit.empty() ? "" : " ") + one.unit + " (" + signed_fixed(one.delta, 4) +
                     ", tolerance " + json::to_text(one.threshold) + ")");
  }
  constexpr std::size_t most_transitions = 8;
  for (std::size_t i = 0; i < std::min(most_transitions, regression.transitions.size()); ++i) {
    line(2, right(std::to_string(regression.transitions[i].query_ids.size()), 6) + "  " + arrow(regression.transitions[i]));
  }
  if (!regression.important_regressions.empty()) {
    line(2, "Most important:");
    for (const auto& one : regression.important_regressions) paragraph(4, one);
  }
  return out;
}

std::string comparison_markdown(const Comparison& comparison) {
  std::string out = "# " + markdown(comparison.a.name) + " (A) against " + markdown(comparison.b.name) + " (B)\n\n";
  if (!comparison.dataset_name.empty()) {
    out += "Over " + markdown(comparison.dataset_name + (comparison.dataset_version.empty() ? "" : " " + comparison.dataset_version)) + ".\n\n";
  }
  out += "**Winner: " + markdown(winner(comparison, comparison.overall)) + ".** " + markdown(comparison.summary) + "\n\n";
  out += "Quality: " + markdown(winner(comparison, comparison.quality)) + "; latency: " + markdown(winner(comparison, comparison.latency)) + "; trade-off: `" +
         std::string(name(comparison.trade_off)) + "`.\n\n";
  for (const auto& warning : comparison.warnings) out += "- Warning: " + markdown(warning_sentence(warning)) + "\n";
  if (!comparison.warnings.empty()) out += "\n";
  out += head({"Metric", "A", "B", "B − A"});
  for (const Line& one : lines(comparison)) out += row({one.label, fixed(one.a, one.decimals), fixed(one.b, one.decimals), signed_fixed(one.delta, one.decimals)});
  out += "\n" + head({"Category", "A", "B", "B − A"});
  for (const Category category : diagnosis::categories) {
    out += row({std::string(name(category)), std::to_string(comparison.a.report.count(category)), std::to_string(comparison.b.report.count(category)),
                signed_count(comparison.category_deltas[diagnosis::index(category)])});
  }
  if (!comparison.by_type.empty()) {
    out += "\n" + head({"Type (B − A)", "Recall", "MRR", "Correct", "Grounded", "Failures"});
    for (const auto& type : comparison.by_type) {
      out += row({markdown(type.query_type), signed_fixed(type.recall_at_k, 4), signed_fixed(type.mrr, 4), signed_fixed(type.answer_correctness, 4),
                  signed_fixed(type.groundedness, 4), signed_count(type.total_failure_delta)});
    }
  }
  if (!comparison.tests.empty()) {
    out += "\n" + head({"Paired test", "B − A", "95 % interval", "p", "p (Holm)", "n"});
    for (const auto& test : comparison.tests) {
      out += row({markdown(test.metric), signed_fixed(test.delta, 4), test.low && test.high ? fixed(*test.low, 4) + " to " + fixed(*test.high, 4) : "—", fixed(test.p, 4),
                  fixed(test.p_holm, 4), std::to_string(test.n)});
    }
  }
  const auto& regression = comparison.regression;
  out += "\nQueries: " + outcomes(comparison) + ".\n\n## Regression: " + (is_regression(regression.verdict) ? "yes" : "no") + "\n\n" + markdown(regression.summary) + "\n\n";
  for (const auto& one : regression.metric_regressions) {
    out += "- " + markdown(one.metric_name) + ": " + fixed(one.baseline_value, 4) + " to " + fixed(one.current_value, 4) + " " + one.unit + "\n";
  }
  for (const auto& one : regression.transitions) out += "- " + std::to_string(one.query_ids.size()) + " × `" + arrow(one) + "`\n";
  if (!regression.important_regressions.empty()) {
    out += "\nMost important:\n\n";
    for (const auto& one : regression.important_regressions) out += "- " + markdown(one) + "\n";
  }
  return out;
}

std::string matrix_text(const Matrix& matrix, const Ink& ink) {
  std::string out;
  const std::string dim(ink.dim), reset(ink.reset);
  out += dim + left("rank", 6) + left("pipeline", 30) + right("won", 5) + right("lost", 6) + right("quality", 9) + right("mean ms", 11) + right("cost $", 10) + "  P" + reset + "\n";
  for (const Standing& one : matrix.ranking) {
    out += left(std::to_string(one.rank), 6) + left(shortened(one_line(standing_name(matrix, one)), 29), 30) + right(std::to_string(one.wins), 5) +
           right(std::to_string(one.losses), 6) + right(fixed(one.quality, 3), 9) + right(fixed(one.mean_ms, 1), 11) + right(fixed(one.cost_usd, 5), 10) +
           (one.on_front ? "  *" : "") + "\n";
  }
  out += dim + "P: on the Pareto front of quality, latency and cost" + reset + "\n\n";
  for (const auto& pair : matrix.pairs) {
    const std::string words = one_line(matrix.contenders[pair.a].name + " (A), " + matrix.contenders[pair.b].name + " (B): " + pair.comparison.summary);
    out += wrapped(words, 2, 0) + "\n";
  }
  return out;
}

std::string matrix_markdown(const Matrix& matrix) {
  std::string out = "| Rank | Pipeline | Won | Lost | Quality | Mean ms | Cost, $ | Pareto |\n|---:|---|---:|---:|---:|---:|---:|:---:|\n";
  for (const Standing& one : matrix.ranking) {
    out += row({std::to_string(one.rank), markdown(standing_name(matrix, one)), std::to_string(one.wins), std::to_string(one.losses), fixed(one.quality, 3),
                fixed(one.mean_ms, 1), fixed(one.cost_usd, 5), one.on_front ? "yes" : ""});
  }
  out += "\n";
  for (const auto& pair : matrix.pairs) {
    out += "- " + markdown(matrix.contenders[pair.a].name) + " (A), " + markdown(matrix.contenders[pair.b].name) + " (B): " + markdown(pair.comparison.summary) + "\n";
  }
  return out;
}

}  // namespace polygraph::report
