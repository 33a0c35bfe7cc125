#include "wasm/agent/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::agent {
namespace {

using testing::HasSubstr;

TEST(Config, EveryPresetReadsBackThroughItsOptions) {
  for (const auto name : preset_names()) {
    const Config made = *preset(name);
    Config copy;
    for (const auto option : option_names()) {
      const auto value = get(made, option);
      ASSERT_TRUE(value) << option;
      ASSERT_TRUE(set(copy, option, *value)) << option << " = " << *value;
    }
    EXPECT_EQ(copy, made) << name;
  }
}

TEST(Config, TheAblationsAddOneStageEach) {
  EXPECT_EQ(preset("baseline")->retrieval.mode, retrieval::Mode::dense);
  EXPECT_FALSE(preset("hybrid")->retrieval.use_reranker);
  EXPECT_TRUE(preset("hybrid_rerank")->retrieval.use_reranker);
  EXPECT_FALSE(preset("hybrid_rerank")->use_reflection);
  EXPECT_TRUE(preset("full")->use_reflection);
  EXPECT_EQ(preset("full")->retrieval.fusion, retrieval::Fusion::rrf);
  EXPECT_EQ(preset("full")->retrieval.rerank_mix, 0);
  EXPECT_EQ(preset("tuned")->retrieval.fusion, retrieval::Fusion::mix);
  EXPECT_EQ(preset("tuned")->retrieval.rerank_mix, 48);
}

TEST(Config, ABadValueNamesTheOptionAndWhatIsAllowed) {
  Config config;
  const auto mode = set(config, "retrieval_mode", "sparse");
  ASSERT_FALSE(mode);
  EXPECT_EQ(mode.error().field, "RETRIEVAL_MODE");
  EXPECT_THAT(mode.error().message, HasSubstr("dense, bm25 or hybrid"));
  for (const char* value : {"0", "21", "-1", "4.5", "", "four", "4 ", "99999999999"}) {
    const auto top_k = set(config, "TOP_K", value);
    ASSERT_FALSE(top_k) << value;
    EXPECT_THAT(top_k.error().message, HasSubstr("from 1 to 20"));
  }
  for (const char* value : {"1e3", "nan", "inf", "-1", ".", "1001", "0x10"}) EXPECT_FALSE(set(config, "RERANK_MIX", value)) << value;
  EXPECT_EQ(config, Config{}) << "a refused value changes nothing";
}

TEST(Config, AnUnknownOptionOrPresetListsTheKnownOnes) {
  Config config;
  EXPECT_THAT(set(config, "TOPK", "4").error().message, HasSubstr("TOP_K"));
  EXPECT_THAT(preset("best").error().message, HasSubstr("baseline, hybrid, hybrid_rerank, full or tuned"));
}

TEST(Config, NamesAndSwitchesIgnoreCase) {
  Config config;
  EXPECT_TRUE(set(config, "use_reranker", "TRUE"));
  EXPECT_TRUE(config.retrieval.use_reranker);
  EXPECT_TRUE(set(config, "Use_Reranker", "off"));
  EXPECT_FALSE(config.retrieval.use_reranker);
  EXPECT_TRUE(set(config, "PROVIDER", "OpenAI_compatible"));
  EXPECT_EQ(config.provider, Provider::openai_compatible);
}

}  // namespace
}  // namespace polygraph::agent
