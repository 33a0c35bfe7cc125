#include "wasm/metrics/interval.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "wasm/metrics/random.hpp"

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

Interval bootstrap_mean(std::span<const double> values, std::uint64_t seed, std::uint32_t resamples) {
  Random random(seed);
  std::vector<double> means(resamples);
  for (double& mean : means) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[random.below(values.size())];
    mean = sum / static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  return {percentile(means, 0.025), percentile(means, 0.975)};
}

}  // namespace polygraph::metrics
