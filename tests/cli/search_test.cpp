// `search`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/cli/program.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Search : public ProgramTest {
 protected:
  Outcome search(std::vector<std::string> arguments, const Surroundings& surroundings = {}) {
    arguments.insert(arguments.begin(), {"search", "--index", lexical_index()});
    return run(arguments, surroundings);
  }
};

TEST_F(Search, GivesEachResultItsFields) {
  const auto searched = search({"--json", "fish soup"});
  ASSERT_EQ(searched.status, 0) << searched.err;
  const auto line = one_json(searched.out);
  EXPECT_EQ(line["query"], "fish soup");
  EXPECT_TRUE(line["ms"].is_number());
  ASSERT_FALSE(line["results"].empty());
  const auto& first = line["results"][0];
  EXPECT_EQ(first["id"], "galley/soup#000");
  EXPECT_EQ(first["rank"], 1);
  EXPECT_EQ(first["title"], "Soup");
  EXPECT_TRUE(first["score"].is_number());
  EXPECT_TRUE(first["url"].is_string());
  EXPECT_THAT(first["text"].get<std::string>(), HasSubstr("65 degrees"));
}

TEST_F(Search, SaysOnceWhyItIsLexical) {
  const auto searched = search({"--json"}, {.input = "soup\nlights\nlines\n"});
  ASSERT_EQ(searched.status, 0);
  ASSERT_EQ(lines(searched.err).size(), 1U) << searched.err;
  EXPECT_THAT(searched.err, HasSubstr("lexical search only"));
  EXPECT_THAT(search({"--mode", "bm25", "--no-rerank", "soup"}).err, IsEmpty()) << "nothing is missing";
}

TEST_F(Search, ReadsOneQueryALineWithCrLfByteOrderMarkAndBlankLines) {
  const auto searched = search({"--json", "-"}, {.input = "\xef\xbb\xbfsoup\r\n\r\n   \nq7\tred lamp\r\nlines"});
  ASSERT_EQ(searched.status, 0) << searched.err;
  const auto answers = json_lines(searched.out);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0]["query"], "soup");
  EXPECT_FALSE(answers[0].contains("id"));
  EXPECT_EQ(answers[1]["query"], "red lamp");
  EXPECT_EQ(answers[1]["id"], "q7");
  EXPECT_EQ(answers[2]["query"], "lines");
}

TEST_F(Search, WritesARunOfSixColumnsWhoseScoresFallStrictly) {
  const auto searched = search({"--trec", "my run", "--top", "50"}, {.input = "q1\tthe ferry lines and lights\nfirst try\tnight watch\nsoup\n"});
  ASSERT_EQ(searched.status, 0) << searched.err;
  std::string query;
  double last = 0;
  int rank = 0;
  std::vector<std::string> queries;
  bool night_watch = false;
  for (const auto& line : lines(searched.out)) {
    std::istringstream columns(line);
    std::string id, q0, chunk, tag, rest;
    int place = 0;
    double score = 0;
    columns >> id >> q0 >> chunk >> place >> score >> tag;
    ASSERT_TRUE(columns) << line;
    ASSERT_FALSE(columns >> rest) << line;
    if (id != query) {
      queries.push_back(query = id);
      rank = 0;
    } else {
      EXPECT_LT(score, last) << line;
    }
    EXPECT_EQ(place, ++rank);
    EXPECT_EQ(tag, "my%20run");
    last = score;
    night_watch = night_watch || chunk == "night%20watch#000";
  }
  EXPECT_EQ(queries, (std::vector<std::string>{"q1", "first%20try", "3"}));
  EXPECT_TRUE(night_watch) << "a page's path may hold a space, a column may not";
}

TEST_F(Search, StopsAtAQueryThatIsNoneAndNamesItsLine) {
  const auto not_text = search({"--json"}, {.input = "soup\nca\xff""fe\nlines\n"});
  EXPECT_EQ(not_text.status, 3);
  EXPECT_THAT(not_text.err, HasSubstr("stdin:2"));
  EXPECT_EQ(json_lines(not_text.out).size(), 1U);
  const auto too_long = search({"--json"}, {.input = std::string(100 * 1024, 'x') + "\n"});
  EXPECT_EQ(too_long.status, 2);
  EXPECT_THAT(too_long.err, HasSubstr("102400 bytes"));
  EXPECT_THAT(too_long.out, IsEmpty());
}

TEST_F(Search, RefusesAnEmptyQuery) {
  EXPECT_EQ(search({""}).status, 2);
  EXPECT_EQ(search({"  "}).status, 2);
  EXPECT_EQ(search({}, {.input = "\n \n"}).status, 2);
  EXPECT_EQ(search({}, {.input = "q1\t \n"}).status, 2);
}

TEST_F(Search, RefusesInputWithoutLineEndsBeforeItFillsTheMemory) {
  const auto refused = search({}, {.stdin_path = "/dev/zero"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("stdin:1"));
}

TEST_F(Search, SaysWhenStdinCannotBeRead) {
  const auto refused = search({}, {.stdin_path = folder()});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("stdin"));
}

TEST_F(Search, RefusesOptionsThatDoNotFit) {
  for (const auto& arguments : {std::vector<std::string>{"--mode", "psychic", "soup"}, {"--top", "0", "soup"}, {"--top", "ten", "soup"},
                                {"--rerank", "--no-rerank", "soup"}, {"--json", "--trec", "x", "soup"}, {"--config", "nope", "soup"}}) {
    const auto refused = search(arguments);
    EXPECT_EQ(refused.status, 2) << arguments.front();
    EXPECT_THAT(refused.out, IsEmpty());
    EXPECT_THAT(refused.err, HasSubstr("error: "));
  }
}

TEST_F(Search, SaysWhenNothingIsFound) {
  const auto searched = search({"xylophone"});
  EXPECT_EQ(searched.status, 0);
  EXPECT_THAT(searched.out, HasSubstr("nothing found"));
}


}  // namespace
}  // namespace polygraph::cli::test
