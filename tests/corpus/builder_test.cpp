#include "index/builder.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "index/previous_vectors.hpp"
#include "tests/corpus/folder.hpp"
#include "wasm/index/quantisation.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::corpus {
namespace {

constexpr std::uint32_t dimensions = 4;

BuildOptions options(const std::filesystem::path& cache = {}) {
  BuildOptions built;
  built.embedder = {"tiny", std::string(64, 'a'), dimensions, "query: ", 32};
  built.vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\nengine\nruns\nfast\npage\n";
  built.cache = cache;
  return built;
}

/// Stands in for a model: a vector that depends on the tokens alone. Counts what it is asked.
struct CountingEmbedder {
  std::size_t texts = 0;
  std::size_t fail_after = SIZE_MAX;

  Result<std::vector<std::vector<float>>> operator()(std::span<const std::vector<text::TokenId>> asked) {
    if (texts + asked.size() > fail_after) return fail(ErrorCode::model_unavailable, "the worker died");
    texts += asked.size();
    std::vector<std::vector<float>> vectors;
    for (const auto& tokens : asked) {
      std::vector<float> vector(dimensions, 0.1F);
      for (std::size_t i = 0; i < tokens.size(); ++i) vector[i % dimensions] += static_cast<float>(tokens[i]);
      float squares = 0;
      for (const float value : vector) squares += value * value;
      for (float& value : vector) value /= std::sqrt(squares);
      vectors.push_back(std::move(vector));
    }
    return vectors;
  }
};

void write_pages(const Folder& folder, int count) {
  for (int i = 0; i < count; ++i) {
    folder.write("p" + std::to_string(100 + i) + ".md", "# Page " + std::to_string(i) + "\n\nThe engine runs fast, says page number " + std::to_string(i) + " of many.");
  }
}

Corpus corpus(const Folder& folder) { return open_corpus("dir:" + folder.path().string()).value(); }

TEST(Builder, WritesAnIndexThatOpensWithEveryChunk) {
  Folder folder;
  write_pages(folder, 3);
  CountingEmbedder embedder;
  const Result<Built> built = build(corpus(folder), options(), std::ref(embedder));
  ASSERT_TRUE(built) << built.error().message;
  const auto index = index::Index::open(built->bytes);
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->documents(), 3u);
  EXPECT_EQ(index->chunk_id(1), "p101#000");
  EXPECT_TRUE(index->has_vectors());
  EXPECT_EQ(index->metadata().chunker, describe(ChunkSizes{}));
  EXPECT_EQ(built->report.chunks, 3u);
  EXPECT_EQ(built->report.embedded, 3u);
}

TEST(Builder, WithoutAnEmbedderTheIndexIsLexical) {
  Folder folder;
  write_pages(folder, 2);
  const Result<Built> built = build(corpus(folder), BuildOptions{});
  ASSERT_TRUE(built) << built.error().message;
  const auto index = index::Index::open(built->bytes);
  ASSERT_TRUE(index);
  EXPECT_FALSE(index->has_vectors());
  EXPECT_TRUE(index->find_term("engin"));
}

TEST(Builder, TheSameCorpusGivesTheSameBytes) {
  Folder folder;
  write_pages(folder, 5);
  CountingEmbedder embedder;
  EXPECT_EQ(build(corpus(folder), options(), std::ref(embedder))->bytes, build(corpus(folder), options(), std::ref(embedder))->bytes);
}

TEST(Builder, ARebuildEmbedsOnlyNewTexts) {
  Folder folder, cache;
  write_pages(folder, 20);
  CountingEmbedder first, second, fresh;
  ASSERT_TRUE(build(corpus(folder), options(cache.path()), std::ref(first)));
  folder.write("p105.md", "# Page 5\n\nThe page has changed a good deal since it was written.");
  const Result<Built> again = build(corpus(folder), options(cache.path()), std::ref(second));
  ASSERT_TRUE(again);
  EXPECT_EQ(second.texts, 1u);
  EXPECT_EQ(again->report.from_cache, 19u);
  EXPECT_EQ(again->bytes, build(corpus(folder), options(), std::ref(fresh))->bytes);
}

TEST(Builder, ARebuildOverAnEarlierIndexEmbedsOnlyNewTextsAndGivesTheBytesOfAFreshBuild) {
  Folder folder;
  write_pages(folder, 250);
  CountingEmbedder first, second, fresh;
  const Result<Built> before = build(corpus(folder), options(), std::ref(first));
  ASSERT_TRUE(before);
  EXPECT_EQ(first.texts, 250u);
  folder.write("p105.md", "# Page 5\n\nThe page has changed a good deal since it was written.");
  const auto index = index::Index::open(before->bytes);
  ASSERT_TRUE(index);
  BuildOptions again = options();
  again.previous = &*index;
  const Result<Built> rebuilt = build(corpus(folder), again, std::ref(second));
  ASSERT_TRUE(rebuilt);
  EXPECT_EQ(second.texts, 1u);
  EXPECT_EQ(rebuilt->report.from_previous, 249u);
  EXPECT_EQ(rebuilt->bytes, build(corpus(folder), options(), std::ref(fresh))->bytes);
}

TEST(Builder, AnEarlierIndexOfAnotherModelIsOfNoUse) {
  Folder folder;
  write_pages(folder, 3);
  CountingEmbedder embedder;
  const Result<Built> before = build(corpus(folder), options(), std::ref(embedder));
  const auto index = index::Index::open(before->bytes);
  BuildOptions other = options();
  other.previous = &*index;
  other.embedder.sha256 = std::string(64, 'b');
  ASSERT_TRUE(build(corpus(folder), other, std::ref(embedder)));
  EXPECT_EQ(embedder.texts, 6u);
}

