#include "index/chunker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "index/markdown.hpp"

namespace polygraph::corpus {
namespace {

std::vector<index::ChunkInput> chunks(std::string_view markdown) { return chunk(read_markdown(markdown, {}, "page").sections); }

/// A paragraph of exactly `size` characters, without a sentence end inside.
std::string words(std::size_t size, char letter = 'w') {
  std::string out;
  while (out.size() < size) out += out.size() % 8 == 7 ? ' ' : letter;
  if (out.back() == ' ') out.back() = letter;
  return out;
}

TEST(Chunker, ACutFallsAtEveryHeading) {
  const auto cut = chunks("## A\n\n" + words(400) + "\n\n## B\n\n" + words(400));
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0].heading_path, "A");
  EXPECT_EQ(cut[0].text, words(400));
  EXPECT_EQ(cut[1].heading_path, "B");
  EXPECT_EQ(cut[1].anchor, "b");
}

TEST(Chunker, WholeBlocksArePackedUpToAThousandCharacters) {
  const auto cut = chunks(words(499, 'a') + "\n\n" + words(499, 'b') + "\n\n" + words(300, 'c'));
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(characters(cut[0].text), 1'000u);
  EXPECT_EQ(cut[1].text, words(300, 'c'));
}

TEST(Chunker, ABlockUpToThirteenHundredStaysWhole) {
  EXPECT_EQ(chunks(words(1'300)).size(), 1u);
  EXPECT_EQ(chunks(words(1'302)).size(), 2u);
}

TEST(Chunker, ALongCodeBlockIsCutAtLineEndsAndEveryPieceIsFenced) {
  std::string code;
  for (int i = 0; i < 60; ++i) code += "line " + std::to_string(100 + i) + " " + words(30) + "\n";
  const auto cut = chunks("```console\n" + code + "```");
  ASSERT_GE(cut.size(), 3u);
  std::string joined;
  for (const auto& each : cut) {
    ASSERT_TRUE(each.text.starts_with("```console\n")) << each.text;
    ASSERT_TRUE(each.text.ends_with("\n```")) << each.text;
    joined += each.text.substr(11, each.text.size() - 11 - 3);
  }
  EXPECT_EQ(joined, code);
}

TEST(Chunker, AListIsCutBetweenItsItems) {
  std::string list;
  for (int i = 0; i < 5; ++i) list += "- " + words(400, static_cast<char>('a' + i)) + "\n";
  for (const auto& each : chunks(list)) EXPECT_TRUE(each.text.starts_with("- ")) << each.text;
}

TEST(Chunker, ATableIsCutBetweenRowsAndRepeatsItsHeader) {
  std::string table = "| Name | Text |\n|---|---|\n";
  for (int i = 0; i < 10; ++i) table += "| n" + std::to_string(i) + " | " + words(200) + " |\n";
  const auto cut = chunks(table);
  ASSERT_GE(cut.size(), 2u);
  for (const auto& each : cut) {
    EXPECT_TRUE(each.text.starts_with("| Name | Text |\n|---|---|\n| n")) << each.text;
    EXPECT_TRUE(each.text.ends_with(" |"));
  }
}

TEST(Chunker, ALongParagraphIsCutBetweenSentences) {
  std::string paragraph;
  for (int i = 0; i < 40; ++i) paragraph += "Sentence " + std::to_string(i) + " says a little about the daemon. ";
  const auto cut = chunks(paragraph);
  ASSERT_GE(cut.size(), 2u);
  for (const auto& each : cut) EXPECT_TRUE(each.text.starts_with("Sentence ") && each.text.ends_with("daemon.")) << each.text;
}

TEST(Chunker, ATailUnderTwoHundredJoinsItsPredecessor) {
  EXPECT_EQ(chunks(words(950) + "\n\n" + words(199)).size(), 1u);
  EXPECT_EQ(chunks(words(950) + "\n\n" + words(201)).size(), 2u);
}

TEST(Chunker, AWholeSectionJoinsASmallPieceBeforeItWithItsHeadingLine) {
  const auto cut = chunks("## A\n\nshort text that is long enough to stand alone\n\n## The `b`\n\n" + words(300));
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].heading_path, "A");
  EXPECT_EQ(cut[0].anchor, "a");
  EXPECT_EQ(cut[0].text, "short text that is long enough to stand alone\n\n## The `b`\n\n" + words(300));
}

TEST(Chunker, ASectionDoesNotJoinWhenThePieceIsLargeOrTheSumIs) {
  EXPECT_EQ(chunks("## A\n\n" + words(301) + "\n\n## B\n\n" + words(50)).size(), 2u);
  EXPECT_EQ(chunks("## A\n\n" + words(290) + "\n\n## B\n\n" + words(705)).size(), 2u);
}

TEST(Chunker, ASectionThatWasSplitDoesNotJoin) {
  const auto cut = chunks("## A\n\n" + words(100) + "\n\n## B\n\n" + words(600) + "\n\n" + words(600));
  ASSERT_EQ(cut.size(), 3u);
  EXPECT_EQ(cut[0].heading_path, "A");
}

TEST(Chunker, WhereTheFirstLiesDeeperThePathIsTheCommonPart) {
  const auto cut = chunks("## A\n\n" + words(400) + "\n\n### Deep\n\n" + words(100) + "\n\n## B\n\n" + words(100));
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[1].heading_path, "");
  const auto siblings = chunks("## A\n\n" + words(400) + "\n\n### Deep\n\n" + words(100) + "\n\n### Down\n\n" + words(100));
  EXPECT_EQ(siblings.at(1).heading_path, "A > Deep");
}

TEST(Chunker, APieceUnderFortyJoinsItsNeighbourWhateverTheSum) {
  const auto behind = chunks("## A\n\n" + words(990) + "\n\n## B\n\ntiny");
  ASSERT_EQ(behind.size(), 1u);
  EXPECT_TRUE(behind[0].text.ends_with("\n\n## B\n\ntiny"));
  const auto before = chunks("tiny\n\n## A\n\n" + words(1'200));
  ASSERT_EQ(before.size(), 1u);
  EXPECT_TRUE(before[0].text.starts_with("tiny\n\n## A\n\n"));
}

TEST(Chunker, AHeadingWithNothingUnderItKeepsItsWords) {
  const auto cut = chunks("## A\n\n" + words(400) + "\n\n## Removed in 2.0\n\n## B\n\n" + words(400));
  std::string all;
  for (const auto& each : cut) all += each.text;
  EXPECT_THAT(all, testing::HasSubstr("## Removed in 2.0"));
}

TEST(Chunker, LinksMoveWithTheirWords) {
  const auto cut = chunks("short [one](https://example.org/1)\n\n## B\n\n- see [two](https://example.org/2)");
  ASSERT_EQ(cut.size(), 1u);
  std::vector<std::string> linked;
  for (const index::Link& link : cut[0].links) linked.push_back(cut[0].text.substr(link.begin, link.end - link.begin));
  EXPECT_THAT(linked, testing::ElementsAre("one", "two"));
}

TEST(Chunker, EqualSettingsGiveEqualLines) {
  EXPECT_EQ(describe({}), describe({}));
  EXPECT_NE(describe({}), describe({.packed = 900}));
}

}  // namespace
}  // namespace polygraph::corpus
