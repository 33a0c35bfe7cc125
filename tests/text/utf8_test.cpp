#include "wasm/text/utf8.hpp"

#include <string>

#include <gtest/gtest.h>

namespace polygraph::text {
namespace {

TEST(Utf8, EveryScalarValueComesBackFromItsBytes) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c == 0xD800) c = 0xE000;
    std::string bytes;
    append(bytes, c);
    const CodePoint point = decode(bytes, 0);
    ASSERT_TRUE(point.valid) << static_cast<std::uint32_t>(c);
    ASSERT_EQ(point.value, c);
    ASSERT_EQ(point.length, bytes.size());
  }
}

TEST(Utf8, RefusesEverySequenceThatIsNotTheShortestForm) {
  for (const std::string_view bytes : {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF"}) {
    EXPECT_EQ(first_invalid(bytes), 0u);
  }
}

TEST(Utf8, RefusesSurrogatesAndWhatLiesAboveUnicode) {
  for (const std::string_view bytes : {"\xED\xA0\x80", "\xED\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xFE", "\x80"}) {
    EXPECT_EQ(first_invalid(bytes), 0u);
  }
}

TEST(Utf8, ATruncatedSequenceIsIllFormedFromItsFirstByte) {
  EXPECT_EQ(first_invalid("ab\xF0\x9F\x90"), 2u);
  EXPECT_EQ(first_invalid("ab\xE2\x82"), 2u);
  EXPECT_EQ(first_invalid("ab\xC3"), 2u);
}

TEST(Utf8, AnIllFormedByteIsReadAloneAndTheNextIsReadAfresh) {
  const std::string_view bytes = "\xE2\x82" "a";
  const CodePoint point = decode(bytes, 0);
  EXPECT_FALSE(point.valid);
  EXPECT_EQ(point.value, U'\uFFFD');
  EXPECT_EQ(point.length, 1);
  EXPECT_EQ(decode(bytes, 2).value, U'a');
  EXPECT_EQ(code_points(bytes), 3u);
}

TEST(Utf8, CountsCodePointsNotBytes) { EXPECT_EQ(code_points("aé日🐳"), 4u); }

TEST(Utf8, AWellFormedTextHasNoInvalidByte) { EXPECT_EQ(first_invalid("aé日🐳\xEF\xBF\xBD"), std::nullopt); }

TEST(Utf8, AppendingWhatIsNoScalarValueWritesTheReplacementCharacter) {
  std::string out;
  append(out, 0xD800);
  append(out, 0x110000);
  EXPECT_EQ(out, "\uFFFD\uFFFD");
}

}  // namespace
}  // namespace polygraph::text
