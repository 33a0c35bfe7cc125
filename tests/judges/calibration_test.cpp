// What is shown to a person, and what their agreement with the judge is worth.
#include "wasm/judges/calibration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace polygraph::judges {
namespace {

using ::testing::DoubleNear;
using ::testing::Optional;
using ::testing::UnorderedElementsAreArray;

std::vector<ScoredItem> items(const std::vector<std::pair<std::size_t, double>>& groups) {
  std::vector<ScoredItem> out;
  for (const auto& [count, score] : groups) {
    for (std::size_t i = 0; i < count; ++i) out.push_back({"s" + std::to_string(score) + "-" + std::to_string(i), score});
  }
  return out;
}

std::size_t with(const std::vector<std::string>& ids, double score) {
  const std::string prefix = "s" + std::to_string(score);
  return static_cast<std::size_t>(std::count_if(ids.begin(), ids.end(), [&](const std::string& id) { return id.starts_with(prefix); }));
}

TEST(CalibrationSample, TakesAsManyOfEveryBandAsThereAre) {
  // 90 of 100 items score 1. A plain draw would show hardly anything else.
  const auto chosen = choose_for_calibration(items({{90, 1.0}, {4, 0.75}, {3, 0.25}, {3, 0.0}}), 1);
  EXPECT_EQ(chosen.size(), 30U);
  EXPECT_EQ(with(chosen, 0.75), 4U);
  EXPECT_EQ(with(chosen, 0.25), 3U);
  EXPECT_EQ(with(chosen, 0.0), 3U);
  EXPECT_EQ(with(chosen, 1.0), 20U);
}

TEST(CalibrationSample, IsEvenWhereTheBandsAreFull) {
  const auto chosen = choose_for_calibration(items({{50, 0.0}, {50, 0.2}, {50, 0.5}, {50, 0.7}, {50, 1.0}}), 7);
  for (const double score : {0.0, 0.2, 0.5, 0.7, 1.0}) EXPECT_EQ(with(chosen, score), 6U) << score;
}

TEST(CalibrationSample, IsTheSameForASeedWhateverTheOrderAndAnotherForAnother) {
  auto all = items({{40, 0.1}, {40, 0.9}});
  const auto chosen = choose_for_calibration(all, 5);
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(choose_for_calibration(all, 5), chosen);
  EXPECT_NE(choose_for_calibration(all, 6), chosen);
  EXPECT_EQ(std::set<std::string>(chosen.begin(), chosen.end()).size(), 30U);
}

TEST(CalibrationSample, DoesNotTellTheBandByItsOrder) {
  const auto chosen = choose_for_calibration(items({{15, 0.1}, {15, 0.9}}), 5);
  std::size_t changes = 0;
  for (std::size_t i = 1; i < chosen.size(); ++i) changes += chosen[i][3] != chosen[i - 1][3] ? 1 : 0;
  EXPECT_GT(changes, 5U) << "not one band after the other";
  EXPECT_LT(changes, 29U) << "not in turn";
}

TEST(CalibrationSample, OfFewerItemsIsAllOfThem) {
  EXPECT_THAT(choose_for_calibration(items({{2, 0.5}, {1, 1.0}}), 1), UnorderedElementsAreArray({"s0.500000-0", "s0.500000-1", "s1.000000-0"}));
  EXPECT_TRUE(choose_for_calibration({}, 1).empty());
}

TEST(Agreement, KappaAndItsIntervalOfATableWorkedByHand) {
  // [[20, 5], [10, 15]]: p_o = 35/50 = 0.7; p_e = (25·30 + 25·20)/2500 = 0.5; kappa = 0.4.
  // Fleiss, Cohen and Everitt: with 1 - kappa = 0.6,
  //   diagonal: 0.4·(1 - 1.1·0.6)² + 0.3·(1 - 0.9·0.6)² = 0.4·0.34² + 0.3·0.46² = 0.04624 + 0.06348 = 0.10972
  //   off it: 0.36·(0.1·(0.6 + 0.5)² + 0.2·(0.5 + 0.4)²) = 0.36·(0.121 + 0.162) = 0.10188
  //   minus (0.4 - 0.5·0.6)² = 0.01: 0.2016; / (50·0.25) = 0.016128; standard error 0.1269961
  const auto found = agreement({{20, 5}, {10, 15}});
  EXPECT_EQ(found.n, 50U);
  EXPECT_THAT(found.accuracy, Optional(DoubleNear(0.7, 1e-12)));
  EXPECT_THAT(found.kappa, Optional(DoubleNear(0.4, 1e-12)));
  ASSERT_TRUE(found.kappa_interval);
  EXPECT_NEAR(found.kappa_interval->low, 0.4 - 1.959963984540054 * 0.12699606293110, 1e-9);
  EXPECT_NEAR(found.kappa_interval->high, 0.4 + 1.959963984540054 * 0.12699606293110, 1e-9);
}

TEST(Agreement, KappaOfThreeLabels) {
  // Cohen's measure over [[10, 2, 0], [1, 8, 1], [0, 3, 5]]: p_o = 23/30; rows 12, 10, 8, columns 11, 13, 6:
  // p_e = (132 + 130 + 48)/900 = 31/90; kappa = (69/90 - 31/90)/(59/90) = 38/59.
  EXPECT_THAT(agreement({{10, 2, 0}, {1, 8, 1}, {0, 3, 5}}).kappa, Optional(DoubleNear(38.0 / 59, 1e-12)));
}

TEST(Agreement, OfOneClassKappaIsUndefinedNotNaN) {
  for (const Confusion& counts : {Confusion{{30, 0}, {0, 0}}, Confusion{{0, 0}, {0, 30}}}) {
    const auto found = agreement(counts);
    EXPECT_THAT(found.accuracy, Optional(1.0));
    EXPECT_EQ(found.kappa, std::nullopt);
    EXPECT_FALSE(found.kappa_interval);
  }
}

TEST(Agreement, OfAJudgeThatAlwaysSaysTheSameKappaIsZero) {
  const auto found = agreement({{0, 12}, {0, 18}});
  EXPECT_THAT(found.kappa, Optional(DoubleNear(0, 1e-15)));
  EXPECT_FALSE(found.kappa_interval);
}

TEST(Agreement, ThatIsPerfectHasAKappaOfOneAndNoInterval) {
  const auto found = agreement({{12, 0}, {0, 18}});
  EXPECT_THAT(found.kappa, Optional(1.0));
  EXPECT_FALSE(found.kappa_interval);
  EXPECT_LT(found.accuracy_interval->low, 1.0);
}

TEST(Agreement, OfNothingIsNothing) {
  const auto found = agreement({{0, 0}, {0, 0}});
  EXPECT_EQ(found.n, 0U);
  EXPECT_EQ(found.accuracy, std::nullopt);
  EXPECT_EQ(found.kappa, std::nullopt);
}

TEST(Agreement, CanBeWorseThanChance) {
  // [[0, 10], [10, 0]]: p_o = 0, p_e = 0.5.
  EXPECT_THAT(agreement({{0, 10}, {10, 0}}).kappa, Optional(DoubleNear(-1, 1e-12)));
}

TEST(Confusion, CountsPersonByJudge) {
  const std::vector<std::pair<bool, bool>> labels = {{true, true}, {true, false}, {false, true}, {true, true}, {false, false}};
  EXPECT_EQ(confusion_of(labels), (Confusion{{1, 1}, {1, 2}}));
}

}  // namespace
}  // namespace polygraph::judges
