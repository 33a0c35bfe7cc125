// Every function of wasm/text on bytes that nobody meant to write. Run under the sanitizers (preset `sanitize`), these
// tests also show that nothing is read or written out of bounds.
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "wasm/text/digest.hpp"
#include "wasm/text/sentences.hpp"
#include "wasm/text/stemmer.hpp"
#include "wasm/text/terms.hpp"
#include "wasm/text/utf8.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::text {
namespace {

constexpr std::string_view vocabulary_lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n##b\n-\n`\n中\n##\u302E\n";

void check_everything(const std::string& text, const WordPiece& tokenizer) {
  const std::size_t size = text.size();
  const auto invalid = first_invalid(text);
  ASSERT_TRUE(!invalid || *invalid < size);
  ASSERT_LE(code_points(text), size);

  const Encoding encoding = tokenizer.encode_pair(text, text, 64);
  ASSERT_LE(encoding.ids.size(), 64u);
  ASSERT_EQ(encoding.ids.size(), encoding.spans.size());
  ASSERT_EQ(encoding.ids.size(), encoding.type_ids.size());
  for (const TokenSpan& span : encoding.spans) ASSERT_LE(span.end, size);
  const std::size_t pieces = tokenizer.count(text);
  ASSERT_EQ(encoding.ids.size() - 3 + encoding.tokens_cut, 2 * pieces);

  for (const Analysis analysis : {Analysis::english, Analysis::plain}) {
    Term whole;
    for (const Term& term : terms(text, analysis)) {
      ASSERT_LT(term.begin, term.end);
      ASSERT_LE(term.end, size);
      ASSERT_FALSE(term.text.empty());
      ASSERT_EQ(first_invalid(term.text), std::nullopt);
      if (term.whole) whole = term;
      ASSERT_LE(whole.begin, term.begin);  // a part lies inside its identifier
      ASSERT_LE(term.end, whole.end);
    }
  }

  std::uint32_t previous = 0;
  for (const Unit& unit : units(text)) {
    ASSERT_LE(previous, unit.begin);
    ASSERT_LT(unit.begin, unit.end);
    ASSERT_LE(unit.end, size);
    previous = unit.end;
  }
  ASSERT_LE(stem_english(text).size(), size + 1);
  ASSERT_EQ(digest(text).size(), 39u);
}

class Robustness : public ::testing::Test {
 protected:
  Result<Vocabulary> vocabulary = Vocabulary::parse(vocabulary_lines);
  WordPiece tokenizer{*vocabulary};
};

TEST_F(Robustness, RandomBytesAreReadWithinBounds) {
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int i = 0; i < 4000; ++i) {
    std::string text(random() % 200, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    ASSERT_NO_FATAL_FAILURE(check_everything(text, tokenizer)) << "seed " << seed;
  }
}

TEST_F(Robustness, RandomPiecesOfSyntaxAreReadWithinBounds) {
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  constexpr std::string_view pieces[] = {"a", "B", "9", ".", "-", "_", "/", "'", "'s", "n't", "’", " ", "\n", "\n\n", "```", "``", "`", "~~~", "| ", "- ", "1. ",
                                         "# ", "---", "e.g. ", "...", "! ", "。", "」", "中", "コ", "가", "é", "e\u0301", "\u302E", "\u0323", "\U0001D160",
                                         "\u0F73", "\u00AD", "\u200D", "[CLS]", "[SEP", "[", "Ａ", "ǅ", "\xC3", "\xF0\x9F", "\xFF"};
  for (int i = 0; i < 6000; ++i) {
    std::string text;
    for (std::size_t n = random() % 40; n > 0; --n) text += pieces[random() % std::size(pieces)];
    ASSERT_NO_FATAL_FAILURE(check_everything(text, tokenizer)) << text << ", seed " << seed;
  }
}

// Work that grew with the square of the length would not come back from these within the test's time limit.
TEST_F(Robustness, AHugeTextOfAnythingTakesLinearTime) {
  constexpr std::size_t length = 200'000;
  for (const std::string_view piece : {"a", "aB", "a.", "a-", ".", "...!", "`", "` ``", "'", "n't", "中", "\u0301", "\u302E\u0323", "[", "[CLS", "#", "- ",
                                       "|", "```\n", "e.g. ", ")", "_a.", "\xFF", "é", "1. ", "y", "'s", "\n", " "}) {
    std::string text;
    while (text.size() < length) text += piece;
    ASSERT_NO_FATAL_FAILURE(check_everything(text, tokenizer)) << piece;
  }
}

TEST_F(Robustness, RandomBytesAsAVocabularyAreRefusedOrUsable) {
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string lines(vocabulary_lines);
    for (std::size_t n = 1 + random() % 8; n > 0; --n) lines[random() % lines.size()] = static_cast<char>(random());
    const auto parsed = Vocabulary::parse(lines);
    if (!parsed) {
      ASSERT_EQ(parsed.error().field, "vocabulary");
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(check_everything("ab中-\u302E[MASK]", WordPiece(*parsed))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace polygraph::text
