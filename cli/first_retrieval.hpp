// The first retrieval of a question, natively: over the index's int8 vectors as everything else searches them, or over vectors
// in float32, for seeing what the rounding costs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/host.hpp"
#include "wasm/error.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/retrieval/retrieval.hpp"

namespace polygraph::cli {

struct FirstRetrieval {
  std::vector<std::string> ids;                    ///< the ranked list
  std::vector<retrieval::Candidate> candidates;    ///< the same
  std::vector<float> vector;                       ///< of the query; empty where none was wanted
  std::vector<retrieval::Retrieval::Logit> logits; ///< of the pairs that were scored
};

/// As the agent retrieves first. `models` may lack a worker where `config` needs none; otherwise fails with `model_unavailable`.
Result<FirstRetrieval> retrieve_first(const index::Index& index, const std::string& question, const retrieval::Config& config, const Models::Available& models);

/// All passages of an index in float32: from the vector cache that indexes are built through, and from the embedder where it
/// lacks them.
struct FloatVectors {
  std::vector<float> values;  ///< row after row, L2-normalised
  std::size_t embedded = 0;   ///< that the cache lacked
};
Result<FloatVectors> float_vectors(const Settings& settings, const index::Index& index, models::ModelWorker& worker);

/// The same question over `passages`, neither they nor the query rounded: dot products in double. `known` is what retrieve_first()
/// made of it; only pairs that it did not score are scored.
Result<FirstRetrieval> retrieve_first(const index::Index& index, const std::string& question, const retrieval::Config& config, const Models::Available& models,
                                      const FirstRetrieval& known, const FloatVectors& passages);

}  // namespace polygraph::cli
