#include "tests/diagnosis/plain_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

namespace polygraph::plain {
namespace {

using Strings = std::vector<std::string>;

const Strings order_of_failures = {"PASS",           "WRONG_CHUNK_RETRIEVED", "WRONG_CHUNK_RANK", "INSUFFICIENT_CONTEXT", "RETRIEVED_BUT_NOT_GROUNDED",
                                   "ANSWER_INCORRECT", "LATENCY_OUTLIER",       "UNKNOWN"};
const Strings order_of_comparison = {"PASS",             "LATENCY_OUTLIER",            "WRONG_CHUNK_RANK",      "INSUFFICIENT_CONTEXT",
                                     "ANSWER_INCORRECT", "RETRIEVED_BUT_NOT_GROUNDED", "WRONG_CHUNK_RETRIEVED", "UNKNOWN"};

int place(const Strings& list, const std::string& entry) { return static_cast<int>(std::find(list.begin(), list.end(), entry) - list.begin()); }

int severity(const std::string& category) {
  static const std::map<std::string, int> table = {{"PASS", 0}, {"INSUFFICIENT_CONTEXT", 1}, {"WRONG_CHUNK_RANK", 1}, {"LATENCY_OUTLIER", 1}};
  const auto found = table.find(category);
  return found == table.end() ? 2 : found->second;
}

double decimals(double value, int count) {
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", count, value);
  const double out = std::strtod(text, nullptr);
  return out == 0 ? 0 : out;
}
double nine(double value) { return decimals(value, 9); }

Json mean(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  long double sum = 0;
  for (const double value : values) sum += value;
  return static_cast<double>(sum / values.size());
}
double or_zero(const Json& value) { return value.is_number() ? value.get<double>() : 0; }

Json counts_of(const std::vector<Json>& results) {
  Json out;
  for (const auto& category : order_of_failures) out[category] = 0;
  for (const Json& one : results) out[one["category"].get<std::string>()] = out[one["category"].get<std::string>()].get<int>() + 1;
  return out;
}

bool holds_any(const Json& ids, const std::set<std::string>& wanted) {
  return std::any_of(ids.begin(), ids.end(), [&](const Json& id) { return wanted.count(id.get<std::string>()) > 0; });
}

/// Whether the question should be refused; null where nothing says so.
Json should_refuse(const Json& stored) {
  const Json type = stored.value("query_type", Json());
  if (stored.contains("should_refuse")) return stored["should_refuse"];
  if (type == "unanswerable") return true;
  if (!stored.value("expected_chunk_ids", Json::array()).empty()) return false;
  for (const char* answerable : {"answerable", "vague", "factual", "reasoning", "multi-hop"}) {
    if (type == answerable) return false;
  }
  return nullptr;
}

/// `correct`, `false`, `missed`, or null.
Json refusal_outcome(const Json& stored, bool completed) {
  const Json refused = stored.value("refused", Json()), wanted = should_refuse(stored);
  if (!completed || refused.is_null() || wanted.is_null()) return nullptr;
  if (refused == true) return wanted == true ? "correct" : "false";
  return wanted == true ? Json("missed") : Json();
}

Json agent_diagnosis(const Json& stored, const Json& outcome, bool completed, bool judged_wrong, const std::set<std::string>& gold) {
  if (!completed || !stored.contains("trace")) return nullptr;
  bool retrieved_gold = false, context_gold = false, passed_without_gold = false;
  int rewrites = 0;
  for (const Json& step : stored["trace"]["steps"]) {
    const Json& data = step["data"];
    if (step["node"] == "retrieve") retrieved_gold = retrieved_gold || holds_any(data["retrieved_ids"], gold);
    if (step["node"] == "grade_context") passed_without_gold = passed_without_gold || (data["relevant"] == true && !holds_any(data["graded_ids"], gold));
    if (step["node"] == "generate") context_gold = holds_any(data["context_ids"], gold);
    if (step["node"] == "rewrite_query") ++rewrites;
  }
  const bool answerable = should_refuse(stored) == false, false_refusal = outcome == "false";
  const bool wrong = judged_wrong && stored.value("refused", Json()) != true;
  const int most = stored["trace"]["config"]["max_rewrites"];
  if (false_refusal && retrieved_gold) return "grader_false_negative";
  if ((false_refusal || wrong) && answerable && !gold.empty() && !retrieved_gold) return "retrieval_miss";
  if (outcome == "missed") return "missed_refusal";
  if (wrong && context_gold) return "generation_error";
  if (answerable && !gold.empty() && passed_without_gold) return "grader_false_positive";
  if (answerable && most > 0 && rewrites >= most) return "rewrite_loop";
  return nullptr;
}

/// A result with its metrics, verdicts that count, and its category.
Json judged_result(const Json& stored, int k) {
  Json out = {{"query_id", stored["query_id"]}, {"query_type", stored.value("query_type", Json())}, {"completed", stored.value("status", "completed") == "completed"}};
  const bool completed = out["completed"];
  const Json metrics = completed ? stored.value("metrics", Json::object()) : Json::object();
  const Strings expected_list = stored.value("expected_chunk_ids", Strings());
  const std::set<std::string> expected(expected_list.begin(), expected_list.end());
  Strings retrieved;
  for (const Json& chunk : stored.value("retrieved_chunks", Json::array())) retrieved.push_back(chunk["id"]);
  const Strings top(retrieved.begin(), retrieved.begin() + std::min<std::ptrdiff_t>(k, static_cast<std::ptrdiff_t>(retrieved.size())));
  std::size_t found = 0;
  for (const auto& id : expected) found += std::count(top.begin(), top.end(), id) > 0 ? 1 : 0;
  std::size_t first = 0;
  while (first < retrieved.size() && expected.count(retrieved[first]) == 0) ++first;
  const auto metric = [&](const std::string& name, double computed) -> Json {
    if (!completed) return nullptr;
    if (metrics.contains(name) && metrics[name].is_number()) return metrics[name];
    return expected.empty() ? Json() : Json(computed);
  };
  out["precision"] = metric("precision_at_" + std::to_string(k), top.empty() ? 0 : static_cast<double>(found) / static_cast<double>(top.size()));
  out["recall"] = metric("recall_at_" + std::to_string(k), expected.empty() ? 0 : static_cast<double>(found) / static_cast<double>(expected.size()));
  out["rr"] = metric("reciprocal_rank", first < retrieved.size() ? 1.0 / static_cast<double>(first + 1) : 0);

  const bool judge_error = completed && stored.contains("judge_error") && !stored["judge_error"].is_null();
  const auto verdict = [&](const char* name) -> Json {
    return completed && !judge_error && metrics.contains(name) && metrics[name].is_boolean() ? metrics[name] : Json();
  };
  out["grounded"] = verdict("grounded");
  out["correct"] = verdict("answer_correct");
  out["judge_failed"] = judge_error;
  out["judged"] = !out["grounded"].is_null() || !out["correct"].is_null();
  out["judge_confidence"] = nullptr;
  if (out["judged"] && metrics.contains("judge_confidence") && metrics["judge_confidence"].is_number()) {
    const double value = metrics["judge_confidence"];
    if (value >= 0 && value <= 1) out["judge_confidence"] = value;
  }
  const Json latency = stored.value("latency", Json::object());
  out["ms"] = completed && latency.contains("retrieval_ms") ? latency["retrieval_ms"] : Json();
  const bool slow = !out["ms"].is_null() && nine(out["ms"]) > 1000;

  const Json outcome = refusal_outcome(stored, completed);
  out["refusal_outcome"] = outcome;
  out["traced"] = stored.contains("trace");
  out["agent_diagnosis"] = agent_diagnosis(stored, outcome, completed, out["correct"] == false, expected);

  std::string category = "PASS";
  double confidence = 1;
  bool by_judge = false;
  if (!completed) {
    category = "UNKNOWN";
  } else if (outcome == "missed") {
    category = "ANSWER_INCORRECT";
  } else if (!expected.empty() && found == 0) {
    category = "WRONG_CHUNK_RETRIEVED";
  } else if (expected.size() >= 2 && found < expected.size()) {
    category = "INSUFFICIENT_CONTEXT";
  } else if (!expected.empty() && first + 1 > 3) {
    category = "WRONG_CHUNK_RANK";
  } else if (out["grounded"] == false && outcome != "correct") {
    category = "RETRIEVED_BUT_NOT_GROUNDED";
    by_judge = true;
  } else if (out["correct"] == false && outcome != "correct") {
    category = "ANSWER_INCORRECT";
    by_judge = true;
  } else if (outcome == "false") {
    category = "ANSWER_INCORRECT";
  } else if (slow) {
    category = "LATENCY_OUTLIER";
  }
  if (by_judge) confidence = out["judge_confidence"].is_null() ? 1 : out["judge_confidence"].get<double>();
  out["category"] = category;
  out["confidence"] = confidence;
  out["secondary"] = Json::array();
  if (slow && category != "PASS" && category != "UNKNOWN" && category != "LATENCY_OUTLIER") out["secondary"].push_back("LATENCY_OUTLIER");
  return out;
}

std::vector<double> column(const std::vector<Json>& results, const char* name) {
  std::vector<double> out;
  for (const Json& one : results) {
    if (one[name].is_number()) out.push_back(one[name]);
    if (one[name].is_boolean()) out.push_back(one[name] == true ? 1 : 0);
  }
  return out;
}

double point(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  const double at = p * static_cast<double>(sorted.size() - 1), low = std::floor(at);
  const double a = sorted[static_cast<std::size_t>(low)], b = sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(low) + 1)];
  return a * (1 - (at - low)) + b * (at - low);
}

