#include "wasm/report/paired_tests.hpp"

#include <gtest/gtest.h>

namespace polygraph::report {
namespace {

TEST(PairedTests, AreOverEachMetricsOwnItemsAndCorrectedOverAll) {
  const std::vector<comparison::PairedSample> samples = {
      {"correctness", {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, true},       // McNemar: 2 / 2^5
      {"recall@5", {0.5, 0.5}, {0.75, 1.0}, false},                  // sign flips: 2 of 2^2 are as extreme
  };
  const auto tests = paired_tests(samples);
  ASSERT_EQ(tests.size(), 2U);
  EXPECT_EQ(tests[0].metric, "correctness");
  EXPECT_DOUBLE_EQ(tests[0].p, 0.0625);
  EXPECT_DOUBLE_EQ(tests[0].p_holm, 0.125);
  EXPECT_EQ(tests[0].n, 5U);
  EXPECT_EQ(tests[1].metric, "recall@5");
  EXPECT_DOUBLE_EQ(tests[1].delta, 0.375);
  EXPECT_DOUBLE_EQ(tests[1].p, 0.5);
  EXPECT_DOUBLE_EQ(tests[1].p_holm, 0.5);
  EXPECT_EQ(tests[1].n, 2U) << "the items that lack a recall are none of its own";
}

TEST(PairedTests, AMetricWithoutItemsHasNone) { EXPECT_TRUE(paired_tests({{"groundedness", {}, {}, true}}).empty()); }

}  // namespace
}  // namespace polygraph::report
