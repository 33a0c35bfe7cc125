// What went wrong with one query: the eight categories, first match wins, with the evidence beside.
#pragma once

#include <cstdint>

#include "wasm/diagnosis/query_result.hpp"

namespace polygraph::diagnosis {

struct Rules {
  std::uint32_t good_rank = 3;         ///< the last rank at which the first expected chunk stands well
  double slow_retrieval_ms = 1000;     ///< a retrieval is an outlier above it
};

/// The category of a result whose metrics are complete, and why.
Diagnosis diagnose(const QueryResult& result, std::uint32_t k, const Rules& rules = {});

/// Everything a result lacks: metrics, the agent's refusal outcome and diagnosis, the category. What a stored result says
/// itself is kept.
void finish(QueryResult& result, std::uint32_t k, const Rules& rules = {});

}  // namespace polygraph::diagnosis
