// Cuts a page into the passages that are indexed.
//
// A cut falls at every heading. Inside a section, whole blocks are packed up to `packed` characters; a block over `block`
// is cut at its items, rows, lines or sentences; a last piece under `tail` joins the one before it. A section that was not
// split and follows a piece under `small` joins it, its heading line first, while the sum stays within `packed`; the
// heading path is then the first's, or the common part where the first lies deeper. A piece under `least` joins its
// neighbour whatever the sum.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "index/block.hpp"
#include "wasm/index/writer.hpp"

namespace polygraph::corpus {

/// Sizes in characters (Unicode code points). The defaults were measured best on documentation; see the README's figures.
struct ChunkSizes {
  std::size_t packed = 1'000;
  std::size_t block = 1'300;
  std::size_t tail = 200;
  std::size_t small = 300;
  std::size_t least = 40;
};

/// One readable line; equal sizes give equal lines.
std::string describe(const ChunkSizes& sizes);

/// Passages in text order, none of them empty. A heading with nothing under it stands in the passage before or after it.
std::vector<index::ChunkInput> chunk(const std::vector<Section>& sections, const ChunkSizes& sizes = {});

}  // namespace polygraph::corpus
