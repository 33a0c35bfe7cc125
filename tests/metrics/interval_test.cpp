#include "wasm/metrics/interval.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace polygraph::metrics {
namespace {

// Reference values: statsmodels.stats.proportion.proportion_confint(method="wilson").
TEST(Wilson, AgreesWithStatsmodels) {
  EXPECT_NEAR(wilson(8, 10).low, 0.4901624715366418, 1e-12);
  EXPECT_NEAR(wilson(8, 10).high, 0.9433178485456247, 1e-12);
}

TEST(Wilson, ReachesTheEndsExactlyAtNoneAndAll) {
  EXPECT_EQ(wilson(0, 20).low, 0.0);
  EXPECT_EQ(wilson(20, 20).high, 1.0);
  EXPECT_GT(wilson(0, 20).high, 0.1);
  EXPECT_LT(wilson(20, 20).low, 0.9);
}

TEST(Percentile, InterpolatesLinearlyBetweenRanks) {
  const std::vector<double> values{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(percentile(values, 0), 1);
  EXPECT_DOUBLE_EQ(percentile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile(values, 0.95), 3.85);
  EXPECT_DOUBLE_EQ(percentile(values, 1), 4);
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{7}, 0.3), 7);
}

TEST(BootstrapMean, ContainsTheMeanAndRepeatsWithItsSeed) {
  std::vector<double> values;
  for (int i = 0; i < 50; ++i) values.push_back(i % 2);
  const auto interval = bootstrap_mean(values, 1);
  EXPECT_LT(interval.low, 0.5);
  EXPECT_GT(interval.high, 0.5);
  // The normal approximation gives 0.5 ± 0.139.
  EXPECT_NEAR(interval.low, 0.361, 0.02);
  EXPECT_NEAR(interval.high, 0.639, 0.02);
  const auto again = bootstrap_mean(values, 1);
  EXPECT_EQ(interval.low, again.low);
  EXPECT_EQ(interval.high, again.high);
}

TEST(BootstrapMean, OfEqualValuesIsThatValue) {
  const auto interval = bootstrap_mean(std::vector<double>(10, 0.25), 3);
  EXPECT_EQ(interval.low, 0.25);
  EXPECT_EQ(interval.high, 0.25);
}

}  // namespace
}  // namespace polygraph::metrics
