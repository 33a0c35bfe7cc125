// 95 % intervals for rates and means.
#pragma once

#include <cstdint>
#include <span>

namespace polygraph::metrics {

struct Interval {
  double low = 0, high = 0;
};

/// Wilson's score interval for `successes` of `n` (Wilson 1927; Brown, Cai and DasGupta 2001). `n` must be positive.
Interval wilson(std::uint64_t successes, std::uint64_t n) noexcept;

inline constexpr std::uint32_t bootstrap_resamples = 10'000;

/// Percentile bootstrap of the mean of `values` (Efron 1979), `values` not empty: the 2.5 % and 97.5 % points of the
/// resampled means, linearly interpolated between ranks. The seed makes it repeatable.
Interval bootstrap_mean(std::span<const double> values, std::uint64_t seed, std::uint32_t resamples = bootstrap_resamples);

/// The point below which the share `p` (0 to 1) of `sorted` lies, linear between ranks (numpy's default). Not empty.
double percentile(std::span<const double> sorted, double p) noexcept;

}  // namespace polygraph::metrics
