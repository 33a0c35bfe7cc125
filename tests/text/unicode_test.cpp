#include "wasm/text/unicode/properties.hpp"

#include <gtest/gtest.h>

namespace polygraph::text::unicode {
namespace {

TEST(Unicode, FoldsByDecomposingDroppingMarksAndLowering) {
  const auto single = [](char32_t c) {
    const Folded folded = fold(c);
    EXPECT_EQ(folded.count, 1);
    return folded.code_points[0];
  };
  EXPECT_EQ(single(U'É'), U'e');
  EXPECT_EQ(single(U'ệ'), U'e');
  EXPECT_EQ(single(U'İ'), U'i');
  EXPECT_EQ(single(U'Å'), U'a');
  EXPECT_EQ(single(U'ẞ'), U'ß');
  EXPECT_EQ(single(U'Σ'), U'σ');
  EXPECT_EQ(single(U'Й'), U'и');
  EXPECT_EQ(single(U'が'), U'か');
  EXPECT_EQ(single(U'豈'), U'豈');
  EXPECT_EQ(single(U'丽'), U'丽');  // U+2F800, to another plane
  EXPECT_EQ(single(U'𐐀'), U'𐐨');
  EXPECT_EQ(single(U'ł'), U'ł');  // a letter of its own: it has no decomposition
}

TEST(Unicode, HangulDecomposesByArithmetic) {
  const Folded two = fold(U'가'), three = fold(U'힣');
  EXPECT_EQ(two.count, 2);
  EXPECT_EQ(two.code_points[0], char32_t{0x1100});
  EXPECT_EQ(two.code_points[1], char32_t{0x1161});
  EXPECT_EQ(three.count, 3);
  EXPECT_EQ(three.code_points[2], char32_t{0x11C2});
}

TEST(Unicode, FoldingTwiceChangesNothing) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c == 0xD800) c = 0xE000;
    if (properties(c) & (drop | space | mark)) continue;
    const Folded folded = fold(c);
    for (int i = 0; i < folded.count; ++i) {
      const Folded again = fold(folded.code_points[i]);
      ASSERT_EQ(again.count, 1) << static_cast<std::uint32_t>(c);
      ASSERT_EQ(again.code_points[0], folded.code_points[i]) << static_cast<std::uint32_t>(c);
    }
  }
}

TEST(Unicode, KnowsTheReferencesKindsOfCharacters) {
  EXPECT_EQ(properties(U'\u00A0'), space);
  EXPECT_EQ(properties(U'\u3000'), space);
  EXPECT_EQ(properties(U'\u2028'), space);
  EXPECT_EQ(properties(U'\u200B'), drop);
  EXPECT_EQ(properties(U'\uFFFD'), drop);
  EXPECT_EQ(properties(U'\uE000'), drop);
  EXPECT_EQ(properties(U'\u0301'), mark);
  EXPECT_EQ(properties(U'—'), punctuation);
  EXPECT_EQ(properties(U'€'), 0);
  EXPECT_EQ(properties(U'中'), ideograph | letter);
  EXPECT_EQ(properties(U'٣'), digit);
}

TEST(Unicode, KnowsCapitalsInRowsAndAlternation) {
  EXPECT_TRUE(is_capital(U'É'));
  EXPECT_FALSE(is_capital(U'é'));
  EXPECT_FALSE(is_capital(U'×'));
  EXPECT_TRUE(is_capital(U'Ā'));
  EXPECT_FALSE(is_capital(U'ā'));
  EXPECT_TRUE(is_capital(U'ǅ'));
  EXPECT_TRUE(is_capital(U'Ж'));
  EXPECT_FALSE(is_capital(U'中'));
}

TEST(Unicode, ADecomposableMarkHasTheClassOfItsFirstPart) {
  EXPECT_EQ(combining_class(0x0301), 230);
  EXPECT_EQ(combining_class(0x0F73), 129);
  EXPECT_EQ(combining_class(U'a'), 0);
}

}  // namespace
}  // namespace polygraph::text::unicode
