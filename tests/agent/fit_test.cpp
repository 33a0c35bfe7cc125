// Fitting and evaluating the grader's weights.
#include "wasm/agent/extractive/fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "wasm/agent/extractive/calibration.hpp"

namespace polygraph::agent::extractive {
namespace {

using testing::Each;
using testing::ElementsAre;

std::vector<Example> twelve() {
  return {{{1.2, 0.9, 0.0}, true, 1},   {{0.4, 0.7, 0.0}, true, 1},   {{-1.5, 0.8, 0.2}, true, 1},    {{2.2, 0.6, 0.0}, true, 1},
          {{-0.3, 1.0, 0.0}, true, 1},  {{-2.0, 0.5, 0.9}, false, 1}, {{0.8, 0.4, 0.6}, false, 1},    {{-1.1, 0.3, 0.0}, false, 1},
          {{1.9, 0.7, 0.8}, false, 0.3}, {{-3.0, 0.2, 0.1}, false, 0.3}, {{0.1, 0.6, 0.4}, true, 1}, {{-0.6, 0.55, 1.0}, false, 0.3}};
}

// scikit-learn 1.9.1: StandardScaler, then LogisticRegression(C = 1 / penalty, tol = 1e-12) with sample_weight = weight
// times n / (2 * sum of the class's weights); coefficients divided by the scaler's scale.
TEST(Fit, AgreesWithScikitLearn) {
  const auto model = fit_logistic(twelve());
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->weights[0], 0.2232944, 1e-6);
  EXPECT_NEAR(model->weights[1], 5.6499845, 1e-6);
  EXPECT_NEAR(model->weights[2], -2.3220967, 1e-6);
  EXPECT_NEAR(model->bias, -2.4846604, 1e-6);
  const auto tighter = fit_logistic(twelve(), 4.0);
  ASSERT_TRUE(tighter);
  EXPECT_NEAR(tighter->weights[0], 0.1485563, 1e-6);
  EXPECT_NEAR(tighter->weights[1], 2.7679083, 1e-6);
  EXPECT_NEAR(tighter->weights[2], -1.1909422, 1e-6);
  EXPECT_NEAR(tighter->bias, -1.2247676, 1e-6);
}

TEST(Fit, GivesTheSameBitsEveryTime) {
  const auto first = fit_logistic(twelve()), second = fit_logistic(twelve());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(std::memcmp(first->weights.data(), second->weights.data(), 3 * sizeof(double)), 0);
}

TEST(Fit, BalancesTheClasses) {
  // Nine copies of one class don't move the middle between the two.
  std::vector<Example> examples;
  for (int copy = 0; copy < 9; ++copy) {
    examples.push_back({{1.0}, true, 1});
    examples.push_back({{0.8}, true, 1});
  }
  examples.push_back({{0.2}, false, 1});
  examples.push_back({{0.0}, false, 1});
  const auto model = fit_logistic(examples);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->probability(std::vector<double>{0.5}), 0.5, 1e-9);
}

TEST(Fit, StaysFiniteWhereTheClassesAreSeparable) {
  const auto model = fit_logistic(std::vector<Example>{{{-1.0}, false, 1}, {{1.0}, true, 1}});
  ASSERT_TRUE(model);
  EXPECT_GT(model->weights[0], 0.0);
  EXPECT_LT(model->weights[0], 10.0);
}

TEST(Fit, GivesAFeatureThatNeverVariesNoWeight) {
  auto examples = twelve();
  for (auto& example : examples) example.features.push_back(7.0);
  const auto model = fit_logistic(examples);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->weights[3], 0.0);
  EXPECT_NEAR(model->weights[1], 5.6499845, 1e-6);
}

TEST(Fit, RefusesWhatItCannotFit) {
  auto one_class = twelve();
  for (auto& example : one_class) example.positive = true;
  auto ragged = twelve();
  ragged[3].features.pop_back();
  auto not_finite = twelve();
  not_finite[3].features[1] = std::numeric_limits<double>::quiet_NaN();
  for (const auto& examples : {std::vector<Example>{}, one_class, ragged, not_finite}) {
    const auto model = fit_logistic(examples);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::invalid_argument);
  }
}

std::vector<GroupedExample> grouped() {
  std::vector<GroupedExample> examples;
  std::size_t n = 0;
  for (auto& example : twelve()) examples.push_back({example, n++ / 2, example.weight == 1});
  return examples;
}

TEST(Calibration, DealsEveryGroupIntoOneFoldAndFillsTheFoldsEvenly) {
  const auto fold = deal_folds(103, 10, 7);
  std::map<std::size_t, int> sizes;
  for (const auto each : fold) ++sizes[each];
  ASSERT_EQ(sizes.size(), 10U);
  for (const auto& [which, size] : sizes) {
    EXPECT_GE(size, 10) << which;
    EXPECT_LE(size, 11) << which;
  }
  EXPECT_EQ(fold, deal_folds(103, 10, 7));
  EXPECT_NE(fold, deal_folds(103, 10, 8));
}

TEST(Calibration, PredictsAGroupWithoutHavingSeenAnyOfIt) {
  // One group is mislabelled throughout: a model that had seen it would lean its way.
  auto examples = grouped();
  const auto before = out_of_fold(examples, 6, 1, 3);
  for (auto& each : examples) {
    if (each.group == 2) each.example.positive = !each.example.positive;
  }
  const auto after = out_of_fold(examples, 6, 1, 3);
  ASSERT_TRUE(before && after);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (examples[i].group == 2) {
      EXPECT_DOUBLE_EQ((*before)[i], (*after)[i]);
    } else {
      EXPECT_NE((*before)[i], (*after)[i]);
    }
  }
}

TEST(Calibration, CountsOnlyWhatIsEvaluated) {
  const auto examples = grouped();
  const std::vector<double> probabilities = {0.9, 0.8, 0.7, 0.6, 0.5, 0.65, 0.2, 0.1, 0.99, 0.99, 0.4, 0.99};
  const Shares shares = shares_at(examples, probabilities, 0.6);
  EXPECT_EQ(shares.positives, 6U);
  EXPECT_EQ(shares.accepted, 4U);
  EXPECT_EQ(shares.negatives, 3U);
  EXPECT_EQ(shares.refused, 2U);
  // 18 pairs; the negative with 0.65 stands above three positives.
  EXPECT_DOUBLE_EQ(area_under_curve(examples, probabilities), 15.0 / 18.0);
}

TEST(Calibration, ChoosesTheThresholdForAShare) {
  const auto examples = grouped();
  const std::vector<double> probabilities = {0.9, 0.8, 0.7, 0.6, 0.5, 0.65, 0.2, 0.1, 0.99, 0.99, 0.4, 0.99};
  EXPECT_DOUBLE_EQ(threshold_accepting(examples, probabilities, 0.66), 0.6);
  EXPECT_DOUBLE_EQ(threshold_accepting(examples, probabilities, 1.0), 0.4);
  EXPECT_DOUBLE_EQ(threshold_refusing(examples, probabilities, 0.6), 0.201);
  EXPECT_DOUBLE_EQ(threshold_refusing(examples, probabilities, 1.0), 0.651);
}

}  // namespace
}  // namespace polygraph::agent::extractive
