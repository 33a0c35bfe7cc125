#include "wasm/comparison/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "wasm/diagnosis/ranking.hpp"

namespace polygraph::comparison {
namespace {

using diagnosis::at_nine;
using diagnosis::categories;
using diagnosis::comparison_rank;
using diagnosis::Document;
using diagnosis::EvaluatedQuery;
using diagnosis::EvaluationReport;
using diagnosis::rounded;
using diagnosis::severity;
using diagnosis::Severity;
using diagnosis::TypeMetrics;

constexpr double recall_step = 0.001;  // a smaller change of recall decides nothing about a query

double difference(double b, double a) {
  const double delta = b - a;
  return std::isfinite(delta) ? delta : std::copysign(std::numeric_limits<double>::max(), delta);
}

std::optional<double> difference(const std::optional<double>& b, const std::optional<double>& a) {
  return a && b ? std::optional(difference(*b, *a)) : std::nullopt;
}

/// A delta of means as it is written: at nine decimals first, so that where it lies on a tie the order of summation does not
/// show in the last digit.
double written(double delta, int decimals) { return rounded(at_nine(delta), decimals); }

std::optional<double> written(const std::optional<double>& delta, int decimals) {
  return delta ? std::optional(written(*delta, decimals)) : std::nullopt;
}

/// Unrounded deltas of two reports.
MetricDeltas deltas(const EvaluationReport& a, const EvaluationReport& b) {
  MetricDeltas out;
  out.precision_at_k = difference(b.retrieval.mean_precision_at_k, a.retrieval.mean_precision_at_k);
  out.recall_at_k = difference(b.retrieval.mean_recall_at_k, a.retrieval.mean_recall_at_k);
  out.mrr = difference(b.retrieval.mrr, a.retrieval.mrr);
  out.answer_correctness = difference(b.semantic.answer_correctness_rate, a.semantic.answer_correctness_rate);
  out.groundedness = difference(b.semantic.groundedness_rate, a.semantic.groundedness_rate);
  if (a.latency.count > 0 && b.latency.count > 0) {
    out.mean_retrieval_ms = difference(b.latency.mean_ms, a.latency.mean_ms);
    out.p95_retrieval_ms = difference(b.latency.p95_ms, a.latency.p95_ms);
  }
  return out;
}

MetricDeltas rounded_deltas(const MetricDeltas& d) {
  constexpr int share = 4, ms = 2;
  return {written(d.precision_at_k, share),
          written(d.recall_at_k, share),
          written(d.mrr, share),
          written(d.answer_correctness, share),
          written(d.groundedness, share),
          written(d.mean_retrieval_ms, ms),
          written(d.p95_retrieval_ms, ms)};
}

CategoryDeltas category_deltas(const CategoryCounts& a, const CategoryCounts& b) {
  CategoryDeltas out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(b[i]) - static_cast<std::int64_t>(a[i]);
  return out;
}

std::vector<TypeDeltas> type_deltas(const EvaluationReport& a, const EvaluationReport& b) {
  std::vector<std::string> types;
  for (const auto* report : {&a, &b}) {
    for (const TypeMetrics& type : report->by_type) types.push_back(type.query_type);
  }
  std::sort(types.begin(), types.end(), diagnosis::type_before);
  types.erase(std::unique(types.begin(), types.end()), types.end());
  const auto of = [](const EvaluationReport& report, const std::string& type) {
    for (const TypeMetrics& one : report.by_type) {
      if (one.query_type == type) return one;
    }
    return TypeMetrics{};  // a missing side is 0
  };
  std::vector<TypeDeltas> out;
  for (const std::string& type : types) {
    const TypeMetrics in_a = of(a, type), in_b = of(b, type);
    TypeDeltas delta;
    delta.query_type = type;
    delta.recall_at_k = written(difference(in_b.mean_recall_at_k, in_a.mean_recall_at_k), 4);
    delta.mrr = written(difference(in_b.mrr, in_a.mrr), 4);
    delta.answer_correctness = written(difference(in_b.answer_correctness_rate, in_a.answer_correctness_rate), 4);
    delta.groundedness = written(difference(in_b.groundedness_rate, in_a.groundedness_rate), 4);
    delta.failure_deltas = category_deltas(in_a.diagnosis_counts, in_b.diagnosis_counts);
    for (const Category category : categories) {
      if (category != Category::pass) delta.total_failure_delta += delta.failure_deltas[diagnosis::index(category)];
    }
    out.push_back(std::move(delta));
  }
  return out;
}

/// −1: worse in B, 1: better, 0: neither. A verdict that one side lacks decides nothing.
int verdict_change(const std::optional<bool>& a, const std::optional<bool>& b) noexcept {
  if (!a || !b || *a == *b) return 0;
  return *b ? 1 : -1;
}

bool severer(const QueryOutcome& query) noexcept { return severity(query.diagnosis_b) > severity(query.diagnosis_a); }
double recall_loss(const QueryOutcome& query) noexcept { return at_nine(query.recall_a - query.recall_b); }
bool worse_category(const QueryOutcome& query) noexcept { return comparison_rank(query.diagnosis_b) > comparison_rank(query.diagnosis_a); }
bool lost_grounding(const QueryOutcome& query) noexcept { return verdict_change(query.grounded_a, query.grounded_b) < 0; }
bool lost_correctness(const QueryOutcome& query) noexcept { return verdict_change(query.correct_a, query.correct_b) < 0; }

std::string transition(Category from, Category to) { return std::string(name(from)) + " -> " + std::string(name(to)); }

Winner winner_by(double delta, double tolerance) noexcept {
  if (at_nine(delta) > tolerance) return Winner::b;
  return at_nine(delta) < -tolerance ? Winner::a : Winner::tie;
}

double completed_share(const EvaluationReport& report) {
  return report.total_queries == 0 ? 0 : static_cast<double>(report.completed_queries) / static_cast<double>(report.total_queries);
}

std::string percent(double share) { return json::to_text(rounded(100 * share, 1)) + " %"; }

/// `x` to two decimals, or to four where two show nothing.
std::string share_text(double x) { return json::to_text(rounded(x, std::fabs(x) < 0.1 ? 4 : 3)); }

QueryOutcome outcome_of(const EvaluatedQuery& a, const EvaluatedQuery& b) {
  QueryOutcome out;
  out.query_id = a.id;
  out.diagnosis_a = a.category;
  out.diagnosis_b = b.category;
  out.recall_a = a.recall.value_or(0.0);
  out.recall_b = b.recall.value_or(0.0);
  out.grounded_a = a.grounded;
  out.grounded_b = b.grounded;
  out.correct_a = a.correct;
  out.correct_b = b.correct;
  out.outcome = outcome(out);
  return out;
}

/// The values of the items that both sides have, for the paired tests.
std::vector<PairedSample> samples(const Comparison& comparison, const std::vector<std::uint32_t>& partners) {
  const auto& a = comparison.a.document->evaluation->queries();
  const auto& b = comparison.b.document->evaluation->queries();
  const std::string at_k = "@" + std::to_string(comparison.a.report.retrieval.k);
  std::vector<PairedSample> out = {{"recall" + at_k, {}, {}, false},  {"precision" + at_k, {}, {}, false}, {"mrr", {}, {}, false},
                                   {"correctness", {}, {}, true}, {"groundedness", {}, {}, true},    {"latency_ms", {}, {}, false}};
  const auto number = [](const std::optional<bool>& verdict) { return verdict ? std::optional(*verdict ? 1.0 : 0.0) : std::nullopt; };
  for (std::size_t i = 0; i < partners.size(); ++i) {
    const EvaluatedQuery& left = a[comparison.a.selection[i]];
    const EvaluatedQuery& right = b[partners[i]];
    const auto pair = [&](std::size_t metric, const std::optional<double>& x, const std::optional<double>& y) {
      if (!x || !y) return;
      out[metric].a.push_back(*x);
      out[metric].b.push_back(*y);
    };
    pair(0, left.recall, right.recall);
    pair(1, left.precision, right.precision);
    pair(2, left.reciprocal_rank, right.reciprocal_rank);
    pair(3, number(left.correct), number(right.correct));
    pair(4, number(left.grounded), number(right.grounded));
    pair(5, left.retrieval_ms, right.retrieval_ms);
  }
  std::erase_if(out, [](const PairedSample& sample) { return sample.a.empty(); });
  return out;
}

class Comparing {
 public:
  Comparing(const Document& a, const Document& b, const Options& options) : options_(options) {
    out_.a.document = &a;
    out_.b.document = &b;
  }

