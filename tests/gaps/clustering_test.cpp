#include "wasm/gaps/clustering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace polygraph::gaps {
namespace {

using ::testing::ElementsAre;

using Vectors = std::vector<std::vector<float>>;

/// Average linkage as it is defined: the most alike pair of groups becomes one, every likeness worked out anew from the members.
template <class Vector>
Groups plain_average_link(const std::vector<Vector>& vectors, double threshold) {
  Groups groups;
  for (std::uint32_t i = 0; i < vectors.size(); ++i) groups.push_back({i});
  for (;;) {
    double best = threshold;
    std::size_t first = 0, second = 0;
    for (std::size_t a = 0; a < groups.size(); ++a) {
      for (std::size_t b = a + 1; b < groups.size(); ++b) {
        double sum = 0;
        for (const auto i : groups[a]) {
          for (const auto j : groups[b]) sum += dot(vectors[i], vectors[j]);
        }
        const double mean = sum / static_cast<double>(groups[a].size() * groups[b].size());
        if (mean > best || (second == 0 && mean >= best)) {
          best = mean;
          first = a;
          second = b;
        }
      }
    }
    if (second == 0) break;
    groups[first].insert(groups[first].end(), groups[second].begin(), groups[second].end());
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(second));
  }
  for (auto& group : groups) std::sort(group.begin(), group.end());
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::vector<float> unit(std::vector<float> vector) {
  double squares = 0;
  for (const float value : vector) squares += static_cast<double>(value) * static_cast<double>(value);
  for (float& value : vector) value = static_cast<float>(static_cast<double>(value) / std::sqrt(squares));
  return vector;
}

/// Vectors around a few centres, so that there are groups of every size and looseness.
Vectors random_vectors(std::mt19937& random, std::size_t count, std::size_t dimensions, double spread) {
  std::normal_distribution<float> normal;
  Vectors centres(1 + random() % 8), out;
  for (auto& centre : centres) {
    for (std::size_t i = 0; i < dimensions; ++i) centre.push_back(normal(random));
    centre = unit(centre);
  }
  for (std::size_t i = 0; i < count; ++i) {
    auto vector = centres[random() % centres.size()];
    for (float& value : vector) value += static_cast<float>(spread) * normal(random);
    out.push_back(unit(vector));
  }
  return out;
}

TEST(AverageLink, IsWhatThePlainReferenceMakesOfRandomVectors) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RecordProperty("seed", std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    const auto vectors = random_vectors(random, random() % 40, 2 + random() % 12, 0.1 + 0.1 * static_cast<double>(random() % 6));
    const double threshold = 0.05 + 0.9 * static_cast<double>(random() % 1000) / 1000;
    EXPECT_EQ(average_link(std::span<const std::vector<float>>(vectors), threshold), plain_average_link(vectors, threshold)) << "round " << round << ", threshold " << threshold;
  }
}

TEST(AverageLink, SparseVectorsGroupAsTheSameDenseOnesDo) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 40; ++round) {
    Vectors dense = random_vectors(random, random() % 30, 10, 0.4);
    std::vector<SparseVector> sparse;
    for (auto& vector : dense) {
      for (float& value : vector) value = random() % 3 == 0 ? 0.0F : value;
      SparseVector out;
      for (std::uint32_t i = 0; i < vector.size(); ++i) {
        if (vector[i] != 0.0F) out.emplace_back(i, vector[i]);
      }
      sparse.push_back(std::move(out));
    }
    EXPECT_EQ(average_link(std::span<const SparseVector>(sparse), 0.3), plain_average_link(sparse, 0.3)) << "round " << round;
    EXPECT_EQ(average_link(std::span<const SparseVector>(sparse), 0.3), average_link(std::span<const std::vector<float>>(dense), 0.3)) << "round " << round;
  }
}

TEST(AverageLink, TheOrderOfTheVectorsOnlyRenamesThem) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto vectors = random_vectors(random, 60, 16, 0.3);
  std::vector<std::uint32_t> order(vectors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  Vectors shuffled;
  for (const auto place : order) shuffled.push_back(vectors[place]);
  Groups renamed = average_link(std::span<const std::vector<float>>(shuffled), 0.6);
  for (auto& group : renamed) {
    for (auto& member : group) member = order[member];
    std::sort(group.begin(), group.end());
  }
  std::sort(renamed.begin(), renamed.end());
  EXPECT_EQ(renamed, average_link(std::span<const std::vector<float>>(vectors), 0.6));
}

TEST(AverageLink, EqualVectorsAreOneGroupAndNothingsAreLikeNothing) {
  const Vectors equal = {{1, 0}, {0, 1}, {1, 0}, {1, 0}, {0, 0}, {0, 0}};
  EXPECT_THAT(average_link(std::span<const std::vector<float>>(equal), 0.9), ElementsAre(ElementsAre(0, 2, 3), ElementsAre(1), ElementsAre(4), ElementsAre(5)));
  EXPECT_TRUE(average_link(std::span<const std::vector<float>>(), 0.9).empty());
}

TEST(AverageLink, TheMeanDecidesNotTheNearestPair) {
  // 0 and 2 are far apart; 1 lies between. 0 and 1 join first, and their mean to 2 is below the threshold.
  const auto at = [](double degrees) { return std::vector<float>{static_cast<float>(std::cos(degrees * M_PI / 180)), static_cast<float>(std::sin(degrees * M_PI / 180))}; };
  const Vectors line = {at(0), at(29), at(60)};
  EXPECT_THAT(average_link(std::span<const std::vector<float>>(line), 0.8), ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_THAT(average_link(std::span<const std::vector<float>>(line), 0.6), ElementsAre(ElementsAre(0, 1, 2)));
}

}  // namespace
}  // namespace polygraph::gaps
