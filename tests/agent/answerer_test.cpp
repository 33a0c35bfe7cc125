// What the extractive answerer quotes, and how.
#include "wasm/agent/extractive/answerer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wasm/index/reader.hpp"
#include "wasm/index/writer.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::agent::extractive {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Not;
using testing::StartsWith;

struct Section {
  std::string title, heading, text;
};

/// Sections on pages of their own, in the order of their numbers; plus pages on something else, so that words weigh what
/// they do in a corpus.
class Corpus {
 public:
  explicit Corpus(const std::vector<Section>& sections) {
    index::IndexInput input;
    input.metadata.corpus = "test";
    input.metadata.embedder = {"none", "e0", 0, "", 64};
    input.metadata.reranker = {"none", "r0", 0, "", 64};
    int n = 0;
    const auto page = [&](const Section& section) {
      index::DocumentInput document;
      document.id = "p" + std::to_string(10 + n++);
      document.title = section.title;
      document.url = "https://docs.example/" + document.id;
      index::ChunkInput chunk;
      chunk.heading_path = section.heading;
      chunk.text = section.text;
      document.chunks.push_back(std::move(chunk));
      input.documents.push_back(std::move(document));
    };
    for (const Section& section : sections) page(section);
    for (const char* other : {"gardens", "bridges", "clocks", "rivers", "ovens"}) page({other, "", std::string("Something on ") + other + "."});
    input.vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n";
    auto bytes = index::write_index(input);
    EXPECT_TRUE(bytes);
    if (!bytes) return;
    bytes_ = std::move(*bytes);
    auto opened = index::Index::open(bytes_);
    EXPECT_TRUE(opened);
    if (opened) index_ = std::make_unique<index::Index>(std::move(*opened));
    for (index::ChunkNo c = 0; c < sections.size(); ++c) all_.push_back(c);
  }

  Answer ask(std::string_view question, bool unsure = false) const { return Answerer(*index_, question, all_).answer({}, unsure); }
  Answerer answerer(std::string_view question) const { return {*index_, question, all_}; }
  std::string text(const std::string& id) const { return std::string(index_->chunk(*index_->find_chunk(id)).text); }

 private:
  std::vector<std::byte> bytes_;
  std::unique_ptr<index::Index> index_;
  std::vector<index::ChunkNo> all_;
};

/// What a citation stands for.
std::string span(const std::string& text, const Citation& citation) {
  std::string out;
  std::size_t points = 0;
  for (std::size_t at = 0; at < text.size(); ++points) {
    const auto point = text::decode(text, at);
    if (points >= citation.begin && points < citation.end) out += text.substr(at, point.length);
    at += point.length;
  }
  return out;
}

TEST(Answerer, QuotesVerbatimAndCitesEveryQuote) {
  const Corpus corpus({{"Kettles", "Boil", "A kettle boils water. It needs “about” 3 minutes for a litre."},
                       {"Teapots", "", "A teapot keeps tea warm.\n\nWarm the teapot before the tea goes in."}});
  const Answer answer = corpus.ask("How long does a kettle need to boil a litre of water, and how is tea kept warm?");
  ASSERT_THAT(answer.citations, Not(IsEmpty()));
  for (const Citation& citation : answer.citations) {
    const std::string quoted = span(answer.text, citation);
    EXPECT_FALSE(quoted.empty());
    EXPECT_THAT(corpus.text(citation.chunk_id), HasSubstr(quoted));
    EXPECT_THAT(answer.text, HasSubstr("[" + citation.chunk_id + "]"));
  }
  EXPECT_THAT(answer.cited_ids, testing::UnorderedElementsAre("p10#000", "p11#000"));
  EXPECT_THAT(answer.text, HasSubstr("3 minutes for a litre"));
  EXPECT_THAT(answer.text, HasSubstr("A teapot keeps tea warm."));
}

TEST(Answerer, NamesTheHeadingThatASentenceLeansOn) {
  const Corpus corpus({{"Kettle options", "Set a limit for the temperature (-t, --temperature)",
                        "These parameters always set an upper limit on the temperature of the water."}});
  const Answer answer = corpus.ask("How do I limit a kettle's temperature?");
  EXPECT_THAT(answer.text, StartsWith("**Kettle options > Set a limit for the temperature (-t, --temperature)**\n\nThese parameters"));
  // The heading is not part of what is cited.
  ASSERT_THAT(answer.citations, Not(IsEmpty()));
  EXPECT_THAT(span(answer.text, answer.citations.front()), StartsWith("These parameters"));
}

TEST(Answerer, LeavesOutAHeadingThatAddsNothing) {
  const Corpus corpus({{"Kettles", "Boil", "A kettle boils water until you switch it off."}});
  EXPECT_THAT(corpus.ask("When does a kettle boil water?").text, StartsWith("A kettle boils water"));
}

TEST(Answerer, TakesTheCodeThatASentenceIntroduces) {
  const Corpus corpus({{"Kettles", "", "Descale the kettle with the cleaning program:\n\n```console\n$ kettle run --program=clean\n```\n\nA clean kettle saves power."}});
  EXPECT_THAT(corpus.ask("How do I descale my kettle?").text, HasSubstr(":") );
  EXPECT_THAT(corpus.ask("How do I descale my kettle?").text, HasSubstr("$ kettle run --program=clean"));
}

