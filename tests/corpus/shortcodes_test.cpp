#include "index/shortcodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::corpus {
namespace {

struct Resolved {
  std::string text;
  ShortcodeCounts counts;
};

Resolved resolve(std::string_view text) {
  ShortcodeContext context;
  context.include = [](std::string_view name) -> std::optional<std::string> {
    if (name == "note.md") return "Mind the gap.\n\n- {{% param version %}}\n";
    if (name == "loop.md") return "again {{% include \"loop.md\" %}}";
    return std::nullopt;
  };
  context.param = [](std::string_view name) -> std::optional<std::string> {
    if (name == "version") return "1.2.3";
    return std::nullopt;
  };
  Resolved resolved;
  resolved.text = resolve_shortcodes(text, context, resolved.counts, 10);
  return resolved;
}

TEST(Shortcodes, ParamIsInsertedAlsoInsideCode) {
  EXPECT_EQ(resolve("```\napt install docker={{% param \"version\" %}}\n```").text, "```\napt install docker=1.2.3\n```");
}

TEST(Shortcodes, AnIncludeTakesTheIndentationOfItsLine) {
  EXPECT_EQ(resolve("1. Do it.\n\n   {{% include \"note.md\" %}}\n\n2. Done.").text,
            "1. Do it.\n\n   Mind the gap.\n\n   - 1.2.3\n\n2. Done.");
}

TEST(Shortcodes, TheNameOfATabStandsOnALineOfItsOwn) {
  EXPECT_EQ(resolve("{{< tabs group=\"os\" >}}\n{{< tab name=\"Windows\" >}}\nrun it\n{{< /tab >}}\n{{< /tabs >}}").text,
            "\n\n**Windows**\n\nrun it\n\n");
}

TEST(Shortcodes, OtherShortcodesAreDroppedAndTheirInnerTextIsKept) {
  const Resolved resolved = resolve("{{< card >}}inside{{< /card >}} and {{< badge color=blue text=\"Beta\" />}} after");
  EXPECT_EQ(resolved.text, "inside and  after");
  EXPECT_EQ(resolved.counts.dropped, (std::map<std::string, std::size_t>{{"badge", 1}, {"card", 1}}));
}

TEST(Shortcodes, WhatNamesNothingIsCountedWithItsLine) {
  const Resolved resolved = resolve("a\n{{% include \"missing.md\" %}}\nb {{% param \"nope\" %}}\n{{< broken");
  EXPECT_THAT(resolved.counts.unresolved,
              testing::ElementsAre("line 11: include \"missing.md\" names no file", "line 12: param \"nope\" has no value",
                                   "line 13: a shortcode that begins here is not well formed"));
}

TEST(Shortcodes, AnIncludeThatIncludesItselfEnds) {
  const Resolved resolved = resolve("{{% include \"loop.md\" %}}");
  EXPECT_EQ(resolved.counts.resolved, static_cast<std::size_t>(include_depth_limit));
  EXPECT_EQ(resolved.counts.unresolved.size(), 1u);
}

TEST(Shortcodes, GoTemplatesInExamplesStay) {
  EXPECT_EQ(resolve("docker ps --format '{{.ID}}: {{ .Names }}'").text, "docker ps --format '{{.ID}}: {{ .Names }}'");
}

TEST(Shortcodes, AnEscapedShortcodeIsShown) { EXPECT_EQ(resolve("write {{</* tabs */>}} here").text, "write {{< tabs >}} here"); }

}  // namespace
}  // namespace polygraph::corpus
