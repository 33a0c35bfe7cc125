// What the extractive grader measures and decides.
#include "wasm/agent/extractive/grader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/agent/scripted_host.hpp"

namespace polygraph::agent::extractive {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr const char* question = "How do I limit the memory of a container?";

class GraderTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(small.index, nullptr); }

  retrieval::Retrieval lexical(const std::string& query) const {
    retrieval::Config config;
    config.mode = retrieval::Mode::bm25;
    return retrieval::Retrieval(*small.index, query, config);
  }
  index::ChunkNo chunk(const char* id) const { return *small.index->find_chunk(id); }
  index::DocumentNo page_of(index::ChunkNo no) const { return small.index->chunk(no).document; }
  retrieval::Candidate candidate(const char* id, std::optional<double> logit = std::nullopt) const {
    retrieval::Candidate made;
    made.chunk = chunk(id);
    made.rerank_score = logit;
    return made;
  }

  test::SmallIndex small = test::small_index();
};

TEST_F(GraderTest, HoldsTheBestPageAgainstTheQuestion) {
  const GraderFeatures features = grader_features(*small.index, lexical(question), question);
  EXPECT_TRUE(features.any);
  EXPECT_EQ(small.index->document(page_of(features.best)).id, "run/memory");
  EXPECT_DOUBLE_EQ(features.covp, 1.0);
  EXPECT_EQ(features.namemissp, 0.0);
  EXPECT_TRUE(features.missing.empty());
}

TEST_F(GraderTest, MeasuresNamesThatThePageDoesNotHold) {
  const char* about_grafana = "How do I limit the memory of a Grafana container?";
  const GraderFeatures features = grader_features(*small.index, lexical(about_grafana), about_grafana);
  EXPECT_LT(features.covp, 1.0);
  EXPECT_DOUBLE_EQ(features.namemissp, 1.0) << "a name in no chunk weighs as much as a term can";
  EXPECT_THAT(features.missing, ElementsAre("grafana"));
}

TEST_F(GraderTest, LeavesOutWhatNoStageMeasured) {
  const std::vector<retrieval::Candidate> plain = {candidate("run/memory#001")};
  const std::vector<retrieval::Candidate> scored = {candidate("run/memory#001", 4.5)};
  const retrieval::DenseSummary cosines{0.9, 0.5, 0.1};

  const auto lexical_only = grader_features(*small.index, plain, std::nullopt, question);
  EXPECT_EQ(lexical_only.evidence, Evidence::lexical);
  EXPECT_THAT(named(lexical_only), ElementsAre(Pair("covp", 1.0), Pair("namemissp", 0.0)));

  const auto dense = grader_features(*small.index, plain, cosines, question);
  EXPECT_EQ(dense.evidence, Evidence::dense);
  EXPECT_THAT(named(dense), Contains(Key("cosz")));
  EXPECT_THAT(named(dense), Not(Contains(Key("s1"))));
  EXPECT_NEAR(*dense.cosz, 4.0, 1e-9);

  const auto reranked = grader_features(*small.index, scored, cosines, question);
  EXPECT_EQ(reranked.evidence, Evidence::reranked);
  EXPECT_THAT(named(reranked), Contains(Pair("s1", 4.5)));

  EXPECT_EQ(grader_features(*small.index, scored, std::nullopt, question).evidence, Evidence::reranked) << "no cosine is needed beside a logit";
  EXPECT_TRUE(named(grader_features(*small.index, std::vector<retrieval::Candidate>{}, std::nullopt, question)).empty());
}

TEST_F(GraderTest, LooksAtThePageOfTheHighestLogitNotOfTheFirstInTheList) {
  const auto features =
      grader_features(*small.index, std::vector<retrieval::Candidate>{candidate("store/volumes#000", 0.5), candidate("run/memory#001", 2.0), candidate("build/cache#000")},
                      std::nullopt, question);
  EXPECT_EQ(features.best, chunk("run/memory#001"));
  const auto tied = grader_features(*small.index, std::vector<retrieval::Candidate>{candidate("store/volumes#000", 2.0), candidate("run/memory#001", 2.0)},
                                    std::nullopt, question);
  EXPECT_EQ(tied.best, std::min(chunk("store/volumes#000"), chunk("run/memory#001")));
}