  Result<Comparison> run() {
    if (auto done = align(); !done) return tl::unexpected(std::move(done.error()));
    name_sides();
    const EvaluationReport& a = out_.a.report;
    const EvaluationReport& b = out_.b.report;
    out_.dataset_name = a.dataset_name.empty() ? b.dataset_name : a.dataset_name;
    out_.dataset_version = a.dataset_version.empty() ? b.dataset_version : a.dataset_version;
    exact_ = deltas(a, b);
    out_.deltas = rounded_deltas(exact_);
    out_.category_deltas = category_deltas(a.diagnosis_counts, b.diagnosis_counts);
    out_.by_type = type_deltas(a, b);
    outcomes();
    warnings();
    winners();
    if (options_.test && both_have_results() && !out_.outcomes.empty()) out_.tests = options_.test(samples(out_, partners_));
    out_.summary = summary();
    regression();
    return std::move(out_);
  }

 private:
  bool both_have_results() const { return out_.a.document->evaluation && out_.b.document->evaluation; }

  Result<void> align() {
    const std::uint32_t k_a = out_.a.document->report.retrieval.k, k_b = out_.b.document->report.retrieval.k;
    if (k_a != k_b) {
      return fail(ErrorCode::mismatch, "A was evaluated with K = " + std::to_string(k_a) + ", B with K = " + std::to_string(k_b) + "; they can't be compared", "k");
    }
    if (!both_have_results()) {
      for (Side* side : {&out_.a, &out_.b}) {
        side->report = side->document->report;
        if (side->document->evaluation) side->selection = side->document->evaluation->all();
      }
      return {};
    }
    const auto& a = *out_.a.document->evaluation;
    const auto& b = *out_.b.document->evaluation;
    std::vector<bool> in_both(b.queries().size());
    for (std::uint32_t i = 0; i < a.queries().size(); ++i) {
      if (const auto partner = b.find(a.queries()[i].id)) {
        out_.a.selection.push_back(i);
        partners_.push_back(*partner);
        in_both[*partner] = true;
      } else {
        out_.only_in_a.push_back(a.queries()[i].id);
      }
    }
    for (std::uint32_t i = 0; i < b.queries().size(); ++i) {
      if (in_both[i]) {
        out_.b.selection.push_back(i);
      } else {
        out_.only_in_b.push_back(b.queries()[i].id);
      }
    }
    if (out_.a.selection.empty()) return fail(ErrorCode::mismatch, "A and B share no query id; they can't be compared", "query_id");
    std::sort(out_.only_in_a.begin(), out_.only_in_a.end());
    std::sort(out_.only_in_b.begin(), out_.only_in_b.end());
    const bool differ = !out_.only_in_a.empty() || !out_.only_in_b.empty();
    for (Side* side : {&out_.a, &out_.b}) {
      side->report = differ ? side->document->evaluation->report(side->selection) : side->document->report;
    }
    return {};
  }

