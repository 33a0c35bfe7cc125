#include "index/previous_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wasm/index/quantisation.hpp"

namespace polygraph::corpus {

std::optional<std::vector<float>> dequantised(std::span<const std::int8_t> row, float scale) {
  std::vector<float> vector(row.size(), 0.0F);
  std::vector<std::int8_t> again(row.size());
  const auto holds = [&] { return index::quantise(vector, again) == scale && std::equal(row.begin(), row.end(), again.begin()); };
  if (scale == 0) return holds() ? std::optional(vector) : std::nullopt;
  // The scale is the largest value over 127, rounded: a few neighbouring floats lead to it, and 127 * scale is one of them or
  // next to one.
  constexpr float up = std::numeric_limits<float>::infinity();
  constexpr int neighbours = 4;
  float largest = 127.0F * scale;
  for (int i = 0; i < neighbours; ++i) largest = std::nextafter(largest, 0.0F);
  for (int i = 0; i <= 2 * neighbours; ++i, largest = std::nextafter(largest, up)) {
    for (std::size_t at = 0; at < row.size(); ++at) vector[at] = static_cast<float>(static_cast<double>(row[at]) * static_cast<double>(largest) / 127.0);
    if (holds()) return vector;
  }
  return std::nullopt;
}

PreviousVectors::PreviousVectors(const index::Index& previous, const index::ModelIdentity& embedder) : previous_(previous) {
  const index::Metadata& metadata = previous.metadata();
  if (!previous.has_vectors() || metadata.builder != POLYGRAPH_VERSION || !(metadata.embedder == embedder)) return;
  chunks_.reserve(previous.chunks());
  for (index::ChunkNo no = 0; no < previous.chunks(); ++no) chunks_.emplace_back(text::digest128(previous.chunk_model_text(no)), no);
  std::sort(chunks_.begin(), chunks_.end());
}

std::optional<std::vector<float>> PreviousVectors::find(const text::Digest128& text) const {
  const auto found = std::lower_bound(chunks_.begin(), chunks_.end(), text, [](const auto& entry, const text::Digest128& wanted) { return entry.first < wanted; });
  if (found == chunks_.end() || found->first != text) return std::nullopt;
  const std::size_t dimensions = previous_.dimensions();
  return dequantised(previous_.vectors().subspan(found->second * dimensions, dimensions), previous_.vector_scales()[found->second]);
}

}  // namespace polygraph::corpus
