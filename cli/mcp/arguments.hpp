// A tool's arguments against its input schema, so that the schema a client is shown is the one that holds.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace polygraph::cli::mcp {

/// What is wrong with `arguments`: names the argument, what it is and what was expected. Knows of JSON Schema what the tools
/// use: an object with `properties`, `required` and nothing else, of type string (minLength, maxLength in code points, enum)
/// or integer (minimum, maximum).
std::optional<std::string> fault(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& arguments);

}  // namespace polygraph::cli::mcp
