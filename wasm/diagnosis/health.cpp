// Insights, health and confidence: rules with fixed limits over a report's figures.
#include <algorithm>
#include <array>
#include <cmath>

#include "wasm/diagnosis/ranking.hpp"
#include "wasm/diagnosis/report.hpp"

namespace polygraph::diagnosis {
namespace {

double share(std::uint64_t part, std::uint64_t whole) { return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole); }

bool at_least(double value, double threshold) { return at_nine(value) >= threshold; }
bool under(double value, double threshold) { return at_nine(value) < threshold; }
bool over(double value, double threshold) { return at_nine(value) > threshold; }

/// "0.82"; "0.696" where two decimals would show the threshold that it missed.
std::string figure(double value) { return json::to_text(rounded(value, 3)); }
std::string milliseconds(double value) { return json::to_text(rounded(value, 1)) + " ms"; }
std::string queries(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " query" : " queries"); }

bool scored(const EvaluationReport& report) { return report.retrieval.scored_queries > 0; }
bool judged_both(const EvaluationReport& report) { return report.semantic.answer_correctness_rate && report.semantic.groundedness_rate; }
bool slow(const EvaluationReport& report) {
  return report.latency.count > 0 && (over(report.latency.mean_ms, 300) || over(report.latency.p95_ms, 1000));
}

/// 1 up to 100 ms, linear to 0.75 at 500, to 0.25 at 1500, to 0 at 3000.
double latency_score(double mean_ms) {
  struct Point {
    double ms, score;
  };
  constexpr std::array<Point, 4> points = {{{100, 1}, {500, 0.75}, {1500, 0.25}, {3000, 0}}};
  if (mean_ms <= points.front().ms) return points.front().score;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto& from = points[i - 1];
    const auto& to = points[i];
    if (mean_ms <= to.ms) return from.score + (to.score - from.score) * ((mean_ms - from.ms) / (to.ms - from.ms));
  }
  return 0;
}

struct Term {
  double weight, value;
};

/// The health formula's terms of quality that have a value.
std::vector<Term> quality_terms(const EvaluationReport& report) {
  std::vector<Term> terms;
  const bool judge = judged_both(report);
  if (scored(report)) {
    terms.push_back({judge ? 0.25 : 0.50, report.retrieval.mean_recall_at_k});
    terms.push_back({judge ? 0.10 : 0.20, report.retrieval.mean_precision_at_k});
    terms.push_back({judge ? 0.15 : 0.20, report.retrieval.mrr});
  }
  if (judge) {
    terms.push_back({0.25, *report.semantic.answer_correctness_rate});
    terms.push_back({0.15, *report.semantic.groundedness_rate});
  }
  return terms;
}

double weighted_mean(const std::vector<Term>& terms) {
  double sum = 0, weights = 0;
  for (const Term& term : terms) {
    sum += term.weight * term.value;
    weights += term.weight;
  }
  return sum / weights;
}

double one_decimal(double score) {
  if (!std::isfinite(score)) return score > 0 ? 100 : 0;
  // Nine decimals first, so that no order of summation moves a score across a tie.
  return rounded(std::clamp(at_nine(score), 0.0, 100.0), 1);
}

void strengths(Statements& out, const EvaluationReport& report) {
  const auto metric = [&](const char* code, const char* words, double value, double threshold) {
    if (at_least(value, threshold)) out.add(code, std::string(words) + " is high: " + figure(value) + ".");
  };
  if (scored(report)) {
    metric("recall", "Recall", report.retrieval.mean_recall_at_k, 0.85);
    metric("precision", "Precision", report.retrieval.mean_precision_at_k, 0.75);
    metric("mrr", "The mean reciprocal rank", report.retrieval.mrr, 0.80);
  }
  if (judged_both(report)) {
    metric("correctness", "Answer correctness", *report.semantic.answer_correctness_rate, 0.85);
    metric("groundedness", "Groundedness", *report.semantic.groundedness_rate, 0.85);
  }
  if (report.completed_queries > 0 && report.latency.count > 0 && at_nine(report.latency.mean_ms) <= 100) {
    out.add("latency", "Retrieval is fast: " + milliseconds(report.latency.mean_ms) + " on average.");
  }
  const bool no_failure = report.failed_queries == 0 && std::all_of(categories.begin() + 1, categories.end(), [&](Category one) { return report.count(one) == 0; });
  if (report.completed_queries > 0 && no_failure) out.add("no_failures", "No query failed in any way.");
}

