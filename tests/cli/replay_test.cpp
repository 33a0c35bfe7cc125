// `replay`: identical, diverged, forked, and traces that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* question = "When is fish soup served?";

class Replay : public ProgramTest {
 protected:
  std::string trace(const std::string& asked = question) {
    const auto done = run({"ask", "--json", "--index", lexical_index(), asked});
    EXPECT_EQ(done.status, 0) << done.err;
    return done.out;
  }
};

TEST_F(Replay, OfWhatAskPrintedIsIdenticalWithoutNamingTheIndex) {
  const auto replayed = run({"replay", "-"}, {.input = trace()});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.out, StartsWith("identical: run-"));
}

TEST_F(Replay, GivesOneJsonVerdictPerTraceOfAFileOfLines) {
  const auto file = write("my traces.jsonl", "\xef\xbb\xbf" + trace() + "\r\n" + trace("How many moorings has Kyoto?")).string();
  const auto replayed = run({"replay", "--json", file});
  ASSERT_EQ(replayed.status, 0) << replayed.err;
  const auto verdicts = json_lines(replayed.out);
  ASSERT_EQ(verdicts.size(), 2U);
  for (const auto& verdict : verdicts) {
    EXPECT_EQ(verdict["identical"], true);
    EXPECT_EQ(verdict["engine"], "native");
  }
}

TEST_F(Replay, TakesATraceThatWasLaidOutOverLines) {
  const auto laid_out = nlohmann::ordered_json::parse(trace()).dump(2);
  EXPECT_EQ(run({"replay", "-"}, {.input = laid_out}).status, 0);
}

TEST_F(Replay, OfAQuestionWithEveryKindOfCharacterIsIdentical) {
  for (const std::string& asked : {std::string("soup \"quoted\" \\ back\tslash?"), std::string("Käse 錨 \xf0\x9f\x8d\xb2 soup?"),
                                   std::string("soup \x1b[31m red \x7f?")}) {
    const auto replayed = run({"replay", "-"}, {.input = trace(asked)});
    EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
  }
}

TEST_F(Replay, OfAnEditedTraceExitsWithOneAndNamesTheFirstDifferingEffect) {
  auto edited = nlohmann::ordered_json::parse(trace());
  auto& effect = edited["steps"][1]["effects"][0];
  effect["digest"] = "xxh128:00000000000000000000000000000000";
  const auto replayed = run({"replay", "-"}, {.input = edited.dump()});
  EXPECT_EQ(replayed.status, 1) << replayed.err;
  EXPECT_THAT(replayed.out, StartsWith("diverged: run-"));
  EXPECT_THAT(replayed.out, HasSubstr("step 2"));
  EXPECT_THAT(replayed.out, HasSubstr("effect " + std::to_string(effect["id"].get<int>())));
  const auto verdict = one_json(run({"replay", "--json", "-"}, {.input = edited.dump()}).out);
  EXPECT_EQ(verdict["identical"], false);
  EXPECT_EQ(verdict["step"], 2);
  EXPECT_EQ(verdict["effect"], effect["id"]);
}

TEST_F(Replay, OfAnEditedAnswerOrDecisionDiverges) {
  const auto original = nlohmann::ordered_json::parse(trace());
  auto answer = original;
  answer["answer"] = "Soup is served at midnight. [galley/soup#000]";
  EXPECT_EQ(run({"replay", "-"}, {.input = answer.dump()}).status, 1);
  auto decision = original;
  decision["steps"][1]["data"]["relevant"] = false;
  EXPECT_EQ(run({"replay", "-"}, {.input = decision.dump()}).status, 1);
}

TEST_F(Replay, OneDivergedTraceAmongOthersStillExitsWithOne) {
  auto edited = nlohmann::ordered_json::parse(trace());
  edited["answer"] = "No.";
  const auto replayed = run({"replay", "--json", "-"}, {.input = edited.dump() + "\n" + trace()});
  EXPECT_EQ(replayed.status, 1);
  ASSERT_EQ(json_lines(replayed.out).size(), 2U);
  EXPECT_EQ(json_lines(replayed.out)[1]["identical"], true);
}

TEST_F(Replay, OverAnotherIndexIsUnreadableAndNamesBothDigests) {
  const auto recorded = trace();
  write("other/page.md", "# Other\n\nA page about something else, long enough to be a passage of its own.\n");
  const auto other = (folder() / "other.polygraph").string();
  const auto built = run({"index", "--lexical", "--json", "--corpus", "dir:" + (folder() / "other").string(), "--out", other});
  ASSERT_EQ(built.status, 0) << built.err;
  const auto refused = run({"replay", "--index", other, "-"}, {.input = recorded});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, HasSubstr(one_json(recorded)["index_digest"].get<std::string>()));
  EXPECT_THAT(refused.err, HasSubstr(one_json(built.out)["digest"].get<std::string>()));
}

TEST_F(Replay, OfAnIndexThatIsNotKnownHereAsksForItByDigest) {
  const auto recorded = trace();
  const auto refused = run({"replay", "-"}, {.input = recorded, .environment = {{"POLYGRAPH_DIR", (folder() / "elsewhere").string()}}});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr(one_json(recorded)["index_digest"].get<std::string>()));
  EXPECT_THAT(refused.err, HasSubstr("--index"));
}

