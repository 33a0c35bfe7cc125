// `models`, and the commands with real models: those of POLYGRAPH_TEST_MODELS or of the user's cache, where they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"
#include "tests/index_format/small_index.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using ModelFiles = ProgramTest;

TEST_F(ModelFiles, ThatAreMissingAreListedAndFailTheCheck) {
  for (const auto& arguments : {std::vector<std::string>{"models", "--json"}, {"models", "list", "--json"}, {"models", "--json", "verify"}}) {
    const auto listed = run(arguments);
    EXPECT_EQ(listed.status, 1);
    EXPECT_THAT(listed.err, IsEmpty());
    const auto files = one_json(listed.out);
    ASSERT_EQ(files.size(), 6U);
    for (const auto& file : files) {
      EXPECT_EQ(file["state"], "missing");
      EXPECT_EQ(file["sha256"].get<std::string>().size(), 64U);
    }
  }
  EXPECT_THAT(run({"models"}).out, ContainsRegex("embedder.*missing"));
}

TEST_F(ModelFiles, OfTheWrongSizeOrContentAreFound) {
  const auto files = one_json(run({"models", "--json"}).out);
  const std::filesystem::path first = files[0]["path"].get<std::string>();
  std::filesystem::create_directories(first.parent_path());
  write(first, "short");
  EXPECT_EQ(one_json(run({"models", "--json"}).out)[0]["state"], "wrong size");
  std::filesystem::resize_file(first, files[0]["bytes"].get<std::uintmax_t>());
  EXPECT_EQ(one_json(run({"models", "--json", "verify"}).out)[0]["state"], "wrong digest");
}

/// With the real models linked into the test's own POLYGRAPH_DIR.
class WithModels : public ProgramTest {
 protected:
  void SetUp() override {
    const char* given = std::getenv("POLYGRAPH_TEST_MODELS");
    const char* home = std::getenv("HOME");
    const std::filesystem::path models = given != nullptr ? given : std::filesystem::path(home != nullptr ? home : "") / ".cache" / "polygraph" / "models";
    distribution_ = std::string(POLYGRAPH_SOURCE_DIR) + "/dist";
    if (!std::filesystem::is_directory(models)) GTEST_SKIP() << "no models in " << models << ": polygraph models fetch";
    if (!std::filesystem::exists(distribution_ + "/model-worker.mjs")) GTEST_SKIP() << "no model worker: ./polygraph build";
    std::filesystem::create_directories(folder() / "home");
    std::filesystem::create_directory_symlink(models, folder() / "home" / "models");
    const auto status = run({"models"}).status;
    if (status == 1) GTEST_SKIP() << "models are missing in " << models << ": polygraph models fetch";
    ASSERT_EQ(status, 0);
  }

  Surroundings with(const std::string& input = {}) const { return {.input = input, .environment = {{"POLYGRAPH_DIST", distribution_}}}; }

  std::string index() {
    const auto file = (folder() / "vectors.polygraph").string();
    const auto built = run({"index", "--json", "--corpus", "dir:" + handbook(), "--out", file}, with());
    EXPECT_EQ(built.status, 0) << built.err;
    return file;
  }

  std::string distribution_;
};

TEST_F(WithModels, AQuestionIsAnsweredFromAllStagesAndReplaysIdentically) {
  const auto file = index();
  const auto asked = run({"ask", "--json", "--index", file, "How do I make the boat fast in a storm?"}, with());
  ASSERT_EQ(asked.status, 0) << asked.err;
  EXPECT_THAT(asked.err, IsEmpty());
  const auto trace = one_json(asked.out);
  EXPECT_EQ(schema_errors(trace), "");
  for (const auto* stage : {"lexical", "dense", "rerank"}) EXPECT_EQ(trace.at("stages").at(stage), "used");
  EXPECT_EQ(run({"replay", "-"}, with(asked.out)).status, 0);
  const auto engine = distribution_ + "/engine/polygraph-engine.mjs";
  if (std::filesystem::exists(engine)) {
    EXPECT_EQ(run({"replay", "--engine", "wasm", "-"}, with(asked.out)).status, 0);
  }

  // Another retrieval from step 1 on asks the models for what the trace lacks, and is a trace that replays.
  const auto forked = run({"replay", "--fork", "1", "--set", "RERANK_CANDIDATES=2", "-"}, with(asked.out));
  ASSERT_EQ(forked.status, 0) << forked.err;
  EXPECT_EQ(schema_errors(one_json(forked.out)), "");
  EXPECT_EQ(run({"replay", "-"}, with(forked.out)).status, 0);
}

