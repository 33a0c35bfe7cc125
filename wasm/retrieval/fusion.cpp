#include "wasm/retrieval/fusion.hpp"

#include <algorithm>

namespace polygraph::retrieval {

using index::ChunkNo;

std::vector<ChunkNo> best_first(std::span<const double> scores, std::size_t count, double floor) {
  std::vector<ChunkNo> order;
  for (ChunkNo c = 0; c < scores.size(); ++c) {
    if (scores[c] > floor) order.push_back(c);
  }
  const auto better = [&](ChunkNo a, ChunkNo b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; };
  if (count < order.size()) {
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), better);
    order.resize(count);
  }
  std::sort(order.begin(), order.end(), better);
  return order;
}

std::vector<double> reciprocal_rank_fusion(std::size_t chunks, std::span<const ChunkNo> lexical, std::span<const ChunkNo> dense,
                                           std::uint32_t k) {
  std::vector<double> fused(chunks, 0.0);
  for (const auto list : {lexical, dense}) {
    double rank = 0;
    for (const ChunkNo chunk : list) fused[chunk] += 1.0 / (static_cast<double>(k) + ++rank);
  }
  return fused;
}

std::vector<double> mix_fusion(std::size_t chunks, std::span<const double> bm25, std::span<const double> dense, double bm25_weight) {
  std::vector<double> fused(chunks, 0.0);
  if (!bm25.empty()) {
    const double max = *std::max_element(bm25.begin(), bm25.end());
    if (max > 0) {
      for (std::size_t c = 0; c < chunks; ++c) fused[c] = bm25_weight * (bm25[c] / max);
    }
  }
  if (!dense.empty()) {
    const auto [low, high] = std::minmax_element(dense.begin(), dense.end());
    const double min = *low, range = *high - *low;
    if (range > 0) {
      for (std::size_t c = 0; c < chunks; ++c) fused[c] += (1.0 - bm25_weight) * ((dense[c] - min) / range);
    }
  }
  return fused;
}

}  // namespace polygraph::retrieval
