#include "wasm/comparison/comparison.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/trace_schema.hpp"
#include "tests/diagnosis/plain_rules.hpp"

namespace polygraph::comparison {
namespace {

using plain::Json;

/// The comparison of two documents as JSON; {"error": …} where they can't be compared.
Json compared(const Json& a, const Json& b, const Options& options = {}) {
  const std::string text_a = a.dump(), text_b = b.dump();
  const auto left = diagnosis::read_document(text_a), right = diagnosis::read_document(text_b);
  if (!left || !right) return {{"error", (left ? right : left).error().message}};
  const auto result = compare(*left, *right, options);
  if (!result) return {{"error", result.error().message}};
  std::string out;
  {
    json::Writer writer([&](std::string_view piece) { out += piece; });
    write_comparison(writer, *result);
  }
  return Json::parse(out);
}

Json query(const std::string& id, const Json& metrics = Json::object(), double ms = 50) {
  return {{"query_id", id}, {"query", "?"}, {"query_type", "factual"}, {"expected_chunk_ids", {"a"}}, {"retrieved_chunks", {{{"id", "a"}, {"text", ""}}}},
          {"latency", {{"retrieval_ms", ms}}}, {"metrics", metrics}};
}
Json file(const std::string& pipeline, const std::vector<Json>& results) { return {{"dataset_name", "d"}, {"pipeline_name", pipeline}, {"results", results}}; }

TEST(Comparison, AgreesWithThePlainRulesOnRandomResults) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int regressions = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = 1 + random() % 30;
    Json a = plain::random_file(random, n, "one"), b = plain::random_file(random, random() % 4 == 0 ? n + random() % 5 : n, "two");
    b["k"] = a["k"];
    if (random() % 2 == 0) {
      // Two versions of one pipeline: most queries are the same.
      for (std::size_t i = 0; i < std::min(a["results"].size(), b["results"].size()); ++i) {
        if (random() % 3 != 0) b["results"][i] = a["results"][i];
      }
    }
    if (random() % 4 == 0 && a["results"].size() > 2) a["results"].erase(a["results"].begin() + static_cast<std::ptrdiff_t>(random() % a["results"].size()));
    const Json expected = plain::comparison(a, b), actual = compared(a, b);
    ASSERT_EQ(plain::difference(expected, actual), "") << a.dump() << "\n" << b.dump();
    ASSERT_EQ(actual["regression_analysis"]["increased_failures"], expected["regression_analysis"]["increased_failures"]);
    regressions += actual["regression_analysis"]["overall_regression"] == true ? 1 : 0;
    if (round % 10 == 0) {
      ASSERT_EQ(cli::test::schema_errors(actual, "comparison_report"), "");
    }
  }
  EXPECT_GT(regressions, 20);
  EXPECT_LT(regressions, 280);
}

TEST(Comparison, OfAPipelineWithItselfIsATie) {
  std::mt19937_64 random(3);
  const Json a = plain::random_file(random, 40, "p");
  const Json found = compared(a, a);
  EXPECT_EQ(found["winner"], "TIE");
  EXPECT_EQ(found["trade_off"], "none");
  EXPECT_EQ(found["queries_unchanged"], 40);
  EXPECT_EQ(found["regression_analysis"]["verdict"], "none");
  EXPECT_EQ(found["pipeline_a_name"], "p (A)");
  EXPECT_EQ(found["pipeline_b_name"], "p (B)");
}

TEST(Comparison, NamesPipelinesThatHaveNoneOrReadAsATie) {
  Json a = file("TIE", {query("q")}), b = a;
  b.erase("pipeline_name");
  const Json found = compared(a, b);
  EXPECT_EQ(found["pipeline_a_name"], "TIE (A)");
  EXPECT_EQ(found["pipeline_b_name"], "Pipeline B");
}

