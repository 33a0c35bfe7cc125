#include "proxy/calls/json_reply.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "proxy/upstream/reply_json.hpp"
#include "wasm/json/brackets.hpp"

namespace polygraph::proxy {
namespace {

using reply_json::Json;
using reply_json::member;

bool is_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer() || (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()));
  return type == "object"    ? value.is_object()
         : type == "array"   ? value.is_array()
         : type == "string"  ? value.is_string()
         : type == "boolean" ? value.is_boolean()
         : type == "number"  ? value.is_number()
         : type == "null"    ? value.is_null()
                             : true;
}

std::string words(const Json& value) {
  constexpr std::size_t most = 80;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > most) {
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;
    text.resize(end);
    text += "…";
  }
  return text;
}

std::optional<std::string> fault_of(const Json& value, const Json& schema, const std::string& path) {
  const std::string at = path.empty() ? "the value" : path;
  if (const auto* type = member(schema, "type")) {
    const auto fits = [&](const Json& name) { return name.is_string() && is_type(value, name.get<std::string>()); };
    const bool any = type->is_array() ? std::any_of(type->begin(), type->end(), fits) : fits(*type);
    if (!any) return at + " must be " + words(*type) + ", and is " + words(value);
  }
  if (const auto* allowed = member(schema, "enum"); allowed && allowed->is_array() && std::find(allowed->begin(), allowed->end(), value) == allowed->end()) {
    return at + " must be one of " + words(*allowed) + ", and is " + words(value);
  }
  if (const auto* constant = member(schema, "const"); constant && *constant != value) return at + " must be " + words(*constant) + ", and is " + words(value);
  if (value.is_number()) {
    const auto* least = member(schema, "minimum");
    const auto* most = member(schema, "maximum");
    if (least && least->is_number() && value.get<double>() < least->get<double>()) return at + " must be at least " + words(*least) + ", and is " + words(value);
    if (most && most->is_number() && value.get<double>() > most->get<double>()) return at + " must be at most " + words(*most) + ", and is " + words(value);
  }
  if (value.is_string()) {
    if (const auto least = reply_json::count_member(schema, "minLength"); least && value.get_ref<const std::string&>().size() < *least) return at + " is too short";
  }
  if (value.is_object()) {
    for (const auto& name : reply_json::array_member(schema, "required")) {
      if (name.is_string() && !value.contains(name.get<std::string>())) return at + " lacks \"" + name.get<std::string>() + '"';
    }
    const auto* properties = member(schema, "properties");
    const auto* others = member(schema, "additionalProperties");
    for (const auto& [name, inner] : value.items()) {
      const auto* known = properties ? member(*properties, name.c_str()) : nullptr;
      if (known) {
        if (auto wrong = fault_of(inner, *known, path.empty() ? name : path + '.' + name)) return wrong;
      } else if (others && *others == false) {
        return at + " holds \"" + name + "\", which was not asked for";
      }
    }
  }
  if (value.is_array()) {
    const auto least = reply_json::count_member(schema, "minItems"), most = reply_json::count_member(schema, "maxItems");
    if ((least && value.size() < *least) || (most && value.size() > *most)) {
      const std::string wanted = least && most && *least == *most ? std::to_string(*least) : (least && value.size() < *least ? "at least " + std::to_string(*least) : "at most " + std::to_string(*most));
      return at + " must hold " + wanted + " items, and holds " + std::to_string(value.size());
    }
    if (const auto* items = member(schema, "items")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (auto wrong = fault_of(value[i], *items, path + '[' + std::to_string(i) + ']')) return wrong;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view last_json(std::string_view reply) {
  // A reply of nothing but brackets would take quadratic time: what is read twice is limited.
  std::size_t budget = 16 * reply.size() + 4096;
  std::string_view last;
  for (std::size_t at = 0; at < reply.size(); ++at) {
    if (reply[at] != '{' && reply[at] != '[') continue;
    const auto end = json::balanced_end(reply, at);
    const std::size_t read = (end ? *end : reply.size()) - at;
    if (read > budget) break;
    budget -= read;
    if (!end) continue;
    const auto value = reply.substr(at, *end - at);
    if (reply_json::parsed(value).is_discarded()) continue;
    last = value;
    at = *end - 1;
  }
  return last;
}

std::optional<std::string> schema_fault(std::string_view value, std::string_view schema) {
  const auto read = reply_json::parsed(value);
  if (read.is_discarded()) return "it is no JSON";
  return fault_of(read, reply_json::parsed(schema), {});
}

std::optional<std::string> reply_fault(std::string_view reply, std::string_view schema) {
  const auto value = last_json(reply);
  if (value.empty()) return "the reply holds no complete JSON value";
  return schema_fault(value, schema);
}

}  // namespace polygraph::proxy