Strings ordered_types(const std::set<std::string>& types) {
  Strings out;
  for (const char* first : {"factual", "reasoning", "multi-hop"}) {
    if (types.count(first) > 0) out.push_back(first);
  }
  for (const auto& type : types) {
    if (std::find(out.begin(), out.end(), type) == out.end()) out.push_back(type);
  }
  return out;
}

Json health(const Json& r) {
  const Json& counts = r["diagnosis_counts"];
  const auto count = [&](const char* category) { return counts[category].get<int>(); };
  const bool scored = r["retrieval"]["scored_queries"] > 0, timed = r["latency"]["count"] > 0;
  const Json correctness = r["semantic"]["answer_correctness_rate"], groundedness = r["semantic"]["groundedness_rate"];
  const bool judge = correctness.is_number() && groundedness.is_number();
  const double recall = r["retrieval"]["mean_recall_at_k"], precision = r["retrieval"]["mean_precision_at_k"], mrr = r["retrieval"]["mrr"];
  const double ms = r["latency"]["mean_ms"], p95 = r["latency"]["p95_ms"], n = r["total_queries"];

  double speed = 0;
  if (ms <= 100) speed = 1;
  else if (ms <= 500) speed = 1 - 0.25 * (ms - 100) / 400;
  else if (ms <= 1500) speed = 0.75 - 0.50 * (ms - 500) / 1000;
  else if (ms <= 3000) speed = 0.25 - 0.25 * (ms - 1500) / 1500;
  double sum = 0, weights = 0;
  const auto term = [&](bool exists, double weight, double value) {
    if (!exists) return;
    sum += weight * value;
    weights += weight;
  };
  term(scored, judge ? 0.25 : 0.50, recall);
  term(scored, judge ? 0.10 : 0.20, precision);
  term(scored, judge ? 0.15 : 0.20, mrr);
  term(judge, 0.25, or_zero(correctness));
  term(judge, 0.15, or_zero(groundedness));
  term(timed, 0.10, speed);
  Json out;
  out["defined"] = scored || judge;
  out["missing"] = Json::array();
  if (!scored) out["missing"].push_back("retrieval");
  if (!timed) out["missing"].push_back("latency");
  double score = 0;
  if ((scored || judge) && r["completed_queries"] > 0) {
    score = 100 * sum / weights - 25 * r["failed_queries"].get<double>() / n - 5 * count("LATENCY_OUTLIER") / n;
    score = decimals(std::min(100.0, std::max(0.0, nine(score))), 1);
  }
  out["score"] = score;
  out["grade"] = score >= 90 ? "Excellent" : score >= 75 ? "Good" : score >= 60 ? "Fair" : score >= 40 ? "Poor" : "Critical";
  out["status"] = score >= 75 ? "Healthy" : score >= 60 ? "Degraded" : score >= 40 ? "Unhealthy" : "Critical";

  Strings strong, weak, advice;
  const auto when = [](Strings& list, bool holds, const char* code) {
    if (holds && std::find(list.begin(), list.end(), code) == list.end()) list.push_back(code);
  };
  when(strong, scored && nine(recall) >= 0.85, "recall");
  when(strong, scored && nine(precision) >= 0.75, "precision");
  when(strong, scored && nine(mrr) >= 0.80, "mrr");
  when(strong, judge && nine(or_zero(correctness)) >= 0.85, "correctness");
  when(strong, judge && nine(or_zero(groundedness)) >= 0.85, "groundedness");
  when(strong, timed && nine(ms) <= 100, "latency");
  when(strong, n > 0 && count("PASS") == n, "no_failures");
  const bool slow = timed && (nine(ms) > 300 || nine(p95) > 1000);
  when(weak, scored && nine(recall) < 0.70, "recall");
  when(weak, scored && nine(precision) < 0.50, "precision");
  when(weak, scored && nine(mrr) < 0.60, "mrr");
  when(weak, judge && nine(or_zero(correctness)) < 0.70, "correctness");
  when(weak, judge && nine(or_zero(groundedness)) < 0.70, "groundedness");
  when(weak, slow, "latency");
  for (const char* category : {"WRONG_CHUNK_RETRIEVED", "INSUFFICIENT_CONTEXT", "WRONG_CHUNK_RANK", "RETRIEVED_BUT_NOT_GROUNDED", "ANSWER_INCORRECT"}) {
    when(weak, count(category) > 0, category);
  }
  when(weak, r["failed_queries"] > 0 || count("UNKNOWN") > 0, "execution");
  for (const char* category : {"WRONG_CHUNK_RETRIEVED", "RETRIEVED_BUT_NOT_GROUNDED", "ANSWER_INCORRECT", "UNKNOWN", "INSUFFICIENT_CONTEXT", "WRONG_CHUNK_RANK",
                               "LATENCY_OUTLIER"}) {
    when(advice, count(category) > 0, category);
  }
  when(advice, scored && nine(recall) < 0.70 && count("WRONG_CHUNK_RETRIEVED") + count("INSUFFICIENT_CONTEXT") == 0, "INSUFFICIENT_CONTEXT");
  when(advice, slow, "LATENCY_OUTLIER");
  when(advice, advice.empty() && score >= 90, "PASS");
  out["strength_codes"] = strong;
  out["weakness_codes"] = weak;
  out["recommendation_codes"] = advice;
  return out;
}

