// 95 % intervals for rates and means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace polygraph::metrics {

struct Interval {
  double low = 0, high = 0;
};

/// Wilson's score interval for `successes` of `n` (Wilson 1927; Brown, Cai and DasGupta 2001). `n` must be positive.
Interval wilson(std::uint64_t successes, std::uint64_t n) noexcept;

inline constexpr std::uint32_t bootstrap_resamples = 10'000;

/// One value an item. What is not scored in a column is left out of its mean.
struct Column {
  std::span<const double> values;             ///< finite
  std::span<const std::uint8_t> scored = {};  ///< 0: not scored; empty: every item is
};

/// Percentile bootstrap of each column's mean (Efron 1979): the 2.5 % and 97.5 % points of its resampled means, linearly interpolated
/// between ranks. Nothing for a column in which no item is scored. Every column has `items` values, fewer than 2^32.
///
/// What is drawn: resample r is a stream of items, each equally likely and drawn independently, by a generator of its own whose seed is
/// the r-th number of Random(seed); each number gives two items, from its lower and its upper half (multiplied by `items`, the upper 32
/// bits taken; halves of the last, incomplete interval are skipped). The resample of a column with n scored items is the first n items
/// of the stream that are scored in it: n independent draws from those, as if they were resampled alone. All columns see the same
/// streams, so a column's interval does not depend on the others, and a table of columns costs one drawing.
///
/// Values are rounded to 2^-29 of the column's range and summed as integers: the ends are the same bits on every machine, and within
/// 1e-9 of the range of what unrounded values give. A column whose values are all equal has exactly that value for both ends.
std::vector<std::optional<Interval>> bootstrap_means(std::size_t items, std::span<const Column> columns, std::uint64_t seed,
                                                     std::uint32_t resamples = bootstrap_resamples);

/// The same for one column, not empty, in which everything is scored.
Interval bootstrap_mean(std::span<const double> values, std::uint64_t seed, std::uint32_t resamples = bootstrap_resamples);

/// The point below which the share `p` (0 to 1) of `sorted` lies, linear between ranks (numpy's default). Not empty.
double percentile(std::span<const double> sorted, double p) noexcept;

}  // namespace polygraph::metrics