void weaknesses(Statements& out, const EvaluationReport& report) {
  const auto metric = [&](const char* code, const char* words, double value, double threshold) {
    if (under(value, threshold)) out.add(code, std::string(words) + " is low: " + figure(value) + ".");
  };
  if (scored(report)) {
    metric("recall", "Recall", report.retrieval.mean_recall_at_k, 0.70);
    metric("precision", "Precision", report.retrieval.mean_precision_at_k, 0.50);
    metric("mrr", "The mean reciprocal rank", report.retrieval.mrr, 0.60);
  }
  if (judged_both(report)) {
    metric("correctness", "Answer correctness", *report.semantic.answer_correctness_rate, 0.70);
    metric("groundedness", "Groundedness", *report.semantic.groundedness_rate, 0.70);
  }
  if (slow(report)) {
    out.add("latency", "Retrieval is slow: " + milliseconds(report.latency.mean_ms) + " on average, " + milliseconds(report.latency.p95_ms) + " at the 95th percentile.");
  }
  struct Line {
    Category category;
    const char* words;
  };
  for (const auto& [category, words] : {Line{Category::wrong_chunk_retrieved, "found none of the expected chunks"},
                                        Line{Category::insufficient_context, "found only some of the expected chunks"},
                                        Line{Category::wrong_chunk_rank, "ranked the expected chunk low"},
                                        Line{Category::retrieved_but_not_grounded, "gave an answer that the chunks do not support"},
                                        Line{Category::answer_incorrect, "gave a wrong answer"}}) {
    if (report.count(category) > 0) out.add(std::string(name(category)), queries(report.count(category)) + " " + words + ".");
  }
  const std::uint64_t not_run = std::max(report.failed_queries, report.count(Category::unknown));
  if (not_run > 0) out.add("execution", queries(not_run) + " did not run to the end.");
}

void recommendations(Statements& out, const EvaluationReport& report, double score) {
  const auto add = [&](Category category) {
    const std::string code(name(category));
    if (std::find(out.codes.begin(), out.codes.end(), code) == out.codes.end()) out.add(code, std::string(action(category)));
  };
  for (const Category category : {Category::wrong_chunk_retrieved, Category::retrieved_but_not_grounded, Category::answer_incorrect, Category::unknown,
                                  Category::insufficient_context, Category::wrong_chunk_rank, Category::latency_outlier}) {
    if (report.count(category) > 0) add(category);
  }
  const bool retrieval_named = report.count(Category::wrong_chunk_retrieved) > 0 || report.count(Category::insufficient_context) > 0;
  if (scored(report) && under(report.retrieval.mean_recall_at_k, 0.70) && !retrieval_named) add(Category::insufficient_context);
  if (slow(report)) add(Category::latency_outlier);
  if (out.codes.empty() && score >= 90) add(Category::pass);
}

/// The lowest of `values`, of equals the first, and how far the highest is from it.
struct Spread {
  std::string type;
  double lowest = 0, highest = 0;
  std::size_t types = 0;
  void take(const std::string& name, double value) {
    if (types == 0 || at_nine(value) < at_nine(lowest)) {
      type = name;
      lowest = value;
    }
    highest = types == 0 ? value : std::max(highest, value);
    ++types;
  }
  bool wide() const { return types >= 2 && at_least(highest - lowest, 0.10); }
};

}  // namespace

std::optional<double> quality(const EvaluationReport& report) {
  const auto terms = quality_terms(report);
  return terms.empty() ? std::nullopt : std::optional(weighted_mean(terms));
}

Statements insights(const EvaluationReport& report) {
  Statements out;
  const std::uint64_t attempts = report.judge_attempts();
  if (report.total_queries > 0 && report.passed() == report.total_queries) {
    const std::string all = "All " + queries(report.total_queries) + " passed";
    if (attempts == 0) {
      out.add("all_passed_unjudged", all + "; no judge looked at the answers.");
    } else if (report.judged_queries == 0) {
      out.add("all_passed_judge_failed", all + ", but the judge failed on every one it was asked about.");
    } else if (report.judged_queries == report.completed_queries) {
      out.add("all_passed", all + ", answers included.");
    } else {
      out.add("all_passed_judge_partial", all + "; a judge looked at " + std::to_string(report.judged_queries) + " of the answers.");
    }
    return out;
  }
  Category dominant = Category::pass;
  for (const Category category : categories) {
    if (category != Category::pass && report.count(category) > 0 && (dominant == Category::pass || report.count(category) > report.count(dominant))) dominant = category;
  }
  if (dominant != Category::pass) {
    out.add("dominant_failure:" + std::string(name(dominant)), "The most frequent failure is " + std::string(name(dominant)) + " with " + queries(report.count(dominant)) + ".");
  }
  Spread recall, grounded;
  for (const TypeMetrics& type : report.by_type) {
    if (type.scored_queries > 0) recall.take(type.query_type, type.mean_recall_at_k);
    if (type.groundedness_rate) grounded.take(type.query_type, *type.groundedness_rate);
  }
  if (recall.wide()) {
    out.add("weakest_type:" + recall.type, "Queries of type " + recall.type + " have the lowest recall: " + figure(recall.lowest) + ", against " + figure(recall.highest) + " at best.");
  } else if (recall.types >= 2 && under(recall.lowest, 0.70)) {
    out.add("low_recall_type:" + recall.type, "Recall is low for every type; lowest for " + recall.type + ": " + figure(recall.lowest) + ".");
  }
  if (grounded.wide()) {
    out.add("groundedness_gap:" + grounded.type,
            "Answers of type " + grounded.type + " are the least grounded: " + figure(grounded.lowest) + ", against " + figure(grounded.highest) + " at best.");
  }
  if (const auto count = report.count(Category::latency_outlier); count > 0) {
    out.add("latency_outliers", queries(count) + " passed but retrieved slowly.");
  } else if (report.latency.count > 0 && over(report.latency.p95_ms, 1000)) {
    out.add("latency_tail", "The slowest twentieth of the retrievals take over " + milliseconds(report.latency.p95_ms) + ".");
  }
  if (report.judge_failures > 0) out.add("judge_failures", "The judge failed on " + queries(report.judge_failures) + ".");
  if (report.failed_queries > 0) out.add("pipeline_failures", "The pipeline failed on " + queries(report.failed_queries) + ".");
  return out;
}

