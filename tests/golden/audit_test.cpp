#include "wasm/golden/audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/retrieval/tiny_corpus.hpp"

namespace polygraph::golden {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AuditTest : public testing::Test {
 protected:
  std::vector<std::string> rules(const std::string& lines, const std::string& development = {}, const AuditLimits& limits = {}) {
    const auto set = parse(lines);
    EXPECT_TRUE(set) << set.error().message;
    Set other;
    if (!development.empty()) other = *parse(development);
    last_ = audit(*set, corpus_.index, development.empty() ? nullptr : &other, limits);
    std::vector<std::string> out;
    for (const auto& each : last_.findings) out.push_back(each.rule + (each.problem.item.empty() ? "" : " " + each.problem.item));
    return out;
  }
  tests::TinyCorpus corpus_ = tests::corpus_of({{"deck", "Deck manual", "Deck > Storing wet ropes", "Ropes are kept in the locker."},
                                                {"deck", "Deck manual", "Lamps", "The red lamp burns at night."},
                                                {"galley", "Fish soup", "", "Simmer for twenty minutes."}});
  Audit last_;
};

std::string answerable(const std::string& id, const std::string& question, const std::string& gold, const std::string& more = "") {
  return "{\"id\":\"" + id + "\",\"type\":\"answerable\",\"question\":\"" + question + "\",\"relevant_chunk_ids\":" + gold + more + "}\n";
}

TEST_F(AuditTest, PassesASetThatKeepsEveryRule) {
  EXPECT_THAT(rules(answerable("a", "Where shall soaked ropes be put away?", R"(["deck#000","deck#001"])") +
                    R"({"id":"v","type":"vague","question":"My line is soaked","relevant_chunk_ids":["deck#000"]})" "\n"
                    R"({"id":"u","type":"unanswerable","question":"Which anchor is best?"})"),
              IsEmpty());
  EXPECT_EQ(last_.items, 3U);
  EXPECT_EQ(last_.two_chunks, 1U);
}

TEST_F(AuditTest, NamesAQuestionThatRepeatsItsHeading) {
  // Content words: store, wet, rope, mast. Its heading, "Storing wet ropes", has three of the four; half would be two.
  EXPECT_THAT(rules(answerable("a", "How do I store wet ropes by the mast?", R"(["deck#000","deck#001"])")), ElementsAre("heading a"));
  EXPECT_THAT(last_.findings[0].problem.message, HasSubstr("3 of 4 content words (ropes, store, wet)"));
  EXPECT_THAT(last_.findings[0].problem.message, HasSubstr("\"Storing wet ropes\""));
  // wet, rope of four: exactly half is allowed.
  EXPECT_THAT(rules(answerable("a", "Do wet ropes harm the mast?", R"(["deck#000","deck#001"])")), IsEmpty());
  // The source chunk decides where it is named.
  EXPECT_THAT(rules(answerable("a", "How do I store wet ropes?", R"(["deck#000","deck#001"])", R"(,"source_chunk_id":"deck#001")")), IsEmpty());
  // Without a heading it is the page's title.
  EXPECT_THAT(rules(answerable("a", "Is fish soup salty?", R"(["galley#000","deck#001"])")), ElementsAre("heading a"));
}

TEST_F(AuditTest, NamesAVagueQuestionThatNamesItsPage) {
  EXPECT_THAT(rules(R"({"id":"v","type":"vague","question":"Something on deck leaks and drips and smells","relevant_chunk_ids":["deck#000"]})"), ElementsAre("title v"));
}

TEST_F(AuditTest, WantsAQuarterOfTheAnswerableOverTwoChunks) {
  const std::string single = answerable("a", "one", R"(["deck#000"])") + answerable("b", "two", R"(["deck#000"])") + answerable("c", "three", R"(["deck#000"])");
  EXPECT_THAT(rules(single + answerable("d", "four", R"(["deck#000","deck#001"])")), IsEmpty());
  EXPECT_THAT(rules(single + answerable("d", "four", R"(["deck#000","deck#001"])") + answerable("e", "five", R"(["deck#000"])")), ElementsAre("two_chunks"));
}

TEST_F(AuditTest, NamesAPageThatTheDevelopmentSetUses) {
  const std::string set = answerable("a", "one", R"(["deck#000","deck#001"])") + answerable("b", "two", R"(["galley#000"])");
  const std::string development = R"({"id":"x","type":"answerable","question":"q","relevant_pages":["content/manuals/galley.md"]})";
  EXPECT_THAT(rules(set, development), ElementsAre("disjoint b"));
  EXPECT_THAT(last_.findings[0].problem.message, HasSubstr("\"x\""));
}

TEST_F(AuditTest, CountsWhatWasNotRejected) {
  const std::string set = answerable("a", "one", R"(["deck#000","deck#001"])") + answerable("b", "two", R"(["deck#000","deck#001"])", ",\"rejected\":true");
  EXPECT_THAT(rules(set, "", {1, 1, 0, 0}), IsEmpty());
  EXPECT_THAT(rules(set, "", {2, 2, 1, 1}), ElementsAre("count", "count", "count", "count"));
}

TEST_F(AuditTest, NamesGoldThatIsGoneOrChanged) {
  EXPECT_THAT(rules(answerable("a", "one", R"(["deck#000","deck#009"])", R"(,"chunk_digests":{"deck#000":"xxh128:0"})")), ElementsAre("digest a", "index a"));
}

}  // namespace
}  // namespace polygraph::golden
