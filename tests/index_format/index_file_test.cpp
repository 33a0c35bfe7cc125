// What is written into an index file is what is read out of it, and the same corpus always gives the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "tests/index_format/small_index.hpp"
#include "tests/index_format/walk.hpp"
#include "wasm/index/model_text.hpp"
#include "wasm/index/quantisation.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/index/writer.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph {
namespace {

using index::ChunkNo;
using index::Field;
using index::Index;
using index::Part;
using testing::ElementsAre;
using testing::HasSubstr;

class IndexFile : public testing::Test {
 protected:
  std::vector<std::byte> file = tests::small_index();
  Index opened = Index::open(file).value();
};

TEST_F(IndexFile, KeepsDocumentsInIdOrder) {
  ASSERT_EQ(opened.documents(), 3U);
  EXPECT_EQ(opened.document(0).id, "anker");
  EXPECT_EQ(opened.document(1).id, "deck/lights");
  EXPECT_EQ(opened.document(2).id, "empty");
  EXPECT_EQ(opened.document(1).title, "Deck lights");
  EXPECT_EQ(opened.document(1).url, "https://ferry.example/deck/lights");
  EXPECT_EQ(opened.document(1).first_chunk, 1U);
  EXPECT_EQ(opened.document(1).chunk_count, 2U);
  EXPECT_EQ(opened.document(2).chunk_count, 0U);
}

TEST_F(IndexFile, GivesADocumentWithoutALicenceThatOfItsCorpus) {
  EXPECT_EQ(opened.document(1).licence, "MIT");
  EXPECT_EQ(opened.document(0).licence, "CC0-1.0");
}

TEST_F(IndexFile, KeepsMetadata) {
  EXPECT_EQ(opened.metadata(), tests::small_corpus().metadata);
  EXPECT_EQ(index::parse_metadata(index::to_json(opened.metadata())).value(), opened.metadata());
}

TEST_F(IndexFile, FindsDocumentsAndChunksById) {
  EXPECT_EQ(opened.find_document("deck/lights"), 1U);
  EXPECT_EQ(opened.find_document("deck"), std::nullopt);
  EXPECT_EQ(opened.chunk_id(2), "deck/lights#001");
  EXPECT_EQ(opened.find_chunk("deck/lights#001"), 2U);
  for (const char* wrong : {"deck/lights#002", "deck/lights#1", "deck/lights#0001", "deck/lights", "#000", "", "deck/lights#",
                            "deck/lights#00x", "deck/lights#-01", "deck/lights#99999999999"}) {
    EXPECT_EQ(opened.find_chunk(wrong), std::nullopt) << wrong;
  }
}

TEST_F(IndexFile, LinksAChunkToItsHeading) {
  EXPECT_EQ(opened.chunk_url(1), "https://ferry.example/deck/lights");
  EXPECT_EQ(opened.chunk_url(2), "https://ferry.example/deck/lights#colours");
}

TEST_F(IndexFile, KeepsLinksWithTheirWords) {
  const auto links = opened.links(0);
  ASSERT_EQ(links.size(), 2U);
  EXPECT_EQ(opened.chunk(0).text.substr(links[1].begin, links[1].end - links[1].begin), "錨");
  EXPECT_EQ(links[1].target, "../錨");
  EXPECT_EQ(opened.links(1).size(), 1U);
  EXPECT_TRUE(opened.links(2).empty());
}

TEST_F(IndexFile, GivesModelsTitleHeadingsAndBody) {
  EXPECT_EQ(opened.chunk_model_text(0), "Anker und Kette > Kette > Länge\nDie Kette des Ankers ist 80 m lang. 錨は重い。");
  EXPECT_EQ(index::model_text("Title", "", "Body"), "Title\nBody");
  EXPECT_EQ(index::model_text("", "Heading", "Body"), "Heading\nBody");
  EXPECT_EQ(index::model_text("", "", "Body"), "Body");
}

TEST_F(IndexFile, HoldsThePostingsOfAPlainCount) {
  std::map<std::string, std::map<ChunkNo, std::array<std::uint32_t, 3>>> expected;
  std::vector<std::array<std::uint32_t, 3>> lengths(opened.chunks());
  for (ChunkNo c = 0; c < opened.chunks(); ++c) {
    const auto chunk = opened.chunk(c);
    const std::string_view fields[] = {chunk.text, opened.document(chunk.document).title, chunk.heading_path};
    for (std::size_t f = 0; f < 3; ++f) {
      for (const auto& term : text::terms(fields[f], text::Analysis::english)) {
        ++expected[term.text][c][f];
        ++lengths[c][f];
      }
    }
  }
  ASSERT_EQ(opened.terms(), expected.size());
  index::TermNo t = 0;
  for (const auto& [term, chunks] : expected) {
    EXPECT_EQ(opened.term(t), term);
    EXPECT_EQ(opened.document_frequency(t), chunks.size());
    const double n = opened.chunks(), df = static_cast<double>(chunks.size());
    EXPECT_DOUBLE_EQ(opened.idf(t), std::log(1 + (n - df + 0.5) / (df + 0.5)));
    auto cursor = opened.postings(t);
    for (const auto& [chunk, tf] : chunks) {
      const auto posting = cursor.next();
      ASSERT_TRUE(posting) << term;
      EXPECT_EQ(posting->chunk, chunk) << term;
      EXPECT_THAT(posting->tf, testing::ElementsAreArray(tf)) << term;
    }
    EXPECT_FALSE(cursor.next()) << term;
    ++t;
  }
  EXPECT_DOUBLE_EQ(opened.idf_unseen(), std::log(1 + 3.5 / 0.5));
  for (std::size_t f = 0; f < 3; ++f) {
    double sum = 0;
    for (ChunkNo c = 0; c < opened.chunks(); ++c) {
      EXPECT_EQ(opened.field_length(c, static_cast<Field>(f)), lengths[c][f]);
      sum += lengths[c][f];
    }
    EXPECT_DOUBLE_EQ(opened.mean_field_length(static_cast<Field>(f)), sum / opened.chunks());
  }
}

TEST_F(IndexFile, FindsTheTermsWithAPrefix) {
  const auto [first, last] = opened.terms_with_prefix("l");
  ASSERT_LT(first, last);
  for (index::TermNo t = 0; t < opened.terms(); ++t) EXPECT_EQ(opened.term(t).starts_with("l"), t >= first && t < last);
  const auto everything = opened.terms_with_prefix("");
  EXPECT_EQ(everything, std::pair(index::TermNo{0}, opened.terms()));
  const auto none = opened.terms_with_prefix("zzz");
  EXPECT_EQ(none.first, none.second);
}

TEST_F(IndexFile, KeepsVectorsWithinHalfAQuantisationStep) {
  const auto input = tests::small_corpus();
  ASSERT_TRUE(opened.has_vectors());
  ASSERT_EQ(opened.dimensions(), 5U);
  const std::size_t given_row[] = {2, 0, 1};  // of each chunk in id order
  for (ChunkNo c = 0; c < opened.chunks(); ++c) {
    const float scale = opened.vector_scales()[c];
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(input.vectors[given_row[c] * 5 + i], static_cast<float>(opened.vectors()[c * 5 + i]) * scale, scale * 0.5001F);
    }
  }
}

