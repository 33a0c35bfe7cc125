#include "wasm/metrics/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>

#include "wasm/metrics/random.hpp"

namespace polygraph::metrics {
namespace {

std::uint64_t fresh_seed() {
  const std::uint64_t seed = (std::uint64_t{std::random_device{}()} << 32) + std::random_device{}();
  std::cout << "seed " << seed << '\n';
  return seed;
}

double uniform(Random& random) { return static_cast<double>(random.below(1'000'001)) / 1'000'000; }

// The definition of the header, sign by sign.
double plain_sign_flip(std::vector<double> differences, std::uint64_t seed, std::uint32_t vectors) {
  const auto n = static_cast<double>(differences.size());
  double observed = 0;
  for (const double each : differences) observed += each;
  std::erase(differences, 0.0);
  for (double& each : differences) each = std::abs(each);
  std::sort(differences.begin(), differences.end());
  std::vector<double> sums(vectors);
  Random random(seed);
  for (std::size_t begin = 0; begin < differences.size(); begin += 64) {
    for (double& sum : sums) {
      const std::uint64_t signs = random.next();
      for (std::size_t i = begin; i < std::min(begin + 64, differences.size()); ++i) sum += (signs >> (i - begin) & 1) != 0 ? differences[i] : -differences[i];
    }
  }
  std::uint32_t as_extreme = 0;
  for (const double sum : sums) as_extreme += std::abs(sum / n) >= std::abs(observed / n) - 1e-12 ? 1 : 0;
  return (as_extreme + 1.0) / (vectors + 1.0);
}

TEST(SignFlip, DrawsAsItsDefinitionSaysForEqualAndForDifferentSizes) {
  Random random(fresh_seed());
  for (const std::size_t n : {14U, 63U, 64U, 65U, 500U, 1000U}) {
    for (int kind = 0; kind < 3; ++kind) {
      std::vector<double> differences;
      for (std::size_t i = 0; i < n; ++i) {
        const double some[] = {static_cast<double>(random.below(3)) - 1, static_cast<double>(random.below(5)) * 0.1 - 0.2, uniform(random) - 0.45};
        differences.push_back(some[kind]);
      }
      EXPECT_EQ(sign_flip(differences, n, 2000), plain_sign_flip(differences, n, 2000)) << n << " items, kind " << kind;
    }
  }
}

TEST(SignFlip, IsExactWhereAllSignVectorsAreFew) {
  // Of the 8 sign vectors of 1, 2, 3 only +++ and --- have a sum of 6 or more.
  EXPECT_DOUBLE_EQ(sign_flip(std::vector<double>{1, 2, 3}, 1).value(), 0.25);
  // 0.1 + 0.2 and 0.3 differ in the last bit; they are as extreme as each other.
  EXPECT_DOUBLE_EQ(sign_flip(std::vector<double>{0.1, 0.2, -0.3}, 1).value(), 1);
  // 13 items have 8,192 vectors: two of them as extreme, whatever the seed.
  EXPECT_DOUBLE_EQ(sign_flip(std::vector<double>(13, 1.0), 1).value(), 2.0 / 8192);
  EXPECT_DOUBLE_EQ(sign_flip(std::vector<double>(13, 1.0), 2).value(), 2.0 / 8192);
}

TEST(SignFlip, OfIdenticalRunsIsOneAndOfNoItemUndefined) {
  EXPECT_EQ(sign_flip(std::vector<double>(5, 0.0), 1), 1.0);
  EXPECT_EQ(sign_flip(std::vector<double>(5000, 0.0), 1), 1.0);
  EXPECT_EQ(sign_flip({}, 1), std::nullopt);
}

TEST(SignFlip, IsNeverZero) { EXPECT_DOUBLE_EQ(sign_flip(std::vector<double>(500, 1.0), 1).value(), 1.0 / 10'001); }

TEST(McNemar, IsTheTwoSidedBinomialTest) {
  EXPECT_EQ(mcnemar(0, 0), 1);
  EXPECT_EQ(mcnemar(4, 4), 1);
  EXPECT_DOUBLE_EQ(mcnemar(0, 5), 2.0 / 32);
  EXPECT_DOUBLE_EQ(mcnemar(5, 0), 2.0 / 32);
  EXPECT_DOUBLE_EQ(mcnemar(1, 5), 2.0 * (1 + 6) / 64);
  EXPECT_DOUBLE_EQ(mcnemar(3, 4), 1);
}

TEST(McNemar, StaysFiniteForManyItems) {
  EXPECT_EQ(mcnemar(0, 100'000), 0);
  EXPECT_GT(mcnemar(4950, 5050), 0.3);
  EXPECT_LT(mcnemar(4950, 5050), 0.33);
}

TEST(Holm, StepsDownAndLeavesUndefinedOnesOut) {
  const std::vector<std::optional<double>> p{0.04, std::nullopt, 0.01, 0.03, 0.9};
  const auto corrected = holm(p);
  EXPECT_DOUBLE_EQ(*corrected[2], 0.04);      // 0.01 × 4
  EXPECT_DOUBLE_EQ(*corrected[3], 0.09);      // 0.03 × 3
  EXPECT_DOUBLE_EQ(*corrected[0], 0.09);      // 0.04 × 2, not below the one before
  EXPECT_DOUBLE_EQ(*corrected[4], 0.9);
  EXPECT_EQ(corrected[1], std::nullopt);
  EXPECT_EQ(*holm(std::vector<std::optional<double>>{0.7, 0.8})[1], 1);
}

TEST(Compare, UsesTheItemsThatAreScoredInBothAndTheTestThatFits) {
  const std::vector<double> a{0, 0, 0, 1, 9}, b{1, 1, 0, 1, 0};
  const std::vector<std::uint8_t> without_last{1, 1, 1, 1, 0}, none(5, 0);
  const std::vector<Family> families{{{{a, without_last}, {b}, true}, {{a, without_last}, {b}, false}, {{a, none}, {b}, true}}};
  const auto compared = compare(5, families, 1).front();
  EXPECT_EQ(compared[0].n, 4U);
  EXPECT_DOUBLE_EQ(*compared[0].delta, 0.5);
  EXPECT_DOUBLE_EQ(*compared[0].p, mcnemar(0, 2));
  EXPECT_DOUBLE_EQ(*compared[1].p, 0.5);  // of the four signs of 1 and 1, two give a sum of 2
  EXPECT_DOUBLE_EQ(*compared[1].p_holm, 1);
  EXPECT_LE(compared[1].interval->low, 0.5);
  EXPECT_GE(compared[1].interval->high, 0.5);
  EXPECT_EQ(compared[2].n, 0U);
  EXPECT_EQ(compared[2].delta, std::nullopt) << "what never ran is no loser";
  EXPECT_EQ(compared[2].p, std::nullopt);
  EXPECT_EQ(compared[2].p_holm, std::nullopt);
  EXPECT_FALSE(compared[2].interval);
}

// The definition in interval.hpp, draw by draw.
Interval plain_bootstrap(const std::vector<double>& values, const std::vector<std::uint8_t>& scored, std::uint64_t seed, std::uint32_t resamples) {
  const std::uint64_t items = values.size();
  const auto wanted = std::count_if(scored.begin(), scored.end(), [](std::uint8_t each) { return each != 0; });
  Random seeds(seed);
  std::vector<double> means;
  for (std::uint32_t r = 0; r < resamples; ++r) {
    Random stream(seeds.next());
    double sum = 0;
    for (std::ptrdiff_t drawn = 0; drawn < wanted;) {
      const std::uint64_t number = stream.next();
      for (const std::uint64_t half : {number & 0xffffffff, number >> 32}) {
        if ((half * items & 0xffffffff) < (std::uint64_t{1} << 32) % items) continue;
        const std::uint64_t item = half * items >> 32;
        if (scored[item] == 0 || drawn == wanted) continue;
        sum += values[item];
        ++drawn;
      }
    }
    means.push_back(sum / static_cast<double>(wanted));
  }
  std::sort(means.begin(), means.end());
  return {percentile(means, 0.025), percentile(means, 0.975)};
}

TEST(BootstrapMeans, DrawAsTheirDefinitionSaysWhateverIsScoredAndWhateverStandsBeside) {
  Random random(fresh_seed());
  for (const std::size_t items : {1U, 2U, 7U, 100U, 1001U, 40'000U}) {
    const std::uint32_t resamples = items > 10'000 ? 40 : 400;
    std::vector<std::vector<double>> values(7, std::vector<double>(items));
    std::vector<std::vector<std::uint8_t>> scored(7, std::vector<std::uint8_t>(items, 1));
    for (std::size_t i = 0; i < items; ++i) {
      values[0][i] = values[1][i] = uniform(random) * 5000 - 100;
      values[2][i] = values[3][i] = static_cast<double>(random.below(2));
      values[4][i] = static_cast<double>(random.below(3)) - 1;
      values[5][i] = 1 / static_cast<double>(1 + random.below(10));
      values[6][i] = uniform(random);
      scored[1][i] = scored[3][i] = random.below(4) != 0;
      scored[5][i] = i % 10 == 0;
      scored[6][i] = i == 0;
    }
    scored[1][0] = scored[3][0] = 1;
    std::vector<Column> columns;
    for (std::size_t c = 0; c < values.size(); ++c) columns.push_back({values[c], scored[c]});
    const auto intervals = bootstrap_means(items, columns, items, resamples);
    for (std::size_t c = 0; c < values.size(); ++c) {
      const auto expected = plain_bootstrap(values[c], scored[c], items, resamples);
      ASSERT_TRUE(intervals[c]);
      const double within = (c < 2 ? 5000 : 2) * 1e-9;
      EXPECT_NEAR(intervals[c]->low, expected.low, within) << items << " items, column " << c;
      EXPECT_NEAR(intervals[c]->high, expected.high, within) << items << " items, column " << c;
      const auto alone = bootstrap_means(items, std::span(columns).subspan(c, 1), items, resamples);
      EXPECT_EQ(alone[0]->low, intervals[c]->low);
      EXPECT_EQ(alone[0]->high, intervals[c]->high);
    }
  }
}

TEST(BootstrapMeans, AreNothingWhereNothingIsScored) {
  const std::vector<double> values{1, 2};
  const std::vector<std::uint8_t> none{0, 0};
  const std::vector<Column> columns{{values, none}, {values}};
  const auto intervals = bootstrap_means(2, columns, 1);
  EXPECT_FALSE(intervals[0]);
  EXPECT_TRUE(intervals[1]);
  EXPECT_TRUE(bootstrap_means(0, {}, 1).empty());
}

}  // namespace
}  // namespace polygraph::metrics