TEST(Answerer, TakesTheSentenceBeforeOneThatStartsWithAPronoun) {
  const Corpus corpus({{"Kitchen", "", "The lid holds a steam valve. It opens when the pressure exceeds 2 bar. Wash the lid by hand."}});
  const Answer answer = corpus.ask("At which pressure does it open?");
  EXPECT_THAT(answer.text, HasSubstr("The lid holds a steam valve."));
  EXPECT_THAT(answer.text, HasSubstr("It opens when the pressure exceeds 2 bar."));
}

TEST(Answerer, PrefersTheSentenceThatHoldsTheNumberAskedFor) {
  const Corpus corpus({{"Kettles", "", "The kettle keeps water warm for some time after it boiled the water. "
                                       "The kettle keeps water warm for 40 minutes."}});
  EXPECT_THAT(corpus.ask("How long does the kettle keep water warm?").text, StartsWith("The kettle keeps water warm for 40 minutes."));
}

TEST(Answerer, PrefersTheSentenceThatNamesTheOption) {
  const Corpus corpus({{"Kettles", "", "You can stop the kettle from beeping after boiling. Set `quiet_mode` to stop the beeping of the kettle."}});
  EXPECT_THAT(corpus.ask("Which setting stops the kettle from beeping?").text, HasSubstr("`quiet_mode`"));
}

TEST(Answerer, PutsTheHeaderAboveATableRow) {
  const Corpus corpus({{"Options", "", "| Option | Meaning |\n| --- | --- |\n| `boil` | heats the water |\n| `hold` | keeps the water warm |"}});
  const std::string text = corpus.ask("Which option keeps water warm?").text;
  EXPECT_THAT(text, HasSubstr("| Option | Meaning |\n| --- | --- |\n| `"));
  EXPECT_THAT(text, HasSubstr("| `hold` | keeps the water warm |"));
}

TEST(Answerer, PutsTheIntroductionBeforeAListItem) {
  const Corpus corpus({{"Kettles", "", "Before descaling:\n\n- Unplug the base.\n- Empty the reservoir."}});
  const std::string text = corpus.ask("Must I empty the reservoir?").text;
  EXPECT_THAT(text, HasSubstr("Before descaling:"));
  EXPECT_THAT(text, HasSubstr("Empty the reservoir."));
}

TEST(Answerer, QuotesFromThreePassagesAtMostAndStaysShort) {
  std::vector<Section> sections;
  for (int n = 0; n < 8; ++n) {
    std::string text;
    for (int s = 0; s < 30; ++s) text += "Kettle model k" + std::to_string(n) + "x" + std::to_string(s) + " boils water at a temperature of its own. ";
    sections.push_back({"Model " + std::to_string(n), "", text});
  }
  const Answer answer = Corpus(sections).ask("At which temperature does a kettle boil water?");
  EXPECT_THAT(answer.cited_ids.size(), Le(3U));
  EXPECT_THAT(answer.citations.size(), Le(4U));
  EXPECT_THAT(answer.text.size(), Le(2000U));
}

// Words alone prefer the sentence that repeats the question; the cross-encoder knows which one answers it.
TEST(Answerer, LeadsWithWhatTheCrossEncoderPrefers) {
  const Corpus corpus({{"Kettles", "", "Limits on the temperature of the water of a kettle are explained below. Turn the dial `t` to 80."},
                       {"Kettle limits", "", "A limit on the temperature of a kettle saves power."}});
  const Answerer answerer = corpus.answerer("How do I limit the temperature of a kettle?");
  std::vector<float> logits(answerer.pairs(64).size(), -6.0F);
  ASSERT_EQ(logits.size(), 3U);
  logits.back() = 6.0F;  // of the sentence that shares the fewest words
  EXPECT_THAT(answerer.answer(logits, false).text, HasSubstr("Turn the dial `t` to 80."));
  EXPECT_THAT(answerer.answer(logits, false).citations.front().chunk_id, "p10#000");
  EXPECT_THAT(answerer.answer(logits, false).citations, testing::SizeIs(1));
  EXPECT_THAT(answerer.answer({}, false).text, Not(StartsWith("Turn the dial")));
}

TEST(Answerer, SaysThatItIsNotSure) {
  const Corpus corpus({{"Kettles", "", "A kettle boils water."}});
  EXPECT_THAT(corpus.ask("Does a kettle boil water?", true).text, StartsWith("I am not sure"));
  EXPECT_THAT(corpus.ask("Does a kettle boil water?", false).text, StartsWith("A kettle"));
}

TEST(Answerer, SaysNothingWhereNoUnitSaysAnythingOfTheQuestion) {
  const Corpus corpus({{"Kettles", "", "A kettle boils water."}});
  EXPECT_THAT(corpus.ask("Zeppelin timetable").text, IsEmpty());
}

}  // namespace
}  // namespace polygraph::agent::extractive
