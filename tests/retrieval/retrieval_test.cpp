// The stages of one query: what is asked of a model, what happens without one, and what stands where in the list.
#include "wasm/retrieval/retrieval.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/retrieval/tiny_corpus.hpp"

namespace polygraph {
namespace {

using index::ChunkNo;
using retrieval::Config;
using retrieval::Fusion;
using retrieval::Mode;
using retrieval::Retrieval;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::corpus_of;
using tests::corpus_of_texts;

std::vector<ChunkNo> chunks(const Retrieval& r) {
  std::vector<ChunkNo> found;
  for (const auto& candidate : r.ranked()) found.push_back(candidate.chunk);
  return found;
}

/// Chunks 0 to 3; words favour 0, then 1; vectors favour 3, then 2.
struct FourChunks : testing::Test {
  tests::TinyCorpus corpus = corpus_of_texts({"red fish red fish", "red fish and a long tail of other things", "blue whale", "green newt"},
                                             {{0.0F, 1.0F}, {0.28F, 0.96F}, {0.8F, 0.6F}, {1.0F, 0.0F}});
  std::vector<float> vector = {1.0F, 0.0F};
  std::string query = "where is the red fish";

  Retrieval embedded(const Config& config) {
    Retrieval r(corpus.index, query, config);
    EXPECT_TRUE(r.set_embedding(vector));
    return r;
  }
};

TEST_F(FourChunks, DenseModeIsCosineOrder) {
  Config config;
  config.mode = Mode::dense;
  const auto r = embedded(config);
  EXPECT_TRUE(r.finished());
  EXPECT_THAT(chunks(r), ElementsAre(3U, 2U, 1U, 0U));
  EXPECT_TRUE(r.bm25_scores().empty());
  EXPECT_EQ(r.stages().lexical, "not asked for");
  EXPECT_EQ(r.stages().dense, "used");
}

TEST_F(FourChunks, Bm25ModeListsOnlyMatchesAndAsksForNothing) {
  Config config;
  config.mode = Mode::bm25;
  const Retrieval r(corpus.index, query, config);
  EXPECT_EQ(r.wanted_embedding(), nullptr);
  EXPECT_TRUE(r.finished());
  EXPECT_THAT(chunks(r), ElementsAre(0U, 1U));
  EXPECT_EQ(r.stages().dense, "not asked for");
  EXPECT_FALSE(r.dense_summary());
}

TEST_F(FourChunks, HybridKeepsTheScoresAndRanksOfEveryStage) {
  const auto r = embedded({});
  ASSERT_EQ(r.ranked().size(), 4U);
  for (const auto& candidate : r.ranked()) {
    EXPECT_EQ(candidate.dense_rank, 4U - candidate.chunk);
    EXPECT_EQ(candidate.bm25_rank, candidate.chunk < 2 ? std::optional<std::uint32_t>(candidate.chunk + 1) : std::nullopt);
    EXPECT_EQ(candidate.fused_rank, candidate.rank);
    EXPECT_FALSE(candidate.rerank_rank);
  }
}

TEST_F(FourChunks, TheQueryIsEmbeddedWithItsPrefix) {
  const Retrieval r(corpus.index, "red fish", {});
  // [CLS] ask : red fish [SEP]
  EXPECT_THAT(r.wanted_embedding()->ids, ElementsAre(2, 4, 5, 6, 8, 3));
}

TEST_F(FourChunks, TheDenseSummaryIsOverAllChunks) {
  const auto r = embedded({});
  const auto scores = r.dense_scores();
  ASSERT_TRUE(r.dense_summary());
  EXPECT_EQ(r.dense_summary()->max, scores[3]);
  const double mean = (scores[0] + scores[1] + scores[2] + scores[3]) / 4;
  EXPECT_NEAR(r.dense_summary()->mean, mean, 1e-15);
  double squares = 0;
  for (const double s : scores) squares += (s - mean) * (s - mean);
  EXPECT_NEAR(r.dense_summary()->standard_deviation, std::sqrt(squares / 4), 1e-15);
}

TEST_F(FourChunks, AnotherModelsVectorIsRefusedAndNothingChanges) {
  Retrieval r(corpus.index, query, {});
  EXPECT_EQ(r.set_embedding(std::vector<float>(3)).error().code, ErrorCode::mismatch);
  EXPECT_EQ(r.set_embedding(std::vector<float>{1.0F, std::nanf("")}).error().code, ErrorCode::mismatch);
  EXPECT_NE(r.wanted_embedding(), nullptr);
  EXPECT_TRUE(r.set_embedding(vector));
  EXPECT_EQ(r.set_embedding(vector).error().code, ErrorCode::invalid_argument);
}

TEST_F(FourChunks, WithoutAnEmbedderHybridIsBm25Order) {
  for (const auto fusion : {Fusion::rrf, Fusion::mix}) {
    Config config;
    config.fusion = fusion;
    Retrieval r(corpus.index, query, config);
    r.skip_embedding("the embedder could not be loaded");
    EXPECT_TRUE(r.finished());
    EXPECT_THAT(chunks(r), ElementsAre(0U, 1U));
    EXPECT_EQ(r.stages().dense, "the embedder could not be loaded");
    EXPECT_EQ(r.stages().lexical, "used");
  }
}

TEST_F(FourChunks, WithoutAnEmbedderDenseModeFallsBackToWords) {
  Config config;
  config.mode = Mode::dense;
  Retrieval r(corpus.index, query, config);
  r.skip_embedding("no model");
  EXPECT_THAT(chunks(r), ElementsAre(0U, 1U));
  EXPECT_EQ(r.stages().lexical, "used");
}

TEST_F(FourChunks, TheLexicalPartSearchesByWordsAndSaysWhy) {
  Config config;
  config.use_reranker = true;
  const auto lexical = index::Index::open(corpus.file, index::Part::lexical).value();
  const Retrieval r(lexical, query, config);
  EXPECT_TRUE(r.finished());
  EXPECT_THAT(chunks(r), ElementsAre(0U, 1U));
  EXPECT_THAT(r.stages().dense, HasSubstr("not loaded"));
  EXPECT_THAT(r.stages().rerank, HasSubstr("not loaded"));
}

TEST(Retrieval, AnIndexWithoutVectorsSaysSo) {
  const auto corpus = corpus_of_texts({"red fish"});
  const Retrieval r(corpus.index, "red fish", {});
  EXPECT_TRUE(r.finished());
  EXPECT_EQ(r.stages().dense, "the index has no vectors");
}

struct Reranked : FourChunks {
  Config config;
  Reranked() {
    config.mode = Mode::dense;
    config.use_reranker = true;
    config.rerank_candidates = 3;
  }
};

TEST_F(Reranked, AsksForTheBestFusedChunksFirst) {
  auto r = embedded(config);
  EXPECT_FALSE(r.finished());
  EXPECT_THAT(std::vector(r.wanted_pairs().begin(), r.wanted_pairs().end()), ElementsAre(3U, 2U, 1U));
  EXPECT_THAT(chunks(r), ElementsAre(3U, 2U, 1U, 0U));
  ASSERT_TRUE(r.set_logits(std::vector<float>{-1, 2, 0.5F}));
  EXPECT_TRUE(r.finished());
  EXPECT_TRUE(r.wanted_pairs().empty());
  EXPECT_THAT(chunks(r), ElementsAre(2U, 1U, 3U, 0U));
  EXPECT_EQ(r.stages().rerank, "used");
  EXPECT_EQ(r.ranked()[0].rerank_score, 2.0);
  EXPECT_EQ(r.ranked()[0].rerank_rank, 1U);
  EXPECT_EQ(r.ranked()[0].fused_rank, 2U);
  EXPECT_FALSE(r.ranked()[3].rerank_score);
}

TEST_F(Reranked, UnscoredChunksKeepTheirFusedOrderBehindTheScored) {
  auto r = embedded(config);
  ASSERT_TRUE(r.set_logits(std::vector<float>{-9}));
  EXPECT_THAT(chunks(r), ElementsAre(3U, 2U, 1U, 0U));
  EXPECT_EQ(r.stages().rerank, "used: 1 of 3 candidates scored");
}

TEST_F(Reranked, AScoredChunkStaysAboveTheUnscoredHoweverBadItsLogit) {
  auto r = embedded(config);
  ASSERT_TRUE(r.set_logits(std::vector<float>{-9, -8}));
  EXPECT_THAT(chunks(r), ElementsAre(2U, 3U, 1U, 0U));
}

TEST_F(Reranked, AHostWithoutTimeForAnyPairLeavesTheFusedOrder) {
  auto r = embedded(config);
  ASSERT_TRUE(r.set_logits({}));
  EXPECT_TRUE(r.finished());
  EXPECT_THAT(chunks(r), ElementsAre(3U, 2U, 1U, 0U));
  EXPECT_NE(r.stages().rerank, "used");
}

TEST_F(Reranked, EqualLogitsAreOrderedByChunkNumber) {
  auto r = embedded(config);
  ASSERT_TRUE(r.set_logits(std::vector<float>{1, 1, 1}));
  EXPECT_THAT(chunks(r), ElementsAre(1U, 2U, 3U, 0U));
}

TEST_F(Reranked, RerankMixAddsTheWeightedFusedScoreToTheLogit) {
  config.rerank_mix = 4;
  auto r = embedded(config);
  const auto fused = [&](std::size_t place) { return *r.ranked()[place].fused_score; };
  EXPECT_EQ(fused(0), 1.0);
  const double gap = fused(0) - fused(1);
  ASSERT_GT(gap, 0);
  // The second is better by its logit, but by less than four times what the first is ahead in the fused list.
  ASSERT_TRUE(r.set_logits(std::vector<float>{0, static_cast<float>(3.9 * gap), -100}));
  EXPECT_THAT(chunks(r), ElementsAre(3U, 2U, 1U, 0U));
  auto other = embedded(config);
  ASSERT_TRUE(other.set_logits(std::vector<float>{0, static_cast<float>(4.1 * gap), -100}));
  EXPECT_THAT(chunks(other), ElementsAre(2U, 3U, 1U, 0U));
}

TEST_F(Reranked, WithoutARerankerTheFusedOrderStaysAndTheStageSaysWhy) {
  auto r = embedded(config);
  r.skip_rerank("no reranker on this machine");
  EXPECT_TRUE(r.finished());
  EXPECT_THAT(chunks(r), ElementsAre(3U, 2U, 1U, 0U));
  EXPECT_EQ(r.stages().rerank, "no reranker on this machine");
}

TEST_F(Reranked, RefusesMoreLogitsThanPairsAndValuesThatAreNotFinite) {
  auto r = embedded(config);
  EXPECT_EQ(r.set_logits(std::vector<float>(4)).error().code, ErrorCode::mismatch);
  EXPECT_EQ(r.set_logits(std::vector<float>{std::numeric_limits<float>::infinity()}).error().code, ErrorCode::mismatch);
  EXPECT_FALSE(r.finished());
}

TEST_F(Reranked, PairsAreCutToTheirLongestLength) {
  config.max_pair_tokens = 8;
  query = "red fish";
  const auto r = embedded(config);
  EXPECT_EQ(r.pair(1).ids.size(), 8U);
}

TEST_F(Reranked, ScoresWithoutAnEmbeddingToo) {
  Retrieval r(corpus.index, query, config);
  r.skip_embedding("no embedder");
  ASSERT_EQ(r.wanted_pairs().size(), 2U);
  ASSERT_TRUE(r.set_logits(std::vector<float>{0, 1}));
  EXPECT_THAT(chunks(r), ElementsAre(1U, 0U));
}

TEST(Retrieval, KeepsTheListLongerThanWhatIsReranked) {
  std::vector<std::string> texts;
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < 40; ++i) {
    texts.push_back("red fish " + std::to_string(i));
    rows.push_back({std::cos(static_cast<float>(i) / 40), std::sin(static_cast<float>(i) / 40)});
  }
  const auto corpus = corpus_of_texts(texts, rows);
  Config config;
  config.use_reranker = true;
  config.rerank_candidates = 10;
  config.depth = 3;
  Retrieval r(corpus.index, "red fish please", config);
  ASSERT_TRUE(r.set_embedding(std::vector<float>{1, 0}));
  EXPECT_EQ(r.wanted_pairs().size(), 10U);
  ASSERT_TRUE(r.set_logits(std::vector<float>(10)));
  EXPECT_EQ(r.ranked().size(), 20U);
}

TEST(Retrieval, HandsOnAtMostThePageCapPerPage) {
  std::vector<tests::Passage> passages;
  for (int i = 0; i < 30; ++i) passages.push_back({"a", "", "", "red fish red fish " + std::to_string(i)});
  for (int i = 0; i < 3; ++i) passages.push_back({"b", "", "", "red and other things " + std::to_string(i)});
  passages.push_back({"c", "", "", "blue fish, many other words, and then some"});
  const auto corpus = corpus_of(passages);
  Config config;
  config.mode = Mode::bm25;
  const Retrieval free(corpus.index, "red fish", config);
  EXPECT_THAT(free.handed_on(4), ElementsAre(0U, 1U, 2U, 3U));
  EXPECT_EQ(free.ranked().size(), 20U);

  config.page_cap = 2;
  const Retrieval capped(corpus.index, "red fish", config);
  const auto handed_on = capped.handed_on(10);
  EXPECT_EQ(handed_on.size(), 5U) << "two of a, two of b and one of c, though a alone fills the list";
  std::map<index::DocumentNo, int> per_page;
  for (const auto c : handed_on) EXPECT_LE(++per_page[corpus.index.chunk(c).document], 2);
}

TEST(Retrieval, AnIdentifierStandsAboveEveryChunkWithoutItInHybridModeToo) {
  // Words and vectors both favour the chunks that do not hold it.
  const auto corpus = corpus_of_texts({"The daemon reads json. Daemon json daemon json.", "Edit /etc/docker/daemon.json and restart.",
                                       "json json daemon daemon files", "Something else entirely."},
                                      {{1, 0}, {-1, 0}, {1, 0}, {0, 1}});
  for (const char* query : {"daemon.json", "`daemon.json`", "Daemon.JSON?"}) {
    for (const auto fusion : {Fusion::rrf, Fusion::mix}) {
      Config config;
      config.fusion = fusion;
      config.use_reranker = true;
      Retrieval r(corpus.index, query, config);
      ASSERT_TRUE(r.set_embedding(std::vector<float>{1, 0}));
      EXPECT_EQ(r.ranked().front().chunk, 1U) << query;
      EXPECT_EQ(r.wanted_pairs().front(), 1U);
      ASSERT_TRUE(r.set_logits(std::vector<float>{-10, 5, 5, 5}));
      EXPECT_EQ(r.ranked().front().chunk, 1U) << query << ", reranked";
    }
    Config dense;
    dense.mode = Mode::dense;
    Retrieval r(corpus.index, query, dense);
    ASSERT_TRUE(r.set_embedding(std::vector<float>{1, 0}));
    EXPECT_EQ(r.ranked().front().chunk, 0U) << "mode dense is cosine order";
  }
}

TEST(Retrieval, AnOptionIsFoundAboveTheLongerOptionThatHoldsIt) {
  const auto corpus = corpus_of_texts({"Use --memory-swap and memory memory memory.", "Memory is limited with --memory.", "Memory."});
  Config config;
  config.mode = Mode::bm25;
  EXPECT_THAT(chunks(Retrieval(corpus.index, "--memory", config)), ElementsAre(1U, 0U, 2U));
}

TEST(Retrieval, AHeadingEqualToTheQueryComesFirst) {
  const auto corpus = corpus_of({{"a", "Storage", "Volumes > Back up a volume", "Run tar."},
                                 {"b", "Other", "", "Back up a volume. Back up a volume. Volume, volume, back up."}});
  Config config;
  config.mode = Mode::bm25;
  EXPECT_EQ(Retrieval(corpus.index, "back up a volume?", config).ranked().front().chunk, 0U);
}

TEST(Retrieval, AQuestionAlwaysFindsSomethingAndASingleUnknownWordNothing) {
  const auto corpus = corpus_of_texts({"red fish", "blue fish"});
  Config config;
  config.mode = Mode::bm25;
  EXPECT_FALSE(Retrieval(corpus.index, "what should I do about it?", config).ranked().empty());
  EXPECT_FALSE(Retrieval(corpus.index, "how do zeppelins land?", config).ranked().empty());
  EXPECT_TRUE(Retrieval(corpus.index, "zeppelins", config).ranked().empty());
}

TEST(Retrieval, AWordThatIsJoinedInTheQuestionFindsItsHyphen) {
  const auto corpus = corpus_of_texts({"Install the add-on first.", "Nothing of that."});
  Config config;
  config.mode = Mode::bm25;
  EXPECT_THAT(chunks(Retrieval(corpus.index, "How do I install an addon?", config)), ElementsAre(0U));
  EXPECT_EQ(Retrieval(corpus.index, "addons", config).ranked().front().chunk, 0U);
}

TEST(Retrieval, AnEmptyIndexGivesAnEmptyList) {
  const auto file = index::write_index({}).value();
  const auto index = index::Index::open(file).value();
  Config config;
  config.use_reranker = true;
  const Retrieval r(index, "anything at all", config);
  EXPECT_TRUE(r.finished());
  EXPECT_TRUE(r.ranked().empty());
  EXPECT_TRUE(r.handed_on(4).empty());
}

TEST(Retrieval, AnEmptyQueryIsHarmless) {
  const auto corpus = corpus_of_texts({"red fish"});
  EXPECT_TRUE(Retrieval(corpus.index, "", {}).ranked().empty());
  EXPECT_TRUE(Retrieval(corpus.index, "?!", {}).ranked().empty());
}

}  // namespace
}  // namespace polygraph