Json confidence(const Json& r) {
  const double n = r["total_queries"], completed = r["completed_queries"], judged = r["judged_queries"], broken = r["judge_failures"];
  const double size = n == 0 ? 0 : n <= 4 ? 0.20 + 0.15 * (n - 1) / 3 : n <= 9 ? 0.40 + 0.20 * (n - 5) / 5 : n <= 24 ? 0.60 + 0.20 * (n - 10) / 15
                      : n <= 49 ? 0.80 + 0.20 * (n - 25) / 25 : 1;
  double score = 35 * size + (judged + broken > 0 ? 15 * judged / (judged + broken) - 15 * broken / (judged + broken) : 8);
  if (n > 0) score += 50 * completed / n - 15 * (n - completed) / n;
  score = completed == 0 ? 0 : decimals(std::min(100.0, std::max(0.0, nine(score))), 1);
  Strings reasons;
  if (n == 0) {
    reasons = {"no_queries"};
  } else {
    reasons = {completed == n ? "all_completed" : "some_failed", n >= 50 ? "size_strong" : n >= 25 ? "size_good" : n >= 10 ? "size_moderate" : "size_limited",
               broken > 0 ? "judge_failures" : judged == 0 ? "judge_none" : judged < completed ? "judge_partial" : "judge_complete"};
  }
  return {{"score", score}, {"level", score >= 90 ? "High" : score >= 75 ? "Good" : score >= 60 ? "Moderate" : score >= 40 ? "Low" : "Very Low"}, {"reason_codes", reasons}};
}

