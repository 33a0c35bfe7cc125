#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/trace_schema.hpp"
#include "tests/diagnosis/plain_rules.hpp"
#include "wasm/diagnosis/document.hpp"

namespace polygraph::diagnosis {
namespace {

using plain::Json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// The document that is made of a text: {} with `error` where it is refused.
Json diagnosed(const std::string& text) {
  const auto document = read_document(text);
  if (!document) return {{"error", document.error().message}, {"field", document.error().field}, {"line", document.error().line}};
  std::string out;
  {
    json::Writer writer([&](std::string_view piece) { out += piece; }, 2);
    write_diagnosis(writer, *document);
  }
  return Json::parse(out);
}

Json report_of(const Json& file) { return diagnosed(file.dump())["report"]; }

/// A query that passes unless it is changed.
Json query(const std::string& id) {
  return {{"query_id", id}, {"query", "?"}, {"query_type", "factual"}, {"expected_chunk_ids", {"a"}}, {"retrieved_chunks", {{{"id", "a"}, {"text", ""}}}},
          {"latency", {{"retrieval_ms", 50}}}, {"metrics", Json::object()}};
}
Json chunks(const std::vector<std::string>& ids) {
  Json out = Json::array();
  for (const auto& id : ids) out.push_back({{"id", id}, {"text", ""}});
  return out;
}
std::string category_of(const Json& one) { return report_of({{"results", {one}}})["results"][0]["diagnosis"]["category"]; }

TEST(Evaluation, AgreesWithThePlainRulesOnRandomResults) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::size_t sizes[] = {0, 1, 2, 4, 5, 9, 10, 24, 25, 49, 50, 80};
  for (int round = 0; round < 300; ++round) {
    const Json file = plain::random_file(random, sizes[random() % std::size(sizes)], "p");
    const Json expected = plain::report(file);
    const Json actual = diagnosed(file.dump());
    ASSERT_EQ(plain::difference(expected, actual["report"]), "") << file.dump();
    ASSERT_EQ(actual["passed_queries"], expected["diagnosis_counts"]["PASS"]);
    ASSERT_EQ(actual["failed_queries"].get<int>(), expected["total_queries"].get<int>() - expected["diagnosis_counts"]["PASS"].get<int>());
    for (const char* list : {"strength", "weakness", "recommendation"}) {
      const auto& health = actual["health_profile"];
      ASSERT_EQ(health[std::string(list) + "_codes"].size(), health[list == std::string("strength") ? "strengths" : list == std::string("weakness") ? "weaknesses" : "recommendations"].size());
    }
    ASSERT_EQ(actual["report"]["overall_insights"].size(), actual["report"]["insight_codes"].size());
  }
}

TEST(Evaluation, IsTheSameAgainWhenItsOwnOutputIsDiagnosed) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    const Json first = diagnosed(plain::random_file(random, 30, "p").dump());
    EXPECT_EQ(plain::difference(first, diagnosed(first.dump())), "");
    EXPECT_EQ(plain::difference(first, diagnosed(first["report"].dump())), "");
  }
}

TEST(Evaluation, FitsThePublishedSchemas) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20; ++round) {
    const Json document = diagnosed(plain::random_file(random, 12, "p").dump());
    ASSERT_EQ(cli::test::schema_errors(document, "diagnosis"), "");
    ASSERT_EQ(cli::test::schema_errors(document["report"], "evaluation_report"), "");
    for (const Json& one : document["report"]["results"]) ASSERT_EQ(cli::test::schema_errors(one, "query_result"), "") << one;
  }
  Json broken = diagnosed(plain::random_file(random, 12, "p").dump());
  broken["report"]["retrieval"]["mrr"] = nullptr;
  EXPECT_NE(cli::test::schema_errors(broken["report"], "evaluation_report"), "");
}

