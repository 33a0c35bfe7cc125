// `polygraph gaps` as people and scripts meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GapsCommand : public ProgramTest {
 protected:
  /// Traces of questions that the handbook does not answer, and of one that it does.
  std::string traces() {
    const auto asked = run({"ask", "--index", lexical_index(), "--json"},
                           {.input = "How do I refund a cancelled train ticket in Kyoto?\nhow do I refund a cancelled train ticket in Kyoto\nRefund for a cancelled train ticket, Kyoto?\n"
                                     "Which paint protects the hull against barnacles?\nAt what temperature is the fish soup kept?\n"});
    EXPECT_EQ(asked.status, 0) << asked.err;
    return write("traces.jsonl", asked.out).string();
  }
};

TEST_F(GapsCommand, GroupsWhatWasRefusedAndSaysThatItGroupsByWords) {
  const auto outcome = run({"gaps", "--index", lexical_index(), "--json", traces()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("note: grouped by words: this index was built without vectors"));
  const auto report = one_json(outcome.out);
  EXPECT_EQ(schema_errors(report, "gaps"), "");
  EXPECT_EQ(report["asked"], 5);
  EXPECT_EQ(report["refused"], 4);
  EXPECT_EQ(report["distinct_questions"], 3);
  ASSERT_EQ(report["gaps"].size(), 2U) << report.dump(2);
  EXPECT_EQ(report["gaps"][0]["count"], 3);
  EXPECT_EQ(report["gaps"][0]["questions"].size(), 2U);
  EXPECT_EQ(report["gaps"][0]["kind"], "out_of_scope");
  EXPECT_EQ(report["gaps"][0]["nearness"]["measure"], "words");
  EXPECT_THAT(report["gaps"][0]["first_seen"].get<std::string>(), ::testing::SizeIs(10));
}

TEST_F(GapsCommand, WritesJsonAndMarkdownToFilesAndTheSameOnASecondRun) {
  const auto input = traces();
  const auto json = (folder() / "gaps.json").string(), markdown = (folder() / "gaps.md").string();
  const auto first = run({"gaps", "--index", lexical_index(), input, "--out", json, "--md", markdown});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("5 questions asked, 4 refused: 2 gaps"));
  const auto kept = read(json);
  EXPECT_EQ(schema_errors(one_json(kept), "gaps"), "");
  EXPECT_THAT(read(markdown), HasSubstr("# Documentation gaps"));
  const auto piped = run({"gaps", "--index", lexical_index(), "-", "--out", json}, {.input = read(input)});
  EXPECT_EQ(piped.out, first.out);
  EXPECT_EQ(read(json), kept);
}