Health health(const EvaluationReport& report) {
  Health out;
  auto terms = quality_terms(report);
  out.defined = !terms.empty();
  if (!scored(report)) out.missing.push_back("retrieval");
  if (report.latency.count == 0) out.missing.push_back("latency");
  double score = 0;
  if (out.defined && report.completed_queries > 0) {
    if (report.latency.count > 0) terms.push_back({0.10, latency_score(report.latency.mean_ms)});
    score = 100 * weighted_mean(terms) - 25 * share(report.failed_queries, report.total_queries) -
            5 * share(report.count(Category::latency_outlier), report.total_queries);
  }
  out.score = one_decimal(score);
  struct Band {
    double from;
    const char *grade, *status;
  };
  for (const auto& [from, grade, status] : {Band{90, "Excellent", "Healthy"}, Band{75, "Good", "Healthy"}, Band{60, "Fair", "Degraded"},
                                            Band{40, "Poor", "Unhealthy"}, Band{0, "Critical", "Critical"}}) {
    if (out.score < from) continue;
    out.grade = grade;
    out.status = status;
    break;
  }
  strengths(out.strengths, report);
  weaknesses(out.weaknesses, report);
  recommendations(out.recommendations, report, out.score);
  return out;
}

Confidence confidence(const EvaluationReport& report) {
  Confidence out;
  const std::uint64_t n = report.total_queries;
  const auto steps = [&](std::uint64_t from) { return static_cast<double>(n - from); };
  double size = 1;
  if (n == 0) {
    size = 0;
  } else if (n < 5) {
    size = 0.20 + 0.15 * steps(1) / 3;
  } else if (n < 10) {
    size = 0.40 + 0.20 * steps(5) / 5;
  } else if (n < 25) {
    size = 0.60 + 0.20 * steps(10) / 15;
  } else if (n < 50) {
    size = 0.80 + 0.20 * steps(25) / 25;
  }
  const std::uint64_t attempts = report.judge_attempts();
  const double judge = attempts == 0 ? 8 : 15 * share(report.judged_queries, attempts) - 15 * share(report.judge_failures, attempts);
  const double score = 50 * share(report.completed_queries, n) + 35 * size + judge - 15 * share(report.failed_queries, n);
  out.score = report.completed_queries == 0 ? 0 : one_decimal(score);
  struct Band {
    double from;
    const char* level;
  };
  for (const auto& [from, level] : {Band{90, "High"}, Band{75, "Good"}, Band{60, "Moderate"}, Band{40, "Low"}, Band{0, "Very Low"}}) {
    if (out.score < from) continue;
    out.level = level;
    break;
  }
  if (n == 0) {
    out.reasons.add("no_queries", "There are no queries.");
    return out;
  }
  if (report.failed_queries == 0) {
    out.reasons.add("all_completed", "Every query completed.");
  } else {
    out.reasons.add("some_failed", std::to_string(report.failed_queries) + " of " + queries(n) + " failed.");
  }
  const std::string count = queries(n);
  if (n >= 50) {
    out.reasons.add("size_strong", count + " are enough to rely on.");
  } else if (n >= 25) {
    out.reasons.add("size_good", count + " are a good number.");
  } else if (n >= 10) {
    out.reasons.add("size_moderate", count + " are few: small differences mean little.");
  } else {
    out.reasons.add("size_limited", count + (n == 1 ? " is" : " are") + " too few to rely on.");
  }
  if (report.judge_failures > 0) {
    out.reasons.add("judge_failures", "The judge failed on " + std::to_string(report.judge_failures) + " of " + std::to_string(attempts) + " answers.");
  } else if (attempts == 0) {
    out.reasons.add("judge_none", "No judge looked at the answers.");
  } else if (report.judged_queries < report.completed_queries) {
    out.reasons.add("judge_partial", "A judge looked at " + std::to_string(report.judged_queries) + " of " + std::to_string(report.completed_queries) + " answers.");
  } else {
    out.reasons.add("judge_complete", "A judge looked at every answer.");
  }
  return out;
}

bool type_before(std::string_view a, std::string_view b) noexcept {
  constexpr std::array<std::string_view, 3> first = {"factual", "reasoning", "multi-hop"};
  const auto place = [&](std::string_view type) { return std::find(first.begin(), first.end(), type) - first.begin(); };
  const auto place_a = place(a), place_b = place(b);
  // Bytes of UTF-8 compare as their code points do.
  return place_a != place_b ? place_a < place_b : a < b;
}

}  // namespace polygraph::diagnosis
