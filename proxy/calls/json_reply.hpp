// The JSON in a model's reply: which of it counts, and whether it is what was asked for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace polygraph::proxy {

/// The last complete object or array of a reply, as it stands there; empty where there is none. Models think aloud, fence
/// their JSON and correct themselves: what comes last is what they settled on.
std::string_view last_json(std::string_view reply);

/// What is wrong with `value` by a JSON Schema: its path, what was expected and what is there. Of a schema these count: type,
/// enum, const, properties, required, additionalProperties false, items, minItems, maxItems, minimum, maximum, minLength.
std::optional<std::string> schema_fault(std::string_view value, std::string_view schema);

/// What is wrong with a reply that was to be JSON of `schema`.
std::optional<std::string> reply_fault(std::string_view reply, std::string_view schema);

}  // namespace polygraph::proxy
