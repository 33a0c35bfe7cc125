#include "wasm/metrics/trec.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace polygraph::metrics {
namespace {

const std::vector<std::size_t> k{1, 3};

TEST(Qrels, TakesTabsCarriageReturnsByteOrderMarkAndBlankLines) {
  const auto qrels = parse_qrels("\xef\xbb\xbfq1 0 a 1\r\n\r\n  q1\t0\tb\t-1 \n\nq0 Q0 a +2");
  ASSERT_TRUE(qrels) << qrels.error().message;
  EXPECT_EQ(*qrels, (Qrels{{"q0", {{"a", 2}}}, {"q1", {{"a", 1}, {"b", -1}}}}));
}

TEST(TrecRun, RanksByScoreThenByDocumentIdBothFalling) {
  const auto run = parse_run("q Q0 a 1 0.5 t\nq Q0 c 2 0.5 t\nq Q0 b 3 5e-1 t\nq Q0 z 4 -1 t\nq Q0 y 9 .75 t\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->at("q"), (std::vector<std::string>{"y", "c", "b", "a", "z"}));
}

TEST(TrecRun, ComparesScoresInSinglePrecisionAsTrecEvalDoes) {
  const auto run = parse_run("q Q0 a 1 0.30000000002 t\nq Q0 b 2 0.3 t\nq Q0 c 3 1e300 t\nq Q0 d 4 4e38 t\nq Q0 e 5 3e38 t\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->at("q"), (std::vector<std::string>{"d", "c", "e", "b", "a"}));
}

TEST(TrecRun, ReadsQueriesWhoseLinesDoNotStandTogether) {
  const auto run = parse_run("q Q0 a 1 1 t\nr Q0 a 1 1 t\nq Q0 b 2 2 t\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(*run, (TrecRun{{"q", {"b", "a"}}, {"r", {"a"}}}));
}

struct Bad {
  const char* line;
  const char* column;
  const char* words;
};

class BadQrels : public testing::TestWithParam<Bad> {};
class BadRun : public testing::TestWithParam<Bad> {};

void expect_error(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::invalid_text);
  EXPECT_EQ(error.line, 2U);
}

TEST_P(BadQrels, AreRefusedWithLineAndColumn) {
  const auto qrels = parse_qrels(std::string("q 0 a 1\n") + GetParam().line);
  ASSERT_FALSE(qrels);
  expect_error(qrels.error());
  EXPECT_EQ(qrels.error().field, GetParam().column);
  EXPECT_NE(qrels.error().message.find(GetParam().words), std::string::npos) << qrels.error().message;
}
INSTANTIATE_TEST_SUITE_P(Lines, BadQrels,
                         testing::Values(Bad{"q 0 b", "grade", "4 columns, found 3"}, Bad{"q", "iteration", "found 1"}, Bad{"q 0 b 1 x", "", "\"x\""},
                                         Bad{"q 0 b high", "grade", "\"high\""}, Bad{"q 0 b 1.5", "grade", "\"1.5\""},
                                         Bad{"q 0 b 99999999999999999999", "grade", "whole number"}, Bad{"q 0 a 0", "document", "judged twice"},
                                         Bad{"q 0 \xff 1", "", "UTF-8 at byte 5"}));

TEST_P(BadRun, AreRefusedWithLineAndColumn) {
  const auto run = parse_run(std::string("q Q0 a 1 2.5 t\n") + GetParam().line);
  ASSERT_FALSE(run);
  expect_error(run.error());
  EXPECT_EQ(run.error().field, GetParam().column);
  EXPECT_NE(run.error().message.find(GetParam().words), std::string::npos) << run.error().message;
}
INSTANTIATE_TEST_SUITE_P(Lines, BadRun,
                         testing::Values(Bad{"q Q0 b 2 1", "tag", "6 columns, found 5"}, Bad{"q Q0 b 2 1 my tag", "", "\"tag\""},
                                         Bad{"q Q0 b 2 nan t", "score", "\"nan\""}, Bad{"q Q0 b 2 inf t", "score", "no number"},
                                         Bad{"q Q0 b 2 0x1p3 t", "score", "no number"}, Bad{"q Q0 b 2 1e t", "score", "no number"},
                                         Bad{"q Q0 b 2 - t", "score", "no number"}, Bad{"q Q0 a 2 1 t", "document", "retrieved twice for query \"q\""}));

TEST(TrecRun, NamesTheFirstRepeatOfTheFile) {
  const auto run = parse_run("z Q0 a 1 1 t\nz Q0 a 2 2 t\na Q0 b 1 1 t\na Q0 b 2 1 t\n");
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().line, 2U);
}

TEST(Qrels, OfNoJudgementAreAnError) {
  EXPECT_FALSE(parse_qrels(""));
  EXPECT_FALSE(parse_qrels("\n \r\n"));
}

double value(const Measures& measures, std::string_view name) {
  for (const auto& [each, value] : measures) {
    if (each == name) return value;
  }
  ADD_FAILURE() << name << " is missing";
  return -1;
}

TEST(TrecEvaluation, AveragesOverEveryQueryOfTheQrelsAndCountsThoseThatScoreNothing) {
  const auto qrels = parse_qrels("found 0 a 1\nlost 0 a 1\nnone 0 a 0\nfar 0 a 1\n");
  const auto run = parse_run("found Q0 a 1 1 t\nnone Q0 a 1 1 t\nfar Q0 x 1 2 t\nfar Q0 a 1 1 t\nstray Q0 a 1 1 t\n");
  ASSERT_TRUE(qrels && run);
  const auto evaluation = evaluate(*qrels, *run, k);
  EXPECT_EQ(evaluation.counts.queries, 4U);
  EXPECT_EQ(evaluation.counts.not_in_run, 1U);
  EXPECT_EQ(evaluation.counts.no_relevant, 1U);
  EXPECT_EQ(evaluation.only_in_run, std::vector<std::string>{"stray"});
  EXPECT_DOUBLE_EQ(value(evaluation.mean, "recall@1"), 0.25);
  EXPECT_DOUBLE_EQ(value(evaluation.mean, "recall@3"), 0.5);
  EXPECT_DOUBLE_EQ(value(evaluation.mean, "mrr"), (1 + 0.5) / 4);
}

TEST(TrecEvaluation, IsOneJsonDocument) {
  const auto evaluation = evaluate(*parse_qrels("q\"1 0 a 1\nq2 0 a 1\n"), *parse_run("q\"1 Q0 a 1 1 t\nstray Q0 a 1 1 t\n"), k);
  const auto document = nlohmann::json::parse(to_json(evaluation));
  EXPECT_EQ(document["k"], nlohmann::json({1, 3}));
  EXPECT_EQ(document["mean"]["ndcg@3"], 0.5);
  EXPECT_EQ(document["queries"]["q\"1"]["precision@1"], 1.0);
  EXPECT_EQ(document["queries"]["q2"]["map"], 0.0);
  EXPECT_EQ(document["counts"], (nlohmann::json{{"queries", 2}, {"not_in_run", 1}, {"no_relevant", 0}, {"only_in_run", 1}}));
}

}  // namespace
}  // namespace polygraph::metrics