TEST(Outcomes, ARecallChangeOfExactlyAThousandthDecidesNothing) {
  const auto of = [](double a, double b) { return compared(file("x", {query("q", {{"recall_at_5", a}})}), file("y", {query("q", {{"recall_at_5", b}})}))["query_outcomes"][0]["outcome"]; };
  EXPECT_EQ(of(0.500, 0.501), "unchanged");
  EXPECT_EQ(of(0.501, 0.500), "unchanged");
  EXPECT_EQ(of(0.500, 0.5011), "improved");
  EXPECT_EQ(of(0.5011, 0.500), "regressed");
}

TEST(Outcomes, GoBySeverityThenRecallThenGroundednessThenCorrectnessThenCategory) {
  const auto of = [](Json a, Json b) { return compared(file("x", {a}), file("y", {b}))["query_outcomes"][0]["outcome"]; };
  Json failed = query("q");
  failed["status"] = "failed";
  EXPECT_EQ(of(query("q"), failed), "regressed");
  EXPECT_EQ(of(query("q", {{"recall_at_5", 0.2}, {"grounded", true}}), query("q", {{"recall_at_5", 0.4}})), "improved");
  EXPECT_EQ(of(query("q", {{"answer_correct", false}, {"grounded", true}}), query("q", {{"answer_correct", true}, {"grounded", false}})), "regressed");  // both major
  EXPECT_EQ(of(query("q"), query("q", {{"grounded", true}})), "unchanged");  // a verdict that one side lacks
  Json low = query("q"), slow = query("q", Json::object(), 1500);
  low["retrieved_chunks"] = Json::array();
  for (const char* id : {"x", "y", "z", "a"}) low["retrieved_chunks"].push_back({{"id", id}, {"text", ""}});
  EXPECT_EQ(of(low, slow), "improved");  // both warnings: LATENCY_OUTLIER ranks before WRONG_CHUNK_RANK
}

TEST(Outcomes, GoByTheCategorysSeverityNotTheStoredOne) {
  Json a = query("q"), b = query("q");
  a["diagnosis"] = {{"category", "LATENCY_OUTLIER"}, {"severity", "major"}};
  b["diagnosis"] = {{"category", "WRONG_CHUNK_RETRIEVED"}, {"severity", "info"}};
  EXPECT_EQ(compared(file("x", {a}), file("y", {b}))["query_outcomes"][0]["outcome"], "regressed");
}

TEST(Winners, ADifferenceOfExactlyTheToleranceIsATie) {
  const auto of = [](double a, double b, double ms_a, double ms_b) {
    return compared(file("x", {query("q", {{"recall_at_5", a}}, ms_a)}), file("y", {query("q", {{"recall_at_5", b}}, ms_b)}))["winner_side"];
  };
  EXPECT_EQ(of(0.78, 0.80, 50, 50)["quality"], "TIE");  // 0.80 − 0.78 is 0.020000000000000018 in doubles
  EXPECT_EQ(of(0.78, 0.8001, 50, 50)["quality"], "B");
  EXPECT_EQ(of(0.80, 0.7799, 50, 50)["quality"], "A");
  EXPECT_EQ(of(1, 1, 50, 60)["latency"], "TIE");
  EXPECT_EQ(of(1, 1, 50, 60.01)["latency"], "A");
  EXPECT_EQ(of(1, 1, 60.01, 50)["overall"], "B");
}

TEST(Winners, PayForQualityInWords) {
  const auto of = [](double a, double b, double ms_a, double ms_b) {
    return compared(file("x", {query("q", {{"recall_at_5", a}}, ms_a)}), file("y", {query("q", {{"recall_at_5", b}}, ms_b)}))["trade_off"];
  };
  EXPECT_EQ(of(0.5, 0.9, 50, 100), "quality_for_latency");
  EXPECT_EQ(of(0.5, 0.9, 100, 50), "better_and_faster");
  EXPECT_EQ(of(0.5, 0.9, 50, 50), "better_same_speed");
  EXPECT_EQ(of(0.9, 0.5, 100, 50), "faster_for_quality");
  EXPECT_EQ(of(0.9, 0.9, 100, 50), "same_quality_faster");
  EXPECT_EQ(of(0.9, 0.9, 50, 50), "none");
}

