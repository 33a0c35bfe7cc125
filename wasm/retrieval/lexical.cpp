#include "wasm/retrieval/lexical.hpp"

#include <algorithm>

#include "wasm/retrieval/spelling.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph::retrieval {

using index::ChunkNo;
using index::Field;
using index::field_count;

std::vector<QueryTerm> look_up(const index::Index& index, std::span<const std::string> terms) {
  std::vector<QueryTerm> found;
  found.reserve(terms.size());
  for (const std::string& term : terms) {
    QueryTerm entry{term, index.find_term(term), 0, index.idf_unseen()};
    if (entry.no) {
      entry.df = index.document_frequency(*entry.no);
      entry.idf = index.idf(*entry.no);
    }
    found.push_back(std::move(entry));
  }
  return found;
}

std::vector<QueryTerm> query_terms(const index::Index& index, std::string_view query) {
  return look_up(index, text::distinct(text::terms(query, index.metadata().analysis)));
}

bool is_question(std::string_view query) {
  const auto words = text::terms(query, text::Analysis::plain);
  return std::count_if(words.begin(), words.end(), [](const text::Term& word) { return word.whole; }) >= 2;
}

std::vector<QueryTerm> with_joined_forms(const index::Index& index, std::vector<QueryTerm> terms) {
  std::vector<QueryTerm> out;
  out.reserve(terms.size());
  const auto add = [&](QueryTerm term) {
    const bool known = std::any_of(out.begin(), out.end(), [&](const QueryTerm& other) { return other.text == term.text; });
    if (!known) out.push_back(std::move(term));
  };
  for (QueryTerm& term : terms) {
    const auto forms = term.no ? std::vector<index::TermNo>{} : joined_forms(index, term.text);
    if (forms.empty()) add(std::move(term));
    for (const auto no : forms) add({std::string(index.term(no)), no, index.document_frequency(no), index.idf(no)});
  }
  return out;
}

WeightedFrequency::WeightedFrequency(const index::Index& index, const Bm25fParameters& parameters)
    : index_(&index), parameters_(parameters) {
  for (std::size_t f = 0; f < field_count; ++f) mean_[f] = index.mean_field_length(static_cast<Field>(f));
}

double WeightedFrequency::operator()(const index::Posting& posting) const noexcept {
  double sum = 0;
  for (std::size_t f = 0; f < field_count; ++f) {
    if (posting.tf[f] == 0) continue;  // a field that is empty everywhere has mean length 0: nothing to divide by
    const double length = index_->field_length(posting.chunk, static_cast<Field>(f));
    const double b = parameters_.b[f];
    sum += parameters_.weight[f] * static_cast<double>(posting.tf[f]) / (1.0 - b + b * length / mean_[f]);
  }
  return sum;
}

std::vector<double> bm25f_scores(const index::Index& index, std::span<const QueryTerm> terms, const Bm25fParameters& parameters) {
  std::vector<double> scores(index.chunks(), 0.0);
  const WeightedFrequency frequency(index, parameters);
  for (const QueryTerm& term : terms) {
    if (!term.no) continue;
    auto cursor = index.postings(*term.no);
    while (const auto posting = cursor.next()) {
      const double tf = frequency(*posting);
      scores[posting->chunk] += term.idf * tf * (parameters.k1 + 1.0) / (tf + parameters.k1);
    }
  }
  return scores;
}

TermPresence::TermPresence(const index::Index& index, std::vector<QueryTerm> terms)
    : terms_(std::move(terms)), chunks_(index.chunks()), words_per_term_((std::size_t{index.chunks()} + index.documents() + 63) / 64) {
  bits_.resize(terms_.size() * words_per_term_);
  const auto set = [&](std::size_t row, std::size_t column) {
    bits_[row * words_per_term_ + column / 64] |= std::uint64_t{1} << column % 64;
  };
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (!terms_[t].no) continue;
    auto cursor = index.postings(*terms_[t].no);
    while (const auto posting = cursor.next()) {
      set(t, posting->chunk);
      set(t, chunks_ + index.chunk(posting->chunk).document);
    }
  }
}

bool TermPresence::bit(std::size_t row, std::size_t column) const noexcept {
  return (bits_[row * words_per_term_ + column / 64] >> column % 64 & 1) != 0;
}
bool TermPresence::in_chunk(std::size_t term, ChunkNo chunk) const noexcept { return bit(term, chunk); }
bool TermPresence::in_document(std::size_t term, index::DocumentNo document) const noexcept { return bit(term, chunks_ + document); }

}  // namespace polygraph::retrieval
