#include "wasm/retrieval/dense.hpp"

#include "wasm/index/quantisation.hpp"

namespace polygraph::retrieval {

std::vector<double> dense_scores(const index::Index& index, std::span<const float> query, DotProduct kernel) {
  const std::size_t dimensions = index.dimensions();
  std::vector<std::int8_t> row(dimensions);
  const double query_scale = index::quantise(query, row);
  const std::int8_t* rows = index.vectors().data();
  const std::span<const float> scales = index.vector_scales();
  std::vector<double> scores(scales.size());
  for (std::size_t c = 0; c < scores.size(); ++c) {
    scores[c] = static_cast<double>(kernel(row.data(), rows + c * dimensions, dimensions)) * static_cast<double>(scales[c]) * query_scale;
  }
  return scores;
}

std::vector<double> dense_scores(const index::Index& index, std::span<const float> query) {
  return dense_scores(index, query, best_dot_product().function);
}

}  // namespace polygraph::retrieval