Strings insights(const Json& r) {
  const int n = r["total_queries"], judged = r["judged_queries"], broken = r["judge_failures"], completed = r["completed_queries"];
  const Json& counts = r["diagnosis_counts"];
  if (n > 0 && counts["PASS"] == n) {
    if (judged + broken == 0) return {"all_passed_unjudged"};
    if (judged == 0) return {"all_passed_judge_failed"};
    return {judged == completed ? "all_passed" : "all_passed_judge_partial"};
  }
  Strings out;
  std::string most;
  for (const auto& category : order_of_failures) {
    if (category == "PASS" || counts[category] == 0) continue;
    if (most.empty() || counts[category] > counts[most]) most = category;
  }
  if (!most.empty()) out.push_back("dominant_failure:" + most);
  std::set<std::string> names;
  for (const auto& [type, ignored] : r["metrics_by_query_type"].items()) names.insert(type);
  const auto spread = [&](const char* field, const char* needs, std::string& lowest, double& low, double& high) {
    std::size_t types = 0;
    for (const auto& type : ordered_types(names)) {
      const Json& one = r["metrics_by_query_type"][type];
      if (*needs != '\0' ? one[needs] == 0 : one[field].is_null()) continue;
      const double value = one[field];
      if (types == 0 || nine(value) < nine(low)) lowest = type, low = value;
      high = types == 0 ? value : std::max(high, value);
      ++types;
    }
    return types;
  };
  std::string type;
  double low = 0, high = 0;
  if (spread("mean_recall_at_k", "scored_queries", type, low, high) >= 2) {
    if (nine(high - low) >= 0.10) out.push_back("weakest_type:" + type);
    else if (nine(low) < 0.70) out.push_back("low_recall_type:" + type);
  }
  if (spread("groundedness_rate", "", type, low, high) >= 2 && nine(high - low) >= 0.10) out.push_back("groundedness_gap:" + type);
  if (counts["LATENCY_OUTLIER"] > 0) out.push_back("latency_outliers");
  else if (nine(r["latency"]["p95_ms"]) > 1000) out.push_back("latency_tail");
  if (broken > 0) out.push_back("judge_failures");
  if (r["failed_queries"] > 0) out.push_back("pipeline_failures");
  return out;
}

std::vector<Json> judged_results(const Json& file) {
  std::vector<Json> out;
  for (const Json& one : file["results"]) out.push_back(judged_result(one, file.value("k", 5)));
  return out;
}

}  // namespace

