#include "wasm/comparison/matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace polygraph::comparison {
namespace {

/// A stored report of one recall and one latency.
std::string stored(double recall, double ms) {
  return "{\"total_queries\":10,\"completed_queries\":10,\"retrieval\":{\"mean_precision_at_k\":" + std::to_string(recall) + ",\"mean_recall_at_k\":" + std::to_string(recall) +
         ",\"mrr\":" + std::to_string(recall) + ",\"k\":5},\"latency\":{\"count\":10,\"mean_ms\":" + std::to_string(ms) + "}}";
}

TEST(Matrix, RanksByWinsAndMarksTheParetoFront) {
  const std::string texts[] = {stored(0.5, 20), stored(0.9, 200), stored(0.7, 100), stored(0.6, 150)};
  std::vector<diagnosis::Document> documents;
  for (const auto& text : texts) documents.push_back(std::move(*diagnosis::read_document(text)));
  const auto found = matrix({{"fast", &documents[0], {}}, {"good", &documents[1], {}}, {"middle", &documents[2], {}}, {"beaten", &documents[3], {}}});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->pairs.size(), 6U);
  std::vector<std::string> order;
  std::vector<bool> front;
  for (const Standing& one : found->ranking) {
    order.push_back(found->contenders[one.contender].name);
    front.push_back(one.on_front);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"good", "middle", "beaten", "fast"}));
  EXPECT_EQ(front, (std::vector<bool>{true, true, false, true}));  // "middle" is better and faster than "beaten"
  EXPECT_EQ(found->ranking[0].wins, 3U);
  EXPECT_EQ(found->ranking[3].losses, 3U);
}

TEST(Matrix, SharesARankWhereNothingTellsTwoApart) {
  const std::string text = stored(0.5, 20);
  const auto document = diagnosis::read_document(text);
  const auto found = matrix({{"a", &*document, {}}, {"b", &*document, {}}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ranking[1].rank, 1U);
  EXPECT_TRUE(found->ranking[0].on_front && found->ranking[1].on_front);
}

/// The places of reports, each of a recall and a latency (negative: not measured) at a cost.
std::vector<Place> places(const std::vector<std::array<double, 2>>& reports, const std::vector<std::optional<double>>& costs) {
  std::vector<std::string> texts;
  for (const auto& [recall, ms] : reports) {
    const std::string scored = recall < 0 ? "0" : "10", measured = ms < 0 ? "0" : "10";
    texts.push_back("{\"total_queries\":10,\"completed_queries\":10,\"retrieval\":{\"mean_recall_at_k\":" + std::to_string(std::max(recall, 0.0)) + ",\"k\":5,\"scored_queries\":" + scored +
                    "},\"latency\":{\"count\":" + measured + ",\"mean_ms\":" + std::to_string(std::max(ms, 0.0)) + "}}");
  }
  std::vector<diagnosis::Document> documents;
  for (const auto& text : texts) documents.push_back(std::move(*diagnosis::read_document(text)));
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < documents.size(); ++i) contenders.push_back({"p" + std::to_string(i), &documents[i], costs[i]});
  return matrix(std::move(contenders))->places;
}

std::vector<std::pair<bool, bool>> fronts(const std::vector<Place>& places) {
  std::vector<std::pair<bool, bool>> out;
  for (const Place& place : places) out.emplace_back(place.latency_front, place.cost_front);
  return out;
}

TEST(Matrix, OnAFrontIsWhatNothingElseEqualsOrBeatsInBothWhileBeingBetterInOne) {
  // By hand: 1 is slower and worse than 0, but cheaper; 2 is slower and better than 0; 3 equals 0, so neither beats the other.
  const auto found = places({{0.8, 100}, {0.7, 120}, {0.9, 300}, {0.8, 100}}, {0.001, 0.0005, 0.002, 0.001});
  EXPECT_EQ(fronts(found), (std::vector<std::pair<bool, bool>>{{true, true}, {false, true}, {true, true}, {true, true}}));
}

TEST(Matrix, WhatWasNotMeasuredIsNothingAndStandsOnNoFront) {
  const auto found = places({{-1, 50}, {0.5, -1}, {0.5, 10}}, {0.0, std::nullopt, 0.1});
  EXPECT_EQ(fronts(found), (std::vector<std::pair<bool, bool>>{{false, false}, {false, false}, {true, true}}));
  EXPECT_FALSE(found[0].recall || found[1].mean_ms || found[1].cost_usd);
  EXPECT_EQ(found[0].mean_ms, 50);
  EXPECT_EQ(found[0].cost_usd, 0);
}

TEST(Matrix, NeedsTwo) {
  EXPECT_FALSE(matrix({}));
}

}  // namespace
}  // namespace polygraph::comparison
