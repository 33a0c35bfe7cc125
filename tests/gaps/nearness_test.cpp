#include "wasm/gaps/nearness.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace polygraph::gaps {
namespace {

TEST(WordVectors, HaveLengthOneAndShareWhatTheQuestionsShare) {
  WordVectors vectors(nullptr);
  const auto loki = vectors.of("ship logs to Loki"), datadog = vectors.of("ship logs to Datadog"), price = vectors.of("monthly price");
  EXPECT_NEAR(dot(loki, loki), 1, 1e-6);
  EXPECT_NEAR(dot(loki, datadog), 2.0 / 3, 1e-6) << "two of three words";
  EXPECT_EQ(dot(loki, price), 0);
}

TEST(WordVectors, AQuestionWithoutAWordIsLikeNothing) {
  WordVectors vectors(nullptr);
  EXPECT_TRUE(vectors.of("").empty());
  EXPECT_TRUE(vectors.of("?!").empty());
  EXPECT_EQ(dot(vectors.of("?!"), vectors.of("?!")), 0);
}

}  // namespace
}  // namespace polygraph::gaps
