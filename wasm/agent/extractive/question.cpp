#include "wasm/agent/extractive/question.hpp"

#include <algorithm>
#include <cstddef>

#include "wasm/text/wordpiece.hpp"

namespace polygraph::agent::extractive {
namespace {

bool lower_letters(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// One insertion, deletion, substitution or exchange of neighbours turns `a` into `b` (and not zero).
bool one_edit_apart(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  std::size_t same = 0;
  while (same < a.size() && a[same] == b[same]) ++same;
  if (a.size() < b.size()) return a.substr(same) == b.substr(same + 1);
  if (same == a.size()) return false;
  if (a.substr(same + 1) == b.substr(same + 1)) return true;
  return same + 1 < a.size() && a[same] == b[same + 1] && a[same + 1] == b[same] && a.substr(same + 2) == b.substr(same + 2);
}

}  // namespace

Question::Question(const index::Index& index, std::string_view text, Pieces pieces) : index_(&index) {
  const text::Vocabulary* vocabulary = pieces == Pieces::count ? index.vocabulary() : nullptr;
  std::optional<text::WordPiece> word_piece;
  if (vocabulary != nullptr) word_piece.emplace(*vocabulary);
  for (const text::Term& term : text::terms(text, index.metadata().analysis)) {
    const bool name = term.capital || term.identifier || (word_piece && word_piece->count(text.substr(term.begin, term.end - term.begin)) >= 2);
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
      added.number = corrected(index, term.text);
      added.corrected = added.number.has_value();
      if (added.corrected) added.name = false;
    }
    added.idf = added.number ? index.idf(*added.number) : index.idf_unseen();
    total_idf_ += added.idf;
  }
}

std::vector<bool> Question::found_in(index::ChunkNo first, std::uint32_t count) const {
  std::vector<bool> found(terms_.size(), false);
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (!terms_[i].number) continue;
    index::PostingCursor cursor = index_->postings(*terms_[i].number);
    while (const auto posting = cursor.next()) {
      if (posting->chunk < first) continue;
      found[i] = posting->chunk - first < count;
      break;
    }
  }
  return found;
}

std::optional<index::TermNo> corrected(const index::Index& index, std::string_view term) {
  // Shorter words have too many neighbours.
  constexpr std::size_t shortest = 5;
  constexpr std::uint32_t least_chunks = 5;
  if (term.size() < shortest || !lower_letters(term)) return std::nullopt;
  std::optional<index::TermNo> best;
  for (index::TermNo no = 0; no < index.terms(); ++no) {
    const std::string_view candidate = index.term(no);
    if (candidate.size() + 1 < term.size() || candidate.size() > term.size() + 1) continue;
    if (index.document_frequency(no) < least_chunks || !one_edit_apart(term, candidate) || !lower_letters(candidate)) continue;
    if (!best || index.document_frequency(no) > index.document_frequency(*best)) best = no;
  }
  return best;
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
