// The gate of a CI: which of a run's figures are beyond their thresholds (assets/schemas/thresholds.schema.json).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::report {

/// A figure under its name (`recall@4`, `loop_rate`); nothing where it is undefined.
using Figures = std::vector<std::pair<std::string, std::optional<double>>>;

struct Thresholds {
  std::string subset, source;  ///< of the run that they were made from; a run of another can't be held to them
  double margin = 0;
  std::vector<std::pair<std::string, double>> min, max;  ///< by name
};

/// From the figures of a first run. Rates where more is better get a minimum of observed - margin, `false_refusal_rate`,
/// `loop_rate` and `stalled_rate` a maximum of observed + margin, both cut to 0 … 1; latency, tokens and cost a maximum of observed × (1 + margin). What is
/// undefined, or says nothing that a gate could hold (is_news), gets none.
Thresholds make_thresholds(const Figures& figures, double margin, std::string subset, std::string source);

/// Fails with `invalid_json` naming the field: no object, a threshold that is no number, one metric under both, none at all.
Result<Thresholds> parse_thresholds(std::string_view json);
std::string to_json(const Thresholds& thresholds);

/// One thing that was checked.
struct Check {
  std::string metric;             ///< or `complete`
  std::optional<double> value, threshold, p;
  enum class Rule : std::uint8_t { at_least, at_most, complete, no_worse } rule = Rule::at_least;
  bool passed = false;
  std::string message;            ///< "recall@4 is 0.71, below its minimum 0.78"
};

/// Every threshold in its order. A metric that is missing or undefined fails.
std::vector<Check> check(const Thresholds& thresholds, const Figures& figures);

/// What is neither good nor bad in itself: counts of a run's work, and how much of its retrieval was judged.
bool is_news(std::string_view metric) noexcept;
bool more_is_better(std::string_view metric) noexcept;

}  // namespace polygraph::report
