// `record`: one file for each example question, and the check that they still fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "proxy/recordings/recordings.hpp"
#include "scripted_upstream.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Record : public ProgramTest {
 protected:
  std::string examples(const std::vector<std::vector<std::string>>& groups = {{"At what temperature is the fish soup kept?"}, {"Red lamp?"}}) {
    auto document = nlohmann::json{{"kind", "examples"}, {"groups", nlohmann::json::array()}};
    for (const auto& questions : groups) document["groups"].push_back({{"questions", questions}});
    return write("examples.json", document.dump()).string();
  }
  Outcome record(std::vector<std::string> more = {}, const Surroundings& surroundings = {}) {
    more.insert(more.begin(), {"record", "--index", lexical_index(), "--examples", (folder() / "examples.json").string(), "--out", out().string()});
    return run(more, surroundings);
  }
  std::filesystem::path out() const { return folder() / "recorded runs"; }
};

TEST_F(Record, WritesOneFileAQuestionThatFollowsItsSchemaAndLoads) {
  examples();
  const auto recorded = record();
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const auto loaded = proxy::Recordings::load(out());
  ASSERT_TRUE(loaded.has_value());
  EXPECT_THAT(loaded->warnings(), IsEmpty());
  ASSERT_EQ(loaded->all().size(), 2U);
  for (const auto& recording : loaded->all()) {
    const auto document = nlohmann::json::parse(recording.file);
    EXPECT_EQ(schema_errors(document, "recording"), "");
    EXPECT_EQ(schema_errors(document.at("trace")), "");
    EXPECT_THAT(recording.made_by, HasSubstr("polygraph record"));
    EXPECT_THAT(recording.made_by, HasSubstr("provider extractive"));
    EXPECT_EQ(recording.generator, "extractive");
    EXPECT_THAT(recording.file, Not(HasSubstr("\"passages\"")));
    EXPECT_EQ(recording.recorded_at, document.at("trace").at("started_at"));
  }
  const auto* soup = loaded->find("at-what-temperature-is-the-fish-soup-kept");
  ASSERT_NE(soup, nullptr);
  const auto trace = write("trace.json", soup->trace);
  EXPECT_EQ(run({"replay", trace.string(), "--index", lexical_index()}).status, 0) << "a recording's trace replays";
}

TEST_F(Record, QuestionsWithoutLatinLettersAndLongOnesGetIdsOfTheirOwn) {
  const std::string longest(200, 'w');
  examples({{"\xE9\x8C\xA8\xE3\x81\xAF\xEF\xBC\x9F", "\xE6\xB8\xAF\xE3\x81\xAF\xEF\xBC\x9F", longest + " one", longest + " two", "Red lamp?", "red  LAMP"}});
  const auto recorded = record();
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const auto loaded = proxy::Recordings::load(out());
  EXPECT_EQ(loaded->all().size(), 5U) << "two spellings of one question are one";
  EXPECT_THAT(loaded->warnings(), IsEmpty());
}

TEST_F(Record, CheckPassesOverFreshOnesAndNamesTheMissingTheStaleAndTheBroken) {
  examples();
  ASSERT_EQ(record().status, 0);
  EXPECT_EQ(record({"--check"}).status, 0);

  examples({{"At what temperature is the fish soup kept?"}, {"Red lamp?"}, {"How many stern lines?"}});
  write("recorded runs/broken.json", "{");
  auto stale = nlohmann::ordered_json::parse(std::ifstream(out() / "red-lamp.json"));
  stale["index_digest"] = "xxh128:" + std::string(32, '0');
  write("recorded runs/red-lamp.json", stale.dump());
  const auto checked = record({"--check"});
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.err, HasSubstr("missing: \"How many stern lines?\""));
  EXPECT_THAT(checked.err, HasSubstr("stale: red-lamp.json"));
  EXPECT_THAT(checked.err, HasSubstr("broken: broken.json"));
  EXPECT_THAT(checked.err, Not(HasSubstr("soup")));
  const auto findings = one_json(record({"--check", "--json"}).out);
  EXPECT_EQ(findings["stale"], nlohmann::json::array({"red-lamp"}));
  EXPECT_EQ(record({"--check"}).status, 1) << "checking changes nothing";
}