TEST(Categories, RankThreeIsWellAndRankFourIsNot) {
  Json one = query("q");
  one["retrieved_chunks"] = chunks({"x", "y", "a"});
  EXPECT_EQ(category_of(one), "PASS");
  one["retrieved_chunks"] = chunks({"x", "y", "z", "a"});
  EXPECT_EQ(category_of(one), "WRONG_CHUNK_RANK");
}

TEST(Categories, AnEmptyRetrievalIsAWrongOneOnlyWhereChunksWereExpected) {
  Json one = query("q");
  one["retrieved_chunks"] = Json::array();
  EXPECT_EQ(category_of(one), "WRONG_CHUNK_RETRIEVED");
  one["expected_chunk_ids"] = Json::array();
  EXPECT_EQ(category_of(one), "PASS");
}

TEST(Categories, ATwiceExpectedChunkIsOneChunk) {
  Json one = query("q");
  one["expected_chunk_ids"] = {"a", "a"};
  EXPECT_EQ(category_of(one), "PASS");
  one["expected_chunk_ids"] = {"a", "b"};
  EXPECT_EQ(category_of(one), "INSUFFICIENT_CONTEXT");
}

TEST(Categories, LatencyExactlyAtTheThresholdIsNoOutlier) {
  Json one = query("q");
  one["latency"]["retrieval_ms"] = 1000;
  EXPECT_EQ(category_of(one), "PASS");
  one["latency"]["retrieval_ms"] = 1000.0000000001;  // at nine decimals 1000
  EXPECT_EQ(category_of(one), "PASS");
  one["latency"]["retrieval_ms"] = 1000.001;
  EXPECT_EQ(category_of(one), "LATENCY_OUTLIER");
}

TEST(Categories, SlownessIsSecondEvidenceBesideAQualityFailureAndNeverBesideUnknown) {
  Json one = query("q");
  one["latency"]["retrieval_ms"] = 2000;
  one["metrics"] = {{"grounded", false}, {"judge_confidence", 0.7}};
  auto found = report_of({{"results", {one}}})["results"][0]["diagnosis"];
  EXPECT_EQ(found["category"], "RETRIEVED_BUT_NOT_GROUNDED");
  EXPECT_EQ(found["secondary"], Json({"LATENCY_OUTLIER"}));
  EXPECT_EQ(found["confidence"], 0.7);
  EXPECT_EQ(found["judge"], "judged");
  one["status"] = "failed";
  found = report_of({{"results", {one}}})["results"][0]["diagnosis"];
  EXPECT_EQ(found["category"], "UNKNOWN");
  EXPECT_EQ(found["secondary"], Json::array());
}

TEST(Categories, FollowAnAgentsRefusals) {
  Json one = query("q");
  one["refused"] = true;
  EXPECT_EQ(category_of(one), "ANSWER_INCORRECT");  // a false refusal that retrieval does not explain
  auto found = report_of({{"results", {one}}})["results"][0];
  EXPECT_EQ(found["refusal_outcome"], "false");
  EXPECT_EQ(found["diagnosis"]["confidence"], 1);
  one["retrieved_chunks"] = chunks({"x"});
  EXPECT_EQ(category_of(one), "WRONG_CHUNK_RETRIEVED");

  Json open = query("u");
  open["expected_chunk_ids"] = Json::array();
  open["query_type"] = "unanswerable";
  open["refused"] = false;
  found = report_of({{"results", {open}}})["results"][0];
  EXPECT_EQ(found["refusal_outcome"], "missed");
  EXPECT_EQ(found["diagnosis"]["category"], "ANSWER_INCORRECT");
  open["refused"] = true;
  open["metrics"] = {{"grounded", false}, {"answer_correct", false}};
  EXPECT_EQ(category_of(open), "PASS");  // a correct refusal: nobody asks whether it is grounded
  open["latency"]["retrieval_ms"] = 1200;
  EXPECT_EQ(category_of(open), "LATENCY_OUTLIER");
}

