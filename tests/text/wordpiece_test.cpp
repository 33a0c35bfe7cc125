#include "wasm/text/wordpiece.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::text {

void PrintTo(const TokenSpan& span, std::ostream* out) { *out << '[' << span.begin << ", " << span.end << ')'; }

namespace {

using ::testing::ElementsAre;

// A vocabulary of our own, one token a line.
constexpr std::string_view tiny_lines =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nrun\n##ning\n##n\ncafe\nun\n##aff\n##able\n-\n中\n文\ni\na\n##b\n'\nthe\n##\u302E\nx\nᄀ\n##ᅡ\n";
enum : TokenId { pad, unk, cls, sep, mask, run, ning, n, cafe, un, aff, able, dash, zhong, wen, i, a, b, quote, the, tone, x, kiyeok, ah };

class TinyWordPiece : public ::testing::Test {
 protected:
  Result<Vocabulary> vocabulary = Vocabulary::parse(tiny_lines);
  WordPiece tokenizer{*vocabulary};

  std::vector<TokenId> ids(std::string_view text) const {
    Encoding encoding = tokenizer.encode(text, 1000);
    return {encoding.ids.begin() + 1, encoding.ids.end() - 1};
  }
  std::vector<TokenSpan> spans(std::string_view text) const {
    Encoding encoding = tokenizer.encode(text, 1000);
    return {encoding.spans.begin() + 1, encoding.spans.end() - 1};
  }
};

TEST_F(TinyWordPiece, TakesTheLongestPieceFromLeftToRight) {
  EXPECT_THAT(ids("running unaffable"), ElementsAre(run, ning, un, aff, able));
  EXPECT_THAT(spans("running unaffable"), ElementsAre(TokenSpan{0, 3}, TokenSpan{3, 7}, TokenSpan{8, 10}, TokenSpan{10, 13}, TokenSpan{13, 17}));
}

TEST_F(TinyWordPiece, AWordWithAnUnknownPieceIsUnknownAsAWhole) {
  EXPECT_THAT(ids("runz"), ElementsAre(unk));
  EXPECT_THAT(spans("runz the"), ElementsAre(TokenSpan{0, 4}, TokenSpan{5, 8}));
}

TEST_F(TinyWordPiece, LowersAndStripsAccentsInEitherForm) {
  EXPECT_THAT(ids("CAFÉ"), ElementsAre(cafe));
  EXPECT_THAT(ids("cafe\u0301"), ElementsAre(cafe));
  EXPECT_THAT(ids("İ"), ElementsAre(i));
}

TEST_F(TinyWordPiece, ASpanLeavesOutTheAccentThatIsACharacterOfItsOwn) {
  EXPECT_THAT(spans("café"), ElementsAre(TokenSpan{0, 5}));
  EXPECT_THAT(spans("cafe\u0301"), ElementsAre(TokenSpan{0, 4}));
}

TEST_F(TinyWordPiece, ChineseCharactersStandAlone) {
  EXPECT_THAT(ids("a中文b"), ElementsAre(a, zhong, wen, unk));
  EXPECT_THAT(spans("a中文"), ElementsAre(TokenSpan{0, 1}, TokenSpan{1, 4}, TokenSpan{4, 7}));
}

TEST_F(TinyWordPiece, PunctuationStandsAlone) {
  EXPECT_THAT(ids("run-the"), ElementsAre(run, dash, the));
  EXPECT_THAT(ids("---"), ElementsAre(dash, dash, dash));
}

TEST_F(TinyWordPiece, ControlAndFormatCharactersVanishInsideAWord) {
  EXPECT_THAT(ids(std::string("a\u200B\0b", 6)), ElementsAre(a, b));
  EXPECT_THAT(spans("a\u200Bb"), ElementsAre(TokenSpan{0, 1}, TokenSpan{4, 5}));
}

TEST_F(TinyWordPiece, EveryKindOfBlankSeparates) { EXPECT_THAT(ids("a\ta\u00A0a\u3000a\u2028a\r\na"), ElementsAre(a, a, a, a, a, a)); }

TEST_F(TinyWordPiece, IllFormedBytesAreDropped) {
  EXPECT_THAT(ids("a\xFF\xC3"), ElementsAre(a));
  EXPECT_THAT(spans("\xE2\x82" "a"), ElementsAre(TokenSpan{2, 3}));
}

TEST_F(TinyWordPiece, HangulDecomposesAndKeepsTheSyllablesSpan) {
  EXPECT_THAT(ids("가"), ElementsAre(kiyeok, ah));
  EXPECT_THAT(spans("가"), ElementsAre(TokenSpan{0, 3}, TokenSpan{0, 3}));
}

// U+302E (class 224) is kept; U+0323 (class 220), written after it, is ordered before it and dropped. The reference gives
// the kept mark the place of the second.
TEST_F(TinyWordPiece, AReorderedMarkTakesTheSpanThatTheReferenceGivesIt) {
  EXPECT_THAT(ids("x\u302E\u0323"), ElementsAre(x, tone));
  EXPECT_THAT(spans("x\u302E\u0323"), ElementsAre(TokenSpan{0, 1}, TokenSpan{4, 6}));
}

TEST_F(TinyWordPiece, AWordOfMoreThanAHundredCharactersIsUnknown) {
  std::string word = "a";
  for (int k = 0; k < 99; ++k) word += 'b';
  EXPECT_EQ(ids(word).size(), 100u);
  EXPECT_THAT(ids(word + "b"), ElementsAre(unk));
  EXPECT_THAT(spans(word + "b"), ElementsAre(TokenSpan{0, 101}));
}

TEST_F(TinyWordPiece, ASpecialTokenWrittenOutIsThatToken) {
  EXPECT_THAT(ids("a[MASK]a"), ElementsAre(a, mask, a));
  EXPECT_THAT(ids("[mask]"), ElementsAre(unk, unk, unk));
  EXPECT_THAT(spans("a[SEP]"), ElementsAre(TokenSpan{0, 1}, TokenSpan{1, 6}));
}

TEST_F(TinyWordPiece, AnEmptyTextIsTwoSpecialTokens) {
  const Encoding encoding = tokenizer.encode("", 512);
  EXPECT_THAT(encoding.ids, ElementsAre(cls, sep));
  EXPECT_THAT(encoding.spans, ElementsAre(TokenSpan{0, 0}, TokenSpan{0, 0}));
}

TEST_F(TinyWordPiece, APairHasTypeOneFromThePassageOn) {
  const Encoding encoding = tokenizer.encode_pair("run", "the café", 512);
  EXPECT_THAT(encoding.ids, ElementsAre(cls, run, sep, the, cafe, sep));
  EXPECT_THAT(encoding.type_ids, ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(encoding.spans, ElementsAre(TokenSpan{}, TokenSpan{0, 3}, TokenSpan{}, TokenSpan{0, 3}, TokenSpan{4, 9}, TokenSpan{}));
  EXPECT_EQ(encoding.tokens_cut, 0u);
}

TEST_F(TinyWordPiece, TruncationCutsThePassageOnly) {
  const Encoding encoding = tokenizer.encode_pair("run the", "a a a a", 7);
  EXPECT_THAT(encoding.ids, ElementsAre(cls, run, the, sep, a, a, sep));
  EXPECT_EQ(encoding.tokens_cut, 2u);
}

TEST_F(TinyWordPiece, AQueryThatLeavesNoRoomIsCutAndThePassageEmpty) {
  const Encoding encoding = tokenizer.encode_pair("run the run", "a a", 5);
  EXPECT_THAT(encoding.ids, ElementsAre(cls, run, the, sep, sep));
  EXPECT_THAT(encoding.type_ids, ElementsAre(0, 0, 0, 0, 1));
  EXPECT_EQ(encoding.tokens_cut, 3u);
}

TEST_F(TinyWordPiece, ASingleTextIsCutAtTheEnd) {
  const Encoding encoding = tokenizer.encode("running the", 4);
  EXPECT_THAT(encoding.ids, ElementsAre(cls, run, ning, sep));
  EXPECT_EQ(encoding.tokens_cut, 1u);
}

TEST_F(TinyWordPiece, CountsPiecesWithoutSpecialTokens) { EXPECT_EQ(tokenizer.count("running the"), 3u); }

TEST(Vocabulary, FindsEveryTokenByItsLine) {
  const auto vocabulary = Vocabulary::parse(tiny_lines);
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->size(), 24u);
  for (TokenId id = 0; id < 24; ++id) EXPECT_EQ(vocabulary->find(vocabulary->token(id)), id);
  EXPECT_EQ(vocabulary->find("##run"), std::nullopt);
  EXPECT_EQ(vocabulary->find(""), std::nullopt);
}

TEST(Vocabulary, ReadsLinesThatEndInCarriageReturns) {
  const auto vocabulary = Vocabulary::parse("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\nword");
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->find("word"), 4);
}

