#include "tests/index_format/walk.hpp"

#include <gtest/gtest.h>

namespace polygraph::tests {

std::uint64_t walk(const index::Index& index) {
  std::uint64_t sum = index.digest().size() + index.metadata().title.size();
  const auto read = [&](std::string_view text) {
    for (const char c : text) sum = sum * 31 + static_cast<unsigned char>(c);
  };
  for (index::DocumentNo d = 0; d < index.documents(); ++d) {
    const auto document = index.document(d);
    read(document.id);
    read(document.title);
    read(document.url);
    read(document.licence);
    EXPECT_LE(std::uint64_t{document.first_chunk} + document.chunk_count, index.chunks());
    EXPECT_EQ(index.find_document(document.id), d);
  }
  for (index::ChunkNo c = 0; c < index.chunks(); ++c) {
    const auto chunk = index.chunk(c);
    EXPECT_LT(chunk.document, index.documents());
    read(chunk.heading_path);
    read(chunk.anchor);
    read(chunk.text);
    EXPECT_EQ(index.find_chunk(index.chunk_id(c)), c);
    read(index.chunk_url(c));
    read(index.chunk_model_text(c));
    for (const auto& link : index.links(c)) {
      EXPECT_LE(link.begin, link.end);
      read(chunk.text.substr(link.begin, link.end - link.begin));
      read(link.target);
    }
    for (std::size_t f = 0; f < index::field_count; ++f) sum += index.field_length(c, static_cast<index::Field>(f));
  }
  for (index::TermNo t = 0; t < index.terms(); ++t) {
    read(index.term(t));
    EXPECT_EQ(index.find_term(index.term(t)), t);
    const auto [first, last] = index.terms_with_prefix(index.term(t));
    EXPECT_EQ(first, t);
    EXPECT_LE(last, index.terms());
    std::uint32_t df = 0;
    auto cursor = index.postings(t);
    while (const auto posting = cursor.next()) {
      EXPECT_LT(posting->chunk, index.chunks());
      for (const auto tf : posting->tf) sum += tf;
      ++df;
    }
    EXPECT_EQ(df, index.document_frequency(t));
    sum += index.idf(t) > index.idf_unseen() ? 1 : 0;
  }
  for (const auto value : index.vectors()) sum = sum * 31 + static_cast<std::uint8_t>(value);
  for (const auto scale : index.vector_scales()) sum += scale > 1.0F ? 1 : 0;
  EXPECT_EQ(index.vectors().size(), std::size_t{index.chunks()} * index.dimensions() * (index.has_vectors() ? 1 : 0));
  if (const auto* vocabulary = index.vocabulary()) {
    for (std::size_t i = 0; i < vocabulary->size(); ++i) read(vocabulary->token(static_cast<text::TokenId>(i)));
  }
  return sum;
}

}  // namespace polygraph::tests
