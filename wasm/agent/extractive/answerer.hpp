// The extractive answerer: quotes the best supported sentences, list items, table rows and code blocks of the kept
// passages, each with its citation. Nothing is rephrased, so nothing can be invented.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wasm/agent/run.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::agent::extractive {

struct Answer {
  std::string text;                  ///< Markdown; empty: no unit of the context says anything of the question
  std::vector<Citation> citations;   ///< with code point spans of the quoted text
  std::vector<std::string> cited_ids;
};

/// `context`: the kept chunks, best first. `unsure` puts a plain sentence before the quotes that says so.
Answer answer(const index::Index& index, std::string_view question, const std::vector<index::ChunkNo>& context, bool unsure);

}  // namespace polygraph::agent::extractive
