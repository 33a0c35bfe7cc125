// Which sentences an answer has, and which citation stands for which.
#include "wasm/judges/sentences.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::judges {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> texts(const CitedAnswer& cited) {
  std::vector<std::string> out;
  for (const auto& each : cited.sentences) out.push_back(each.text);
  return out;
}

std::vector<std::string> cited_by(const CitedAnswer& cited, std::size_t sentence) {
  std::vector<std::string> out;
  for (const auto citation : cited.sentences.at(sentence).citations) out.push_back(cited.citations[citation].chunk_id);
  return out;
}

TEST(CitedAnswer, SentencesAreWithoutCitationMarksAndCarryTheirCitations) {
  const std::string answer = "Soup is hot. [galley/soup#000] Bread is cold [galley/bread#001].";
  const std::vector<CitedSpan> citations = {{"galley/soup#000", 0, 12}, {"galley/bread#001", 31, 44}};
  const auto cited = cited_answer(answer, citations);
  EXPECT_EQ(cited.text, "Soup is hot. Bread is cold.");
  EXPECT_THAT(texts(cited), ElementsAre("Soup is hot.", "Bread is cold."));
  EXPECT_THAT(cited_by(cited, 0), ElementsAre("galley/soup#000"));
  EXPECT_THAT(cited_by(cited, 1), ElementsAre("galley/bread#001"));
}

TEST(CitedAnswer, AListItemATableRowAndACodeBlockAreSentencesAndAHeadingIsNone) {
  const auto cited = cited_answer("# Steps\n\n- Stop it.\n- Start it.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ndocker ps\n```\n", {});
  EXPECT_THAT(texts(cited), ElementsAre("- Stop it.", "- Start it.", "| a | b |", "| 1 | 2 |", "```\ndocker ps\n```"));
}

TEST(CitedAnswer, PlacesAreCodePointsOfTheAnswerWithItsMarks) {
  const auto cited = cited_answer("Thé est chaud. [a#000] Le pain é.", std::vector<CitedSpan>{{"a#000", 0, 14}});
  ASSERT_EQ(cited.sentences.size(), 2U);
  EXPECT_EQ(cited.sentences[0].begin, 0U);
  EXPECT_EQ(cited.sentences[0].end, 14U);
  EXPECT_EQ(cited.sentences[1].begin, 23U);
  EXPECT_EQ(cited.sentences[1].end, 33U);
}

TEST(CitedAnswer, OneSentenceMayCiteTwoAndADoubledCitationCountsOnce) {
  const std::vector<CitedSpan> citations = {{"a#000", 0, 12}, {"b#000", 0, 12}, {"a#000", 0, 12}};
  const auto cited = cited_answer("Soup is hot. [a#000] [b#000] [a#000]", citations);
  EXPECT_EQ(cited.citations.size(), 2U);
  ASSERT_EQ(cited.sentences.size(), 1U);
  EXPECT_THAT(cited_by(cited, 0), ElementsAre("a#000", "b#000"));
}

TEST(CitedAnswer, ASpanThatMeetsOnlyItsMarkBelongsToTheSentenceBefore) {
  const auto cited = cited_answer("Soup is hot. Bread is cold. [a#000]", std::vector<CitedSpan>{{"a#000", 28, 35}});
  EXPECT_THAT(cited_by(cited, 0), IsEmpty());
  EXPECT_THAT(cited_by(cited, 1), ElementsAre("a#000"));
}

TEST(CitedAnswer, WithoutAPlaceTheMarksSayItAndWithoutMarksItIsEverySentence) {
  const std::string answer = "Soup is hot. [a#000] Bread is cold.";
  const auto cited = cited_answer(answer, std::vector<CitedSpan>{{"a#000"}, {"b#000"}});
  EXPECT_THAT(cited_by(cited, 0), ElementsAre("a#000", "b#000"));
  EXPECT_THAT(cited_by(cited, 1), ElementsAre("b#000"));
}

TEST(CitedAnswer, BracketsThatAreNoCitationStay) {
  EXPECT_EQ(cited_answer("Use [OPTIONS] and [x#000].", std::vector<CitedSpan>{{"y#000"}}).text, "Use [OPTIONS] and [x#000].");
}

TEST(CitedAnswer, SpansBeyondTheAnswerAndEmptyAnswersAreNoTrouble) {
  EXPECT_THAT(cited_answer("", std::vector<CitedSpan>{{"a#000", 5, 9}, {"", 0, 1}}).sentences, IsEmpty());
  EXPECT_THAT(cited_by(cited_answer("Hot.", std::vector<CitedSpan>{{"a#000", 500, 900}}), 0), ElementsAre("a#000"));
  EXPECT_THAT(cited_answer("...\n\n---\n", {}).sentences, IsEmpty());
}

}  // namespace
}  // namespace polygraph::judges
