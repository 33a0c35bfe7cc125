// Any number of pipelines side by side: every pair compared, a ranking, and those that nobody beats in everything.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wasm/comparison/comparison.hpp"

namespace polygraph::comparison {

struct Contender {
  std::string name;
  const diagnosis::Document* document = nullptr;
  std::optional<double> mean_cost_usd;  ///< a query; nothing where a price is missing
};

struct Standing {
  std::size_t contender = 0;  ///< index into the contenders
  std::uint32_t rank = 1;     ///< shared by those that nothing tells apart
  std::uint32_t wins = 0, losses = 0, ties = 0;  ///< overall winners of its pairs
  std::optional<double> quality;      ///< diagnosis::quality()
  std::optional<double> mean_ms;      ///< mean retrieval; nothing where unmeasured
  std::optional<double> cost_usd;
  bool on_front = false;              ///< no other is at least as good in quality, latency and cost and better in one
};

/// What a contender's retrieval finds at what price. On a front is what no other equals or beats in both while being better in one;
/// values that differ by less than a billionth are equal, and what was not measured stands on none.
struct Place {
  std::optional<double> recall;    ///< mean recall at K
  std::optional<double> mean_ms;   ///< mean retrieval
  std::optional<double> cost_usd;  ///< a query
  bool latency_front = false, cost_front = false;
};

struct Pair {
  std::size_t a = 0, b = 0;
  Comparison comparison;
};

struct Matrix {
  std::vector<Contender> contenders;
  std::vector<Pair> pairs;         ///< (0, 1), (0, 2), …, (1, 2), …
  std::vector<Place> places;       ///< of the contenders, in their order
  std::vector<Standing> ranking;   ///< best first: wins less losses, quality, mean retrieval, cost, order of the contenders
};

/// Documents must outlive the matrix. Fails with `invalid_argument` for fewer than two, and as compare() does, naming the pair.
Result<Matrix> matrix(std::vector<Contender> contenders, const Options& options = {});

/// The matrix as a document (`kind` "matrix"): {contenders, ranking, pairs}; of each pair winners, trade-off, deltas and
/// verdict, without the reports.
void write_matrix(json::Writer& writer, const Matrix& matrix);

}  // namespace polygraph::comparison