TEST_F(Replay, RefusesWhatIsNoTraceNamingFileLineAndField) {
  auto lacking = nlohmann::ordered_json::parse(trace());
  lacking.erase("question");
  const std::vector<std::string> inputs{"", "\n\n", "not JSON", "[]", "{}", "null", "3", trace().substr(0, 900), lacking.dump(), std::string(100'000, '[')};
  for (const auto& input : inputs) {
    const auto refused = run({"replay", "-"}, {.input = input});
    EXPECT_EQ(refused.status, 3) << input.substr(0, 60);
    EXPECT_THAT(refused.out, IsEmpty());
    EXPECT_THAT(refused.err, HasSubstr("error: stdin"));
    EXPECT_LT(refused.err.size(), 2000U);
  }
  EXPECT_THAT(run({"replay", "-"}, {.input = lacking.dump()}).err, HasSubstr("question"));
  const auto second = write("second.jsonl", trace() + "{\"kind\": \"trace\"}\n").string();
  EXPECT_THAT(run({"replay", second}).err, HasSubstr(second + ":2"));
  EXPECT_EQ(run({"replay", (folder() / "nowhere.json").string()}).status, 3);
}

TEST_F(Replay, OfATraceThatWasMadeHostileIsUnreadable) {
  const auto original = nlohmann::ordered_json::parse(trace());
  auto empty = original, long_digest = original, path = original, huge = original;
  empty["question"] = "";
  long_digest["index_digest"] = std::string(100'000, 'x');
  path["index_digest"] = "xxh128:../../../../../../../etc/passwd";
  huge["config"]["top_k"] = 1'000'000'000;
  for (const auto& hostile : {empty, long_digest, path, huge}) {
    const auto refused = run({"replay", "-"}, {.input = hostile.dump()});
    EXPECT_EQ(refused.status, 3) << refused.err.substr(0, 300);
    EXPECT_THAT(refused.out, IsEmpty());
    EXPECT_LT(refused.err.size(), 1000U);
  }
  EXPECT_EQ(run({"replay", ""}).status, 3);
}

// --- forks ------------------------------------------------------------------------------------------------------------

TEST_F(Replay, AForkIsATraceOfItsOwnThatReplaysToo) {
  const auto forked = run({"replay", "--fork", "2", "--set", "USE_REFLECTION=false", "-"}, {.input = trace()});
  ASSERT_EQ(forked.status, 0) << forked.err;
  const auto document = one_json(forked.out);
  EXPECT_EQ(schema_errors(document), "");
  EXPECT_EQ(document["config"]["use_reflection"], false);
  EXPECT_FALSE(document["forked_from"].empty());
  const auto replayed = run({"replay", "-"}, {.input = forked.out});
  EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
}

TEST_F(Replay, AForkThatFailsExitsAsAFailedRunDoes) {
  const auto forked = run({"replay", "--fork", "1", "--set", "PROVIDER=proxy", "-"}, {.input = trace()});
  EXPECT_EQ(forked.status, 5);
  EXPECT_EQ(one_json(forked.out)["status"], "failed");
  EXPECT_THAT(forked.err, HasSubstr("PROVIDER=extractive"));
}

TEST_F(Replay, AForkOfAStepThatTheTraceLacksIsRefused) {
  const auto recorded = trace();
  for (const auto* step : {"0", "99", "two"}) {
    const auto refused = run({"replay", "--fork", step, "-"}, {.input = recorded});
    EXPECT_EQ(refused.status, 2) << step;
    EXPECT_THAT(refused.out, IsEmpty());
  }
  EXPECT_EQ(run({"replay", "--set", "TOP_K=2", "-"}, {.input = recorded}).status, 2) << "--set without --fork changes nothing";
  EXPECT_EQ(run({"replay", "--fork", "1", "--set", "TOP_K=none", "-"}, {.input = recorded}).status, 2);
}

// --- WebAssembly ------------------------------------------------------------------------------------------------------

TEST_F(Replay, InWebAssemblyIsIdenticalToo) {
  const std::filesystem::path distribution = std::string(POLYGRAPH_SOURCE_DIR) + "/dist";
  if (!std::filesystem::exists(distribution / "replay.mjs") || !std::filesystem::exists(distribution / "engine" / "polygraph-engine.mjs")) {
    GTEST_SKIP() << "the engine is not built: ./polygraph build";
  }
  const Surroundings here{.input = trace(), .environment = {{"POLYGRAPH_DIST", distribution.string()}}};
  const auto replayed = run({"replay", "--engine", "wasm", "--json", "-"}, here);
  ASSERT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(one_json(replayed.out)["identical"], true);
  EXPECT_EQ(one_json(replayed.out)["engine"], "wasm");
  auto edited = nlohmann::ordered_json::parse(here.input);
  edited["answer"] = "No.";
  EXPECT_EQ(run({"replay", "--engine", "wasm", "-"}, {.input = edited.dump(), .environment = here.environment}).status, 1);
}

TEST_F(Replay, InWebAssemblySaysWhatIsMissing) {
  const auto refused = run({"replay", "--engine", "wasm", "-"}, {.input = trace(), .environment = {{"POLYGRAPH_DIST", (folder() / "none").string()}}});
  EXPECT_EQ(refused.status, 5);
  EXPECT_THAT(refused.err, HasSubstr("./polygraph build"));
}

}  // namespace
}  // namespace polygraph::cli::test
