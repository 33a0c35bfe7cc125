// What a fit is worth on questions it has not seen: folds, out-of-fold probabilities, and shares at a threshold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wasm/agent/extractive/fit.hpp"
#include "wasm/error.hpp"

namespace polygraph::agent::extractive {

/// An example of a calibration. Those of one group always lie in one fold: questions on one page resemble each other, and
/// a question stands beside its own copy whose page was taken away.
struct GroupedExample {
  Example example;
  std::size_t group = 0;
  bool evaluated = true;  ///< false: trains, but is not counted (a made-up negative)
};

/// A fold for each group of 0 … groups - 1: shuffled by `seed`, then dealt out.
std::vector<std::size_t> deal_folds(std::size_t groups, std::size_t folds, std::uint64_t seed);

/// Probabilities in the order of `examples`, each from a model that saw no example of its group; the mean over `rounds`
/// divisions into folds, since one division alone moves the figures by several points.
Result<std::vector<double>> out_of_fold(std::span<const GroupedExample> examples, std::size_t folds, std::size_t rounds, std::uint64_t seed);

/// Chance that an evaluated positive has a higher probability than an evaluated negative; ties count half (Mann, Whitney
/// 1947). 0.5 when a class is empty.
double area_under_curve(std::span<const GroupedExample> examples, std::span<const double> probabilities);

/// Evaluated examples on the right side of a threshold.
struct Shares {
  std::size_t accepted = 0, positives = 0;
  std::size_t refused = 0, negatives = 0;
  double accept() const noexcept { return positives == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(positives); }
  double refuse() const noexcept { return negatives == 0 ? 0 : static_cast<double>(refused) / static_cast<double>(negatives); }
};
Shares shares_at(std::span<const GroupedExample> examples, std::span<const double> probabilities, double threshold);

/// The highest threshold in thousandths that accepts at least the share `accept` of the evaluated positives (0.001 when
/// none does), and the lowest that refuses at least `refuse` of the evaluated negatives (0.999 when none does).
double threshold_accepting(std::span<const GroupedExample> examples, std::span<const double> probabilities, double accept);
double threshold_refusing(std::span<const GroupedExample> examples, std::span<const double> probabilities, double refuse);

}  // namespace polygraph::agent::extractive
