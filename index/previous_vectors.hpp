// Vectors of an index that was built before: its unchanged passages need not be embedded again.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wasm/index/metadata.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::corpus {

/// Floats that index::quantise turns into exactly this row and this scale; nothing where there are none. A vector that went
/// through a file and this function leaves the same bytes in the next file.
std::optional<std::vector<float>> dequantised(std::span<const std::int8_t> row, float scale);

class PreviousVectors {
 public:
  /// `previous` must outlive this. Holds nothing when it was built for another model, or by another version, whose passages
  /// may have been put to the model in other words.
  PreviousVectors(const index::Index& previous, const index::ModelIdentity& embedder);

  /// By digest of what the model reads of a passage (index::model_text).
  std::optional<std::vector<float>> find(const text::Digest128& text) const;

 private:
  const index::Index& previous_;
  std::vector<std::pair<text::Digest128, index::ChunkNo>> chunks_;  ///< sorted
};

}  // namespace polygraph::corpus
