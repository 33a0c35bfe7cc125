// An agent's run as the result of a query.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "wasm/agent/run.hpp"
#include "wasm/diagnosis/query_result.hpp"
#include "wasm/golden/golden_set.hpp"

namespace polygraph::report {

/// The chunks of the first retrieval that a result keeps at least: metrics are given at up to 10.
inline constexpr std::size_t kept_chunks = 10;

/// What a result has from its golden item: id, query, type, expected answer and chunks.
void take_from_item(diagnosis::QueryResult& result, const golden::Item& item);

/// The first retrieval's chunks (at least kept_chunks of them), the answer, latency of retrieval and of everything else, and the run as
/// trace; metrics at `k`. A failed run is a failed result. `text_of` gives a chunk's text by its place among the retrieval's candidates.
diagnosis::QueryResult result_of(const agent::Run& run, std::string trace, const golden::Item& item, std::uint32_t k,
                                 const std::function<std::string(const agent::Retrieved&, std::size_t)>& text_of);

}  // namespace polygraph::report
