#include "wasm/diagnosis/ranking.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace polygraph::diagnosis {
namespace {

QueryResult with(std::vector<std::string> expected, const std::vector<std::string>& retrieved) {
  QueryResult result;
  result.expected_chunk_ids = std::move(expected);
  for (const auto& id : retrieved) result.retrieved_chunks.push_back({id, "", {}, "", {}});
  return result;
}

TEST(Ranking, DividesPrecisionByTheFewerOfKAndRetrieved) {
  EXPECT_DOUBLE_EQ(ranking_of(with({"a"}, {"a", "x"}), 5).precision, 0.5);
  EXPECT_DOUBLE_EQ(ranking_of(with({"a"}, {"a", "x", "y"}), 2).precision, 0.5);
  EXPECT_EQ(ranking_of(with({"a"}, {}), 5).precision, 0);
}

TEST(Ranking, CountsADistinctIdOnceAndADuplicateInTheDenominator) {
  const Ranking ranking = ranking_of(with({"a", "a", "b"}, {"a", "a", "b", "x"}), 5);
  EXPECT_EQ(ranking.expected, 2U);
  EXPECT_EQ(ranking.found, 2U);
  EXPECT_DOUBLE_EQ(ranking.precision, 0.5);  // 2 of 4 places
  EXPECT_DOUBLE_EQ(ranking.recall, 1);
}

TEST(Ranking, LooksForTheFirstExpectedChunkInTheWholeList) {
  const Ranking ranking = ranking_of(with({"a"}, {"u", "v", "w", "a"}), 2);
  EXPECT_EQ(ranking.found, 0U);
  EXPECT_EQ(ranking.first_rank, 4U);
  EXPECT_DOUBLE_EQ(ranking.reciprocal_rank, 0.25);
}

TEST(Rounding, IsToTheNearestAndExactTiesToEven) {
  EXPECT_EQ(rounded(0.125, 2), 0.12);   // a tie in binary: to even
  EXPECT_EQ(rounded(0.375, 2), 0.38);
  EXPECT_EQ(rounded(2.5, 0), 2);
  EXPECT_EQ(rounded(0.15, 1), 0.1);     // the double lies below 0.15
  EXPECT_EQ(rounded(0.35, 1), 0.3);     // 0.34999…
  EXPECT_EQ(rounded(2.675, 2), 2.67);
  EXPECT_EQ(rounded(1.005, 2), 1.0);
  EXPECT_EQ(rounded(0.80 - 0.78, 9), 0.02);
  EXPECT_EQ(rounded(-0.00001, 4), 0);
  EXPECT_FALSE(std::signbit(rounded(-0.00001, 4)));
  EXPECT_EQ(rounded(1e300, 4), 1e300);
}

TEST(Rounding, AgreesWithThePrinterOfTheCLibrary) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200'000; ++round) {
    const int decimals = static_cast<int>(random() % 10);
    double value = static_cast<double>(static_cast<std::int64_t>(random() % 2'000'001) - 1'000'000) / 8'000.0;  // holds many ties
    if (round % 3 == 0) value = std::ldexp(static_cast<double>(random() >> 11), -53) * 3000;
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
    ASSERT_EQ(rounded(value, decimals), std::strtod(buffer, nullptr)) << value << " at " << decimals;
  }
}

}  // namespace
}  // namespace polygraph::diagnosis
