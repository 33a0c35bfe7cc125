#include "wasm/judges/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "wasm/metrics/random.hpp"

namespace polygraph::judges {
namespace {

/// Fisher and Yates (1938), from the end.
void shuffle(std::vector<std::string>& ids, metrics::Random& random) {
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
}

}  // namespace

std::vector<std::string> choose_for_calibration(std::span<const ScoredItem> items, std::uint64_t seed, std::size_t count) {
  std::array<std::vector<std::string>, calibration_bands> bands;
  for (const ScoredItem& item : items) {
    const double place = std::clamp(item.score, 0.0, 1.0) * static_cast<double>(calibration_bands);
    bands[std::min(static_cast<std::size_t>(place), calibration_bands - 1)].push_back(item.id);
  }
  metrics::Random random(seed);
  for (auto& band : bands) {
    std::sort(band.begin(), band.end());
    shuffle(band, random);
  }
  std::vector<std::string> chosen;
  for (bool any = true; any && chosen.size() < count;) {
    any = false;
    for (auto& band : bands) {
      if (band.empty() || chosen.size() == count) continue;
      chosen.push_back(std::move(band.back()));
      band.pop_back();
      any = true;
    }
  }
  shuffle(chosen, random);
  return chosen;
}

Confusion confusion_of(std::span<const std::pair<bool, bool>> labels) {
  Confusion counts(2, std::vector<std::uint64_t>(2, 0));
  for (const auto& [person, judge] : labels) ++counts[person ? 1 : 0][judge ? 1 : 0];
  return counts;
}

Agreement agreement(const Confusion& counts) {
  Agreement out;
  const std::size_t labels = counts.size();
  std::vector<std::uint64_t> rows(labels, 0), columns(labels, 0);
  std::uint64_t equal = 0;
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = 0; j < labels; ++j) {
      out.n += counts[i][j];
      rows[i] += counts[i][j];
      columns[j] += counts[i][j];
    }
    equal += counts[i][i];
  }
  if (out.n == 0) return out;
  const double n = static_cast<double>(out.n);
  const double observed = static_cast<double>(equal) / n;
  out.accuracy = observed;
  out.accuracy_interval = metrics::wilson(equal, out.n);
  // One label for everything, by both: decided on whole numbers, since 1 - p_e would be a rounding error.
  for (std::size_t i = 0; i < labels; ++i) {
    if (rows[i] == out.n && columns[i] == out.n) return out;
  }
  const auto row = [&](std::size_t i) { return static_cast<double>(rows[i]) / n; };
  const auto column = [&](std::size_t i) { return static_cast<double>(columns[i]) / n; };
  double expected = 0;
  for (std::size_t i = 0; i < labels; ++i) expected += row(i) * column(i);
  const double kappa = (observed - expected) / (1 - expected);
  out.kappa = kappa;
  if (equal == out.n) return out;
  double variance = 0;
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = 0; j < labels; ++j) {
      const double share = static_cast<double>(counts[i][j]) / n;
      const double term = i == j ? 1 - (row(i) + column(i)) * (1 - kappa) : (1 - kappa) * (column(i) + row(j));
      variance += share * term * term;
    }
  }
  const double offset = kappa - expected * (1 - kappa);
  variance = (variance - offset * offset) / (n * (1 - expected) * (1 - expected));
  // Nothing but rounding is left of it where the judge's label, or the person's, never changes.
  if (!(variance > 1e-15)) return out;
  constexpr double z = 1.959963984540054;  // the 97.5 % point of the standard normal distribution
  const double half = z * std::sqrt(variance);
  out.kappa_interval = metrics::Interval{std::max(-1.0, kappa - half), std::min(1.0, kappa + half)};
  return out;
}

}  // namespace polygraph::judges
