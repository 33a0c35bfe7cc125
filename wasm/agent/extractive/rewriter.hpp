// The extractive rewriter: another query for the same question, made from the corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wasm/index/reader.hpp"
#include "wasm/retrieval/retrieval.hpp"

namespace polygraph::agent::extractive {

/// Drops the question's words that no chunk holds, corrects typos to the corpus's spelling, and adds the strongest terms
/// of the best passages of the failed retrieval (pseudo relevance feedback, Rocchio 1971; Lavrenko and Croft, SIGIR
/// 2001), more with each attempt. The result differs from all of `earlier` (case and white space folded); where no
/// different query can be made, the failed one comes back.
std::string rewrite(const index::Index& index, std::string_view question, const retrieval::Retrieval& failed, std::uint32_t attempt,
                    std::span<const std::string> earlier);

}  // namespace polygraph::agent::extractive
