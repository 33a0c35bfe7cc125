#include "wasm/retrieval/spelling.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "wasm/text/stemmer.hpp"
#include "wasm/text/terms.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::retrieval {

using index::TermNo;

namespace {

constexpr std::string_view separators = "_.-/";

bool is_separator(char c) noexcept { return separators.find(c) != std::string_view::npos; }
bool is_letter(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool is_alphabetic(std::string_view word) noexcept { return std::all_of(word.begin(), word.end(), is_letter); }

std::string joined(std::string_view word) {
  std::string out;
  std::copy_if(word.begin(), word.end(), std::back_inserter(out), [](char c) { return !is_separator(c); });
  return out;
}

/// Whether `term` without its separators begins with `wanted`.
bool joined_begins_with(std::string_view term, std::string_view wanted) noexcept {
  std::size_t matched = 0;
  for (const char c : term) {
    if (matched == wanted.size()) return true;
    if (is_separator(c)) continue;
    if (c != wanted[matched++]) return false;
  }
  return matched == wanted.size();
}

void sort_and_deduplicate(std::vector<TermNo>& terms) {
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
}

}  // namespace

bool within_one_edit(std::string_view a, std::string_view b) noexcept {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin());
  const auto same = static_cast<std::size_t>(in_a - a.begin());
  const std::string_view rest_a = a.substr(same), rest_b = b.substr(same);
  if (a.size() != b.size()) return rest_a == rest_b.substr(1);
  if (rest_a.empty() || rest_a.substr(1) == rest_b.substr(1)) return true;
  return rest_a.size() >= 2 && rest_a[0] == rest_b[1] && rest_a[1] == rest_b[0] && rest_a.substr(2) == rest_b.substr(2);
}

std::vector<TermNo> joined_forms(const index::Index& index, std::string_view word) {
  std::vector<TermNo> found;
  const bool english = index.metadata().analysis == text::Analysis::english;
  const std::string bare = joined(word);
  if (bare.empty()) return found;

  // A word without separators is counted already; stemming it again could change it.
  const std::string counted = bare != word && english && is_alphabetic(bare) ? text::stem_english(bare) : bare;
  if (bare != word) {
    for (const auto& form : {bare, counted}) {
      if (const auto no = index.find_term(form)) found.push_back(*no);
    }
  }
  // A stem may be shorter than the word that it stands for, so a term may go on after it; its own stem decides.
  const auto [first, last] = index.terms_with_prefix(std::string_view(bare).substr(0, 1));
  for (TermNo t = first; t < last; ++t) {
    const std::string_view term = index.term(t);
    if (term == word || term.size() < counted.size() || !joined_begins_with(term, counted)) continue;
    if (term.find_first_of(separators) == std::string_view::npos) continue;
    const std::string form = joined(term);
    if (form == bare || (english && is_alphabetic(form) && text::stem_english(form) == counted)) found.push_back(t);
  }
  sort_and_deduplicate(found);
  return found;
}

std::vector<TermNo> one_typo_away(const index::Index& index, std::string_view word) {
  std::vector<TermNo> found;
  const std::size_t letters = text::code_points(word);
  if (letters < shortest_correctable_word || letters > longest_correctable_word) return found;
  const bool stemmed = index.metadata().analysis == text::Analysis::english && is_alphabetic(word);
  const std::string own = stemmed ? text::stem_english(word) : std::string(word);

  if (!stemmed) {
    for (TermNo t = 0; t < index.terms(); ++t) {
      const std::string_view term = index.term(t);
      if (term != own && within_one_edit(term, word)) found.push_back(t);
    }
    return found;
  }

  // The index holds stems, and a typo may stand in the part that stemming cuts off. So every word one edit away is made
  // and looked up by its own stem: some 54 lookups per letter, whatever the size of the dictionary.
  const auto try_word = [&](const std::string& candidate) {
    const std::string stem = text::stem_english(candidate);
    if (stem == own || text::is_stop_word(candidate)) return;
    if (const auto no = index.find_term(stem)) found.push_back(*no);
  };
  const std::string original(word);
  for (std::size_t i = 0; i <= original.size(); ++i) {
    for (char c = 'a'; c <= 'z'; ++c) {
      try_word(std::string(original).insert(i, 1, c));
      if (i < original.size() && c != original[i]) {
        std::string substituted = original;
        substituted[i] = c;
        try_word(substituted);
      }
    }
    if (i < original.size()) try_word(std::string(original).erase(i, 1));
    if (i + 1 < original.size() && original[i] != original[i + 1]) {
      std::string swapped = original;
      std::swap(swapped[i], swapped[i + 1]);
      try_word(swapped);
    }
  }
  sort_and_deduplicate(found);
  return found;
}

}  // namespace polygraph::retrieval