Json report(const Json& file) {
  const std::vector<Json> all = judged_results(file);
  const auto where = [](const std::vector<Json>& from, const auto& holds) {
    std::vector<Json> out;
    std::copy_if(from.begin(), from.end(), std::back_inserter(out), holds);
    return out;
  };
  const auto completed = where(all, [](const Json& one) { return one["completed"] == true; });
  const auto judged = where(completed, [](const Json& one) { return one["judged"] == true; });
  const auto broken = where(completed, [](const Json& one) { return one["judge_failed"] == true; });
  Json r = {{"pipeline_name", file.value("pipeline_name", Json())}, {"total_queries", all.size()}, {"completed_queries", completed.size()},
            {"failed_queries", all.size() - completed.size()}, {"judged_queries", judged.size()}, {"judge_failures", broken.size()}};
  r["retrieval"] = {{"mean_precision_at_k", or_zero(mean(column(completed, "precision")))}, {"mean_recall_at_k", or_zero(mean(column(completed, "recall")))},
                    {"mrr", or_zero(mean(column(completed, "rr")))}, {"k", file.value("k", 5)}, {"scored_queries", column(completed, "recall").size()}};
  r["semantic"] = {{"answer_correctness_rate", mean(column(judged, "correct"))}, {"groundedness_rate", mean(column(judged, "grounded"))},
                   {"mean_judge_confidence", mean(column(judged, "judge_confidence"))}, {"correctness_judged", column(judged, "correct").size()},
                   {"groundedness_judged", column(judged, "grounded").size()}};
  auto times = column(completed, "ms");
  std::sort(times.begin(), times.end());
  r["latency"] = {{"count", times.size()}, {"mean_ms", or_zero(mean(times))}, {"p50_ms", point(times, 0.5)}, {"p95_ms", point(times, 0.95)}, {"p99_ms", point(times, 0.99)},
                  {"min_ms", times.empty() ? 0 : times.front()}, {"max_ms", times.empty() ? 0 : times.back()}};
  r["diagnosis_counts"] = counts_of(all);
  r["diagnosis_by_query_type"] = r["metrics_by_query_type"] = Json::object();
  std::set<std::string> types;
  for (const Json& one : all) {
    if (one["query_type"].is_string() && one["query_type"] != "") types.insert(one["query_type"].get<std::string>());
  }
  for (const auto& type : types) {
    const auto of_type = where(all, [&](const Json& one) { return one["query_type"] == type; });
    const auto done = where(of_type, [](const Json& one) { return one["completed"] == true; });
    r["diagnosis_by_query_type"][type] = counts_of(of_type);
    r["metrics_by_query_type"][type] = {{"query_type", type}, {"total_queries", of_type.size()}, {"completed_queries", done.size()},
                                        {"failed_queries", of_type.size() - done.size()}, {"mean_precision_at_k", or_zero(mean(column(done, "precision")))},
                                        {"mean_recall_at_k", or_zero(mean(column(done, "recall")))}, {"mrr", or_zero(mean(column(done, "rr")))},
                                        {"answer_correctness_rate", mean(column(done, "correct"))}, {"groundedness_rate", mean(column(done, "grounded"))},
                                        {"diagnosis_counts", counts_of(of_type)}, {"scored_queries", column(done, "recall").size()}};
  }
  auto failures = where(all, [](const Json& one) { return one["category"] != "PASS"; });
  std::sort(failures.begin(), failures.end(), [](const Json& a, const Json& b) {
    const std::string x = a["category"], y = b["category"];
    if (severity(x) != severity(y)) return severity(x) > severity(y);
    if (nine(a["confidence"]) != nine(b["confidence"])) return a["confidence"] > b["confidence"];
    if (x != y) return place(order_of_failures, x) < place(order_of_failures, y);
    return a["query_id"] < b["query_id"];
  });
  if (failures.size() > 5) failures.resize(5);
  r["top_failures"] = Json::array();
  for (const Json& one : failures) r["top_failures"].push_back({{"query_id", one["query_id"]}, {"category", one["category"]}, {"confidence", one["confidence"]}});
  r["insight_codes"] = insights(r);
  r["health_profile"] = health(r);
  r["confidence"] = confidence(r);
  r["results"] = Json::array();
  for (const Json& one : all) {
    Json metrics = Json::object();
    if (one["completed"] == true) {
      metrics = {{"recall_at_" + std::to_string(file.value("k", 5)), one["recall"]}, {"precision_at_" + std::to_string(file.value("k", 5)), one["precision"]},
                 {"reciprocal_rank", one["rr"]}};
    }
    r["results"].push_back({{"query_id", one["query_id"]}, {"metrics", metrics}, {"diagnosis", {{"category", one["category"]}, {"secondary", one["secondary"]}, {"confidence", one["confidence"]}}}});
    if (!one["refusal_outcome"].is_null()) r["results"].back()["refusal_outcome"] = one["refusal_outcome"];
    if (one["traced"] == true) r["results"].back()["agent_diagnosis"] = one["agent_diagnosis"];
  }
  return r;
}

namespace {

Json only_shared(const Json& file, const Json& other) {
  std::set<std::string> ids;
  for (const Json& one : other["results"]) ids.insert(one["query_id"].get<std::string>());
  Json out = file;
  out["results"] = Json::array();
  for (const Json& one : file["results"]) {
    if (ids.count(one["query_id"]) > 0) out["results"].push_back(one);
  }
  return out;
}

Strings ids_missing(const Json& file, const Json& other) {
  std::set<std::string> ids, theirs;
  for (const Json& one : file["results"]) ids.insert(one["query_id"].get<std::string>());
  for (const Json& one : other["results"]) theirs.insert(one["query_id"].get<std::string>());
  Strings out;
  std::set_difference(ids.begin(), ids.end(), theirs.begin(), theirs.end(), std::back_inserter(out));
  return out;
}

Json delta(const Json& b, const Json& a, int places) {
  if (a.is_null() || b.is_null()) return nullptr;
  return decimals(nine(b.get<double>() - a.get<double>()), places);
}

}  // namespace

