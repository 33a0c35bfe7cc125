#include "wasm/comparison/matrix.hpp"

#include <gtest/gtest.h>

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

TEST(Matrix, NeedsTwo) {
  EXPECT_FALSE(matrix({}));
}

}  // namespace
}  // namespace polygraph::comparison