  void name_sides() {
    const auto name_of = [](const EvaluationReport& report, const char* fallback) {
      return report.pipeline_name && !report.pipeline_name->empty() ? *report.pipeline_name : std::string(fallback);
    };
    std::string& a = out_.a.name = name_of(out_.a.report, "Pipeline A");
    std::string& b = out_.b.name = name_of(out_.b.report, "Pipeline B");
    // A name must say who won: two that are equal, or one that reads as a tie, would not.
    const bool equal = a == b;
    if (equal || a == "TIE") a += " (A)";
    if (equal || b == "TIE") b += " (B)";
    if (a == b) {
      a += " (A)";
      b += " (B)";
    }
  }

  void outcomes() {
    if (!both_have_results()) return;
    const auto& a = out_.a.document->evaluation->queries();
    const auto& b = out_.b.document->evaluation->queries();
    out_.outcomes.reserve(partners_.size());
    for (std::size_t i = 0; i < partners_.size(); ++i) {
      out_.outcomes.push_back(outcome_of(a[out_.a.selection[i]], b[partners_[i]]));
      switch (out_.outcomes.back().outcome) {
        case Outcome::improved: ++out_.improved; break;
        case Outcome::regressed: ++out_.regressed; break;
        case Outcome::unchanged: ++out_.unchanged; break;
      }
    }
  }

