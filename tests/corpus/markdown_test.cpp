#include "index/markdown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "index/anchors.hpp"
#include "index/front_matter.hpp"

namespace polygraph::corpus {
namespace {

PageText page(std::string_view body, const FrontMatter& front = {}) { return read_markdown(body, front, "file-name"); }

/// The text of a page without headings.
std::string text(std::string_view body) {
  const PageText parsed = page(body);
  std::string out;
  for (const Block& block : parsed.sections.at(0).blocks) out += (out.empty() ? "" : "\n\n") + block.text;
  return out;
}

TEST(Markdown, TheTitleIsTheFrontMattersElseTheFirstHeadingsElseTheFilesName) {
  FrontMatter front;
  front.title = "Given";
  EXPECT_EQ(page("# Heading\n\ntext", front).title, "Given");
  EXPECT_EQ(page("intro\n\n# The `run` command\n\ntext").title, "The run command");
  EXPECT_EQ(page("## Only a section\n\ntext").title, "file-name");
}

TEST(Markdown, AFirstHeadingThatSaysTheTitleIsNotPartOfThePath) {
  const PageText run = page("# Run\n\nintro\n\n## Options\n\ntext");
  ASSERT_EQ(run.sections.size(), 2u);
  EXPECT_TRUE(run.sections[0].path.empty());
  EXPECT_EQ(run.sections[0].anchor, "");
  EXPECT_EQ(run.sections[1].path, (std::vector<std::string>{"Options"}));
}

TEST(Markdown, ThePathFollowsTheLevelsOfTheHeadings) {
  const PageText nested = page("## A\n\na\n\n#### B\n\nb\n\n### C\n\nc\n\n## D\n\nd");
  EXPECT_EQ(nested.sections[2].path, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(nested.sections[3].path, (std::vector<std::string>{"A", "C"}));
  EXPECT_EQ(nested.sections[4].path, (std::vector<std::string>{"D"}));
}

TEST(Markdown, AnchorsAreGitHubsAndADuplicateIsNumbered) {
  const PageText anchored = page("## What's new in `run --rm`?\n\na\n\n## Notes\n\nb\n\n## Notes\n\nc\n\n## Set it {#own-id .big}\n\nd");
  EXPECT_EQ(anchored.sections[1].anchor, "whats-new-in-run---rm");
  EXPECT_EQ(anchored.sections[2].anchor, "notes");
  EXPECT_EQ(anchored.sections[3].anchor, "notes-1");
  EXPECT_EQ(anchored.sections[4].anchor, "own-id");
  EXPECT_EQ(anchored.sections[4].path.back(), "Set it");
  EXPECT_EQ(slug("Über Größe 日本"), "über-größe-日本");
}

TEST(Markdown, SetextHeadingsCutAndHashesInsideFencesDoNot) {
  const PageText setext = page("Install\n-------\n\n```sh\n# not a heading\n```\n");
  ASSERT_EQ(setext.sections.size(), 2u);
  EXPECT_EQ(setext.sections[1].heading_line, "## Install");
  EXPECT_EQ(setext.sections[1].blocks.at(0).text, "```sh\n# not a heading\n```");
}

TEST(Markdown, LinkTargetsLeaveTheTextAndImagesAreDropped) {
  const PageText linked = page("See [the *guide*][g] and ![a picture](x.png) <https://example.org>.\n\n[g]: ../guide.md#top");
  const Block& block = linked.sections.at(0).blocks.at(0);
  EXPECT_EQ(block.text, "See the guide and  https://example.org.");
  ASSERT_EQ(block.links.size(), 2u);
  EXPECT_EQ(block.text.substr(block.links[0].begin, block.links[0].end - block.links[0].begin), "the guide");
  EXPECT_EQ(block.links[0].target, "../guide.md#top");
  EXPECT_EQ(block.links[1].target, "https://example.org");
}

TEST(Markdown, IdentifiersStayLiteral) {
  EXPECT_EQ(text("Set `COMPOSE_PROJECT_NAME`, my_own_name, \\*.log and 5 \\< 6 in `a``b`."),
            "Set `COMPOSE_PROJECT_NAME`, my_own_name, *.log and 5 < 6 in `a``b`.");
  EXPECT_EQ(text("Use ``a`b``."), "Use ``a`b``.");
}

TEST(Markdown, AlertsAndOldCalloutsOpenWithTheirLabel) {
  EXPECT_EQ(text("> [!IMPORTANT]\n> Stop here.\n> Really."), "**Important:** Stop here. Really.");
  EXPECT_EQ(text("> [!NOTE]\n>\n> - a list"), "**Note:**\n\n- a list");
  EXPECT_EQ(text("> **Warning**\n>\n> Hot."), "**Warning:** Hot.");
  EXPECT_EQ(text("> just quoted\n\n> [not] an alert"), "just quoted\n\n[not] an alert");
}

TEST(Markdown, CommentsAndTagsAreDroppedAndPlaceholdersStay) {
  EXPECT_EQ(text("<!-- hidden -->\n\nPress <kbd>Ctrl</kbd> for <your-name>.<br>Next <a href=\"u\">link</a>"),
            "Press Ctrl for <your-name>.\nNext link");
}

TEST(Markdown, AttributeListsAreDropped) {
  EXPECT_EQ(text("A [link](x){: target=\"_blank\" } here.\n\n{: .warning }\n\n{.table}"), "A link here.");
}

TEST(Markdown, TablesAreRowsOfTrimmedCells) {
  EXPECT_EQ(text("| Option   | What it does |\n|:---------|-------------:|\n| `--rm`   | removes\\|it<br>now |\n| `-d` |"),
            "| Option | What it does |\n|---|---|\n| `--rm` | removes\\|it now |\n| `-d` | |");
}

TEST(Markdown, ListsKeepMarkersNumbersAndNesting) {
  EXPECT_EQ(text("3. three\n   - inner\n     still inner\n4. four"), "3. three\n   - inner still inner\n4. four");
  EXPECT_EQ(text("- one\n\n  ```sh\n  ls\n  ```\n- two"), "- one\n\n  ```sh\n  ls\n  ```\n\n- two");
}

TEST(Markdown, ACodeFenceKeepsItsLanguageAndItsFilesName) {
  EXPECT_EQ(text("```hcl {title=docker-bake.hcl,linenos=true}\nx = 1\n```"), "```hcl title=\"docker-bake.hcl\"\nx = 1\n```");
  EXPECT_EQ(text("    indented\n      code"), "```\nindented\n  code\n```");
}

TEST(Markdown, FootnotesStandWhereTheyAreReferredToAndAtTheEnd) {
  EXPECT_EQ(text("Fast[^1].\n\n[^1]: On two cores."), "Fast[^1].\n\n[^1]: On two cores.");
}

TEST(FrontMatterTest, TitleDescriptionAndParamsAreRead) {
  const FrontMatterSplit split = split_front_matter("---\ntitle: \"A: b\"\ndescription: >\n  two\n  lines\nversion: 3\naliases:\n- /x/\n---\nBody\n");
  EXPECT_EQ(split.front.title, "A: b");
  EXPECT_EQ(split.front.description, "two lines");
  EXPECT_EQ(split.front.params.at("version"), "3");
  EXPECT_EQ(split.body, "Body\n");
  EXPECT_EQ(split.body_line, 10u);
}

TEST(FrontMatterTest, BrokenYamlIsReportedAndTheBodyIsKept) {
  const FrontMatterSplit split = split_front_matter("---\ntitle: [never closed\n---\nBody");
  EXPECT_THAT(split.front.problem, testing::HasSubstr("not valid YAML"));
  EXPECT_EQ(split.body, "Body");
}

TEST(FrontMatterTest, ARuleOnTheFirstLineIsNotFrontMatter) {
  EXPECT_EQ(split_front_matter("---\nno end").body, "---\nno end");
  EXPECT_EQ(split_front_matter("----\nx\n---\n").body, "----\nx\n---\n");
}

}  // namespace
}  // namespace polygraph::corpus
