// Is the judge to be believed? Items are chosen over the bands of its scores, a person labels them without seeing its verdict,
// and the two are compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wasm/metrics/interval.hpp"

namespace polygraph::judges {

inline constexpr std::size_t calibration_items = 30;
/// Bands of equal width over 0 to 1; a score on a border belongs to the upper one.
inline constexpr std::size_t calibration_bands = 5;

struct ScoredItem {
  std::string id;
  double score = 0;  ///< 0 to 1
};

/// `count` ids, as evenly over the bands as they have items: bands give in turn, lowest first, until enough are chosen. Which
/// of a band, and the order of all, is drawn by `seed`; the order of `items` does not matter, and the order of the choice
/// does not tell the band. All of them where there are fewer.
std::vector<std::string> choose_for_calibration(std::span<const ScoredItem> items, std::uint64_t seed, std::size_t count = calibration_items);

/// counts[person][judge]; 0 is no, 1 is yes.
using Confusion = std::vector<std::vector<std::uint64_t>>;

/// From (person, judge) pairs.
Confusion confusion_of(std::span<const std::pair<bool, bool>> labels);

struct Agreement {
  std::uint64_t n = 0;
  std::optional<double> accuracy;             ///< share of equal labels; nothing without labels
  std::optional<metrics::Interval> accuracy_interval;  ///< Wilson, 95 %
  /// Cohen's κ (Cohen 1960) = (p_o - p_e) / (1 - p_e). Nothing where both gave one and the same label to everything: then
  /// p_e is 1, and agreement says nothing.
  std::optional<double> kappa;
  /// κ ± 1.96 standard errors, cut to -1 … 1, with the large-sample standard error of Fleiss, Cohen and Everitt (1969,
  /// formula 13), which does not assume κ = 0. Nothing where that error is 0 (perfect agreement): n labels without a
  /// disagreement do not make it certain.
  std::optional<metrics::Interval> kappa_interval;
};

/// Of a square matrix of any number of labels.
Agreement agreement(const Confusion& counts);

}  // namespace polygraph::judges
