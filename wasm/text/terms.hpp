// Words for BM25: what a text or a question is reduced to before it is counted.
//
// The English analysis: case folded; `'s` dropped and `n't` made ` not`; terms are
// `[a-z0-9][a-z0-9_.\-/]*[a-z0-9]|[a-z0-9]` extended to letters and digits of every script; an identifier (a term with
// `_ . - /`, or CamelCase) counts whole and as its parts, and, when it is words joined by `-` or `_`, as one word
// (`multi-stage`: `multistage`); accents are stripped; leading dashes of options (`--rm`) do not hide the word; stop
// words dropped; purely alphabetic terms stemmed; runs of CJK text become bigrams (a single character stays a unigram).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace polygraph::text {

enum class Analysis : std::uint8_t {
  english,  ///< stop words and Snowball stems
  plain,    ///< neither: for an index of another language
};

struct Term {
  std::string text;         ///< as it is counted: folded, stemmed where it is alphabetic
  std::uint32_t begin = 0;  ///< byte offsets of its source in the text, [begin, end)
  std::uint32_t end = 0;
  bool whole = true;        ///< false for a part of an identifier (`docker` in `docker-compose.yml`) and its joined form
  bool capital = false;     ///< written with a capital letter, other than one that only opens the text
  bool identifier = false;  ///< holds a digit or `_ . - /`, or is CamelCase
};

/// All terms in text order; an identifier is followed by its joined form and its parts. Never fails: ill-formed bytes separate words.
std::vector<Term> terms(std::string_view text, Analysis analysis);

/// The distinct `text` values of `terms`, in first-occurrence order.
std::vector<std::string> distinct(const std::vector<Term>& terms);

bool is_stop_word(std::string_view folded) noexcept;

}  // namespace polygraph::text