TEST(Regression, IsOneWheneverBCompletesClearlyLess) {
  std::vector<Json> a, b;
  for (int i = 0; i < 10; ++i) {
    a.push_back(query("q" + std::to_string(i), {{"recall_at_5", 0.2}}));
    b.push_back(query("q" + std::to_string(i), {{"recall_at_5", 1.0}}));
  }
  b[0]["status"] = "failed";
  const Json found = compared(file("x", a), file("y", b));
  EXPECT_EQ(found["winner_side"]["quality"], "B");
  EXPECT_EQ(found["regression_analysis"]["verdict"], "completion");
  EXPECT_EQ(found["regression_analysis"]["overall_regression"], true);
  EXPECT_EQ(found["warnings"], Json({"completion_differs"}));
}

TEST(Comparison, IsOverTheSharedIdsAndListsTheOthers) {
  const Json a = file("x", {query("z"), query("q1", {{"recall_at_5", 0.5}}), query("b")}), b = file("y", {query("q1"), query("n")});
  const Json found = compared(a, b);
  EXPECT_EQ(found["only_in_a"], Json({"b", "z"}));
  EXPECT_EQ(found["only_in_b"], Json({"n"}));
  EXPECT_EQ(found["warnings"], Json({"items_differ"}));
  EXPECT_EQ(found["pipeline_a_report"]["total_queries"], 1);
  EXPECT_EQ(found["pipeline_a_report"]["retrieval"]["mean_recall_at_k"], 0.5);
  EXPECT_EQ(found["pipeline_b_report"]["total_queries"], 1);
}

TEST(Comparison, OfStoredReportsHasNoOutcomesAndSaysSo) {
  const Json stored = {{"total_queries", 10}, {"completed_queries", 10}, {"retrieval", {{"mean_recall_at_k", 0.9}, {"mrr", 0.5}, {"k", 5}}}, {"latency", {{"count", 0}}}};
  Json better = stored;
  better["retrieval"]["mrr"] = 0.6;
  const Json found = compared(stored, better);
  EXPECT_EQ(found["query_outcomes"], Json::array());
  EXPECT_EQ(found["warnings"], Json({"no_query_results", "latency_unmeasured"}));
  EXPECT_EQ(found["winner"], "Pipeline B");
  EXPECT_EQ(found["metric_deltas"]["mrr"], 0.1);
  EXPECT_EQ(found["metric_deltas"]["answer_correctness"], nullptr);
}

TEST(Comparison, RefusesSidesThatHaveNothingInCommon) {
  EXPECT_NE(compared(file("x", {query("a")}), file("y", {query("b")})).value("error", "").find("share no query id"), std::string::npos);
  Json k3 = file("y", {query("a")});
  k3["k"] = 3;
  EXPECT_NE(compared(file("x", {query("a")}), k3).value("error", "").find("K = 5"), std::string::npos);
}

TEST(Comparison, CallsNothingBetterThatThePairedTestDoesNotConfirm) {
  Options options;
  double p = 0.5;
  options.test = [&](const std::vector<PairedSample>& samples) {
    std::vector<PairedTest> out;
    for (const auto& sample : samples) out.push_back({sample.metric, sample.b[0] - sample.a[0], std::nullopt, std::nullopt, p, p, sample.a.size()});
    return out;
  };
  const Json a = file("x", {query("q", {{"recall_at_5", 0.2}})}), b = file("y", {query("q", {{"recall_at_5", 0.9}})});
  Json found = compared(a, b, options);
  EXPECT_NE(found["summary"].get<std::string>().find("not significant, p = 0.5"), std::string::npos) << found["summary"];
  EXPECT_EQ(found["summary"].get<std::string>().find("better"), std::string::npos);
  EXPECT_EQ(found["tests"]["recall@5"]["n"], 1);
  p = 0.01;
  found = compared(a, b, options);
  EXPECT_NE(found["summary"].get<std::string>().find("is better"), std::string::npos);
}

}  // namespace
}  // namespace polygraph::comparison
