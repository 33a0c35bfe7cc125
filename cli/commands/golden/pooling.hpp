// What pool, check and extend share: the passages that search finds for a question, and labels between memory and work file.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/host.hpp"
#include "wasm/error.hpp"
#include "wasm/golden/making.hpp"

namespace polygraph::cli {

/// The best of lexical and of dense search, `pool_of_each` of both; lexical alone without a worker.
Result<std::vector<index::ChunkNo>> found_for(const index::Index& index, const std::string& question, const Models::Available& models);

nlohmann::ordered_json labels_json(const golden::Labels& labels);
/// Nothing where there are none in `line`.
std::optional<golden::Labels> labels_of(const nlohmann::ordered_json& line);

}  // namespace polygraph::cli
