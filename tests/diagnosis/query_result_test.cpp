#include "wasm/diagnosis/query_result.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace polygraph::diagnosis {
namespace {

using Json = nlohmann::ordered_json;

struct All {
  ResultsHeader header;
  std::vector<QueryResult> results;
  std::vector<std::uint64_t> positions;
};

Result<All> read_all(std::string_view text, std::uint32_t k = 5) {
  All all;
  auto header = read_results(text, {k, {}}, [&](StoredResult&& stored) -> Result<void> {
    all.results.push_back(std::move(stored.result));
    all.positions.push_back(stored.position);
    return {};
  });
  if (!header) return tl::unexpected(header.error());
  all.header = *header;
  return all;
}

constexpr std::string_view full = R"({"query_id":"q1","query":"Why?","query_type":"factual","expected_answer":"so","generated_answer":"so",
"error":null,"judge_error":null,"status":"completed","expected_chunk_ids":["a"],
"retrieved_chunks":[{"id":"b","text":"B"},{"id":"a","text":"A","score":0.5,"metadata":{"page":1},"mine":[1]}],
"latency":{"retrieval_ms":12.0,"generation_ms":30.5,"total_ms":42.5,"rerank_ms":3.0},
"metrics":{"precision_at_5":0.5,"recall_at_5":1.0,"reciprocal_rank":0.5,"answer_correct":true,"grounded":true,"judge_confidence":0.9,"judge_reason":"fine","bleu":0.1},
"diagnosis":{"category":"PASS","severity":"info","confidence":0.9,"reason":"r","action":"none","evidence":[],"secondary":[],"judge":"judged","mine":{"x":1}},
"refused":false,"refusal_outcome":null,"agent_diagnosis":null,"trace":{"id":"t","steps":[]},"mine":{"y":[1,2]}})";

TEST(QueryResult, IsWrittenAsItWasRead) {
  const auto result = parse_query_result(full);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(Json::parse(to_json(*result)), [] {
    Json whole = Json::parse(full);
    whole["retrieved_chunks"][0]["score"] = nullptr;
    whole["retrieved_chunks"][0]["metadata"] = nullptr;
    whole["retrieved_chunks"][1] = Json::parse(R"({"id":"a","text":"A","score":0.5,"metadata":{"page":1},"mine":[1]})");
    return whole;
  }());
}

TEST(QueryResult, ReadsAnArrayJsonLinesAndAnEnvelopeAlike) {
  const std::string a = R"({"query_id":"a","query":"x"})", b = R"({"query_id":"b","query":"y","status":"failed"})";
  for (const std::string& text :
       {"[" + a + ",\n" + b + "]", a + "\n\n" + b + "\n", "\xef\xbb\xbf" + a + "\r\n" + b, R"({"results":[)" + a + "," + b + R"(],"pipeline_name":"p"})"}) {
    const auto all = read_all(text);
    ASSERT_TRUE(all) << text << all.error().message;
    ASSERT_EQ(all->results.size(), 2U) << text;
    EXPECT_EQ(all->results[0].query_id, "a");
    EXPECT_TRUE(all->results[0].completed());
    EXPECT_FALSE(all->results[1].completed());
    EXPECT_EQ(all->header.k, 5U);
  }
}

TEST(QueryResult, TakesTheEnvelopesNamesAndK) {
  const auto all = read_all(R"({"dataset_name":"d","dataset_version":"2","pipeline_name":"p","k":3,"results":[{"query_id":"a","query":"","metrics":{"recall_at_3":0.5,"recall_at_5":1}}]})");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->header.dataset_name, "d");
  EXPECT_EQ(all->header.dataset_version, "2");
  EXPECT_EQ(all->header.pipeline_name, "p");
  EXPECT_EQ(all->header.k, 3U);
  EXPECT_EQ(all->results[0].metrics.recall_at_k, 0.5);
  EXPECT_EQ(Json::parse(to_json(all->results[0], 3))["metrics"]["recall_at_5"], 1);
}

TEST(QueryResult, ComputesTheMetricsThatAreNotThere) {
  auto result = parse_query_result(R"({"query_id":"a","query":"q","expected_chunk_ids":["a","b"],"retrieved_chunks":[{"id":"x","text":""},{"id":"a","text":""}],
      "metrics":{"recall_at_5":0.75,"precision_at_5":null},"latency":{"retrieval_ms":1.5,"generation_ms":2}})");
  ASSERT_TRUE(result) << result.error().message;
  complete_metrics(*result, 5);
  EXPECT_EQ(result->metrics.recall_at_k, 0.75);  // a number is used as it stands
  EXPECT_EQ(result->metrics.precision_at_k, 0.5);
  EXPECT_EQ(result->metrics.reciprocal_rank, 0.5);
  EXPECT_EQ(result->latency.total_ms, 3.5);
}

TEST(QueryResult, HasNoRetrievalMetricsWithoutExpectedIdsAndNoneAtAllWhenItFailed) {
  auto open = parse_query_result(R"({"query_id":"a","query":"q","retrieved_chunks":[{"id":"x","text":""}]})");
  complete_metrics(*open, 5);
  EXPECT_EQ(Json::parse(to_json(*open))["metrics"], Json::parse(R"({"precision_at_5":null,"recall_at_5":null,"reciprocal_rank":null})"));
  auto failed = parse_query_result(R"({"query_id":"a","query":"q","status":"timeout","metrics":{"recall_at_5":1,"grounded":true}})");
  complete_metrics(*failed, 5);
  EXPECT_EQ(Json::parse(to_json(*failed))["metrics"], Json::object());
}

