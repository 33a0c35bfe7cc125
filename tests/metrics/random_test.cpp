#include "wasm/metrics/random.hpp"

#include <gtest/gtest.h>

#include <array>

namespace polygraph::metrics {
namespace {

TEST(Random, GivesTheSameNumbersEverywhere) {
  Random random(42);
  EXPECT_EQ(random.next(), 1546998764402558742U);
  EXPECT_EQ(random.next(), 6990951692964543102U);
  EXPECT_EQ(random.next(), 12544586762248559009U);
}

TEST(Random, StaysBelowItsBoundAndReachesEveryValue) {
  Random random(7);
  std::array<int, 6> seen{};
  for (int i = 0; i < 6000; ++i) {
    const auto drawn = random.below(6);
    ASSERT_LT(drawn, 6U);
    ++seen[drawn];
  }
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(random.below(1), 0U);
}

}  // namespace
}  // namespace polygraph::metrics
