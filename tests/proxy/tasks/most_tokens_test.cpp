// The estimate of tokens against what real tokenizers made of the same texts (token_counts.mjs wrote them down).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "proxy/tasks/tasks.hpp"

namespace polygraph::proxy {
namespace {

TEST(MostTokens, IsNeverBelowWhatO200kCl100kLlama3AndQwenCount) {
  std::ifstream file(std::string(POLYGRAPH_SOURCE_DIR) + "/tests/proxy/tasks/token_counts.jsonl");
  std::size_t texts = 0;
  for (std::string line; std::getline(file, line); ++texts) {
    const auto recorded = nlohmann::json::parse(line);
    const auto text = recorded.at(0).get<std::string>();
    EXPECT_GE(most_tokens(text), recorded.at(1).get<std::uint64_t>()) << text;
  }
  EXPECT_GE(texts, 400U);
}

TEST(MostTokens, IsNeverAboveTheBytesExceptWhereNormalisationGrowsThem) {
  EXPECT_EQ(most_tokens(""), 0U);
  EXPECT_EQ(most_tokens("!?"), 2U);
  EXPECT_LE(most_tokens("\xE9\x8C\xA8\xE3\x81\xAF"), 6U);
  EXPECT_EQ(most_tokens("\xF0\x9D\x85\xA0"), 12U) << "U+1D160 becomes three code points under NFC";
}

TEST(MostTokens, CountsAnIllFormedByteAsTheReplacementThatGoesOut) { EXPECT_EQ(most_tokens("\xFF\xFE"), 6U); }

TEST(MostTokens, LeavesRoomForTwentyPassagesInTheFreeMinute) {
  // Plain English of the usual passage size: were every byte counted, no request with many passages would ever fit.
  std::string text;
  while (text.size() < 900) text += " Use this option when you need to set the memory that a container can use on the host.";
  EXPECT_LT(20 * most_tokens(text), 8000U - default_max_tokens_generate);
}

}  // namespace
}  // namespace polygraph::proxy
