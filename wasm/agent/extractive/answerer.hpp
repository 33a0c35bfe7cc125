// The extractive answerer: quotes the best supported sentences, list items, table rows and code blocks of the kept
// passages, each with its citation. Nothing is rephrased, so nothing can be invented.
//
// Words find the candidates; the cross-encoder, where there is one, says which of them answers. Sans I/O: the caller has
// pairs() scored and hands the logits in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/agent/run.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::agent::extractive {

struct Answer {
  std::string text;                  ///< Markdown; empty: no unit of the context says anything of the question
  std::vector<Citation> citations;   ///< with code point spans of the quoted text
  std::vector<std::string> cited_ids;
};

class Answerer {
 public:
  /// `context`: the kept chunks, best first. `index` must outlive the answerer.
  Answerer(const index::Index& index, std::string_view question, const std::vector<index::ChunkNo>& context);
  Answerer(Answerer&&) noexcept;
  Answerer& operator=(Answerer&&) noexcept;
  ~Answerer();

  /// Candidates worth a look of the cross-encoder, the most promising first, as (question, unit under its headings) of at
  /// most `max_tokens` ids. Empty when there is nothing to choose from, or the index's vocabulary is not loaded.
  std::vector<text::Encoding> pairs(std::size_t max_tokens) const;

  /// `logits` are those of the first of pairs(), or none: then words alone decide. `unsure` puts a plain sentence before
  /// the quotes that says so.
  Answer answer(std::span<const float> logits, bool unsure) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace polygraph::agent::extractive
