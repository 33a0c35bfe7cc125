#include "cli/mcp/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "wasm/text/utf8.hpp"

namespace polygraph::cli::mcp {
namespace {

using Json = nlohmann::ordered_json;

std::string names_of(const Json& properties) {
  std::vector<std::string> names;
  for (const auto& [name, ignored] : properties.items()) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// A value as an error repeats it: a long one is cut.
std::string shown(const Json& value) {
  constexpr std::size_t longest = 60;
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= longest ? text : text.substr(0, longest) + "…";
}

std::optional<std::string> fault_of_string(const std::string& name, const Json& rule, const Json& value) {
  if (!value.is_string()) return fmt::format("{} is {}; it must be a string", name, shown(value));
  const auto& text = value.get_ref<const std::string&>();
  if (rule.contains("enum")) {
    const auto& allowed = rule["enum"];
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return std::nullopt;
    return fmt::format("{} is {}; it must be one of {}", name, shown(value), fmt::join(allowed.get<std::vector<std::string>>(), ", "));
  }
  const std::size_t length = text::code_points(text);
  if (length < rule.value("minLength", std::size_t{0})) return fmt::format("{} is empty", name);
  if (rule.contains("maxLength") && length > rule["maxLength"].get<std::size_t>()) {
    return fmt::format("{} has {} characters; at most {} are taken", name, length, rule["maxLength"].get<std::size_t>());
  }
  return std::nullopt;
}

std::optional<std::string> fault_of_integer(const std::string& name, const Json& rule, const Json& value) {
  const auto least = rule["minimum"].get<std::int64_t>(), most = rule["maximum"].get<std::int64_t>();
  // JSON Schema counts 4.0 among the integers.
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  if (!(std::floor(number) == number && number >= static_cast<double>(least) && number <= static_cast<double>(most))) {
    return fmt::format("{} is {}; it must be a whole number from {} to {}", name, shown(value), least, most);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fault(const Json& schema, const Json& arguments) {
  if (!arguments.is_object()) return "arguments must be an object";
  const auto& properties = schema["properties"];
  for (const auto& [name, value] : arguments.items()) {
    const auto rule = properties.find(name);
    if (rule == properties.end()) return fmt::format("{} is no argument of this tool; there are {}", shown(name), names_of(properties));
    const bool text = (*rule)["type"] == "string";
    if (auto wrong = text ? fault_of_string(name, *rule, value) : fault_of_integer(name, *rule, value)) return wrong;
  }
  for (const auto& name : schema.value("required", Json::array())) {
    if (!arguments.contains(name.get<std::string>())) return fmt::format("{} is missing", name.get<std::string>());
  }
  return std::nullopt;
}

}  // namespace polygraph::cli::mcp
