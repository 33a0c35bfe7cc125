// Where the expected chunks of a query stand among the retrieved ones, and how numbers are rounded.
#pragma once

#include <cstdint>
#include <optional>

#include "wasm/diagnosis/query_result.hpp"

namespace polygraph::diagnosis {

/// Meant for queries with expected ids; everything is 0 or nothing without.
struct Ranking {
  double precision = 0;        ///< distinct expected ids in the top K, over min(K, retrieved)
  double recall = 0;           ///< distinct expected ids in the top K, over the distinct expected ids
  double reciprocal_rank = 0;  ///< of the first expected id in the whole list; 0 where it is nowhere
  std::uint32_t expected = 0;  ///< distinct expected ids
  std::uint32_t found = 0;     ///< of them in the top K
  std::uint32_t first_rank = 0;  ///< of the first expected id in the whole list, from 1; 0: nowhere
};

Ranking ranking_of(const QueryResult& result, std::uint32_t k);

/// The nearest number of `decimals` (0 to 9) decimals to the exact binary value; exact ties go to the even one. What is too
/// large to have decimals stays as it is.
double rounded(double value, int decimals) noexcept;

/// A value as thresholds look at it: at nine decimals, so that 0.80 − 0.78 is 0.02.
inline double at_nine(double value) noexcept { return rounded(value, 9); }

}  // namespace polygraph::diagnosis