TEST_F(WithModels, AnIndexOfAnotherModelIsRefusedWithBothDigests) {
  const auto bytes = tests::small_index();
  const auto file = write("other model.polygraph", {reinterpret_cast<const char*>(bytes.data()), bytes.size()}).string();
  for (const auto* command : {"ask", "search"}) {
    const auto refused = run({command, "--index", file, "lights"}, with());
    EXPECT_EQ(refused.status, 3);
    EXPECT_THAT(refused.out, IsEmpty());
    EXPECT_THAT(refused.err, HasSubstr("SHA-256 00ff"));
    EXPECT_THAT(refused.err, ContainsRegex("has [0-9a-f]{64}"));
  }
}

TEST_F(WithModels, ABadSettingOfTheWorkerIsWrongUseAndNoReasonToGoOnWithoutIt) {
  const auto file = index();
  auto here = with();
  here.environment.emplace("POLYGRAPH_THREADS", "many");
  const auto refused = run({"ask", "--index", file, "soup"}, here);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("POLYGRAPH_THREADS"));
}

TEST_F(WithModels, WithoutTheWorkerAnswersGoOnLexicallyAndSayWhy) {
  const auto file = index();
  auto here = with();
  here.environment.emplace("POLYGRAPH_NODE", "/nowhere/node");
  const auto asked = run({"ask", "--json", "--index", file, "fish soup"}, here);
  EXPECT_EQ(asked.status, 0);
  EXPECT_THAT(asked.err, StartsWith("note: answering from lexical search alone"));
  EXPECT_EQ(lines(asked.err).size(), 1U);
  const auto trace = one_json(asked.out);
  EXPECT_NE(trace.at("stages").at("dense"), "used");
  EXPECT_EQ(schema_errors(trace), "");
}

TEST_F(WithModels, AnInterruptedBuildExitsWith130AndTheNextGoesOnFromThere) {
  std::string page = "# Log\n";
  for (int day = 0; day < 600; ++day) {
    page += "\n## Day " + std::to_string(day) + "\n\n";
    for (int hour = 0; hour < 24; ++hour) page += "At " + std::to_string(hour * day % 97) + " the watch wrote wind and depth. ";
  }
  write("long/log.md", page);
  const auto out = (folder() / "long.polygraph").string();
  const std::vector<std::string> arguments{"index", "--json", "--corpus", "dir:" + (folder() / "long").string(), "--out", out};
  auto building = start(arguments, with());
  ASSERT_TRUE(building->wait_for_lines(2, true, std::chrono::seconds(120))) << building->err();
  building->signal(SIGINT);
  const auto interrupted = building->wait();
  EXPECT_EQ(interrupted.status, 130);
  EXPECT_THAT(interrupted.out, IsEmpty());
  EXPECT_THAT(interrupted.err, HasSubstr("goes on from there"));
  EXPECT_FALSE(std::filesystem::exists(out));

  building = start(arguments, with());
  ASSERT_TRUE(building->wait_for_lines(1, true, std::chrono::seconds(120)));
  const auto line = building->err();
  EXPECT_THAT(line, ContainsRegex("embedding .*: [1-9][0-9]* of ")) << "it began at nought again";
}

}  // namespace
}  // namespace polygraph::cli::test
