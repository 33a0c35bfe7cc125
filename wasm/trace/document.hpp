// The trace as a JSON value; shared by writing, replay and fork.
#pragma once

#include <nlohmann/json.hpp>

#include "wasm/agent/run.hpp"
#include "wasm/error.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::trace {

nlohmann::ordered_json to_document(const agent::Run& run, const WriteOptions& options);
Result<agent::Run> from_document(const nlohmann::ordered_json& document);
/// Parses text; `invalid_json` where it is none.
Result<nlohmann::ordered_json> parse_document(std::string_view json);

}  // namespace polygraph::trace
