#include "wasm/report/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const Figures figures = {{"recall@4", 0.88},          {"mrr@4", 0.05},           {"faithfulness", std::nullopt}, {"false_refusal_rate", 0.95}, {"loop_rate", 0.1},
                         {"latency_p95_ms", 1200.0}, {"cost_mean_usd", 0.002}, {"steps_mean", 3.2},            {"rewrites", 14.0},
                         {"judged@4", 0.7}};

TEST(Gate, ThresholdsAreTheObservedFiguresLessTheirMargin) {
  const Thresholds made = make_thresholds(figures, 0.10, "gate", "ai_reviewed");
  EXPECT_THAT(made.min, ElementsAre(Pair("recall@4", 0.78), Pair("mrr@4", 0.0)));
  EXPECT_THAT(made.max, ElementsAre(Pair("false_refusal_rate", 1.0), Pair("loop_rate", 0.2), Pair("latency_p95_ms", 1320.0), Pair("cost_mean_usd", 0.0022)));
}

TEST(Gate, TheRunThatMadeThemPassesThem) {
  for (const auto& each : check(make_thresholds(figures, 0, "", ""), figures)) EXPECT_TRUE(each.passed) << each.message;
}

TEST(Gate, AFigureExactlyAtItsThresholdPassesAndOneBeyondItFails) {
  Thresholds thresholds;
  thresholds.min = {{"recall@4", 0.7}};
  thresholds.max = {{"latency_p95_ms", 100}};
  EXPECT_TRUE(check(thresholds, {{"recall@4", 0.8 - 0.1}, {"latency_p95_ms", 100.0}})[0].passed) << "0.8 - 0.1 is 0.7000000000000001 or less, by its last bit";
  const auto beyond = check(thresholds, {{"recall@4", 0.69}, {"latency_p95_ms", 100.5}});
  EXPECT_FALSE(beyond[0].passed);
  EXPECT_EQ(beyond[0].message, "recall@4 is 0.69, below its minimum 0.7");
  EXPECT_FALSE(beyond[1].passed);
  EXPECT_EQ(beyond[1].message, "latency_p95_ms is 100.5, above its maximum 100.0");
}

TEST(Gate, WhatIsMissingOrUndefinedFails) {
  Thresholds thresholds;
  thresholds.min = {{"faithfulness", 0.5}, {"recall@10", 0.5}};
  const auto checks = check(thresholds, figures);
  EXPECT_FALSE(checks[0].passed);
  EXPECT_THAT(checks[0].message, HasSubstr("undefined"));
  EXPECT_FALSE(checks[1].passed);
  EXPECT_THAT(checks[1].message, HasSubstr("missing"));
}

TEST(Gate, ThresholdsSurviveTheirFile) {
  const Thresholds made = make_thresholds(figures, 0.1, "gate", "all");
  const auto read = parse_thresholds(to_json(made));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(made));
  EXPECT_EQ(read->min, made.min);
}

TEST(Gate, BadThresholdsAreNamed) {
  const auto field = [](std::string_view json) {
    const auto read = parse_thresholds(json);
    return read ? "accepted" : read.error().field;
  };
  EXPECT_EQ(field(R"({"min": {"recall@4": "0.7"}})"), "min.recall@4");
  EXPECT_EQ(field(R"({"max": [1]})"), "max");
  EXPECT_EQ(field(R"({"subset": 3, "min": {"a": 1}})"), "subset");
  EXPECT_EQ(field(R"({"min": {"a": 0.9}, "max": {"a": 0.8}})"), "max.a");
  EXPECT_EQ(field(R"({})"), "min") << "a gate that checks nothing would pass everything";
  EXPECT_EQ(field("[]"), "");
}

}  // namespace
}  // namespace polygraph::report
