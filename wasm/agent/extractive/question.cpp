#include "wasm/agent/extractive/question.hpp"

#include <algorithm>
#include <utility>

#include "wasm/agent/reply.hpp"
#include "wasm/retrieval/spelling.hpp"
#include "wasm/text/terms.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::agent::extractive {
namespace {

/// A term within one typo of `word`, the most frequent; nothing when there is none in five chunks or more: a rare
/// neighbour is more likely another word than the one that was meant.
std::optional<index::TermNo> corrected(const index::Index& index, std::string_view word) {
  constexpr std::uint32_t least_chunks = 5;
  std::optional<index::TermNo> best;
  for (const index::TermNo no : retrieval::one_typo_away(index, word)) {
    if (index.document_frequency(no) < least_chunks) continue;
    if (!best || index.document_frequency(no) > index.document_frequency(*best)) best = no;
  }
  return best;
}

}  // namespace

Question::Question(const index::Index& index, std::string_view text, Pieces pieces) {
  const text::Vocabulary* vocabulary = pieces == Pieces::count ? index.vocabulary() : nullptr;
  std::optional<text::WordPiece> word_piece;
  if (vocabulary != nullptr) word_piece.emplace(*vocabulary);
  for (const text::Term& term : text::terms(text, index.metadata().analysis)) {
    const std::string_view written = text.substr(term.begin, term.end - term.begin);
    const bool name = term.capital || term.identifier || (word_piece && word_piece->count(written) >= 2);
    const auto known = std::find_if(terms_.begin(), terms_.end(), [&](const QuestionTerm& other) { return other.text == term.text; });
    if (known != terms_.end()) {
      known->name = known->name || name;
      continue;
    }
    QuestionTerm& added = terms_.emplace_back();
    added.text = term.text;
    added.number = index.find_term(term.text);
    added.name = name;
    // What is written with a capital or like an identifier is meant as it stands.
    if (!added.number && !term.capital && !term.identifier) {
      added.number = corrected(index, folded(written));
      added.corrected = added.number.has_value();
      if (added.corrected) added.name = false;
    }
    added.idf = added.number ? index.idf(*added.number) : index.idf_unseen();
    total_idf_ += added.idf;
  }
  std::vector<retrieval::QueryTerm> looked_up;
  for (const QuestionTerm& term : terms_) {
    looked_up.push_back({term.text, term.number, term.number ? index.document_frequency(*term.number) : 0, term.idf});
  }
  presence_.emplace(index, std::move(looked_up));
}

std::string surface(const index::Index& index, index::TermNo term) {
  const std::string_view wanted = index.term(term);
  index::PostingCursor cursor = index.postings(term);
  while (const auto posting = cursor.next()) {
    const index::Chunk chunk = index.chunk(posting->chunk);
    const std::string_view title = index.document(chunk.document).title;
    for (const std::string_view field : {chunk.text, title, chunk.heading_path}) {
      for (const text::Term& found : text::terms(field, index.metadata().analysis)) {
        if (found.text != wanted) continue;
        std::string written(field.substr(found.begin, found.end - found.begin));
        for (char& c : written) {
          if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        }
        return written;
      }
    }
  }
  return std::string(wanted);
}

}  // namespace polygraph::agent::extractive