TEST(Builder, DequantisedVectorsQuantiseToTheSameBits) {
  std::mt19937 random(3);
  std::vector<float> vector(384);
  std::vector<std::int8_t> row(384), again(384);
  for (int round = 0; round < 2'000; ++round) {
    for (float& value : vector) value = std::ldexp(static_cast<float>(static_cast<int>(random() % 2'000'001) - 1'000'000), -static_cast<int>(random() % 40));
    const float scale = index::quantise(vector, row);
    const auto back = dequantised(row, scale);
    ASSERT_TRUE(back) << "round " << round;
    EXPECT_EQ(index::quantise(*back, again), scale);
    EXPECT_EQ(again, row);
  }
  EXPECT_EQ(dequantised(std::vector<std::int8_t>{0, 0}, 0.0F), (std::vector<float>{0, 0}));
  EXPECT_FALSE(dequantised(std::vector<std::int8_t>{1, 2}, 0.5F));  // no vector has that row: its largest is 127
}

TEST(Builder, AnInterruptedBuildGoesOnWhereItStoppedAndGivesTheSameBytes) {
  Folder folder, cache;
  write_pages(folder, 40);
  CountingEmbedder dying, resumed, fresh;
  dying.fail_after = 20;
  const Result<Built> broken = build(corpus(folder), options(cache.path()), std::ref(dying));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::model_unavailable);
  const Result<Built> built = build(corpus(folder), options(cache.path()), std::ref(resumed));
  ASSERT_TRUE(built);
  EXPECT_EQ(resumed.texts, 40 - dying.texts);
  EXPECT_GT(dying.texts, 0u);
  EXPECT_EQ(built->bytes, build(corpus(folder), options(), std::ref(fresh))->bytes);
}

TEST(Builder, ACancelledBuildSaysHowFarItCame) {
  Folder folder, cache;
  write_pages(folder, 40);
  BuildOptions cancelled = options(cache.path());
  int asked = 0;
  cancelled.cancelled = [&] { return ++asked > 1; };
  CountingEmbedder embedder;
  const Result<Built> built = build(corpus(folder), cancelled, std::ref(embedder));
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().field, "cancelled");
  EXPECT_THAT(built.error().message, testing::HasSubstr("of 40 passages"));
}

TEST(Builder, AnotherModelDoesNotUseTheVectorsOfTheFirst) {
  Folder folder, cache;
  write_pages(folder, 3);
  CountingEmbedder embedder;
  BuildOptions other = options(cache.path());
  ASSERT_TRUE(build(corpus(folder), other, std::ref(embedder)));
  other.embedder.sha256 = std::string(64, 'b');
  ASSERT_TRUE(build(corpus(folder), other, std::ref(embedder)));
  EXPECT_EQ(embedder.texts, 6u);
}

TEST(Builder, ADamagedCacheIsBegunAnew) {
  Folder folder, cache;
  write_pages(folder, 3);
  cache.write("vectors.sqlite3", std::string(4'096, 'x'));
  CountingEmbedder embedder;
  const Result<Built> built = build(corpus(folder), options(cache.path()), std::ref(embedder));
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_TRUE(built->report.cache_replaced);
  EXPECT_EQ(embedder.texts, 3u);
}

TEST(Builder, AVectorOfAnotherShapeIsAnErrorThatNamesThePassage) {
  Folder folder;
  write_pages(folder, 1);
  const auto wrong = [](std::span<const std::vector<text::TokenId>> asked) -> Result<std::vector<std::vector<float>>> {
    return std::vector<std::vector<float>>(asked.size(), std::vector<float>(dimensions, 1.0F));
  };
  const Result<Built> built = build(corpus(folder), options(), wrong);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ErrorCode::provider_failed);
  EXPECT_THAT(built.error().message, testing::HasSubstr("p100#000"));
}

TEST(Builder, CountsPassagesThatAreLongerThanTheModelsInput) {
  Folder folder;
  std::string longer;
  for (int i = 0; i < 40; ++i) longer += "engine ";
  folder.write("long.md", longer);
  folder.write("short.md", "engine runs");
  CountingEmbedder embedder;
  const Result<Built> built = build(corpus(folder), options(), std::ref(embedder));
  ASSERT_TRUE(built);
  EXPECT_EQ(built->report.chunks_truncated, 1u);
}

TEST(Builder, ProgressCountsUpToEveryPassage) {
  Folder folder;
  write_pages(folder, 40);
  BuildOptions watched = options();
  std::vector<std::size_t> done;
  watched.progress = [&](const Progress& progress) {
    done.push_back(progress.done);
    EXPECT_EQ(progress.total, 40u);
    EXPECT_GE(progress.eta_ms, 0);
  };
  CountingEmbedder embedder;
  ASSERT_TRUE(build(corpus(folder), watched, std::ref(embedder)));
  EXPECT_THAT(done, testing::ElementsAre(0, 16, 32, 40));
}

TEST(WriteFile, ReplacesTheOldFileAndLeavesNothingElse) {
  Folder folder;
  folder.write("x.polygraph", "old");
  const std::vector<std::byte> bytes(100'000, std::byte{7});
  ASSERT_TRUE(write_file(folder / "x.polygraph", bytes));
  EXPECT_EQ(std::filesystem::file_size(folder / "x.polygraph"), 100'000u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()), 1);
  const Result<void> failed = write_file(folder / "no/such/x.polygraph", bytes);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace polygraph::corpus
