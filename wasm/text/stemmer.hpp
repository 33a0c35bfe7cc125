// The English Snowball stemmer ("Porter2", https://snowballstem.org/algorithms/english/stemmer.html), held to libstemmer
// by a test over a large vocabulary.
#pragma once

#include <string>
#include <string_view>

namespace polygraph::text {

/// The stem of `word`, which must be lower-case ASCII letters and apostrophes; other words come back unchanged.
std::string stem_english(std::string_view word);

}  // namespace polygraph::text
