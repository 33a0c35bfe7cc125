#include "wasm/metrics/ranking.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace polygraph::metrics {
namespace {

using Ids = std::vector<std::string>;
using Judgements = std::vector<std::pair<std::string, std::int64_t>>;

// Relevant: a (3), c (1), e (2, not retrieved). Ranked: b a d c.
GradedList example() { return grade(Ids{"b", "a", "d", "c"}, Judgements{{"a", 3}, {"b", 0}, {"c", 1}, {"e", 2}}); }

TEST(Ranking, CountsRelevantDocumentsAmongTheFirstK) {
  const auto list = example();
  EXPECT_DOUBLE_EQ(recall_at(list, 1), 0);
  EXPECT_DOUBLE_EQ(recall_at(list, 2), 1.0 / 3);
  EXPECT_DOUBLE_EQ(recall_at(list, 100), 2.0 / 3);
  EXPECT_DOUBLE_EQ(precision_at(list, 2), 0.5);
  EXPECT_EQ(hit_rate_at(list, 1), 0);
  EXPECT_EQ(hit_rate_at(list, 2), 1);
}

TEST(Ranking, DividesPrecisionByKOrByWhatWasRetrieved) {
  const auto list = example();
  EXPECT_DOUBLE_EQ(precision_at(list, 10), 0.2);
  EXPECT_DOUBLE_EQ(precision_of_retrieved(list, 10), 0.5);
  EXPECT_EQ(precision_of_retrieved(grade(Ids{}, Ids{"a"}), 5), 0);
}

TEST(Ranking, GivesTheReciprocalRankOfTheFirstRelevantDocumentAndNothingBeyondK) {
  const auto list = example();
  EXPECT_DOUBLE_EQ(reciprocal_rank(list), 0.5);
  EXPECT_DOUBLE_EQ(reciprocal_rank_at(list, 2), 0.5);
  EXPECT_EQ(reciprocal_rank_at(list, 1), 0);
}

TEST(Ranking, AveragesPrecisionOverAllRelevantDocuments) {
  EXPECT_DOUBLE_EQ(average_precision(example()), (1.0 / 2 + 2.0 / 4) / 3);  // c stands at rank 4, e nowhere
}

TEST(Ranking, TakesGradesAsGainsAndTheIdealOrderOfAllRelevantDocuments) {
  const double gain = 3 / std::log2(3) + 1 / std::log2(5);
  EXPECT_NEAR(ndcg_at(example(), 4), gain / (3 / std::log2(2) + 2 / std::log2(3) + 1 / std::log2(4)), 1e-15);
  EXPECT_NEAR(ndcg_at(example(), 2), 3 / std::log2(3) / (3 + 2 / std::log2(3)), 1e-15);
}

TEST(Ranking, CountsARepeatedDocumentOnceSoThatNoMeasurePassesOne) {
  const auto list = grade(Ids{"a", "a", "a"}, Ids{"a"});
  EXPECT_EQ(list.grades, (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(recall_at(list, 3), 1);
  EXPECT_EQ(ndcg_at(list, 3), 1);
  EXPECT_EQ(average_precision(list), 1);
  EXPECT_DOUBLE_EQ(precision_at(list, 3), 1.0 / 3);
}

TEST(Ranking, CountsARepeatedGoldIdOnce) {
  EXPECT_EQ(grade(Ids{"a"}, Ids{"b", "a", "b", "a"}).relevant, (std::vector<std::int64_t>{1, 1}));
}

TEST(Ranking, TakesGradesBelowOneAsNotRelevant) {
  const auto list = grade(Ids{"a", "b"}, Judgements{{"a", -2}, {"b", 0}});
  EXPECT_TRUE(list.relevant.empty());
  for (const double value : {recall_at(list, 2), precision_at(list, 2), hit_rate_at(list, 2), reciprocal_rank(list), average_precision(list), ndcg_at(list, 2)}) {
    EXPECT_EQ(value, 0);
  }
}

TEST(Log2, IsWithinTheLastBitsOfTheCLibraryAndExactForPowersOfTwo) {
  for (std::uint64_t x = 1; x < 20'000; ++x) ASSERT_NEAR(log2_of(x), std::log2(static_cast<double>(x)), 4e-16 * std::log2(static_cast<double>(x) + 1)) << x;
  for (int exponent = 0; exponent < 53; ++exponent) ASSERT_EQ(log2_of(std::uint64_t{1} << exponent), exponent);
}

TEST(Log2, HasTheseBitsEverywhere) {
  EXPECT_EQ(log2_of(3), 1.5849625007211563);
  EXPECT_EQ(log2_of(10), 3.3219280948873622);
}

}  // namespace
}  // namespace polygraph::metrics