  void warnings() {
    const EvaluationReport& a = out_.a.report;
    const EvaluationReport& b = out_.b.report;
    const auto known_and_differ = [](const std::string& x, const std::string& y) { return !x.empty() && !y.empty() && x != y; };
    if (!out_.only_in_a.empty() || !out_.only_in_b.empty()) out_.warnings.push_back("items_differ");
    if (!both_have_results()) out_.warnings.push_back("no_query_results");
    if (winner_by(completed_share(b) - completed_share(a), options_.quality_tolerance) != Winner::tie) out_.warnings.push_back("completion_differs");
    if (known_and_differ(a.dataset_name, b.dataset_name) || known_and_differ(a.dataset_version, b.dataset_version)) out_.warnings.push_back("datasets_differ");
    if (a.latency.count == 0 || b.latency.count == 0) out_.warnings.push_back("latency_unmeasured");
  }

  void winners() {
    struct Decider {
      const char* metric;
      std::optional<double> delta;
    };
    for (const auto& [metric, delta] : {Decider{"recall", exact_.recall_at_k}, Decider{"mrr", exact_.mrr}, Decider{"groundedness", exact_.groundedness},
                                        Decider{"correctness", exact_.answer_correctness}}) {
      if (!delta) continue;
      out_.quality = winner_by(*delta, options_.quality_tolerance);
      if (out_.quality == Winner::tie) continue;
      out_.deciding_metric = metric;
      break;
    }
    const Winner slower = winner_by(exact_.mean_retrieval_ms, options_.latency_tolerance_ms);
    out_.latency = slower == Winner::b ? Winner::a : slower == Winner::a ? Winner::b : Winner::tie;
    out_.overall = out_.quality != Winner::tie ? out_.quality : out_.latency;
    if (out_.quality == Winner::tie) {
      out_.trade_off = out_.latency == Winner::tie ? TradeOff::none : TradeOff::same_quality_faster;
    } else if (out_.latency == Winner::tie) {
      out_.trade_off = TradeOff::better_same_speed;
    } else if (out_.latency == out_.quality) {
      out_.trade_off = TradeOff::better_and_faster;
    } else {
      out_.trade_off = out_.quality == Winner::b ? TradeOff::quality_for_latency : TradeOff::faster_for_quality;
    }
  }

  const PairedTest* test_of(std::string_view metric) const {
    for (const PairedTest& test : out_.tests) {
      // A metric of K is named with it (recall@5).
      if (test.metric == metric || test.metric.starts_with(std::string(metric) + "@")) return &test;
    }
    return nullptr;
  }

  /// What the paired test adds: only where it agrees is anything called better.
  std::string significance(std::string_view metric) const {
    constexpr double level = 0.05;
    const PairedTest* test = test_of(metric);
    if (test == nullptr) return {};
    const std::string p = json::to_text(rounded(test->p_holm, 4));
    return at_nine(test->p_holm) < level ? " (significant, p = " + p + ")" : " (not significant, p = " + p + ")";
  }

