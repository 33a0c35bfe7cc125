// A question as the extractive provider sees it: its terms, what each weighs, and which are names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/index/reader.hpp"
#include "wasm/retrieval/lexical.hpp"

namespace polygraph::agent::extractive {

struct QuestionTerm {
  std::string text;                     ///< as the index counts it
  std::optional<index::TermNo> number;  ///< of the term, or of what it was corrected to; nothing: no chunk holds it
  bool corrected = false;               ///< no chunk holds it, but it is one typo away from a term that many hold
  double idf = 0;                       ///< that of df = 0 for a term in no chunk
  bool name = false;                    ///< a product, an option, a file …: what an answer must be about
};

/// Whether a word that needs several WordPieces is a name: rare words are mostly names, but only an index with a
/// vocabulary can tell.
enum class Pieces : std::uint8_t { ignore, count };

class Question {
 public:
  Question(const index::Index& index, std::string_view text, Pieces pieces);

  /// Distinct terms in order of first occurrence.
  const std::vector<QuestionTerm>& terms() const noexcept { return terms_; }
  double total_idf() const noexcept { return total_idf_; }

  /// Where terms() occur, by their position there.
  const retrieval::TermPresence& presence() const noexcept { return *presence_; }

 private:
  std::vector<QuestionTerm> terms_;
  double total_idf_ = 0;
  std::optional<retrieval::TermPresence> presence_;
};

/// How the corpus writes a term, lower case ("container" for "contain"): its first occurrence.
std::string surface(const index::Index& index, index::TermNo term);

}  // namespace polygraph::agent::extractive
