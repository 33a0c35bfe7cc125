// Other spellings under which the corpus may hold a word: with or without a hyphen, or with one typo undone.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "wasm/index/reader.hpp"

namespace polygraph::retrieval {

/// Words with fewer letters are never corrected: too many of them lie one edit apart.
inline constexpr std::size_t shortest_correctable_word = 5;
/// Longer ones are no words; trying every edit of them would take time for nothing.
inline constexpr std::size_t longest_correctable_word = 40;

/// Whether the Damerau-Levenshtein distance (insertion, deletion, substitution, swap of neighbours) of two byte strings
/// is at most 1.
bool within_one_edit(std::string_view a, std::string_view b) noexcept;

/// Terms that are `word` once `_ . - /` are taken out of both ("addon" and "add-on"), other than `word` itself; in term
/// order. `word` is a term as the index counts it; an English plural of a joined form is found too.
std::vector<index::TermNo> joined_forms(const index::Index& index, std::string_view word);

/// Terms of words one edit away from `word`, which is folded but not stemmed ("contianer"); in term order, without the
/// term of `word` itself. Empty for words shorter or longer than the two limits above.
std::vector<index::TermNo> one_typo_away(const index::Index& index, std::string_view word);

}  // namespace polygraph::retrieval