  std::string summary() const {
    const std::string& winner = out_.winner_name(out_.overall);
    const double mean = std::fabs(out_.deltas.mean_retrieval_ms);
    const std::string time = json::to_text(mean) + " ms";
    if (out_.quality == Winner::tie) {
      if (out_.latency == Winner::tie) return "Neither wins: quality and mean retrieval time are within the tolerances.";
      return winner + " wins: the same quality within the tolerance, and " + time + " faster on average" + significance("latency_ms") + ".";
    }
    std::string words = winner + " wins on " + out_.deciding_metric + " by " + share_text(std::fabs(deciding_delta())) + significance(out_.deciding_metric);
    const PairedTest* test = test_of(out_.deciding_metric);
    if (test != nullptr && at_nine(test->p_holm) < 0.05) words += " and is better";
    switch (out_.trade_off) {
      case TradeOff::quality_for_latency: return words + ": higher quality at higher latency (" + time + " slower on average).";
      case TradeOff::better_and_faster: return words + ": higher quality and lower latency (" + time + " faster on average).";
      case TradeOff::faster_for_quality: return words + ": higher quality; " + out_.winner_name(out_.latency) + " is " + time + " faster on average, at lower quality.";
      default: break;
    }
    const bool unmeasured = out_.a.report.latency.count == 0 || out_.b.report.latency.count == 0;
    return words + (unmeasured ? ": higher quality; latency was not measured on both sides." : ": higher quality, comparable latency.");
  }

  double deciding_delta() const {
    if (out_.deciding_metric == "recall") return exact_.recall_at_k;
    if (out_.deciding_metric == "mrr") return exact_.mrr;
    return (out_.deciding_metric == "groundedness" ? exact_.groundedness : exact_.answer_correctness).value_or(0.0);
  }

  void metric_regressions() {
    const EvaluationReport& a = out_.a.report;
    const EvaluationReport& b = out_.b.report;
    auto& found = out_.regression.metric_regressions;
    const double tolerance = options_.quality_tolerance;
    const auto fell = [&](const char* name, std::optional<double> from, std::optional<double> to, std::optional<double> delta) {
      if (delta && from && to && at_nine(*delta) < -tolerance) found.push_back({name, *from, *to, *delta, tolerance, ""});
    };
    fell("Recall@K", a.retrieval.mean_recall_at_k, b.retrieval.mean_recall_at_k, out_.deltas.recall_at_k);
    fell("Precision@K", a.retrieval.mean_precision_at_k, b.retrieval.mean_precision_at_k, out_.deltas.precision_at_k);
    fell("MRR", a.retrieval.mrr, b.retrieval.mrr, out_.deltas.mrr);
    fell("Answer Correctness", a.semantic.answer_correctness_rate, b.semantic.answer_correctness_rate, out_.deltas.answer_correctness);
    fell("Groundedness", a.semantic.groundedness_rate, b.semantic.groundedness_rate, out_.deltas.groundedness);
    if (at_nine(out_.deltas.mean_retrieval_ms) > options_.latency_tolerance_ms) {
      found.push_back({"Mean Retrieval Latency", a.latency.mean_ms, b.latency.mean_ms, out_.deltas.mean_retrieval_ms, options_.latency_tolerance_ms, "ms"});
    }
  }

  static RegressedQuery reason_of(const QueryOutcome& query, std::size_t number) {
    const auto recalls = [&] { return share_text(query.recall_a) + " to " + share_text(query.recall_b); };
    if (severer(query)) {
      return {number, "The failure is severer: from " + std::string(name(severity(query.diagnosis_a))) + " to " + std::string(name(severity(query.diagnosis_b))) + ".", "severity"};
    }
    if (recall_loss(query) > recall_step) return {number, "Recall fell from " + recalls() + ".", "recall"};
    if (lost_grounding(query)) return {number, "The answer is no longer grounded.", "groundedness"};
    if (lost_correctness(query)) return {number, "The answer is no longer correct.", "correctness"};
    return {number, "The category is worse: " + transition(query.diagnosis_a, query.diagnosis_b) + ".", "category"};
  }

