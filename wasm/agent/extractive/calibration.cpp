#include "wasm/agent/extractive/calibration.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "wasm/metrics/random.hpp"

namespace polygraph::agent::extractive {

std::vector<std::size_t> deal_folds(std::size_t groups, std::size_t folds, std::uint64_t seed) {
  std::vector<std::size_t> order(groups);
  std::iota(order.begin(), order.end(), std::size_t{0});
  metrics::Random random(seed);
  // Fisher and Yates: std::shuffle differs between libraries.
  for (std::size_t left = groups; left > 1; --left) std::swap(order[left - 1], order[static_cast<std::size_t>(random.below(left))]);
  std::vector<std::size_t> fold(groups, 0);
  for (std::size_t i = 0; i < groups; ++i) fold[order[i]] = folds == 0 ? 0 : i % folds;
  return fold;
}

Result<std::vector<double>> out_of_fold(std::span<const GroupedExample> examples, std::size_t folds, std::size_t rounds, std::uint64_t seed) {
  if (folds < 2 || rounds < 1) return fail(ErrorCode::invalid_argument, "at least two folds and one round are needed", "folds");
  std::size_t groups = 0;
  for (const GroupedExample& each : examples) groups = std::max(groups, each.group + 1);
  std::vector<double> probabilities(examples.size(), 0.0);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::vector<std::size_t> fold = deal_folds(groups, folds, seed + round);
    for (std::size_t left_out = 0; left_out < folds; ++left_out) {
      std::vector<Example> training;
      for (const GroupedExample& each : examples) {
        if (fold[each.group] != left_out) training.push_back(each.example);
      }
      if (training.size() == examples.size()) continue;
      auto model = fit_logistic(training);
      if (!model) return tl::unexpected(model.error());
      for (std::size_t i = 0; i < examples.size(); ++i) {
        if (fold[examples[i].group] == left_out) probabilities[i] += model->probability(examples[i].example.features) / static_cast<double>(rounds);
      }
    }
  }
  return probabilities;
}

double area_under_curve(std::span<const GroupedExample> examples, std::span<const double> probabilities) {
  double won = 0, pairs = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (!examples[i].evaluated || !examples[i].example.positive) continue;
    for (std::size_t j = 0; j < examples.size(); ++j) {
      if (!examples[j].evaluated || examples[j].example.positive) continue;
      pairs += 1;
      if (probabilities[i] > probabilities[j]) won += 1;
      if (probabilities[i] == probabilities[j]) won += 0.5;
    }
  }
  return pairs == 0 ? 0.5 : won / pairs;
}

Shares shares_at(std::span<const GroupedExample> examples, std::span<const double> probabilities, double threshold) {
  Shares shares;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (!examples[i].evaluated) continue;
    const bool accepted = probabilities[i] >= threshold;
    if (examples[i].example.positive) {
      ++shares.positives;
      if (accepted) ++shares.accepted;
    } else {
      ++shares.negatives;
      if (!accepted) ++shares.refused;
    }
  }
  return shares;
}

double threshold_accepting(std::span<const GroupedExample> examples, std::span<const double> probabilities, double accept) {
  for (int thousandths = 999; thousandths > 1; --thousandths) {
    if (shares_at(examples, probabilities, thousandths / 1000.0).accept() >= accept) return thousandths / 1000.0;
  }
  return 0.001;
}

double threshold_refusing(std::span<const GroupedExample> examples, std::span<const double> probabilities, double refuse) {
  for (int thousandths = 1; thousandths < 999; ++thousandths) {
    if (shares_at(examples, probabilities, thousandths / 1000.0).refuse() >= refuse) return thousandths / 1000.0;
  }
  return 0.999;
}

}  // namespace polygraph::agent::extractive
