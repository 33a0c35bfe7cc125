#include "wasm/report/diagnosis_text.hpp"

#include <algorithm>

#include "wasm/diagnosis/document.hpp"

namespace polygraph::report {
namespace {

using diagnosis::Category;
using diagnosis::EvaluationReport;
using diagnosis::name;

std::string of(std::uint64_t part, std::uint64_t whole) { return std::to_string(part) + " of " + std::to_string(whole); }

std::string title(const EvaluationReport& report) {
  std::string out = report.pipeline_name && !report.pipeline_name->empty() ? *report.pipeline_name : "pipeline";
  if (!report.dataset_name.empty()) out += " over " + report.dataset_name;
  if (!report.dataset_version.empty()) out += " " + report.dataset_version;
  return out;
}

std::optional<double> if_any(std::uint64_t count, double value) { return count > 0 ? std::optional(value) : std::nullopt; }

struct Figure {
  std::string label, value, over;
};

std::vector<Figure> figures(const EvaluationReport& report) {
  const auto& retrieval = report.retrieval;
  const std::string k = "@" + std::to_string(retrieval.k);
  const auto scored = "over " + std::to_string(retrieval.scored_queries) + " with expected chunks";
  const auto judged = [](std::uint64_t count) { return count > 0 ? "over " + std::to_string(count) + " judged" : std::string(); };
  const auto& latency = report.latency;
  return {{"Recall" + k, fixed(if_any(retrieval.scored_queries, retrieval.mean_recall_at_k), 3), scored},
          {"Precision" + k, fixed(if_any(retrieval.scored_queries, retrieval.mean_precision_at_k), 3), scored},
          {"MRR", fixed(if_any(retrieval.scored_queries, retrieval.mrr), 3), scored},
          {"Correctness", fixed(report.semantic.answer_correctness_rate, 3), judged(report.semantic.correctness_judged)},
          {"Groundedness", fixed(report.semantic.groundedness_rate, 3), judged(report.semantic.groundedness_judged)},
          {"Retrieval, mean", fixed(if_any(latency.count, latency.mean_ms), 1) + (latency.count > 0 ? " ms" : ""),
           latency.count > 0 ? "p50 " + fixed(latency.p50_ms, 1) + ", p95 " + fixed(latency.p95_ms, 1) + ", p99 " + fixed(latency.p99_ms, 1) + " ms" : "not measured"}};
}

std::string totals(const EvaluationReport& report) {
  const std::uint64_t n = report.total_queries;
  std::string out = std::to_string(n) + (n == 1 ? " query: " : " queries: ") + std::to_string(report.passed()) + " passed, " +
                    std::to_string(n - std::min(n, report.passed())) + " failed";
  if (report.failed_queries > 0) out += " (" + std::to_string(report.failed_queries) + " did not complete)";
  return out + ".";
}

std::string judging(const EvaluationReport& report) {
  if (report.judge_attempts() == 0) return "No judge looked at the answers.";
  std::string out = "A judge looked at " + of(report.judged_queries, report.completed_queries) + " answers";
  if (report.judge_failures > 0) out += " and failed on " + std::to_string(report.judge_failures);
  return out + ".";
}

class Text {
 public:
  Text(const EvaluationReport& report, const Ink& ink) : report_(report), ink_(ink) {}

  std::string write() {
    line(0, std::string(ink_.bold) + wrapped(one_line(title(report_)), 0, 0) + std::string(ink_.reset));
    line(0, totals(report_));
    line(0, judging(report_));
    blank();
    for (const Figure& one : figures(report_)) {
      line(2, left(one.label, 18) + right(one.value, 12) + (one.over.empty() ? "" : "  " + std::string(ink_.dim) + one.over + std::string(ink_.reset)));
    }
    types();
    section("Failure modes");
    const auto modes = diagnosis::failure_modes(report_);
    if (modes.empty()) line(2, "none");
    for (const auto& mode : modes) {
      line(2, right(std::to_string(mode.count), 6) + "  " + coloured(mode.category) + "  " +
                  std::string(name(diagnosis::severity(mode.category))));
      paragraph(10, action(mode.category));
    }
    section("Important queries");
    if (report_.top_failures.empty()) line(2, "none");
    for (const auto& failure : report_.top_failures) {
      line(2, std::string(ink_.bold) + shortened(one_line(failure.query_id), 40) + std::string(ink_.reset) + "  " +
                  coloured(failure.category));
      if (!failure.query.empty()) paragraph(4, shortened(one_line(failure.query), 300));
      paragraph(4, one_line(failure.reason));
      if (!failure.evidence.empty()) paragraph(4, "Evidence: " + shortened(one_line(failure.evidence.front()), 300));
      paragraph(4, "Action: " + one_line(failure.action));
    }
    statements("Insights", report_.insights);
    const auto& health = report_.health;
    section("Health " + (health.defined ? fixed(health.score, 1) : "—") + "  " + one_line(health.grade) + ", " + one_line(health.status));
    if (!health.missing.empty()) line(2, "not measured: " + join(health.missing));
    list("+", health.strengths);
    list("-", health.weaknesses);
    list(">", health.recommendations);
    section("Confidence " + fixed(report_.confidence.score, 1) + "  " + one_line(report_.confidence.level));
    list("*", report_.confidence.reasons);
    return std::move(out_);
  }

