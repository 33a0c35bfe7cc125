#include "index/block.hpp"

#include <gtest/gtest.h>

#include "index/html_fragment.hpp"

namespace polygraph::corpus {
namespace {

Block with_link(std::string text, std::string_view words) {
  Block block;
  const auto at = static_cast<std::uint32_t>(text.find(words));
  block.links.push_back({at, at + static_cast<std::uint32_t>(words.size()), "https://example.org/"});
  block.text = std::move(text);
  return block;
}

std::string linked(const Block& block) {
  const index::Link& link = block.links.at(0);
  return block.text.substr(link.begin, link.end - link.begin);
}

TEST(Block, IndentingKeepsALinkOnItsWords) {
  const Block block = indented(with_link("one\n\ntwo three\nfour", "four"), "- ", "  ");
  EXPECT_EQ(block.text, "- one\n\n  two three\n  four");
  EXPECT_EQ(linked(block), "four");
}

TEST(Block, TidyingKeepsALinkOnItsWords) {
  Block block = with_link("\n\n    one\n      two  \n\n", "two");
  tidy(block);
  EXPECT_EQ(block.text, "one\n  two");
  EXPECT_EQ(linked(block), "two");
}

TEST(Block, ACutInsideAFenceGivesBothPiecesFenceLines) {
  const Block code = fenced_code("a\nb\nc\n", "sh");
  ASSERT_EQ(code.text, "```sh\na\nb\nc\n```");
  ASSERT_EQ(code.cuts.size(), 2u);
  EXPECT_EQ(piece(code, 0, code.cuts[0].at).text, "```sh\na\n```");
  EXPECT_EQ(piece(code, code.cuts[0].at, code.text.size()).text, "```sh\nb\nc\n```");
}

TEST(Block, AFenceIsLongerThanTheBackticksInItsCode) {
  EXPECT_EQ(fenced_code("```\nx\n```", "").text, "````\n```\nx\n```\n````");
}

TEST(Block, ALinkThatIsCutKeepsItsPartInEachPiece) {
  const Block block = with_link("see the long manual", "long manual");
  EXPECT_EQ(linked(piece(block, 0, 12)), "long");
  EXPECT_EQ(linked(piece(block, 13, block.text.size())), "manual");
}

TEST(Block, CharactersAreCodePoints) { EXPECT_EQ(characters("naïve 日本"), 8u); }

TEST(HtmlFragment, KeepsWordsLinksAndCodeAndDropsTags) {
  const Block block = read_html_block(
      "<div class=\"x\"><p>Read <a href=\"/guide\">the guide</a> &amp; go.</p><script>evil()</script><!-- no -->\n"
      "<ul><li>one</li><li>two</li></ul><pre>  keep\n    this</pre></div>");
  EXPECT_EQ(block.text, "Read the guide & go.\n- one\n- two\n```\n  keep\n    this\n```");
  EXPECT_EQ(linked(block), "the guide");
  EXPECT_EQ(block.links[0].target, "/guide");
}

TEST(HtmlFragment, ATableBecomesRows) {
  EXPECT_EQ(read_html_block("<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td><p>2</p></td></tr></table>").text,
            "| A | B |\n| 1 | 2 |");
}

TEST(HtmlFragment, NestingBeyondAnyPageDoesNotRunOutOfStack) {
  std::string html;
  for (int i = 0; i < 200'000; ++i) html += "<div>";
  html += "deep";
  EXPECT_NE(read_html_block(html).text.find("deep"), std::string::npos);
}

}  // namespace
}  // namespace polygraph::corpus
