// The published JSON Schema of traces, as a check.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace polygraph::cli::test {

/// What is wrong with `trace` by assets/schemas/trace.schema.json; empty when nothing is.
std::string schema_errors(const nlohmann::json& trace);

}  // namespace polygraph::cli::test