 private:
  std::string coloured(Category category) const {
    const bool major = diagnosis::severity(category) == diagnosis::Severity::major;
    return std::string(major ? ink_.bad : ink_.bold) + std::string(name(category)) + std::string(ink_.reset);
  }
  static std::string join(const std::vector<std::string>& words) {
    std::string out;
    for (const auto& word : words) out += (out.empty() ? "" : ", ") + one_line(word);
    return out;
  }
  void blank() { out_ += '\n'; }
  void line(std::size_t indent, const std::string& text) { out_ += std::string(indent, ' ') + text + "\n"; }
  void paragraph(std::size_t indent, std::string_view text) { line(indent, wrapped(text, indent, indent)); }
  void section(const std::string& words) {
    blank();
    line(0, std::string(ink_.bold) + wrapped(words, 0, 0) + std::string(ink_.reset));
  }
  void list(const char* mark, const diagnosis::Statements& statements) {
    for (const auto& sentence : statements.sentences) line(2, std::string(mark) + " " + wrapped(one_line(sentence), 4, 4));
  }
  void statements(const char* words, const diagnosis::Statements& statements) {
    if (statements.sentences.empty()) return;
    section(words);
    list("*", statements);
  }
  void types() {
    if (report_.by_type.empty()) return;
    constexpr std::size_t most = 12;
    blank();
    line(2, std::string(ink_.dim) + left("type", 18) + right("queries", 9) + right("failed", 8) + right("recall", 9) + right("MRR", 8) + right("correct", 9) +
                right("grounded", 10) + std::string(ink_.reset));
    for (std::size_t i = 0; i < std::min(most, report_.by_type.size()); ++i) {
      const auto& type = report_.by_type[i];
      line(2, left(shortened(one_line(type.query_type), 17), 18) + right(std::to_string(type.total_queries), 9) + right(std::to_string(type.failed_queries), 8) +
                  right(fixed(if_any(type.scored_queries, type.mean_recall_at_k), 3), 9) + right(fixed(if_any(type.scored_queries, type.mrr), 3), 8) +
                  right(fixed(type.answer_correctness_rate, 3), 9) + right(fixed(type.groundedness_rate, 3), 10));
    }
    if (report_.by_type.size() > most) line(2, "and " + std::to_string(report_.by_type.size() - most) + " more types");
  }

  const EvaluationReport& report_;
  const Ink& ink_;
  std::string out_;
};

std::string bullets(const std::vector<std::string>& sentences) {
  std::string out;
  for (const auto& sentence : sentences) out += "- " + markdown(sentence) + "\n";
  return out;
}

}  // namespace

std::string diagnosis_text(const EvaluationReport& report, const Ink& ink) { return Text(report, ink).write(); }

std::string diagnosis_markdown(const EvaluationReport& report) {
  std::string out = "# Diagnosis of " + markdown(title(report)) + "\n\n" + totals(report) + " " + judging(report) + "\n\n";
  out += head({"Figure", "Value", "Over"});
  for (const Figure& one : figures(report)) out += row({one.label, one.value, one.over});
  if (!report.by_type.empty()) {
    out += "\n## Query types\n\n" + head({"Type", "Queries", "Failed", "Recall", "MRR", "Correct", "Grounded"});
    for (const auto& type : report.by_type) {
      out += row({markdown(type.query_type), std::to_string(type.total_queries), std::to_string(type.failed_queries),
                  fixed(if_any(type.scored_queries, type.mean_recall_at_k), 3), fixed(if_any(type.scored_queries, type.mrr), 3),
                  fixed(type.answer_correctness_rate, 3), fixed(type.groundedness_rate, 3)});
    }
  }
  out += "\n## Failure modes\n\n";
  const auto modes = diagnosis::failure_modes(report);
  if (modes.empty()) {
    out += "None.\n";
  } else {
    out += "| Category | Queries | Severity | What to look at |\n|---|---:|---|---|\n";
    for (const auto& mode : modes) {
      out += row({std::string(name(mode.category)), std::to_string(mode.count), std::string(name(diagnosis::severity(mode.category))), std::string(action(mode.category))});
    }
  }
  out += "\n## Important queries\n\n";
  if (report.top_failures.empty()) out += "None.\n";
  for (const auto& failure : report.top_failures) {
    out += "- **" + markdown(failure.query_id) + "** " + std::string(name(failure.category)) + ": " + markdown(failure.query) + "  \n  " + markdown(failure.reason);
    if (!failure.evidence.empty()) out += " Evidence: " + markdown(failure.evidence.front()) + ".";
    out += " Action: " + markdown(failure.action) + "\n";
  }
  if (!report.insights.sentences.empty()) out += "\n## Insights\n\n" + bullets(report.insights.sentences);
  const auto& health = report.health;
  out += "\n## Health " + (health.defined ? fixed(health.score, 1) : "—") + " (" + markdown(health.grade) + ", " + markdown(health.status) + ")\n\n";
  const auto list = [&](const char* words, const diagnosis::Statements& statements) {
    if (!statements.sentences.empty()) out += std::string(words) + ":\n\n" + bullets(statements.sentences) + "\n";
  };
  list("Strengths", health.strengths);
  list("Weaknesses", health.weaknesses);
  list("Recommendations", health.recommendations);
  out += "## Confidence " + fixed(report.confidence.score, 1) + " (" + markdown(report.confidence.level) + ")\n\n" + bullets(report.confidence.reasons.sentences);
  return out;
}

}  // namespace polygraph::report