TEST_F(IndexFile, LexicalPartHasNoVectorsAndNoVocabulary) {
  const auto lexical = Index::open(std::span(file).first(index::extent(file)->lexical), Part::lexical).value();
  EXPECT_EQ(lexical.part(), Part::lexical);
  EXPECT_FALSE(lexical.has_vectors());
  EXPECT_EQ(lexical.vocabulary(), nullptr);
  EXPECT_EQ(lexical.dimensions(), 0U);
  EXPECT_EQ(lexical.terms(), opened.terms());
  EXPECT_EQ(lexical.digest(), opened.digest());
}

TEST_F(IndexFile, KeepsItsViewsWhenMoved) {
  const std::string_view before = opened.chunk(0).text;
  const Index moved = std::move(opened);
  EXPECT_EQ(moved.chunk(0).text.data(), before.data());
  tests::walk(moved);
}

TEST_F(IndexFile, OpensAtAnyAlignment) {
  std::vector<std::byte> shifted(file.size() + 8);
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::copy(file.begin(), file.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
    const auto index = Index::open(std::span(shifted).subspan(shift, file.size()));
    ASSERT_TRUE(index);
    EXPECT_EQ(tests::walk(*index), tests::walk(opened));
  }
}

TEST_F(IndexFile, IsTheSameBytesOnEveryRun) { EXPECT_EQ(tests::small_index(), file); }

