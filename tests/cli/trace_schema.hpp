// The published JSON Schemas, as a check.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace polygraph::cli::test {

/// What is wrong with `document` by assets/schemas/NAME.schema.json; empty when nothing is.
std::string schema_errors(const nlohmann::json& document, const std::string& name = "trace");

}  // namespace polygraph::cli::test
