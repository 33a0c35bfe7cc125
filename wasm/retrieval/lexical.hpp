// Lexical search: BM25F over a question's terms, and what graders ask about those terms.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/index/reader.hpp"

namespace polygraph::retrieval {

/// A distinct term of a question, in first-occurrence order.
struct QueryTerm {
  std::string text;                 ///< as the index counts it
  std::optional<index::TermNo> no;  ///< nothing when no chunk holds it
  std::uint32_t df = 0;             ///< chunks that hold it in any field
  double idf = 0;                   ///< of df, df = 0 included
};

std::vector<QueryTerm> query_terms(const index::Index& index, std::string_view query);
/// The same for terms that are analysed already.
std::vector<QueryTerm> look_up(const index::Index& index, std::span<const std::string> terms);

/// Whether a query has two words or more (stop words count; of CJK text, two bigrams). Such a query is answered with
/// something even where no word of it is known; a single unknown word finds nothing.
bool is_question(std::string_view query);

/// Parameters of BM25F (Robertson, Zaragoza and Taylor, 2004) in the order of index::Field.
struct Bm25fParameters {
  double k1 = 1.2;
  double weight[index::field_count] = {1.0, 1.0, 1.0};
  double b[index::field_count] = {0.75, 0.5, 0.5};
};

/// How often a term occurs in a chunk, over all fields: the sum of weight * tf / (1 - b + b * length / mean length).
class WeightedFrequency {
 public:
  explicit WeightedFrequency(const index::Index& index, const Bm25fParameters& parameters = {});
  double operator()(const index::Posting& posting) const noexcept;

 private:
  const index::Index* index_;
  Bm25fParameters parameters_;
  double mean_[index::field_count];
};

/// One score per chunk: per distinct term idf * tf * (k1 + 1) / (tf + k1), where tf is
/// its WeightedFrequency (Robertson, Zaragoza, Taylor, CIKM 2004). 0 where no term occurs.
/// Terms are summed in their order here.
std::vector<double> bm25f_scores(const index::Index& index, std::span<const QueryTerm> terms, const Bm25fParameters& parameters = {});

/// Ways that a corpus may write an unseen word: joined where the question has a hyphen and the other way round
/// ("addon" and "add-on", "setup" and "set_up"). Terms that the corpus has stay as they are; the rest are replaced.
std::vector<QueryTerm> with_joined_forms(const index::Index& index, std::vector<QueryTerm> terms);

/// Where the terms of a question occur: title, headings and text count alike. Built once per question by walking each
/// term's postings; it then answers from bits.
class TermPresence {
 public:
  TermPresence(const index::Index& index, std::vector<QueryTerm> terms);

  std::span<const QueryTerm> terms() const noexcept { return terms_; }
  bool in_chunk(std::size_t term, index::ChunkNo chunk) const noexcept;
  /// In any chunk of the document.
  bool in_document(std::size_t term, index::DocumentNo document) const noexcept;

 private:
  bool bit(std::size_t row, std::size_t column) const noexcept;

  std::vector<QueryTerm> terms_;
  std::size_t chunks_ = 0;
  std::size_t words_per_term_ = 0;
  std::vector<std::uint64_t> bits_;  ///< per term: one bit for each chunk, then one for each document
};

}  // namespace polygraph::retrieval