TEST_F(Record, CheckOfAMissingFolderCannotBeRead) {
  examples();
  EXPECT_EQ(record({"--check"}).status, 3);
}

TEST_F(Record, LabelsWhatAProviderMadeAndKeepsWhatWasFinishedBeforeTheQuotaWasSpent) {
  proxy::testing::ScriptedUpstream server;
  server.next({"answer", "text:65 degrees. [galley/soup#000]", "limited_rpd:60"});
  examples();
  const auto recorded = record({"--provider", "openai-compatible"},
                               {.environment = {{"OPENAI_BASE_URL", server.plain_url()}, {"GENERATOR_MODEL", "big"}, {"GRADER_MODEL", "small"}}});
  EXPECT_EQ(recorded.status, 4);
  EXPECT_THAT(recorded.err, HasSubstr("1 of 2 recordings written"));
  const auto loaded = proxy::Recordings::load(out());
  ASSERT_EQ(loaded->all().size(), 1U);
  const auto& recording = loaded->all().front();
  EXPECT_THAT(recording.made_by, HasSubstr("provider openai-compatible, generator big, grader small, rewriter big"));
  EXPECT_EQ(recording.generator, "big");
  EXPECT_EQ(recording.grader, "small");
  EXPECT_EQ(schema_errors(nlohmann::json::parse(recording.file), "recording"), "");
}

TEST_F(Record, RefusesExamplesThatAreNoneNamingTheField) {
  for (const auto& [text, field] : std::map<std::string, std::string>{{"{", "is not JSON"},
                                                                      {"[]", "groups"},
                                                                      {R"({"groups": [{"questions": "one"}]})", "groups[0].questions"},
                                                                      {R"({"groups": [{"questions": ["a", 1]}]})", "groups[0].questions[1]"},
                                                                      {R"({"groups": []})", "groups"}}) {
    write("examples.json", text);
    const auto refused = record();
    EXPECT_EQ(refused.status, 3) << text;
    EXPECT_THAT(refused.err, HasSubstr("examples.json"));
    EXPECT_THAT(refused.err, HasSubstr(field));
  }
  EXPECT_EQ(run({"record", "--provider", "oracle"}).status, 2);
  EXPECT_EQ(run({"record", "--provider", "proxy"}).status, 2);
}

// The recordings that come with the project, held to the engine as it is now: whoever changes a decision records again.
TEST_F(Record, TheShippedRecordingsFollowTheSchemaAndReplayIdentically) {
  const auto shipped = proxy::Recordings::load(std::filesystem::path(POLYGRAPH_SOURCE_DIR) / "assets" / "recordings");
  ASSERT_TRUE(shipped.has_value()) << shipped.error().message;
  EXPECT_THAT(shipped->warnings(), IsEmpty());
  EXPECT_EQ(shipped->all().size(), 12U);
  for (const auto& recording : shipped->all()) EXPECT_EQ(schema_errors(nlohmann::json::parse(recording.file), "recording"), "") << recording.id;

  const char* index = std::getenv("POLYGRAPH_TEST_INDEX");
  if (index == nullptr || !std::filesystem::exists(index)) GTEST_SKIP() << "needs the index of the default corpus (POLYGRAPH_TEST_INDEX)";
  const auto digest = nlohmann::json::parse(run({"index", "info", index, "--json"}).out).at("digest");
  for (const auto& recording : shipped->all()) {
    if (recording.index_digest != digest) GTEST_SKIP() << "the default corpus is another edition than the recordings': `polygraph record` makes them again";
    const auto replayed = run({"replay", write("trace.json", recording.trace).string(), "--index", index});
    EXPECT_EQ(replayed.status, 0) << recording.id << ": " << replayed.out << replayed.err;
  }
}

}  // namespace
}  // namespace polygraph::cli::test