Json trace(const std::vector<Json>& steps) { return {{"config", {{"max_rewrites", 2}}}, {"steps", steps}}; }
Json retrieve(std::vector<std::string> ids) { return {{"node", "retrieve"}, {"data", {{"retrieved_ids", ids}}}}; }
Json grade(bool relevant, std::vector<std::string> ids) { return {{"node", "grade_context"}, {"data", {{"relevant", relevant}, {"graded_ids", ids}}}}; }
Json rewrite() { return {{"node", "rewrite_query"}, {"data", Json::object()}}; }
Json generate(std::vector<std::string> ids) { return {{"node", "generate"}, {"data", {{"context_ids", ids}}}}; }

TEST(AgentDiagnosis, NamesTheDecisionThatWasWrong) {
  const auto of = [](bool refused, const Json& metrics, const std::vector<Json>& steps, bool answerable = true) {
    Json one = query("q");
    one["refused"] = refused;
    one["metrics"] = metrics;
    one["trace"] = trace(steps);
    if (!answerable) {
      one["expected_chunk_ids"] = Json::array();
      one["query_type"] = "unanswerable";
    }
    return report_of({{"results", {one}}})["results"][0]["agent_diagnosis"];
  };
  const Json unjudged = Json::object(), wrong = {{"answer_correct", false}}, right = {{"answer_correct", true}};
  EXPECT_EQ(of(true, unjudged, {retrieve({"x"}), grade(false, {"x"}), rewrite(), retrieve({"a"}), grade(false, {"a"})}), "grader_false_negative");
  EXPECT_EQ(of(true, unjudged, {retrieve({"x"}), grade(false, {"x"})}), "retrieval_miss");
  EXPECT_EQ(of(false, wrong, {retrieve({"x"}), grade(true, {"x"}), generate({"x"})}), "retrieval_miss");
  EXPECT_EQ(of(false, unjudged, {retrieve({"x"}), grade(true, {"x"}), generate({"x"})}, false), "missed_refusal");
  EXPECT_EQ(of(false, wrong, {retrieve({"a"}), grade(true, {"a"}), generate({"a"})}), "generation_error");
  EXPECT_EQ(of(false, right, {retrieve({"a", "x"}), grade(true, {"x"}), generate({"x"})}), "grader_false_positive");
  EXPECT_EQ(of(false, right, {retrieve({"x"}), grade(false, {"x"}), rewrite(), retrieve({"x"}), grade(false, {"x"}), rewrite(), retrieve({"a"}), grade(true, {"a"}), generate({"a"})}),
            "rewrite_loop");
  EXPECT_EQ(of(false, right, {retrieve({"a"}), grade(true, {"a"}), generate({"a"})}), nullptr);
  EXPECT_EQ(of(true, unjudged, {retrieve({"x"}), grade(false, {"x"})}, false), nullptr);
}

Json passing(std::size_t n) {
  Json file = {{"results", Json::array()}};
  for (std::size_t i = 0; i < n; ++i) file["results"].push_back(query("q" + std::to_string(i)));
  return file;
}

/// 50·1 + 35·size + 8 without a judge, with everything completed.
TEST(Confidence, GrowsWithTheNumberOfQueriesAsDefined) {
  const std::vector<std::pair<std::size_t, double>> expected = {
      {0, 0},       // nothing completed
      {1, 65.0},    // 58 + 35·0.20
      {4, 70.2},    // 58 + 35·0.35 = 70.25, a tie that goes to the even digit
      {5, 72.0},    // 58 + 35·0.40
      {9, 77.6},    // 58 + 35·0.56
      {10, 79.0},   // 58 + 35·0.60
      {24, 85.5},   // 58 + 35·(0.60 + 0.20·14/15) = 85.5333
      {25, 86.0},   // 58 + 35·0.80
      {49, 92.7},   // 58 + 35·(0.80 + 0.20·24/25) = 92.72
      {50, 93.0},   // 58 + 35
  };
  for (const auto& [n, score] : expected) {
    const Json found = report_of(passing(n))["confidence"];
    EXPECT_EQ(found["score"], score) << n;
    EXPECT_EQ(found["reason_codes"][0], n == 0 ? "no_queries" : "all_completed");
  }
  EXPECT_THAT(report_of(passing(9))["confidence"]["reason_codes"], Contains("size_limited"));
  EXPECT_THAT(report_of(passing(10))["confidence"]["reason_codes"], Contains("size_moderate"));
  EXPECT_THAT(report_of(passing(25))["confidence"]["reason_codes"], Contains("size_good"));
  EXPECT_THAT(report_of(passing(50))["confidence"]["reason_codes"], Contains("size_strong"));
}