  void query_regressions() {
    auto& analysis = out_.regression;
    for (std::size_t i = 0; i < out_.outcomes.size(); ++i) {
      const QueryOutcome& query = out_.outcomes[i];
      if (query.outcome != Outcome::regressed) continue;
      const bool meaningful = severer(query) || lost_grounding(query) || lost_correctness(query) || worse_category(query) ||
                              recall_loss(query) > options_.quality_tolerance;
      if (!meaningful) continue;
      analysis.regressed_queries.push_back(reason_of(query, i));
      if (query.diagnosis_a == query.diagnosis_b) continue;
      auto known = std::find_if(analysis.transitions.begin(), analysis.transitions.end(),
                                [&](const Transition& one) { return one.from == query.diagnosis_a && one.to == query.diagnosis_b; });
      if (known == analysis.transitions.end()) known = analysis.transitions.insert(known, {query.diagnosis_a, query.diagnosis_b, {}});
      known->query_ids.push_back(query.query_id);
    }
    for (Transition& one : analysis.transitions) std::sort(one.query_ids.begin(), one.query_ids.end());
    std::sort(analysis.transitions.begin(), analysis.transitions.end(), [](const Transition& x, const Transition& y) {
      const bool x_passed = x.from == Category::pass, y_passed = y.from == Category::pass;
      if (x_passed != y_passed) return x_passed;
      if (x.query_ids.size() != y.query_ids.size()) return x.query_ids.size() > y.query_ids.size();
      return transition(x.from, x.to) < transition(y.from, y.to);
    });
  }

  /// 0 matters most.
  static int importance(const QueryOutcome& query) {
    const Severity from = severity(query.diagnosis_a), to = severity(query.diagnosis_b);
    if (query.diagnosis_a == Category::pass && to == Severity::major) return 0;
    if (query.diagnosis_a == Category::pass && to == Severity::warning) return 1;
    if (from == Severity::warning && to == Severity::major) return 2;
    if (lost_correctness(query) || lost_grounding(query)) return 3;
    if (worse_category(query)) return 4;
    return 5;
  }

  void important_regressions() {
    constexpr std::size_t most = 5;
    std::vector<const RegressedQuery*> all;
    for (const RegressedQuery& query : out_.regression.regressed_queries) all.push_back(&query);
    const auto key = [&](const RegressedQuery* one) {
      const QueryOutcome& query = out_.outcomes[one->outcome];
      return std::make_tuple(importance(query), comparison_rank(query.diagnosis_a) - comparison_rank(query.diagnosis_b), -recall_loss(query),
                             std::string_view(query.query_id));
    };
    const std::size_t count = std::min(most, all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                      [&](const RegressedQuery* x, const RegressedQuery* y) { return key(x) < key(y); });
    for (std::size_t i = 0; i < count; ++i) {
      const QueryOutcome& query = out_.outcomes[all[i]->outcome];
      out_.regression.important_regressions.push_back(query.query_id + ": " +
                                                      (query.diagnosis_a == query.diagnosis_b
                                                           ? std::string(name(query.diagnosis_a)) + " (" + all[i]->reason_code + ")"
                                                           : transition(query.diagnosis_a, query.diagnosis_b)));
    }
  }

