// Paired comparison of two configurations: tests of a difference, its interval, and the correction for many metrics at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wasm/metrics/interval.hpp"

namespace polygraph::metrics {

inline constexpr std::uint32_t sign_vectors = 10'000;

/// Two-sided sign-flip test (a paired permutation test, Fisher 1935) of the mean of `differences`, one an item. With n of them and
/// 2^n ≤ `vectors`, exact: the share of all 2^n sign vectors whose mean is at least as extreme. Otherwise (b + 1) / (vectors + 1), b of
/// `vectors` random ones being as extreme. At least as extreme: its size is not below the observed one's by more than 1e-12. Differences
/// that are all 0 give 1; none at all is undefined.
///
/// What is drawn: the sizes other than 0, sorted, stand in chunks of 64; for chunk w and vector r the number w * vectors + r of
/// Random(seed) holds a sign in each bit, from the lowest (1: plus).
std::optional<double> sign_flip(std::span<const double> differences, std::uint64_t seed, std::uint32_t vectors = sign_vectors);

/// McNemar's exact test, two-sided: of the items that differ, `only_a` hold in A alone and `only_b` in B alone; binomial with 1/2. None
/// that differ: 1.
double mcnemar(std::uint64_t only_a, std::uint64_t only_b);

/// Holm's step-down correction (Holm 1979) over the defined ones of a family; undefined ones stay so and don't count.
std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p);

/// One metric of two configurations, A the baseline, over the items that they share.
struct PairedColumns {
  Column a, b;
  bool boolean = false;  ///< values are 0 or 1, so that McNemar's test decides
};

struct Comparison {
  std::size_t n = 0;                 ///< items that are scored in both
  std::optional<double> delta;       ///< mean of B minus mean of A over these; nothing without any
  std::optional<Interval> interval;  ///< paired bootstrap of delta
  std::optional<double> p;           ///< sign_flip, or mcnemar for booleans
  std::optional<double> p_holm;      ///< p corrected over the family
};

/// The metrics of two configurations, which Holm's correction is over.
using Family = std::vector<PairedColumns>;

/// In the order of `families` and their metrics; every column has `items` values. All families draw once, so several pairs of
/// configurations in one call are much faster than in several. A metric's figures depend on its own columns and the seed alone, p_holm
/// on its family.
std::vector<std::vector<Comparison>> compare(std::size_t items, std::span<const Family> families, std::uint64_t seed);

}  // namespace polygraph::metrics
