// `ask`: answers, refusals, traces, and questions that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"
#include "wasm/agent/agent.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* answerable = "At what temperature is the fish soup kept?";
constexpr const char* unanswerable = "How do I refund a cancelled train ticket in Kyoto?";

class Ask : public ProgramTest {
 protected:
  Outcome ask(std::vector<std::string> arguments, const Surroundings& surroundings = {}) {
    arguments.insert(arguments.begin(), {"ask", "--index", lexical_index()});
    return run(arguments, surroundings);
  }
};

TEST_F(Ask, AnswersWithACitationAndItsPage) {
  const auto asked = ask({answerable});
  ASSERT_EQ(asked.status, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("65 degrees. [galley/soup#000]"));
  EXPECT_THAT(asked.out, HasSubstr("[galley/soup#000] Soup"));
}

TEST_F(Ask, ShowsEachStepOnStderrOnceItIsDone) {
  const auto asked = ask({answerable});
  EXPECT_THAT(asked.err, ContainsRegex(" ms  retrieve .*candidate"));
  EXPECT_THAT(asked.err, ContainsRegex(" ms  grade_context relevant"));
  EXPECT_THAT(asked.err, ContainsRegex(" ms  generate .*1 passage cited"));
}

TEST_F(Ask, ARefusalIsAnAnswerTooAndExitsWithZero) {
  const auto asked = ask({"--json", unanswerable});
  EXPECT_EQ(asked.status, 0) << asked.err;
  const auto trace = one_json(asked.out);
  EXPECT_EQ(trace["status"], "refused");
  EXPECT_EQ(trace["steps"].back()["node"], "refuse");
  EXPECT_EQ(schema_errors(trace), "");
}

TEST_F(Ask, GivesTheTraceAsOneLineThatFollowsItsSchema) {
  const auto asked = ask({"--json", answerable});
  ASSERT_EQ(asked.status, 0);
  EXPECT_EQ(lines(asked.out).size(), 1U);
  const auto trace = one_json(asked.out);
  EXPECT_EQ(schema_errors(trace), "");
  EXPECT_EQ(trace["question"], answerable);
  EXPECT_EQ(trace["status"], "answered");
}

TEST_F(Ask, SaysOnceThatItIsLexicalAndPutsTheReasonIntoTheTrace) {
  const auto asked = ask({"--json"}, {.input = std::string(answerable) + "\n" + unanswerable + "\n"});
  ASSERT_EQ(asked.status, 0);
  EXPECT_EQ(lines(asked.err).size(), 1U) << asked.err;
  EXPECT_THAT(asked.err, HasSubstr("note: answering from lexical search alone"));
  for (const auto& trace : json_lines(asked.out)) {
    EXPECT_EQ(trace.at("stages").at("lexical"), "used");
    EXPECT_THAT(trace.at("stages").at("dense").get<std::string>(), HasSubstr("no vectors"));
    EXPECT_EQ(schema_errors(trace), "");
  }
}

TEST_F(Ask, PutsPassagesIntoTheTraceOnlyWhenAsked) {
  const auto has_passages = [](const Outcome& asked) { return one_json(asked.out).dump().find("\"passages\"") != std::string::npos; };
  EXPECT_FALSE(has_passages(ask({"--json", answerable})));
  const auto asked = ask({"--json", "--with-text", answerable});
  EXPECT_TRUE(has_passages(asked));
  EXPECT_EQ(schema_errors(one_json(asked.out)), "");
  EXPECT_EQ(ask({"--with-text", answerable}).status, 2) << "it only makes sense with --json";
}

TEST_F(Ask, TakesOneQuestionALineWithCrLfAndByteOrderMark) {
  const auto asked = ask({"--json", "-"}, {.input = "\xef\xbb\xbfIs soup served at noon?\r\n\r\nWhat does a red lamp mean?"});
  ASSERT_EQ(asked.status, 0) << asked.err;
  const auto traces = json_lines(asked.out);
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0]["question"], "Is soup served at noon?");
  EXPECT_EQ(traces[1]["question"], "What does a red lamp mean?");
}

TEST_F(Ask, RunsUnderThePresetAndTheSettingsGiven) {
  const auto asked = ask({"--json", "--config", "full", "--set", "TOP_K=2", "--set", "max_rewrites=0", answerable}, {.environment = {{"TOP_K", "3"}}});
  ASSERT_EQ(asked.status, 0) << asked.err;
  const auto config = one_json(asked.out)["config"];
  EXPECT_EQ(config["top_k"], 2);
  EXPECT_EQ(config["max_rewrites"], 0);
  EXPECT_EQ(config["fusion"], "rrf");
}

TEST_F(Ask, RefusesAQuestionThatIsEmpty) {
  for (const auto* question : {"", " \t\r\n "}) {
    const auto refused = ask({question});
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.out, IsEmpty());
    EXPECT_THAT(refused.err, HasSubstr("empty"));
  }
  const auto nothing = ask({}, {.input = "\r\n\n"});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.err, HasSubstr("stdin: holds no question"));
}

TEST_F(Ask, RefusesAQuestionOf100KilobytesSayingHowManyAreTaken) {
  const std::string question(100 * 1024, 'w');
  for (const auto& refused : {ask({question}), ask({}, {.input = question})}) {
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.out, IsEmpty());
    EXPECT_THAT(refused.err, HasSubstr(std::to_string(agent::max_question_bytes)));
    EXPECT_LT(refused.err.size(), 2000U) << "the question itself is not repeated";
  }
}

TEST_F(Ask, TakesAQuestionOfTheGreatestLength) {
  std::string question = answerable;
  question.resize(agent::max_question_bytes, 'w');
  EXPECT_EQ(ask({"--json", question}).status, 0);
}

TEST_F(Ask, RefusesAQuestionThatIsNotUtf8NamingTheByte) {
  const auto refused = ask({"caf\xe9 opens?"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, HasSubstr("3"));
  const auto line = ask({}, {.input = std::string("soup?\ncaf\xe9 opens?\n")});
  EXPECT_EQ(line.status, 3);
  EXPECT_THAT(line.err, HasSubstr("stdin:2"));
}

TEST_F(Ask, AQuestionOfSeveralUnquotedWordsIsWrongUse) {
  const auto refused = ask({"how", "warm", "is", "soup"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.out, IsEmpty());
}

TEST_F(Ask, AProviderThatThisProgramLacksFailsAndSaysWhichToUse) {
  const auto failed = ask({"--json", "--set", "PROVIDER=proxy", answerable});
  EXPECT_EQ(failed.status, 5);
  EXPECT_THAT(failed.err, HasSubstr("PROVIDER=extractive"));
  const auto trace = one_json(failed.out);
  EXPECT_EQ(trace["status"], "failed");
  EXPECT_EQ(schema_errors(trace), "");
}

}  // namespace
}  // namespace polygraph::cli::test
