#include "wasm/diagnosis/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace polygraph::diagnosis {

Ranking ranking_of(const QueryResult& result, std::uint32_t k) {
  Ranking out;
  const auto& expected = result.expected_chunk_ids;
  const auto& retrieved = result.retrieved_chunks;
  const std::size_t top = std::min<std::size_t>(k, retrieved.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::find(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(i), expected[i]) != expected.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    ++out.expected;
    const auto place = std::find_if(retrieved.begin(), retrieved.end(), [&](const RetrievedChunk& chunk) { return chunk.id == expected[i]; });
    if (place == retrieved.end()) continue;
    const auto rank = static_cast<std::uint32_t>(place - retrieved.begin()) + 1;
    if (rank <= top) ++out.found;
    if (out.first_rank == 0 || rank < out.first_rank) out.first_rank = rank;
  }
  if (out.expected == 0) return out;
  if (top > 0) out.precision = static_cast<double>(out.found) / static_cast<double>(top);
  out.recall = static_cast<double>(out.found) / static_cast<double>(out.expected);
  if (out.first_rank > 0) out.reciprocal_rank = 1.0 / static_cast<double>(out.first_rank);
  return out;
}

double rounded(double value, int decimals) noexcept {
  static constexpr std::array<double, 10> powers = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
  const double scale = powers[static_cast<std::size_t>(decimals)];
  const double product = value * scale;
  constexpr double most = 2251799813685248.0;  // 2^51: below it every half is a double
  if (!(std::fabs(product) < most)) return value;
  // product + rest is the scaled value exactly. The product is the double nearest to it and a half is a double, so that only a
  // product that is a half itself leaves open on which side of it the value lies.
  const double rest = std::fma(value, scale, -product);
  double nearest = std::nearbyint(product);
  const double beyond = product - nearest;
  if (beyond == 0.5 && rest > 0) nearest += 1;
  if (beyond == -0.5 && rest < 0) nearest -= 1;
  if (nearest == 0) return 0;  // no negative zero in a report
  return nearest / scale;      // both exact, so the quotient is the double nearest to the decimal number
}

}  // namespace polygraph::diagnosis