TEST(QueryResult, TakesOnlyBooleansForVerdictsAndSharesForConfidence) {
  const auto result = parse_query_result(R"({"query_id":"a","query":"q","metrics":{"grounded":"yes","answer_correct":null,"judge_confidence":1.5}})");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->grounded(), std::nullopt);
  EXPECT_EQ(result->correct(), std::nullopt);
  EXPECT_EQ(result->metrics.judge_confidence, std::nullopt);
  EXPECT_EQ(result->judge(), JudgeState::none);
}

TEST(QueryResult, IgnoresVerdictsBesideAJudgeError) {
  const auto result = parse_query_result(R"({"query_id":"a","query":"q","judge_error":"cut","metrics":{"grounded":false}})");
  EXPECT_EQ(result->grounded(), std::nullopt);
  EXPECT_EQ(result->judge(), JudgeState::failed);
}

TEST(QueryResult, KeepsAStoredDiagnosisOfAKnownCategoryAndFillsItsGaps) {
  const auto kept = parse_query_result(R"({"query_id":"a","query":"q","error":"late","diagnosis":{"category":"ANSWER_INCORRECT","severity":"fatal","confidence":7}})");
  ASSERT_TRUE(kept->diagnosis);
  EXPECT_EQ(kept->diagnosis->severity, Severity::major);
  EXPECT_EQ(kept->diagnosis->confidence, 1);
  EXPECT_EQ(kept->diagnosis->evidence, std::vector<std::string>{"late"});
  EXPECT_EQ(kept->diagnosis->action, action(Category::answer_incorrect));
  EXPECT_FALSE(parse_query_result(R"({"query_id":"a","query":"q","diagnosis":{"category":"BAD"}})")->diagnosis);
  EXPECT_FALSE(parse_query_result(R"({"query_id":"a","query":"q","diagnosis":{"category":3}})")->diagnosis);
}

struct Bad {
  const char* text;
  const char* field;
  std::uint64_t line;
  const char* words;
};

class BadResults : public testing::TestWithParam<Bad> {};

TEST_P(BadResults, AreRefusedNamingPlaceIdAndField) {
  const auto all = read_all(GetParam().text);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::invalid_json);
  EXPECT_EQ(all.error().field, GetParam().field);
  EXPECT_EQ(all.error().line, GetParam().line);
  EXPECT_NE(all.error().message.find(GetParam().words), std::string::npos) << all.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadResults,
    testing::Values(Bad{"", "", 1, "ends where results"}, Bad{"7", "", 1, "expected results"}, Bad{"{\"results\":{}}", "results", 1, "expected an array"},
                    Bad{"{\"k\":0,\"results\":[]}", "k", 1, "at least 1"}, Bad{"{\"k\":2.5,\"results\":[]}", "k", 1, "whole number"},
                    Bad{"{\"dataset_name\":\"d\"}", "results", 0, "holds no results"}, Bad{"[\n{\"query_id\":\"a\",\"query\":\"q\"},\n{\"query\":\"q\"}]", "query_id", 3, "result 1"},
                    Bad{"[{\"query_id\":\"a\",\"query\":7}]", "query", 1, "result 0: query \"a\""}, Bad{"[{\"query_id\":\"\",\"query\":\"q\"}]", "query_id", 1, "is empty"},
                    Bad{"{\"query_id\":\"a\",\"query\":\"q\"}\n{\"query_id\":\"b\"}", "query", 2, "query \"b\""},
                    Bad{"{\"query_id\":\"a\",\"query\":\"q\"}\n{\"query_id\":\"b\",\"qu", "", 2, "cut off"},
                    Bad{"{\"query_id\":\"a\",\"query\":\"q\"} x\n", "", 1, "something stands after"},
                    Bad{"[{\"query_id\":\"a\",\"query\":\"q\"}] x", "", 1, "something stands after"},
                    Bad{"{\"query\":\"q\"}\n{\"query\":\"r\"}\n", "query_id", 1, "is missing"},
                    Bad{"[{\"query_id\":\"a\",\"query\":\"q\",\"retrieved_chunks\":[{\"text\":\"t\"}]}]", "retrieved_chunks[0].id", 1, "is missing"},
                    Bad{"[{\"query_id\":\"a\",\"query\":\"q\",\"retrieved_chunks\":null}]", "retrieved_chunks", 1, "expected an array, found null"},
                    Bad{"[{\"query_id\":\"a\",\"query\":\"q\",\"expected_chunk_ids\":\"a\"}]", "expected_chunk_ids", 1, "expected an array, found a string"},
                    Bad{"[{\"query_id\":\"a\",\"query\":\"q\",\"latency\":{\"retrieval_ms\":NaN}}]", "latency.retrieval_ms", 1, "NaN is not JSON"},
                    Bad{"[{\"query_id\":\"a\",\"query\":\"q\",\"latency\":{\"retrieval_ms\":1e400}}]", "latency.retrieval_ms", 1, "beyond double"},
                    Bad{"[{\"query_id\":\"a\",\"query\":\"q\",\"refusal_outcome\":\"maybe\"}]", "refusal_outcome", 1, "expected correct"}));

}  // namespace
}  // namespace polygraph::diagnosis
