// The light Markdown that passages are written in, whatever their page was: pieces that the readers of Markdown and of HTML
// share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "index/block.hpp"

namespace polygraph::corpus {

/// Lists and quotes nested deeper than this are flattened to their words: no page for people goes there, and rendering
/// must not run out of stack on one that does.
inline constexpr int nesting_limit = 32;

/// A table's header rows are repeated in each of its pieces when they are no longer than this, in characters.
inline constexpr std::size_t repeated_header_limit = 300;

/// `code` between the shortest run of backticks that does not occur in it (CommonMark 6.1).
std::string code_span(std::string_view code);

/// Cuts where the sentences of a long paragraph end.
void mark_sentences(Block& block);

/// Equal apart from case and white space.
bool same_words(std::string_view a, std::string_view b);

/// "NOTE" and "note" as "Note"; what has both cases stays.
std::string capitalised(std::string_view label);

}  // namespace polygraph::corpus