TEST_F(GapsCommand, WithoutAnIndexItGroupsAndLooksNothingUp) {
  const auto outcome = run({"gaps", "--json", traces()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto report = one_json(outcome.out);
  EXPECT_EQ(schema_errors(report, "gaps"), "");
  EXPECT_EQ(report["index_digest"], nullptr);
  for (const auto& gap : report["gaps"]) EXPECT_EQ(gap["kind"], "unknown");
}

TEST_F(GapsCommand, ReadsTheServersQuestionLog) {
  const auto log = write("questions.log",
                         R"({"kind":"question","schema":1,"day":"2026-11-30","question":"Which paint protects the hull?","status":"refused","reason":"","closest":[]})" "\n"
                         R"({"kind":"question","schema":1,"day":"2026-12-01","question":"Which paint protects the hull?","status":"not_relevant","reason":"no paint","closest":[]})" "\n");
  const auto outcome = run({"gaps", "--log", log.string(), "--index", lexical_index(), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto report = one_json(outcome.out);
  EXPECT_EQ(schema_errors(report, "gaps"), "");
  ASSERT_EQ(report["gaps"].size(), 1U);
  EXPECT_EQ(report["gaps"][0]["first_seen"], "2026-11-30");
  EXPECT_EQ(report["gaps"][0]["last_seen"], "2026-12-01");
  EXPECT_FALSE(report["gaps"][0]["closest"].empty()) << "looked up where the log names none";
}

TEST_F(GapsCommand, NoRefusalIsNoGapAndNoFailure) {
  const auto outcome = run({"gaps", "-", "--index", lexical_index()}, {.input = "\n"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("0 questions asked, 0 refused: 0 gaps"));
}

TEST_F(GapsCommand, WritesAPageThatHoldsTheReportAsData) {
  const std::string distribution = std::string(POLYGRAPH_SOURCE_DIR) + "/dist";
  if (!std::filesystem::exists(distribution + "/report.html")) GTEST_SKIP() << "no report page: ./polygraph build";
  const auto log = write("questions.log", R"({"kind":"question","question":"</script><script>alert(1)</script>","status":"refused","closest":[]})" "\n");
  const auto page = (folder() / "gaps.html").string();
  const auto outcome = run({"gaps", "--log", log.string(), "--html", page}, {.environment = {{"POLYGRAPH_DIST", distribution}}});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(read(page), HasSubstr("\\u003c/script>\\u003cscript>alert(1)"));
  EXPECT_EQ(run({"gaps", "--log", log.string(), "--html", page}, {.environment = {{"POLYGRAPH_DIST", folder().string()}}}).status, 3) << "no page to write it into";
}

/// The unanswerable questions of the development set, and other wordings of some: by the real embedder.
TEST_F(GapsCommand, OtherWordingsOfAQuestionJoinItAndOtherQuestionsDoNot) {
  const char* index = std::getenv("POLYGRAPH_TEST_INDEX");
  const char* models = std::getenv("POLYGRAPH_TEST_MODELS");
  const char* shared = std::getenv("POLYGRAPH_SHARED");
  const auto set = std::filesystem::path(shared == nullptr ? "" : shared) / "golden-dev" / "docker-docs.jsonl";
  const std::string distribution = std::string(POLYGRAPH_SOURCE_DIR) + "/dist";
  if (!std::filesystem::exists(set)) GTEST_SKIP() << "needs golden-dev/docker-docs.jsonl in the folder that POLYGRAPH_SHARED names";
  if (index == nullptr || models == nullptr || !std::filesystem::exists(index) || !std::filesystem::exists(distribution + "/model-worker.mjs")) {
    GTEST_SKIP() << "needs the index of the default corpus, the models and their worker; `./polygraph test` names them";
  }
  std::filesystem::create_directories(folder() / "home");
  std::filesystem::create_directory_symlink(models, folder() / "home" / "models");

  std::map<std::string, std::string> asks_for;  // by question: the id of what it asks for
  std::ifstream items(set);
  for (std::string line; std::getline(items, line);) {
    const auto item = nlohmann::json::parse(line);
    if (item["type"] == "unanswerable") asks_for[item["question"]] = item["id"];
  }
  std::ifstream wordings(std::string(POLYGRAPH_SOURCE_DIR) + "/tests/gaps/paraphrases.tsv");
  for (std::string line; std::getline(wordings, line);) asks_for[line.substr(line.find('\t') + 1)] = line.substr(0, line.find('\t'));
  ASSERT_EQ(asks_for.size(), 112U);
  std::string log;
  for (const auto& [question, id] : asks_for) log += nlohmann::json{{"kind", "question"}, {"question", question}, {"status", "refused"}}.dump() + "\n";

  const auto outcome = run({"gaps", "--index", index, "--json", "-"}, {.input = log, .environment = {{"POLYGRAPH_DIST", distribution}}});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto report = one_json(outcome.out);
  EXPECT_EQ(schema_errors(report, "gaps"), "");
  ASSERT_EQ(report["grouped_by"]["measure"], "meaning") << outcome.err;
  std::size_t together = 0, right = 0, belong = 0, near = 0;
  std::map<std::string, std::size_t> wordings_of;
  for (const auto& [question, id] : asks_for) ++wordings_of[id];
  for (const auto& [id, count] : wordings_of) belong += count * (count - 1) / 2;
  for (const auto& gap : report["gaps"]) {
    near += gap["kind"] == "near_miss";
    for (std::size_t i = 0; i < gap["questions"].size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        ++together;
        right += asks_for.at(gap["questions"][i]["question"]) == asks_for.at(gap["questions"][j]["question"]);
      }
    }
  }
  std::cout << "grouping: " << report["gaps"].size() << " gaps of 60; pairs together " << together << ", rightly " << right << ", belong together " << belong << "; near misses " << near << "\n";
  EXPECT_EQ(right, together) << "no two questions that ask for different things are together";
  EXPECT_GE(static_cast<double>(right), 0.97 * static_cast<double>(belong));
  EXPECT_GE(static_cast<double>(near), 0.85 * static_cast<double>(report["gaps"].size()));
}

TEST_F(GapsCommand, BadInputIsNamed) {
  EXPECT_EQ(run({"gaps"}).status, 2);
  EXPECT_EQ(run({"gaps", traces(), "--threshold", "2"}).status, 2);
  EXPECT_EQ(run({"gaps", "--nothing"}).status, 2);
  const auto missing = run({"gaps", "nowhere.jsonl"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err, HasSubstr("nowhere.jsonl"));
  const auto broken = run({"gaps", write("broken.jsonl", "{\"question\": \"q\", \"status\": \"answered\", \"steps\": []}\njunk\n").string()});
  EXPECT_EQ(broken.status, 3);
  EXPECT_THAT(broken.out, IsEmpty());
  EXPECT_THAT(broken.err, HasSubstr("broken.jsonl:2"));
  EXPECT_EQ(run({"gaps", traces(), "--index", "nowhere.polygraph"}).status, 3);
  EXPECT_EQ(run({"gaps", traces(), "--index", lexical_index(), "--out", "no/such/folder/out.json"}).status, 3);
  EXPECT_EQ(run({"gaps", folder().string()}).status, 3);
}

}  // namespace
}  // namespace polygraph::cli::test
