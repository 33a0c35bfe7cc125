// Logistic regression, for the grader's weights: small, exact and the same on every machine.
#pragma once

#include <span>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::agent::extractive {

/// One graded question: what was measured, and whether the context holds the answer.
struct Example {
  std::vector<double> features;
  bool positive = false;
  double weight = 1.0;  ///< before the classes are balanced
};

struct LogisticModel {
  double bias = 0;
  std::vector<double> weights;  ///< of the features as they come, not standardised
  double probability(std::span<const double> features) const noexcept;
};

/// Minimises the weighted logistic loss plus penalty / 2 times the squared weights of the standardised features (the bias
/// is free) by Newton's method. Example weights are scaled so that each class sums to half the number of examples; mean
/// and standard deviation are those of the unweighted examples. A feature that never varies gets weight 0. Fails with
/// `invalid_argument` when a class is empty, a feature count differs, or a number is not finite.
Result<LogisticModel> fit_logistic(std::span<const Example> examples, double penalty = 1.0);

}  // namespace polygraph::agent::extractive
