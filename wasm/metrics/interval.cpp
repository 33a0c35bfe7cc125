#include "wasm/metrics/interval.hpp"

#include <algorithm>
#include <cmath>

namespace polygraph::metrics {

Interval wilson(std::uint64_t successes, std::uint64_t n) noexcept {
  constexpr double z = 1.959963984540054;  // the 97.5 % point of the standard normal distribution
  const double count = static_cast<double>(n);
  const double rate = static_cast<double>(successes) / count;
  const double denominator = 1 + z * z / count;
  const double centre = (rate + z * z / (2 * count)) / denominator;
  const double half = z * std::sqrt(rate * (1 - rate) / count + z * z / (4 * count * count)) / denominator;
  return {successes == 0 ? 0.0 : std::max(0.0, centre - half), successes == n ? 1.0 : std::min(1.0, centre + half)};
}

double percentile(std::span<const double> sorted, double p) noexcept {
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

}  // namespace polygraph::metrics