TEST_F(IndexFile, IsTheSameBytesWhateverTheOrderOfDocuments) {
  const auto input = tests::small_corpus();
  std::vector<std::size_t> order = {0, 1, 2};
  std::vector<std::vector<float>> rows(3);
  std::size_t at = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::size_t size = input.documents[d].chunks.size() * 5;
    rows[d].assign(input.vectors.begin() + static_cast<std::ptrdiff_t>(at), input.vectors.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
  }
  while (std::next_permutation(order.begin(), order.end())) {
    auto permuted = input;
    permuted.documents.clear();
    permuted.vectors.clear();
    for (const auto d : order) {
      permuted.documents.push_back(input.documents[d]);
      permuted.vectors.insert(permuted.vectors.end(), rows[d].begin(), rows[d].end());
    }
    EXPECT_EQ(index::write_index(permuted).value(), file);
  }
}

TEST_F(IndexFile, HasAnotherDigestWhenItsContentDiffers) {
  auto input = tests::small_corpus();
  input.documents[0].title += "!";
  const auto other = index::write_index(input).value();
  EXPECT_NE(Index::open(other)->digest(), opened.digest());
}

TEST(IndexWriter, WritesAnIndexWithoutVectors) {
  auto input = tests::small_corpus();
  input.vectors.clear();
  input.vocabulary.clear();
  const auto file = index::write_index(input).value();
  const auto opened = Index::open(file).value();
  EXPECT_FALSE(opened.has_vectors());
  EXPECT_EQ(opened.vocabulary(), nullptr);
  tests::walk(opened);
}

TEST(IndexWriter, WritesAnEmptyCorpus) {
  const auto file = index::write_index({}).value();
  const auto opened = Index::open(file).value();
  EXPECT_EQ(opened.chunks(), 0U);
  EXPECT_EQ(opened.mean_field_length(Field::body), 0.0);
  tests::walk(opened);
}

