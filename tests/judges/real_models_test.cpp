// The offline judge with the real cross-encoder, and relevancy with the real embedder, where the models are in the cache:
// that the formula tells a supported answer from one that isn't. No figure of quality.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "proxy/models/manifest.hpp"
#include "proxy/models/model_store.hpp"
#include "proxy/models/model_worker.hpp"
#include "tests/judges/scripted_judge.hpp"
#include "wasm/judges/offline.hpp"

namespace polygraph::judges {
namespace {

namespace fs = std::filesystem;

class RealModels : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path source = POLYGRAPH_SOURCE_DIR;
    const auto manifest = models::Manifest::read(source / "assets/models.json");
    ASSERT_TRUE(manifest) << manifest.error().message;
    const models::ModelStore store(models::ModelStore::default_root());
    auto options = store.worker_options(*manifest);
    options.script = source / "dist/model-worker.mjs";
    for (const auto& file : store.list(*manifest)) {
      if (file.state != models::FileState::present) GTEST_SKIP() << file.path << " is not there: `polygraph models fetch` brings it";
      if (file.role != "reranker" || file.file != "vocab.txt") continue;
      std::ifstream stream(file.path, std::ios::binary);
      vocabulary_text_.assign(std::istreambuf_iterator<char>(stream), {});
    }
    if (!fs::exists(options.script)) GTEST_SKIP() << options.script << " is not built: `npm run build:node`";
    vocabulary_ = text::Vocabulary::parse(vocabulary_text_).value();
    auto worker = models::ModelWorker::start(options);
    ASSERT_TRUE(worker) << worker.error().message;
    worker_ = std::move(*worker);
  }

  Judgement judged(JudgeInput input) {
    const text::WordPiece words(vocabulary_);
    const auto judge = OfflineJudge::create(std::move(input), words).value();
    Result<agent::Logits> logits = agent::Logits{};
    if (const auto request = judge.request()) {
      auto scores = worker_->score(request->pairs, 0);
      if (scores) logits = agent::Logits{std::move(scores->logits)};
      else logits = tl::unexpected(scores.error());
    }
    std::vector<std::vector<text::TokenId>> texts;
    for (const auto& each : judge.embeddings()) texts.push_back(each.token_ids);
    std::vector<agent::Embedding> vectors;
    if (const auto embedded = worker_->embed(texts)) {
      for (const auto& vector : *embedded) vectors.push_back({vector});
    }
    return judge.judgement(logits, vectors);
  }

  static JudgeInput stopping() {
    JudgeInput input;
    input.question = "How long does docker stop wait before it kills the container?";
    input.context = {{"stop#000",
                      "The main process inside the container will receive SIGTERM, and after a grace period, SIGKILL. The default grace period is 10 seconds; "
                      "the --time option of docker stop sets another number of seconds."},
                     {"prune#000", "The docker system prune command removes all unused containers, networks, and dangling images. Volumes are not removed by default."}};
    input.answer = "The main process receives SIGTERM, and SIGKILL after a grace period. The default grace period is 10 seconds.";
    input.citations = {{"stop#000", 0, 68}, {"stop#000", 69, 107}};
    input.reference_answer = "The default grace period is 10 seconds.";
    return input;
  }

  std::string vocabulary_text_;
  text::Vocabulary vocabulary_;
  std::unique_ptr<models::ModelWorker> worker_;
};

TEST_F(RealModels, AnAnswerInThePassagesWordsIsSupportedAndCorrect) {
  const auto judgement = judged(stopping());
  EXPECT_EQ(judgement.of(Metric::faithfulness)->value, 1.0);
  EXPECT_EQ(judgement.of(Metric::groundedness)->verdict, true);
  EXPECT_EQ(judgement.of(Metric::citation_precision)->value, 1.0);
  EXPECT_EQ(judgement.of(Metric::citation_recall)->value, 1.0);
  EXPECT_EQ(judgement.of(Metric::correctness)->verdict, true) << *judgement.of(Metric::correctness)->value;
  EXPECT_GT(judgement.of(Metric::answer_relevancy)->value, 0.5);
}

TEST_F(RealModels, AnotherNumberAndAForeignSentenceAreNot) {
  auto input = stopping();
  input.answer = "The default grace period is 30 seconds. Kubernetes schedules pods onto nodes.";
  input.citations = {{"stop#000", 0, 39}};
  const auto judgement = judged(input);
  EXPECT_EQ(judgement.of(Metric::faithfulness)->value, 0.0);
  EXPECT_EQ(judgement.of(Metric::groundedness)->unsupported_claims.size(), 2U);
  EXPECT_EQ(judgement.of(Metric::citation_precision)->value, 0.0);
  EXPECT_EQ(judgement.of(Metric::correctness)->verdict, false);
}

TEST_F(RealModels, ACitationOfTheOtherPassageSupportsNothing) {
  auto input = stopping();
  for (auto& citation : input.citations) citation.chunk_id = "prune#000";
  EXPECT_EQ(judged(input).of(Metric::citation_precision)->value, 0.0);
}

TEST_F(RealModels, QuestionsOfAnotherSubjectAreLessRelevantThanTheQuestionItself) {
  const text::WordPiece words(vocabulary_);
  const auto relevancy = [&](const std::vector<std::string>& questions) {
    const auto asked = test::run(
        test::only(stopping(), {Metric::answer_relevancy}),
        [&](const JudgeCall& call) -> RequestResult { return test::reply({{"id", call.nonce}, {"noncommittal", false}, {"questions", questions}}); },
        [&](std::size_t n) -> RequestResult {
          const std::string embedded = n == 0 ? stopping().question : questions[n - 1];
          const std::vector<std::vector<text::TokenId>> one = {words.encode(embedded, 512).ids};
          const auto vectors = worker_->embed(one);
          if (!vectors) return vectors.error();
          return agent::Embedding{vectors->front()};
        },
        &words);
    return asked.of(Metric::answer_relevancy).value.value_or(-1);
  };
  const double same = relevancy(std::vector<std::string>(3, stopping().question));
  EXPECT_NEAR(same, 1.0, 1e-5);
  EXPECT_LT(relevancy({"Which pasta is best?", "Who won the cup?", "When does the ferry leave?"}), 0.75);
}

}  // namespace
}  // namespace polygraph::judges
