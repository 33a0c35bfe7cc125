// What holds for every command: help, mistakes, settings, and what a shell may do to stdout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Terminal = ProgramTest;

class EveryCommand : public ProgramTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static std::vector<std::string> words() {
    std::istringstream stream(GetParam());
    std::vector<std::string> all;
    for (std::string word; stream >> word;) all.push_back(word);
    return all;
  }
};

TEST_P(EveryCommand, ExplainsItselfWithAnExample) {
  auto arguments = words();
  arguments.push_back("--help");
  const auto help = run(arguments);
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, ContainsRegex("Examples?:\n.*polygraph " + arguments.front()));
  EXPECT_THAT(help.err, IsEmpty());
}

TEST_P(EveryCommand, RefusesAnUnknownOptionByName) {
  auto arguments = words();
  arguments.push_back("--frobnicate");
  const auto refused = run(arguments);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, HasSubstr("--frobnicate"));
  EXPECT_THAT(refused.err, HasSubstr("--help"));
}

INSTANTIATE_TEST_SUITE_P(Commands, EveryCommand,
                         ::testing::Values("index", "index info", "index check", "search", "ask", "replay", "models", "models list", "models fetch",
                                           "models verify", "config", "serve"),
                         [](const auto& command) {
                           std::string name = command.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST_F(Terminal, AnUnknownCommandIsNamedWithThoseThatThereAre) {
  const auto refused = run({"anwser"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("\"anwser\""));
  EXPECT_THAT(refused.err, HasSubstr("ask, "));
}

TEST_F(Terminal, WithoutACommandItIsWrongUse) {
  const auto refused = run({});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, HasSubstr("--help"));
}

TEST_F(Terminal, PrintsItsVersion) {
  const auto version = run({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, ContainsRegex("^[0-9]+\\.[0-9]+\\.[0-9]+\n$"));
}

TEST_F(Terminal, NoEscapeSequencesGoIntoFilesAndPipes) {
  const auto index = lexical_index();
  for (const auto& environment : {std::map<std::string, std::string>{}, {{"NO_COLOR", "1"}}}) {
    const auto searched = run({"search", "--index", index, "soup"}, {.environment = environment});
    EXPECT_EQ(searched.status, 0);
    EXPECT_THAT(searched.out + searched.err, Not(HasSubstr("\x1b")));
  }
}

TEST_F(Terminal, AFullDiskUnderStdoutIsReported) {
  const auto index = lexical_index();
  for (const auto& arguments : {std::vector<std::string>{"search", "--index", index, "soup"}, {"ask", "--json", "--index", index, "soup"},
                                {"index", "info", index}, {"config", "--json"}, {"ask", "--help"}}) {
    const auto failed = run(arguments, {.stdout_path = "/dev/full"});
    EXPECT_EQ(failed.status, 3) << arguments.front();
    EXPECT_THAT(failed.err, HasSubstr("stdout: can't write: No space left on device"));
  }
}

TEST_F(Terminal, AReaderThatLeftEndsTheWorkWithoutAWord) {
  std::string questions;
  for (int i = 0; i < 20'000; ++i) questions += "soup\n";
  const auto ended = run({"search", "--json", "--mode", "bm25", "--no-rerank", "--index", lexical_index()},
                         {.input = questions, .stdout_kind = Surroundings::Stdout::pipe_without_reader});
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, IsEmpty());
}

TEST_F(Terminal, AReaderThatLeftDoesNotTurnAFailedCheckIntoASuccess) {
  const auto broken = write("broken.polygraph", "no index").string();
  EXPECT_EQ(run({"index", "check", "--json", broken}, {.stdout_kind = Surroundings::Stdout::pipe_without_reader}).status, 1);
}

TEST_F(Terminal, AClosedStdoutIsReportedAndNoFileTakesItsPlace) {
  const auto index = lexical_index();
  const auto before = read(index);
  const auto failed = run({"search", "--index", index, "soup"}, {.stdout_kind = Surroundings::Stdout::closed});
  EXPECT_EQ(failed.status, 3);
  EXPECT_THAT(failed.err, HasSubstr("stdout: can't write"));
  const auto second = (folder() / "second.polygraph").string();
  run({"index", "--lexical", "--json", "--corpus", "dir:" + handbook(), "--out", second}, {.stdout_kind = Surroundings::Stdout::closed});
  EXPECT_EQ(read(second), before) << "the report went into the index";
}

TEST_F(Terminal, ControlCharactersOfACorpusDoNotReachTheTerminal) {
  write("evil/page.md", "# Page\n\nSoup \x1b]0;owned\x07 and \xe2\x80\xae reversed text about soup in the galley.\n");
  const auto index = (folder() / "evil.polygraph").string();
  ASSERT_EQ(run({"index", "--lexical", "--corpus", "dir:" + (folder() / "evil").string(), "--out", index}).status, 0);
  for (const auto* command : {"search", "ask"}) {
    const auto shown = run({command, "--index", index, "soup"});
    EXPECT_EQ(shown.status, 0);
    EXPECT_THAT(shown.out + shown.err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(shown.out + shown.err, Not(HasSubstr("\xe2\x80\xae")));
  }
}

// --- settings ---------------------------------------------------------------------------------------------------------

using Config = ProgramTest;

TEST_F(Config, NamesTheSourceOfEverySetting) {
  write(".env", "\xef\xbb\xbf# a comment\r\n\r\nMAX_REWRITES=1\r\nexport TOP_K=\"3\"\r\n");
  const auto shown = run({"config", "--json", "--set", "FUSION=rrf"}, {.environment = {{"TOP_K", "6"}}});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.err, IsEmpty());
  const auto config = one_json(shown.out);
  EXPECT_EQ(config["FUSION"], (nlohmann::json{{"value", "rrf"}, {"source", "option"}}));
  EXPECT_EQ(config["TOP_K"], (nlohmann::json{{"value", "6"}, {"source", "environment"}}));
  EXPECT_EQ(config["MAX_REWRITES"], (nlohmann::json{{"value", "1"}, {"source", ".env"}}));
  EXPECT_EQ(config["PAGE_CAP"]["source"], "tuned");
}

TEST_F(Config, PrintsOneSettingALineForPeople) {
  const auto shown = run({"config"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.out, ContainsRegex("TOP_K +tuned +4\n"));
}

TEST_F(Config, ABadValueNamesSettingSourceAndWhatIsAllowed) {
  const auto refused = run({"config"}, {.environment = {{"RETRIEVAL_MODE", "psychic"}}});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, HasSubstr("RETRIEVAL_MODE (environment)"));
  EXPECT_THAT(refused.err, HasSubstr("bm25"));
}

TEST_F(Config, UnknownSettingsAndPresetsAreRefusedWithThoseThatThereAre) {
  for (const auto& arguments : {std::vector<std::string>{"--set", "TOPK=3"}, {"--set", "TOP_K"}, {"--set", "TOP_K=-1"}, {"--set", "TOP_K=4.5"},
                                {"--set", "TOP_K="}, {"--set", "=4"}, {"--config", "tunde"}}) {
    auto call = arguments;
    call.insert(call.begin(), "config");
    const auto refused = run(call);
    EXPECT_EQ(refused.status, 2) << arguments.back();
    EXPECT_THAT(refused.err, HasSubstr("error: ")) << arguments.back();
  }
  EXPECT_THAT(run({"config", "--set", "TOPK=3"}).err, HasSubstr("TOP_K"));
  EXPECT_THAT(run({"config", "--config", "tunde"}).err, HasSubstr("tuned"));
}

TEST_F(Config, ALineOfTheEnvFileThatIsNoneIsNamedByFileAndLine) {
  write(".env", "TOP_K=3\nthis is no setting\n");
  const auto refused = run({"config"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr(".env:2: expected NAME=value"));
}

TEST_F(Config, AValueThatIsNotUtf8StillGivesJson) {
  const auto shown = run({"config", "--json"}, {.environment = {{"POLYGRAPH_INDEX", "caf\xe9.polygraph"}}});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_EQ(one_json(shown.out)["POLYGRAPH_INDEX"]["value"], "caf\xef\xbf\xbd.polygraph");
}

}  // namespace
}  // namespace polygraph::cli::test