TEST(IndexWriter, KeepsChunkNumbersAboveThreeDigitsReadable) {
  index::IndexInput input;
  input.documents = {{"long", "Long", "", "", std::vector<index::ChunkInput>(1'205, {"", "", "words", {}})}};
  const auto file = index::write_index(input).value();
  const auto opened = Index::open(file).value();
  EXPECT_EQ(opened.chunk_id(7), "long#007");
  EXPECT_EQ(opened.chunk_id(1'204), "long#1204");
  EXPECT_EQ(opened.find_chunk("long#1204"), 1'204U);
  EXPECT_EQ(opened.find_chunk("long#0007"), std::nullopt);
}

/// The error of a corpus that one edit made unacceptable.
Error refusal(const std::function<void(index::IndexInput&)>& damage) {
  auto input = tests::small_corpus();
  damage(input);
  const auto file = index::write_index(input);
  EXPECT_FALSE(file);
  return file ? Error{} : file.error();
}

TEST(IndexWriter, RefusesWhatItCouldNotGiveBackAndNamesTheDocument) {
  using Input = index::IndexInput;
  EXPECT_EQ(refusal([](Input& in) { in.documents[1].id = "deck/lights"; }).field, "deck/lights");
  EXPECT_THAT(refusal([](Input& in) { in.documents[1].id.clear(); }).message, HasSubstr("Anker und Kette"));
  EXPECT_EQ(refusal([](Input& in) { in.documents[0].chunks[1].text.clear(); }).field, "deck/lights");
  EXPECT_THAT(refusal([](Input& in) { in.documents[0].chunks[1].text = "a\xC0"; }).message, HasSubstr("byte 1"));
  EXPECT_EQ(refusal([](Input& in) { in.documents[0].chunks[0].links[0].end = 1'000; }).field, "deck/lights");
  EXPECT_EQ(refusal([](Input& in) { in.documents[0].chunks[0].links[0].begin = 19; }).field, "deck/lights");
  EXPECT_EQ(refusal([](Input& in) { in.documents[1].chunks[0].links[1].begin = 37; }).field, "anker");
  EXPECT_EQ(refusal([](Input& in) { in.vectors.pop_back(); }).field, "vectors");
  EXPECT_EQ(refusal([](Input& in) { in.vectors[3] = std::nanf(""); }).field, "vectors");
  EXPECT_EQ(refusal([](Input& in) { in.metadata.embedder.dimensions = 0; }).field, "vectors");
  EXPECT_EQ(refusal([](Input& in) { in.vocabulary = "only\nwords\n"; }).field, "vocabulary");
  EXPECT_EQ(refusal([](Input& in) { in.metadata.title = "\xFF"; }).field, "metadata");
}

TEST(Metadata, NamesTheFieldThatIsMissingOrOfAnotherType) {
  const std::string json = index::to_json(tests::small_corpus().metadata);
  const auto error_after = [&](const std::string& from, const std::string& to) {
    std::string edited = json;
    const auto at = edited.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    edited.replace(at, from.size(), to);
    const auto parsed = index::parse_metadata(edited);
    EXPECT_FALSE(parsed);
    return parsed ? Error{} : parsed.error();
  };
  EXPECT_EQ(error_after("\"corpus\"", "\"kopus\"").field, "corpus");
  EXPECT_EQ(error_after("\"dimensions\":5", "\"dimensions\":\"5\"").field, "embedder.dimensions");
  EXPECT_EQ(error_after("\"dimensions\":5", "\"dimensions\":-5").field, "embedder.dimensions");
  EXPECT_EQ(error_after("\"dimensions\":5", "\"dimensions\":5000000000").field, "embedder.dimensions");
  EXPECT_EQ(error_after("english", "klingon").field, "analysis");
  EXPECT_EQ(error_after("[\"broken", "[1,\"broken").field, "skipped");
  EXPECT_EQ(index::parse_metadata("{").error().code, ErrorCode::invalid_json);
  EXPECT_EQ(index::parse_metadata("[]").error().code, ErrorCode::invalid_json);
}

TEST(Quantisation, RoundsHalvesAwayFromZeroAndNeverReachesMinus128) {
  const std::vector<float> vector = {127.0F, -127.0F, 0.5F, -0.5F, 0.49F, 2.5F, -2.5F};
  std::vector<std::int8_t> row(vector.size());
  EXPECT_EQ(index::quantise(vector, row), 1.0F);
  EXPECT_THAT(row, ElementsAre(127, -127, 1, -1, 0, 3, -3));
}

TEST(Quantisation, KeepsAZeroVectorZero) {
  std::vector<std::int8_t> row = {1, 2, 3};
  EXPECT_EQ(index::quantise(std::vector<float>{0.0F, -0.0F, 0.0F}, row), 0.0F);
  EXPECT_THAT(row, ElementsAre(0, 0, 0));
}

TEST(Quantisation, SurvivesTheSmallestAndTheLargestFloats) {
  for (const float x : {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()}) {
    std::vector<std::int8_t> row(2);
    EXPECT_TRUE(std::isfinite(index::quantise(std::vector<float>{x, -x}, row)));
    EXPECT_THAT(row, ElementsAre(127, -127));
  }
}

}  // namespace
}  // namespace polygraph