Json comparison(const Json& whole_a, const Json& whole_b, double tolerance, double tolerance_ms) {
  const Json file_a = only_shared(whole_a, whole_b), file_b = only_shared(whole_b, whole_a);
  Json a = report(file_a), b = report(file_b);
  a.erase("results");
  b.erase("results");
  Json out;
  out["pipeline_a_report"] = a;
  out["pipeline_b_report"] = b;
  out["only_in_a"] = ids_missing(whole_a, whole_b);
  out["only_in_b"] = ids_missing(whole_b, whole_a);
  const auto d = [&](const char* group, const char* field, int places) { return delta(b[group][field], a[group][field], places); };
  const bool timed = a["latency"]["count"] > 0 && b["latency"]["count"] > 0;
  out["metric_deltas"] = {{"precision_at_k", d("retrieval", "mean_precision_at_k", 4)}, {"recall_at_k", d("retrieval", "mean_recall_at_k", 4)},
                          {"mrr", d("retrieval", "mrr", 4)}, {"answer_correctness", d("semantic", "answer_correctness_rate", 4)},
                          {"groundedness", d("semantic", "groundedness_rate", 4)}, {"mean_retrieval_ms", timed ? d("latency", "mean_ms", 2) : Json(0)},
                          {"p95_retrieval_ms", timed ? d("latency", "p95_ms", 2) : Json(0)}};
  for (const auto& category : order_of_failures) {
    out["diagnosis_deltas"][category] = b["diagnosis_counts"][category].get<int>() - a["diagnosis_counts"][category].get<int>();
  }
  std::set<std::string> types;
  for (const auto* side : {&a, &b}) {
    for (const auto& [type, ignored] : (*side)["metrics_by_query_type"].items()) types.insert(type);
  }
  out["query_type_deltas"] = Json::object();
  for (const auto& type : types) {
    const Json none = {{"mean_recall_at_k", 0}, {"mrr", 0}, {"answer_correctness_rate", nullptr}, {"groundedness_rate", nullptr}, {"diagnosis_counts", counts_of({})}};
    const Json x = a["metrics_by_query_type"].value(type, none), y = b["metrics_by_query_type"].value(type, none);
    int failures = 0;
    Json changes;
    for (const auto& category : order_of_failures) {
      changes[category] = y["diagnosis_counts"][category].get<int>() - x["diagnosis_counts"][category].get<int>();
      if (category != "PASS") failures += changes[category].get<int>();
    }
    out["query_type_deltas"][type] = {{"query_type", type}, {"recall_at_k", delta(y["mean_recall_at_k"], x["mean_recall_at_k"], 4)}, {"mrr", delta(y["mrr"], x["mrr"], 4)},
                                      {"answer_correctness", delta(y["answer_correctness_rate"], x["answer_correctness_rate"], 4)},
                                      {"groundedness", delta(y["groundedness_rate"], x["groundedness_rate"], 4)}, {"total_failure_delta", failures}, {"failure_deltas", changes}};
  }

  std::map<std::string, Json> by_id;
  for (const Json& one : judged_results(file_b)) by_id[one["query_id"]] = one;
  std::map<std::string, int> tally = {{"improved", 0}, {"regressed", 0}, {"unchanged", 0}};
  struct Regressed {
    Json entry;
    int importance, rank_fall;
    double loss;
    std::string label;
  };
  std::vector<Regressed> regressed;
  out["query_outcomes"] = Json::array();
  for (const Json& x : judged_results(file_a)) {
    const Json& y = by_id[x["query_id"]];
    const std::string from = x["category"], to = y["category"];
    const double recall_a = or_zero(x["recall"]), recall_b = or_zero(y["recall"]), gain = nine(recall_b - recall_a);
    const auto change = [&](const char* verdict) {
      if (x[verdict].is_null() || y[verdict].is_null()) return 0;
      return (y[verdict] == true ? 1 : 0) - (x[verdict] == true ? 1 : 0);
    };
    const int rank_change = place(order_of_comparison, to) - place(order_of_comparison, from);
    double sign = severity(from) - severity(to);
    if (sign == 0 && std::fabs(gain) > 0.001) sign = gain;
    if (sign == 0) sign = change("grounded");
    if (sign == 0) sign = change("correct");
    if (sign == 0) sign = -rank_change;
    const std::string outcome = sign > 0 ? "improved" : sign < 0 ? "regressed" : "unchanged";
    ++tally[outcome];
    const Json values = {{"query_id", x["query_id"]}, {"recall_a", decimals(recall_a, 4)}, {"recall_b", decimals(recall_b, 4)}, {"grounded_a", x["grounded"]},
                         {"grounded_b", y["grounded"]}, {"answer_correct_a", x["correct"]}, {"answer_correct_b", y["correct"]}};
    Json entry = values;
    entry["diagnosis_a"] = from;
    entry["diagnosis_b"] = to;
    entry["outcome"] = outcome;
    out["query_outcomes"].push_back(entry);
    const bool lost = change("grounded") < 0 || change("correct") < 0;
    if (outcome != "regressed" || !(severity(to) > severity(from) || lost || rank_change > 0 || -gain > tolerance)) continue;
    Json query = values;
    query["baseline_diagnosis"] = from;
    query["current_diagnosis"] = to;
    query["transition"] = from + " -> " + to;
    query["reason_code"] = severity(to) > severity(from) ? "severity" : -gain > 0.001 ? "recall" : change("grounded") < 0 ? "groundedness" : change("correct") < 0 ? "correctness" : "category";
    const int importance = from == "PASS" && severity(to) == 2 ? 1 : from == "PASS" && severity(to) == 1 ? 2 : severity(from) == 1 && severity(to) == 2 ? 3 : lost ? 4 : rank_change > 0 ? 5 : 6;
    const std::string label = x["query_id"].get<std::string>() + ": " + (from == to ? from + " (" + query["reason_code"].get<std::string>() + ")" : from + " -> " + to);
    regressed.push_back({query, importance, rank_change, -gain, label});
  }
  for (const auto& [outcome, count] : tally) out["queries_" + outcome] = count;

  const auto winner = [&](double change, double bound, bool less_is_better) -> std::string {
    const double x = nine(less_is_better ? -change : change);
    return x > bound ? "B" : x < -bound ? "A" : "TIE";
  };
  std::string quality = "TIE";
  for (const auto& [group, field] : std::vector<std::pair<const char*, const char*>>{
           {"retrieval", "mean_recall_at_k"}, {"retrieval", "mrr"}, {"semantic", "groundedness_rate"}, {"semantic", "answer_correctness_rate"}}) {
    if (quality != "TIE" || a[group][field].is_null() || b[group][field].is_null()) continue;
    quality = winner(b[group][field].get<double>() - a[group][field].get<double>(), tolerance, false);
  }
  const std::string speed = timed ? winner(b["latency"]["mean_ms"].get<double>() - a["latency"]["mean_ms"].get<double>(), tolerance_ms, true) : "TIE";
  out["winner_side"] = {{"quality", quality}, {"latency", speed}, {"overall", quality == "TIE" ? speed : quality}};
  out["trade_off"] = quality == "TIE" ? (speed == "TIE" ? "none" : "same_quality_faster")
                     : speed == "TIE" ? "better_same_speed" : speed == quality ? "better_and_faster" : quality == "B" ? "quality_for_latency" : "faster_for_quality";

  const auto share = [](const Json& r) { return r["total_queries"] == 0 ? 0 : r["completed_queries"].get<double>() / r["total_queries"].get<double>(); };
  const double completion = nine(share(b) - share(a));
  out["warnings"] = Json::array();
  if (!out["only_in_a"].empty() || !out["only_in_b"].empty()) out["warnings"].push_back("items_differ");
  if (std::fabs(completion) > tolerance) out["warnings"].push_back("completion_differs");
  if (!timed) out["warnings"].push_back("latency_unmeasured");

  Json analysis;
  analysis["metric_regressions"] = Json::array();
  const auto fell = [&](const char* label, const char* key) {
    const Json change = out["metric_deltas"][key];
    if (change.is_number() && nine(change) < -tolerance) analysis["metric_regressions"].push_back({{"metric_name", label}, {"delta", change}, {"threshold", tolerance}, {"unit", ""}});
  };
  fell("Recall@K", "recall_at_k");
  fell("Precision@K", "precision_at_k");
  fell("MRR", "mrr");
  fell("Answer Correctness", "answer_correctness");
  fell("Groundedness", "groundedness");
  if (const double slower = out["metric_deltas"]["mean_retrieval_ms"]; slower > tolerance_ms) {
    analysis["metric_regressions"].push_back({{"metric_name", "Mean Retrieval Latency"}, {"delta", slower}, {"threshold", tolerance_ms}, {"unit", "ms"}});
  }
  analysis["regressed_queries"] = Json::array();
  std::map<std::string, std::set<std::string>> groups;
  for (const auto& one : regressed) {
    analysis["regressed_queries"].push_back(one.entry);
    if (one.entry["baseline_diagnosis"] != one.entry["current_diagnosis"]) groups[one.entry["transition"]].insert(one.entry["query_id"].get<std::string>());
  }
  analysis["regressed_query_count"] = regressed.size();
  std::vector<std::pair<std::string, std::set<std::string>>> transitions(groups.begin(), groups.end());
  std::stable_sort(transitions.begin(), transitions.end(), [](const auto& x, const auto& y) {
    const bool p = x.first.rfind("PASS ", 0) == 0, q = y.first.rfind("PASS ", 0) == 0;
    return p != q ? p : x.second.size() > y.second.size();
  });
  analysis["diagnosis_regressions"] = Json::array();
  for (const auto& [label, ids] : transitions) analysis["diagnosis_regressions"].push_back({{"transition", label}, {"count", ids.size()}, {"query_ids", ids}});
  analysis["increased_failures"] = Json::object();
  for (const auto& category : order_of_failures) {
    if (category != "PASS" && out["diagnosis_deltas"][category] > 0) analysis["increased_failures"][category] = out["diagnosis_deltas"][category];
  }
  auto important = regressed;
  std::sort(important.begin(), important.end(), [](const Regressed& x, const Regressed& y) {
    if (x.importance != y.importance) return x.importance < y.importance;
    if (x.rank_fall != y.rank_fall) return x.rank_fall > y.rank_fall;
    if (x.loss != y.loss) return x.loss > y.loss;
    return x.entry["query_id"] < y.entry["query_id"];
  });
  analysis["important_regressions"] = Json::array();
  for (std::size_t i = 0; i < std::min<std::size_t>(5, important.size()); ++i) analysis["important_regressions"].push_back(important[i].label);
  const std::string verdict = completion < -tolerance ? "completion"
                              : quality == "A" ? "quality"
                              : quality == "B" ? (speed == "A" ? "improved_slower" : analysis["metric_regressions"].empty() ? "improved" : "improved_secondary")
                              : static_cast<int>(regressed.size()) > tally["improved"] ? "queries"
                              : speed == "A" ? "latency" : tally["regressed"] > 0 ? "balanced" : "none";
  analysis["verdict"] = verdict;
  analysis["overall_regression"] = verdict == "completion" || verdict == "quality" || verdict == "queries" || verdict == "latency";
  out["regression_analysis"] = analysis;
  return out;
}

