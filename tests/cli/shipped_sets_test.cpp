// The golden sets that come with the project: fit for publishing results on them, over their corpora; and the gate of the CI over
// its 20 items, with the real models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cli/program.hpp"

namespace polygraph::cli::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const fs::path source = POLYGRAPH_SOURCE_DIR;
/// The index that the sets and the thresholds belong to (assets/golden/README.md).
constexpr const char* default_corpus = "xxh128:1e1ebf6f82b6cf578af62339ab093246";
constexpr const char* second_corpus = "xxh128:b10c6723f1b3771a8d156a5ff8544feb";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

class ShippedSets : public ProgramTest {
 protected:
  static std::string set(const std::string& name) { return (source / "assets/golden" / name).string(); }
  /// Empty, with a reason to skip, where the default corpus is not here in the edition that the sets belong to.
  std::string default_index(std::string& why) {
    const auto index = environment("POLYGRAPH_TEST_INDEX");
    if (index.empty() || !fs::exists(index)) {
      why = "needs the index of the default corpus (POLYGRAPH_TEST_INDEX)";
      return {};
    }
    const auto digest = one_json(run({"index", "info", index, "--json"}).out).at("digest").get<std::string>();
    if (digest != default_corpus) why = "the default corpus is another edition here: " + digest;
    return why.empty() ? index : std::string();
  }
  void expect_fit(const std::string& file, const std::string& index, const std::vector<std::string>& least) {
    const auto valid = run({"validate", "--dataset", file, "--index", index});
    EXPECT_EQ(valid.status, 0) << valid.out;
    EXPECT_THAT(valid.out, HasSubstr("0 errors, 0 warnings")) << "no gold is gone or changed";
    std::vector<std::string> audit = {"golden", "audit", "--dataset", file, "--index", index};
    audit.insert(audit.end(), least.begin(), least.end());
    const auto audited = run(audit);
    EXPECT_EQ(audited.status, 0) << audited.out;
    EXPECT_THAT(audited.out, HasSubstr("every rule is kept"));
    audit.insert(audit.end(), {"--vague", "1000"});
    EXPECT_EQ(run(audit).status, 1) << "an audit can fail";
  }
};

TEST_F(ShippedSets, TheDefaultCorpusSetKeepsEveryRule) {
  std::string why;
  const auto index = default_index(why);
  if (index.empty()) GTEST_SKIP() << why;
  std::vector<std::string> least = {"--answerable", "40", "--unanswerable", "20"};
  const auto development = fs::path(environment("POLYGRAPH_SHARED")) / "golden-dev" / "docker-docs.jsonl";
  if (fs::exists(development)) least.insert(least.end(), {"--development", development.string()});
  expect_fit(set("docker-doc.jsonl"), index, least);
  EXPECT_EQ(run({"golden", "audit", "--dataset", set("docker-doc.jsonl"), "--index", index, "--answerable", "40", "--vague", "10", "--unanswerable", "20"}).status, 0);
}

TEST_F(ShippedSets, TheSecondSetKeepsEveryRule) {
  const auto corpus = environment("POLYGRAPH_TEST_FASTIFY");
  if (corpus.empty() || !fs::exists(corpus)) GTEST_SKIP() << "needs the second corpus (POLYGRAPH_TEST_FASTIFY); `./polygraph test` fetches it";
  const auto index = (folder() / "fastify.polygraph").string();
  const auto built = run({"index", "--lexical", "--corpus", "dir:" + corpus, "--title", "Fastify documentation", "--licence", "MIT", "--out", index, "--json"});
  ASSERT_EQ(built.status, 0) << built.err;
  EXPECT_EQ(one_json(built.out)["chunks"], 806) << "cut as for " << second_corpus;
  expect_fit(set("fastify.jsonl"), index, {"--items", "20", "--answerable", "20"});
}

// Real models over 20 items: some seconds for each configuration.
TEST_F(ShippedSets, TheGatePassesForTheDefaultConfigurationAndFailsForAWorseOne) {
  std::string why;
  const auto index = default_index(why);
  const auto models = environment("POLYGRAPH_TEST_MODELS");
  if (index.empty()) GTEST_SKIP() << why;
  if (models.empty() || !fs::exists(fs::path(models) / "reranker")) GTEST_SKIP() << "needs the models (POLYGRAPH_TEST_MODELS)";
  if (!fs::exists(source / "dist/model-worker.mjs")) GTEST_SKIP() << "dist/model-worker.mjs is not built: `node web/build.mjs node`";
  const Surroundings with_models{.environment = {{"POLYGRAPH_DIR", fs::path(models).parent_path().string()}, {"POLYGRAPH_DIST", (source / "dist").string()}}};
  const auto gate = [&](const std::string& config, const std::string& junit) {
    const auto file = (folder() / (config + ".jsonl")).string();
    const auto done = run({"run", "--index", index, "--dataset", set("docker-doc.jsonl"), "--config", config, "--subset", "gate", "--out", file}, with_models);
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("done: 20 items"));
    return run({"gate", "--results", file, "--thresholds", set("docker-doc.thresholds.json"), "--junit", junit});
  };
  const auto junit = folder() / "gate.xml";
  const auto passed = gate("tuned", junit.string());
  EXPECT_EQ(passed.status, 0) << passed.out;
  EXPECT_THAT(read(junit), AllOf(HasSubstr("<testsuites tests=\""), HasSubstr("failures=\"0\""), HasSubstr("name=\"correct_refusal_rate\"/>")));
  const auto failed = gate("baseline", junit.string());  // refuses nothing
  EXPECT_EQ(failed.status, 1) << failed.out;
  EXPECT_THAT(failed.out, HasSubstr("FAIL correct_refusal_rate is 0"));
  EXPECT_THAT(read(junit), AllOf(Not(HasSubstr("failures=\"0\"")), HasSubstr("<failure message=\"correct_refusal_rate")));
}

}  // namespace
}  // namespace polygraph::cli::test