TEST(Vocabulary, ATokenThatOccursTwiceIsNamedWithItsLines) {
  const auto vocabulary = Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\nword\nother\nword\n");
  ASSERT_FALSE(vocabulary);
  EXPECT_EQ(vocabulary.error().code, ErrorCode::corrupt);
  EXPECT_EQ(vocabulary.error().field, "vocabulary");
  EXPECT_EQ(vocabulary.error().line, 7u);
  EXPECT_THAT(vocabulary.error().message, ::testing::HasSubstr("\"word\" stands in lines 5 and 7"));
}

TEST(Vocabulary, AMissingSpecialTokenIsNamed) {
  for (const std::string missing : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    std::string lines;
    for (const std::string token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "word"}) {
      if (token != missing) lines += token + "\n";
    }
    const auto vocabulary = Vocabulary::parse(lines);
    ASSERT_FALSE(vocabulary);
    EXPECT_EQ(vocabulary.error().code, ErrorCode::corrupt);
    EXPECT_THAT(vocabulary.error().message, ::testing::HasSubstr(missing));
  }
  EXPECT_FALSE(Vocabulary::parse(""));
}

struct Vector {
  std::string text;
  std::vector<TokenId> ids;
  std::vector<TokenSpan> spans;
};

// Answers of Hugging Face tokenizers 0.23.3 with the embedder's tokenizer.json, offsets converted to bytes.
TEST(ModelVocabulary, GivesTheReferencesTokens) {
  const char* path = std::getenv("POLYGRAPH_VOCAB");
  if (path == nullptr) GTEST_SKIP() << "POLYGRAPH_VOCAB is unset: it names the vocab.txt of the embedder, which `polygraph models` fetches";
  std::ifstream file(path, std::ios::binary);
  const std::string lines((std::istreambuf_iterator<char>(file)), {});
  const auto vocabulary = Vocabulary::parse(lines);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  ASSERT_EQ(vocabulary->size(), 30522u);
  const WordPiece tokenizer(*vocabulary);

  const std::vector<Vector> vectors = {
      {"How do I limit a container's memory?", {2129, 2079, 1045, 5787, 1037, 11661, 1005, 1055, 3638, 1029},
       {{0, 3}, {4, 6}, {7, 8}, {9, 14}, {15, 16}, {17, 26}, {26, 27}, {27, 28}, {29, 35}, {35, 36}}},
      {"docker run --memory=512m -it ubuntu:22.04",
       {8946, 2121, 2448, 1011, 1011, 3638, 1027, 24406, 2213, 1011, 2009, 1057, 8569, 3372, 2226, 1024, 2570, 1012, 5840},
       {{0, 4}, {4, 6}, {7, 10}, {11, 12}, {12, 13}, {13, 19}, {19, 20}, {20, 23}, {23, 24}, {25, 26},
        {26, 28}, {29, 30}, {30, 32}, {32, 34}, {34, 35}, {35, 36}, {36, 38}, {38, 39}, {39, 41}}},
      {"Ångström NAÏVE café", {17076, 15687, 15743, 7668}, {{0, 4}, {4, 10}, {11, 17}, {18, 23}}},
      {"日本語コンテナ", {1864, 1876, 1950, 1704, 30263, 30239, 30241}, {{0, 3}, {3, 6}, {6, 9}, {9, 12}, {12, 15}, {15, 18}, {18, 21}}},
      {"한국어 도커", {1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 1457, 30011, 30002, 30008},
       {{0, 3}, {0, 3}, {0, 3}, {3, 6}, {3, 6}, {3, 6}, {6, 9}, {6, 9}, {10, 13}, {10, 13}, {13, 16}, {13, 16}}},
      {std::string("a\u200Bb\0c\x7F" "d\uFFFD" "e", 13), {5925, 3207}, {{0, 7}, {8, 13}}},
      {"x\u0301\u0323\u302Ey", {100}, {{0, 9}}},
      {"[MASK] and [mask]", {103, 1998, 1031, 7308, 1033}, {{0, 6}, {7, 10}, {11, 12}, {12, 16}, {16, 17}}},
      {" \t\n\u3000 ", {}, {}},
      {"👍🏽 ok", {100, 7929}, {{0, 8}, {9, 11}}},
      {"İstanbul ẞ", {9960, 1096}, {{0, 9}, {10, 13}}},
      {"豈更", {100, 100}, {{0, 3}, {3, 6}}},
      {"don’t—“quote”", {2123, 1521, 1056, 1517, 1523, 14686, 1524}, {{0, 3}, {3, 6}, {6, 7}, {7, 10}, {10, 13}, {13, 18}, {18, 21}}},
      // A mark that decomposes (U+0F73) is ordered before one that is kept (U+1D165), which then ends where it stood.
      {"\U0001D158\U0001D165\u0338\u0F73", {100}, {{0, 13}}},
      {"क़िताब", {1315, 29877, 29859, 29876, 29865}, {{0, 3}, {6, 9}, {9, 12}, {12, 15}, {15, 18}}},
  };
  for (const Vector& vector : vectors) {
    const Encoding encoding = tokenizer.encode(vector.text, 512);
    EXPECT_EQ(std::vector<TokenId>(encoding.ids.begin() + 1, encoding.ids.end() - 1), vector.ids) << vector.text;
    EXPECT_EQ(std::vector<TokenSpan>(encoding.spans.begin() + 1, encoding.spans.end() - 1), vector.spans) << vector.text;
  }
}

}  // namespace
}  // namespace polygraph::text
