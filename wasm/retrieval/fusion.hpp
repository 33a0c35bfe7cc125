// Puts the lexical and the dense list together, and the orders that lists are in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wasm/index/reader.hpp"

namespace polygraph::retrieval {

/// The `count` best chunks (fewer where the corpus has fewer), by score, ties by chunk number. Chunks with a score of at
/// most `floor` are left out.
std::vector<index::ChunkNo> best_first(std::span<const double> scores, std::size_t count, double floor);

/// Reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009): per chunk the sum of 1 / (k + rank) over the lists that
/// hold it, ranks from 1; 0 in none. `chunks` is the length of the result.
std::vector<double> reciprocal_rank_fusion(std::size_t chunks, std::span<const index::ChunkNo> lexical,
                                           std::span<const index::ChunkNo> dense, std::uint32_t k);

/// Weighted normalised scores: weight * bm25 / max bm25 + (1 - weight) * (dense - min) / (max - min), over all chunks, in
/// [0, 1]. A list without any spread (no term found, all cosines equal) adds 0. An empty list counts as one.
std::vector<double> mix_fusion(std::size_t chunks, std::span<const double> bm25, std::span<const double> dense, double bm25_weight);

}  // namespace polygraph::retrieval