namespace {

/// What an agent's diagnosis looks at.
Json random_trace(std::mt19937_64& random, const Json& gold) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const auto ids = [&] {
    Json out = Json::array();
    for (std::size_t i = below(4); i > 0; --i) out.push_back(!gold.empty() && below(4) == 0 ? gold[below(gold.size())] : Json("n" + std::to_string(below(9))));
    return out;
  };
  const std::size_t most = below(4), rounds = below(most + 1);
  Json steps = Json::array();
  for (std::size_t round = 0;; ++round) {
    steps.push_back({{"node", "retrieve"}, {"data", {{"retrieved_ids", ids()}}}});
    steps.push_back({{"node", "grade_context"}, {"data", {{"relevant", below(2) == 0}, {"graded_ids", ids()}}}});
    if (round == rounds) break;
    steps.push_back({{"node", "rewrite_query"}, {"data", Json::object()}});
  }
  if (below(3) > 0) steps.push_back({{"node", "generate"}, {"data", {{"context_ids", ids()}}}});
  return {{"config", {{"max_rewrites", most}}}, {"steps", steps}};
}

}  // namespace

Json random_file(std::mt19937_64& random, std::size_t queries, const std::string& pipeline) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const auto chance = [&](std::size_t percent) { return below(100) < percent; };
  // Whole files without a judge, gold, failures or latency must occur as well as mixtures.
  const std::size_t judge = chance(25) ? 0 : chance(30) ? 100 : 60, gold = chance(10) ? 0 : chance(50) ? 100 : 85, failing = chance(60) ? 0 : chance(5) ? 100 : 12,
                    timed = chance(10) ? 0 : 95, good = 30 + below(70), agent = chance(60) ? 0 : 90, traced = chance(50) ? 100 : 50;
  Json file = {{"dataset_name", "d"}, {"pipeline_name", pipeline}, {"k", 1 + below(6)}, {"results", Json::array()}};
  const char* const types[] = {"factual", "reasoning", "multi-hop", "vague", "Äpfel", "", "answerable", "unanswerable"};
  for (std::size_t i = 0; i < queries; ++i) {
    Json one = {{"query_id", "q" + std::to_string(i)}, {"query", "?"}};
    if (chance(90)) one["query_type"] = types[below(std::size(types))];
    if (chance(failing)) one["status"] = chance(50) ? "failed" : "timeout";
    Json expected = Json::array(), retrieved = Json::array();
    if (chance(gold)) {
      for (std::size_t j = 1 + below(3); j > 0; --j) expected.push_back("c" + std::to_string(below(9)));
    }
    for (std::size_t j = below(8); j > 0; --j) {
      const std::string id = !expected.empty() && chance(good / 2) ? expected[below(expected.size())].get<std::string>() : "c" + std::to_string(below(12));
      retrieved.push_back({{"id", id}, {"text", ""}});
    }
    one["expected_chunk_ids"] = expected;
    one["retrieved_chunks"] = retrieved;
    one["latency"] = Json::object();
    const double times[] = {100, 300, 500, 1000, 1000.0000000001, 1000.5, 1500, 3000, 42.125};
    if (chance(timed)) one["latency"]["retrieval_ms"] = chance(30) ? times[below(std::size(times))] : static_cast<double>(below(400'000)) / 1000.0;
    Json metrics = Json::object();
    if (chance(judge)) metrics["grounded"] = chance(good);
    if (chance(judge)) metrics["answer_correct"] = chance(good);
    if (chance(50)) metrics["judge_confidence"] = static_cast<double>(below(12)) / 10;
    if (chance(5)) metrics["grounded"] = "yes";
    if (chance(10)) metrics["recall_at_" + std::to_string(file["k"].get<int>())] = static_cast<double>(below(1001)) / 1000;
    if (chance(5)) metrics["reciprocal_rank"] = nullptr;
    one["metrics"] = metrics;
    if (judge > 0 && chance(8)) one["judge_error"] = "cut";
    if (chance(agent)) {
      one["refused"] = chance(100 - good);
      if (chance(10)) one["should_refuse"] = chance(50);
      if (chance(traced)) one["trace"] = random_trace(random, expected);
    }
    file["results"].push_back(one);
  }
  return file;
}

std::string difference(const Json& expected, const Json& actual, const std::string& path) {
  if (expected.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (!actual.contains(key)) return path + "." + key + " is missing";
      if (auto found = difference(value, actual[key], path + "." + key); !found.empty()) return found;
    }
    return {};
  }
  if (expected.is_array() && actual.is_array() && expected.size() == actual.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (auto found = difference(expected[i], actual[i], path + "[" + std::to_string(i) + "]"); !found.empty()) return found;
    }
    return {};
  }
  if (expected.is_number() && actual.is_number()) {
    const double x = expected, y = actual;
    if (std::fabs(x - y) <= 1e-9 * std::max(1.0, std::fabs(x))) return {};
  } else if (expected == actual) {
    return {};
  }
  return path + ": expected " + expected.dump() + ", found " + actual.dump();
}

}  // namespace polygraph::plain
