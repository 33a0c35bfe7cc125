// Exact dense search: the cosine of a query vector with every chunk's, in int8.
#pragma once

#include <span>
#include <vector>

#include "wasm/index/reader.hpp"
#include "wasm/retrieval/dot_product.hpp"

namespace polygraph::retrieval {

/// One score per chunk: (integer dot product) * chunk scale * query scale in doubles, the query quantised like the chunks
/// (index/quantisation.hpp). `query` must hold index.dimensions() finite floats; L2-normalised vectors give cosines. The
/// same bits with every kernel.
std::vector<double> dense_scores(const index::Index& index, std::span<const float> query, DotProduct kernel);
std::vector<double> dense_scores(const index::Index& index, std::span<const float> query);

}  // namespace polygraph::retrieval
