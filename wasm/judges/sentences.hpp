// The sentences of an answer as citations are judged: sentences, list items, table rows and code blocks, each with the
// citations that stand for it. Headings and rules say nothing that needs support.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/text/sentences.hpp"

namespace polygraph::judges {

/// A citation as a trace or a pipeline gives it.
struct CitedSpan {
  std::string chunk_id;
  std::uint32_t begin = 0, end = 0;  ///< code points of the answer that it stands for; equal where that is not said
  bool operator==(const CitedSpan&) const = default;
};

struct AnswerSentence {
  text::UnitKind kind = text::UnitKind::sentence;
  std::string text;                    ///< without citation marks
  std::uint32_t begin = 0, end = 0;    ///< code points of the answer
  std::vector<std::size_t> citations;  ///< indices into CitedAnswer::citations
};

struct CitedAnswer {
  std::string text;                    ///< the answer without citation marks
  std::vector<CitedSpan> citations;    ///< distinct, in the order given
  std::vector<AnswerSentence> sentences;
};

/// Takes the marks `[id]` of cited ids out of `answer` and attaches each citation: to the sentences that its span meets; for a
/// span that meets none, to the last one that begins before it. A citation that does not say where it stands belongs to the
/// sentences before its marks and, where there is no mark, to every sentence.
CitedAnswer cited_answer(std::string_view answer, std::span<const CitedSpan> citations);

}  // namespace polygraph::judges