TEST_F(GraderTest, ARewriteCountsOnlyIfItFoundABetterPassage) {
  GraderFeatures before, now;
  before.evidence = now.evidence = Evidence::reranked;
  before.any = now.any = true;
  before.s1 = 1.0;
  before.covp = 0.25;
  now.s1 = 0.5;
  now.covp = 1.0;
  EXPECT_EQ(best_so_far(now, before).covp, 0.25) << "all of the question's words, on a page that is further from it";
  now.s1 = 1.5;
  EXPECT_EQ(best_so_far(now, before).covp, 1.0);
  EXPECT_EQ(best_so_far(now, before).s1, 1.5);
}

TEST_F(GraderTest, ARewrittenQueryIsNoNearerToAPageThanTheQuestion) {
  GraderFeatures before, now;
  before.evidence = now.evidence = Evidence::dense;
  before.any = now.any = true;
  before.cosz = 2.0;
  now.cosz = 3.0;
  now.covp = 0.75;
  EXPECT_EQ(best_so_far(now, before).cosz, 2.0);
  EXPECT_EQ(best_so_far(now, before).covp, 0.75);
}

GraderFeatures measured(Evidence evidence, double s1, double cosz, double covp, double namemissp) {
  GraderFeatures features;
  features.evidence = evidence;
  features.any = true;
  if (evidence == Evidence::reranked) features.s1 = s1;
  if (evidence != Evidence::lexical) features.cosz = cosz;
  features.covp = covp;
  features.namemissp = namemissp;
  return features;
}

TEST(GraderWeightsTest, EveryModelPrefersWhatSpeaksForAnAnswer) {
  for (const Evidence evidence : {Evidence::reranked, Evidence::dense, Evidence::lexical}) {
    const double middle = probability(measured(evidence, 1, 4, 0.5, 0.5));
    EXPECT_GT(probability(measured(evidence, 1, 4, 0.9, 0.5)), middle);
    EXPECT_LT(probability(measured(evidence, 1, 4, 0.5, 0.9)), middle);
    if (evidence == Evidence::reranked) {
      EXPECT_GT(probability(measured(evidence, 5, 4, 0.5, 0.5)), middle);
    } else if (evidence == Evidence::dense) {
      EXPECT_GT(probability(measured(evidence, 1, 6, 0.5, 0.5)), middle);
    }
  }
  EXPECT_EQ(probability(GraderFeatures{}), 0.0);
}

TEST(GraderWeightsTest, ThresholdsOfEveryModelAreInOrder) {
  for (const GateWeights& gate : {default_weights.reranked, default_weights.dense, default_weights.lexical}) {
    EXPECT_GT(gate.unsure, 0.0);
    EXPECT_LE(gate.unsure, gate.answer);
    EXPECT_LT(gate.answer, 1.0);
  }
}

TEST(GraderWeightsTest, ALogitThatSaysAnotherSubjectIsRefusedWhateverTheWordsSay) {
  EXPECT_GT(probability(measured(Evidence::reranked, least_logit + 0.01, 4, 1.0, 0.0)), 0.0);
  EXPECT_EQ(probability(measured(Evidence::reranked, least_logit - 0.01, 4, 1.0, 0.0)), 0.0);
}

TEST_F(GraderTest, DoubtsBetweenTheTwoThresholds) {
  const auto retrieval = lexical(question);
  const auto handed_on = retrieval.handed_on(4);
  const GraderFeatures features = grader_features(*small.index, retrieval, question);
  GraderWeights weights = default_weights;
  weights.lexical = {0, 0, 0, 0, 0, 0.6, 0.4};  // p is one half
  const Graded graded = grade(*small.index, retrieval, handed_on, question, features, weights);
  EXPECT_TRUE(graded.relevant);
  EXPECT_TRUE(graded.unsure);
  weights.lexical.unsure = 0.51;
  EXPECT_FALSE(grade(*small.index, retrieval, handed_on, question, features, weights).relevant);
  weights.lexical.answer = weights.lexical.unsure = 0.5;
  EXPECT_FALSE(grade(*small.index, retrieval, handed_on, question, features, weights).unsure);
}

}  // namespace
}  // namespace polygraph::agent::extractive