TEST(Confidence, FallsWithAJudgeThatPartlyFailed) {
  Json file = passing(10);
  for (std::size_t i = 0; i < 8; ++i) file["results"][i]["metrics"] = {{"grounded", true}, {"answer_correct", true}};
  for (std::size_t i = 8; i < 10; ++i) file["results"][i]["judge_error"] = "cut";
  const Json found = report_of(file);
  EXPECT_EQ(found["judged_queries"], 8);
  EXPECT_EQ(found["judge_failures"], 2);
  EXPECT_EQ(found["confidence"]["score"], 80.0);  // 50 + 35·0.60 + 15·0.8 − 15·0.2
  EXPECT_EQ(found["confidence"]["reason_codes"], Json({"all_completed", "size_moderate", "judge_failures"}));
  EXPECT_EQ(found["insight_codes"], Json({"all_passed_judge_partial"}));
  EXPECT_EQ(found["semantic"]["groundedness_rate"], 1.0);
}

TEST(Health, OfAPipelineThatFailedEveryQueryIsZeroAndUndefined) {
  Json file = passing(5);
  for (Json& one : file["results"]) one["status"] = "failed";
  const Json found = report_of(file);
  EXPECT_EQ(found["health_profile"]["score"], 0);
  EXPECT_EQ(found["health_profile"]["grade"], "Critical");
  EXPECT_EQ(found["health_profile"]["defined"], false);
  EXPECT_EQ(found["health_profile"]["weakness_codes"], Json({"execution"}));
  EXPECT_EQ(found["health_profile"]["strength_codes"], Json::array());
  EXPECT_EQ(found["confidence"]["score"], 0);
  EXPECT_EQ(found["insight_codes"], Json({"dominant_failure:UNKNOWN", "pipeline_failures"}));
}

TEST(Health, LeavesOutWhatWasNotMeasured) {
  Json file = passing(2);
  for (Json& one : file["results"]) one["latency"] = Json::object();
  Json found = report_of(file)["health_profile"];
  EXPECT_EQ(found["score"], 100.0);  // (0.50 + 0.20 + 0.20) / 0.90
  EXPECT_EQ(found["missing"], Json({"latency"}));
  for (Json& one : file["results"]) {
    one["expected_chunk_ids"] = Json::array();
    one["metrics"] = {{"grounded", true}, {"answer_correct", true}};
  }
  file["results"][1]["metrics"]["answer_correct"] = false;
  found = report_of(file)["health_profile"];
  EXPECT_EQ(found["score"], 68.8);  // 100·(0.25·0.5 + 0.15)/0.40 = 68.75, to even
  EXPECT_EQ(found["missing"], Json({"retrieval", "latency"}));
}

TEST(Health, LatencyCountsAtEachPointOfItsLine) {
  // 100·(0.90 + 0.10·score): everything else is 1.
  for (const auto& [ms, score] : std::vector<std::pair<double, double>>{{100, 100}, {300, 98.8}, {500, 97.5}, {1000, 95.0}}) {
    Json file = passing(1);
    file["results"][0]["latency"]["retrieval_ms"] = ms;
    EXPECT_EQ(report_of(file)["health_profile"]["score"], score) << ms;  // 300 ms: 98.75, to even
  }
}