  void regression() {
    metric_regressions();
    query_regressions();
    important_regressions();
    RegressionAnalysis& analysis = out_.regression;
    for (const Category category : categories) {
      const std::int64_t grown = out_.category_deltas[diagnosis::index(category)];
      if (category != Category::pass && grown > 0) analysis.increased_failures.emplace_back(category, grown);
    }
    const std::size_t regressed = analysis.regressed_queries.size();
    const double share_a = completed_share(out_.a.report), share_b = completed_share(out_.b.report);
    const std::string b = out_.b.name;
    if (winner_by(share_b - share_a, options_.quality_tolerance) == Winner::a) {
      analysis.verdict = Verdict::completion;
      analysis.summary = "Regression: " + b + " completed " + percent(share_b) + " of the queries, " + out_.a.name + " " + percent(share_a) + ".";
    } else if (out_.quality == Winner::a) {
      analysis.verdict = Verdict::quality;
      analysis.summary = "Regression: " + b + " loses on " + out_.deciding_metric + ".";
    } else if (out_.quality == Winner::b) {
      if (out_.latency == Winner::a) {
        analysis.verdict = Verdict::improved_slower;
        analysis.summary = "No regression: " + b + " wins on quality, but is slower.";
      } else if (!analysis.metric_regressions.empty()) {
        analysis.verdict = Verdict::improved_secondary;
        analysis.summary = "No regression: " + b + " wins on quality, but " + analysis.metric_regressions.front().metric_name + " fell.";
      } else {
        analysis.verdict = Verdict::improved;
        analysis.summary = "No regression: " + b + " wins on quality.";
      }
    } else if (regressed > out_.improved) {
      analysis.verdict = Verdict::queries;
      analysis.summary = "Regression: the means are within the tolerance, but " + std::to_string(regressed) + " queries regressed and " +
                         std::to_string(out_.improved) + " improved.";
    } else if (out_.latency == Winner::a) {
      analysis.verdict = Verdict::latency;
      analysis.summary = "Regression: the same quality within the tolerance, but " + b + " is slower.";
    } else if (out_.regressed > 0) {
      analysis.verdict = Verdict::balanced;
      analysis.summary = "No regression: " + std::to_string(out_.regressed) + " queries regressed and " + std::to_string(out_.improved) + " improved.";
    } else {
      analysis.verdict = Verdict::none;
      analysis.summary = "No regression.";
    }
  }

  const Options& options_;
  Comparison out_;
  MetricDeltas exact_;
  std::vector<std::uint32_t> partners_;  ///< in B, of the queries selected in A
};

}  // namespace

std::string_view name(Winner winner) noexcept {
  switch (winner) {
    case Winner::a: return "A";
    case Winner::b: return "B";
    case Winner::tie: return "TIE";
  }
  return "";
}

std::string_view name(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::improved: return "improved";
    case Outcome::regressed: return "regressed";
    case Outcome::unchanged: return "unchanged";
  }
  return "";
}

std::string_view name(TradeOff trade_off) noexcept {
  switch (trade_off) {
    case TradeOff::none: return "none";
    case TradeOff::quality_for_latency: return "quality_for_latency";
    case TradeOff::better_and_faster: return "better_and_faster";
    case TradeOff::better_same_speed: return "better_same_speed";
    case TradeOff::faster_for_quality: return "faster_for_quality";
    case TradeOff::same_quality_faster: return "same_quality_faster";
  }
  return "";
}

std::string_view name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::quality: return "quality";
    case Verdict::queries: return "queries";
    case Verdict::latency: return "latency";
    case Verdict::balanced: return "balanced";
    case Verdict::none: return "none";
    case Verdict::improved_slower: return "improved_slower";
    case Verdict::improved_secondary: return "improved_secondary";
    case Verdict::improved: return "improved";
    case Verdict::completion: return "completion";
  }
  return "";
}

bool is_regression(Verdict verdict) noexcept {
  return verdict == Verdict::quality || verdict == Verdict::queries || verdict == Verdict::latency || verdict == Verdict::completion;
}

Outcome outcome(const QueryOutcome& query) noexcept {
  const auto by = [](bool improved) { return improved ? Outcome::improved : Outcome::regressed; };
  const Severity from = severity(query.diagnosis_a), to = severity(query.diagnosis_b);
  if (from != to) return by(to < from);
  const double loss = recall_loss(query);
  if (std::fabs(loss) > recall_step) return by(loss < 0);
  if (const int change = verdict_change(query.grounded_a, query.grounded_b); change != 0) return by(change > 0);
  if (const int change = verdict_change(query.correct_a, query.correct_b); change != 0) return by(change > 0);
  if (query.diagnosis_a == query.diagnosis_b) return Outcome::unchanged;
  return by(comparison_rank(query.diagnosis_b) < comparison_rank(query.diagnosis_a));
}

const std::string& Comparison::winner_name(Winner winner) const {
  static const std::string tie = "TIE";
  return winner == Winner::tie ? tie : winner == Winner::a ? a.name : b.name;
}

Result<Comparison> compare(const Document& a, const Document& b, const Options& options) { return Comparing(a, b, options).run(); }

}  // namespace polygraph::comparison
