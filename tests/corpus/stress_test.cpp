// Properties that hold for any page: the docker-docs snapshot where it is present, and Markdown that nobody should write.
#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "index/builder.hpp"
#include "index/chunker.hpp"
#include "index/markdown.hpp"
#include "tests/corpus/folder.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::corpus {
namespace {

/// A whole block (1,300), a tail (200) and a tiny piece (40) with a heading line, or a fence's own lines, may stand together.
constexpr std::size_t largest_chunk = 2'000;

bool fences_balance(std::string_view text) {
  std::string open;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" "), line.size()));
    while (line.starts_with("- ") || (line.size() > 2 && line[0] >= '0' && line[0] <= '9' && line.substr(1, 2) == ". ")) {
      line.remove_prefix(line[0] == '-' ? 2 : 3);
    }
    if (!line.starts_with("```")) continue;
    const std::size_t ticks = std::min(line.find_first_not_of('`'), line.size());
    if (open.empty()) {
      open.assign(ticks, '`');
    } else if (ticks >= open.size() && line.find_first_not_of("` ") == std::string_view::npos) {
      open.clear();
    }
  }
  return open.empty();
}

void expect_sound(const std::vector<index::ChunkInput>& chunks, const std::string& page) {
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const index::ChunkInput& chunk = chunks[i];
    SCOPED_TRACE(page + "#" + std::to_string(i));
    EXPECT_FALSE(chunk.text.empty());
    EXPECT_FALSE(text::first_invalid(chunk.text));
    EXPECT_LE(characters(chunk.text), largest_chunk);
    if (chunks.size() > 1) {
      EXPECT_GE(characters(chunk.text), ChunkSizes{}.least);
    }
    EXPECT_TRUE(fences_balance(chunk.text)) << chunk.text;
    for (const index::Link& link : chunk.links) {
      EXPECT_LT(link.begin, link.end);
      EXPECT_LE(link.end, chunk.text.size());
    }
  }
}

std::string without_space(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '\t') out += c;
  }
  return out;
}

TEST(AnyPage, OfDockerDocsGivesSoundChunksAndLosesNoWord) {
  const std::filesystem::path folder = docker_docs();
  if (folder.empty()) GTEST_SKIP() << "the docker-docs snapshot is not beside the checkout";
  const Result<Corpus> corpus = open_corpus("dir:" + folder.string());
  ASSERT_TRUE(corpus) << corpus.error().message;
  EXPECT_EQ(corpus->pages.size() + corpus->skipped.size(), 249u);
  EXPECT_EQ(corpus->counts.shortcodes_unresolved, 0u);
  EXPECT_EQ(corpus->counts.front_matter_broken, 0u);
  std::size_t chunks = 0;
  for (const Page& page : corpus->pages) {
    const auto cut = chunk(page.sections);
    expect_sound(cut, page.id);
    chunks += cut.size();
    std::string kept;
    for (const index::ChunkInput& each : cut) kept += without_space(each.text);
    for (const Section& section : page.sections) {
      for (const Block& block : section.blocks) {
        if (characters(block.text) > ChunkSizes{}.block) continue;  // cut, with fence lines or a header put in between
        EXPECT_NE(kept.find(without_space(block.text)), std::string::npos) << page.id << "\n" << block.text;
      }
    }
  }
  // An independent chunker of the same rules made 2,522 of them.
  EXPECT_NEAR(static_cast<double>(chunks), 2'522, 150);
}

TEST(AnyPage, MadeOfOddMarkdownGivesSoundChunks) {
  const std::vector<std::string> parts{
      "- a\n  - b\n    - c\n      > quoted\n      > ```sh\n      > ls\n      > ```\n",
      "> > > deep\n> > quote\n> - list\n>   | a | b |\n>   |---|---|\n>   | 1 | 2 |\n",
      "```never closed\n# still code\n",
      "~~~~ md\n```\ninner\n```\n~~~~\n",
      "Title\n=====\n\nSub\n---\n\n",
      "<div>\n<p>html *not md*\n\n*md* now</p>\n</div>\n\n",
      "\tindented\twith\ttabs\n\n",
      "| a | b\n|---|---\n| `x|y` | \\| |\n| only one\n\n",
      "1. one\n\n   para\n\n   ```\n   code\n   ```\n2. two\n\n",
      "![only an image](x.png)\n\n[![badge](a.svg)](b)\n\n",
      "# \n\n## \n\n###### deep\n\n",
      "text with `unclosed and **strong and [link](\n\n",
      "日本語の文章です。改行もあります。\nつづき。\n\n",
      "&amp; &nbsp; &#x1F600; \\` \\* <b>x</b> <unknown> <br/>\n\n",
      "[ref]: https://example.org 'title'\n\nuse [ref] and [^note]\n\n[^note]: a note\n\n",
      "* * *\n\n- [ ] todo\n- [x] done\n\n",
      std::string(1'500, 'x') + " " + std::string(700, 'y') + "\n\n",
      "{{.Go}} {{ template }} {: .x }\n\n",
  };
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    std::string body;
    const std::size_t count = 1 + random() % 30;
    for (std::size_t i = 0; i < count; ++i) body += parts[random() % parts.size()];
    expect_sound(chunk(read_markdown(body, {}, "odd").sections), "round " + std::to_string(round));
  }
}

TEST(AnyPage, MadeOfCutAndSplicedBytesGivesSoundChunks) {
  const std::string seed =
      "# T\n\n- a `b` **c**\n  1. d [e](f)\n\n```sh\ng\n```\n\n> [!NOTE]\n> h\n\n| i | j |\n|---|---|\n| k | l |\n\n<p>m</p>\n\nn[^1]\n\n[^1]: o\n";
  std::mt19937 random(11);
  for (int round = 0; round < 2'000; ++round) {
    std::string body;
    for (int i = 0; i < 12; ++i) body += seed.substr(random() % seed.size(), random() % 40);
    expect_sound(chunk(read_markdown(body, {}, "spliced").sections), "round " + std::to_string(round));
  }
}

TEST(AnyPage, WithOneMegabyteOnALineIsCutIntoPieces) {
  std::string words, letters(1'000'000, 'x'), code = "```\n" + std::string(1'000'000, 'c') + "\n```";
  while (words.size() < 1'000'000) words += "word after word ";
  for (const std::string& body : {words, letters, code}) {
    const auto cut = chunk(read_markdown(body, {}, "long").sections);
    EXPECT_GE(cut.size(), 700u);
    expect_sound(cut, "long");
  }
}

TEST(AnyPage, NestedDeeperThanAnyoneReadsDoesNotRunOutOfStack) {
  std::string quotes(20'000, '>'), lists, emphasis, links(20'000, '[');
  for (int i = 0; i < 300; ++i) lists += std::string(static_cast<std::size_t>(i) * 2, ' ') + "- item " + std::to_string(i) + "\n";
  for (int i = 0; i < 20'000; ++i) emphasis += "**a *b ";
  for (const std::string& body : {quotes + " deep", lists, emphasis, links}) expect_sound(chunk(read_markdown(body, {}, "deep").sections), "deep");
}

}  // namespace
}  // namespace polygraph::corpus