TEST(Report, OfAnAgentsUnscoredQueriesSaysHowManyAreBehindAMean) {
  Json file = passing(2);
  file["results"][1]["expected_chunk_ids"] = Json::array();
  const Json found = report_of(file);
  EXPECT_EQ(found["retrieval"]["scored_queries"], 1);
  EXPECT_EQ(found["retrieval"]["mean_recall_at_k"], 1.0);
  EXPECT_EQ(found["results"][1]["metrics"]["recall_at_5"], nullptr);
}

TEST(StoredReport, IsPrintedAsItIsWithWhatIsMissingWorkedOut) {
  const std::string text = R"({"dataset_name":"d","total_queries":2,"completed_queries":2,"retrieval":{"mean_precision_at_k":0.50,"mean_recall_at_k":1,"mrr":1.0,"k":5},
      "latency":{"count":2,"mean_ms":10,"p50_ms":10,"p95_ms":10,"p99_ms":10,"min_ms":10,"max_ms":10},"diagnosis_counts":{"PASS":1,"UNKNOWN":1},"mine":[1,{"x":null}]})";
  const Json found = diagnosed(text);
  EXPECT_EQ(plain::difference(Json::parse(text), found["report"]), "");
  EXPECT_EQ(found["passed_queries"], 1);
  EXPECT_EQ(found["failure_modes"][0]["category"], "UNKNOWN");
  EXPECT_EQ(found["report"]["health_profile"]["score"], 90.0);  // 100·(0.5 + 0.2·0.5 + 0.2 + 0.1)
  EXPECT_EQ(found["health_profile"], found["report"]["health_profile"]);
  EXPECT_EQ(found["report"]["confidence"]["score"], 66.8);      // 50 + 35·0.25 + 8 = 66.75, to even
}

TEST(StoredReport, WithAHealthOfItsOwnKeepsIt) {
  const Json found = diagnosed(R"({"total_queries":1,"health_profile":{"score":12.5,"grade":"Odd","status":"S","strengths":["s"],"weaknesses":[],"recommendations":[],"mine":1}})");
  EXPECT_EQ(found["health_profile"]["grade"], "Odd");
  EXPECT_EQ(found["health_profile"]["mine"], 1);
}

struct Refused {
  const char* text;
  const char* words;
};
class RefusedDocuments : public testing::TestWithParam<Refused> {};
TEST_P(RefusedDocuments, SayWhatTheyAre) {
  const Json found = diagnosed(GetParam().text);
  ASSERT_TRUE(found.contains("error"));
  EXPECT_THAT((found["field"].get<std::string>() + ": " + found["error"].get<std::string>()), HasSubstr(GetParam().words));
}
INSTANTIATE_TEST_SUITE_P(Documents, RefusedDocuments,
                         testing::Values(Refused{"{}", "neither results nor an evaluation report"}, Refused{"", "ends where"}, Refused{"[1]", "expected an object"},
                                         Refused{R"({"pipeline_a_report":{},"total_queries":1})", "is a comparison"}, Refused{R"({"total_queries":"1"})", "total_queries: expected a number"},
                                         Refused{R"({"retrieval":{"k":0}})", "retrieval.k: must be at least 1"}, Refused{R"({"retrieval":{"mrr":null}})", "retrieval.mrr: expected a number, found null"},
                                         Refused{R"({"retrieval":{"mrr":NaN}})", "NaN"}, Refused{R"({"total_queries":1)", "cut off"},
                                         Refused{R"({"kind":"evaluation","schema":2,"total_queries":1})", "version 2"},
                                         Refused{R"({"failure_modes":[],"report":{"retrieval":{"k":true}}})", "report.retrieval.k"},
                                         Refused{R"([{"query_id":"a","query":""},{"query_id":"a","query":""}])", "query_id: result 1: query id \"a\" occurs twice"}));

}  // namespace
}  // namespace polygraph::diagnosis
