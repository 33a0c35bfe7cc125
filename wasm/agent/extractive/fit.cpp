#include "wasm/agent/extractive/fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "wasm/agent/extractive/logistic.hpp"

namespace polygraph::agent::extractive {
namespace {

constexpr int most_steps = 50;           // Newton doubles the digits with each step: seven do, when the problem is sound
constexpr double smallest_step = 1e-12;  // of any standardised weight

/// Solves a · x = b for a symmetric positive definite `a` (row-major, destroyed) by Cholesky's decomposition. False when
/// it is not positive definite.
bool solve(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    double diagonal = a[j * n + j];
    for (std::size_t k = 0; k < j; ++k) diagonal -= a[j * n + k] * a[j * n + k];
    if (!(diagonal > 0)) return false;
    a[j * n + j] = std::sqrt(diagonal);
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = sum / a[j * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return true;
}

}  // namespace

double LogisticModel::probability(std::span<const double> features) const noexcept {
  double z = bias;
  for (std::size_t f = 0; f < weights.size() && f < features.size(); ++f) z += weights[f] * features[f];
  return logistic(z);
}

Result<LogisticModel> fit_logistic(std::span<const Example> examples, double penalty) {
  if (examples.empty()) return fail(ErrorCode::invalid_argument, "there are no examples to fit", "examples");
  const std::size_t features = examples.front().features.size();
  const auto count = static_cast<double>(examples.size());
  double class_weight[2] = {0, 0};
  for (const Example& example : examples) {
    const bool finite = std::all_of(example.features.begin(), example.features.end(), [](double x) { return std::isfinite(x); });
    if (example.features.size() != features || !finite || !(example.weight >= 0) || !std::isfinite(example.weight)) {
      return fail(ErrorCode::invalid_argument, "every example needs the same number of finite features and a weight of 0 or more", "examples");
    }
    class_weight[example.positive ? 1 : 0] += example.weight;
  }
  if (!(class_weight[0] > 0) || !(class_weight[1] > 0)) {
    return fail(ErrorCode::invalid_argument, "both answerable and unanswerable examples are needed", "examples");
  }

  std::vector<double> mean(features, 0.0), deviation(features, 0.0);
  for (const Example& example : examples) {
    for (std::size_t f = 0; f < features; ++f) mean[f] += example.features[f];
  }
  for (double& m : mean) m /= count;
  for (const Example& example : examples) {
    for (std::size_t f = 0; f < features; ++f) {
      const double d = example.features[f] - mean[f];
      deviation[f] += d * d;
    }
  }
  for (double& d : deviation) d = std::sqrt(d / count);

  const std::size_t n = features + 1;  // the bias is the last
  std::vector<double> w(n, 0.0), z(n, 1.0), gradient(n), hessian(n * n);
  for (int step = 0; step < most_steps; ++step) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    std::fill(hessian.begin(), hessian.end(), 0.0);
    for (std::size_t f = 0; f < features; ++f) {
      gradient[f] = penalty * w[f];
      hessian[f * n + f] = penalty;
    }
    for (const Example& example : examples) {
      for (std::size_t f = 0; f < features; ++f) z[f] = deviation[f] > 0 ? (example.features[f] - mean[f]) / deviation[f] : 0.0;
      double logit = 0;
      for (std::size_t f = 0; f < n; ++f) logit += w[f] * z[f];
      const double p = logistic(logit);
      const double weight = example.weight * count / (2 * class_weight[example.positive ? 1 : 0]);
      const double slope = weight * (p - (example.positive ? 1.0 : 0.0));
      const double curvature = weight * p * (1 - p);
      for (std::size_t i = 0; i < n; ++i) {
        gradient[i] += slope * z[i];
        for (std::size_t j = 0; j <= i; ++j) hessian[i * n + j] += curvature * z[i] * z[j];
      }
    }
    if (!solve(hessian, gradient)) return fail(ErrorCode::invalid_argument, "the examples do not determine the weights", "examples");
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      w[i] -= gradient[i];
      largest = std::max(largest, std::abs(gradient[i]));
    }
    if (largest < smallest_step) break;
  }

  LogisticModel model;
  model.bias = w[features];
  for (std::size_t f = 0; f < features; ++f) {
    const double weight = deviation[f] > 0 ? w[f] / deviation[f] : 0.0;
    model.weights.push_back(weight);
    model.bias -= weight * mean[f];
  }
  return model;
}

}  // namespace polygraph::agent::extractive
