#include "proxy/upstream/reply_json.hpp"

#include <algorithm>

#include "wasm/json/brackets.hpp"

namespace polygraph::proxy {
namespace reply_json {
namespace {

/// No model in sight reads or writes as much in one call: a larger figure is a mistake.
constexpr std::uint64_t max_tokens = 100'000'000;

/// A reply nests half a dozen deep. Each level costs the parser far more memory than the byte that opens it.
constexpr std::size_t max_depth = 64;

}  // namespace

Json parsed(std::string_view text) {
  if (json::deeper_than(text, max_depth)) return Json(Json::value_t::discarded);
  return Json::parse(text.begin(), text.end(), nullptr, false);
}

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_member(const Json& object, const char* name) {
  const auto* found = member(object, name);
  return found && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::uint64_t> count_member(const Json& object, const char* name) {
  const auto* found = member(object, name);
  return found && found->is_number_unsigned() ? std::optional(found->get<std::uint64_t>()) : std::nullopt;
}

const Json& array_member(const Json& object, const char* name) {
  static const Json none = Json::array();
  const auto* found = member(object, name);
  return found && found->is_array() ? *found : none;
}

std::optional<Usage> sound_usage(std::optional<std::uint64_t> in, std::optional<std::uint64_t> out, bool has_text) {
  if (!in || !out || *in == 0 || *in > max_tokens || *out > max_tokens || (has_text && *out == 0)) return std::nullopt;
  return Usage{*in, *out};
}

std::string_view field_value(std::span<const Field> fields, std::string_view lower_case_name) {
  const auto same = [&](std::string_view name) {
    return name.size() == lower_case_name.size() && std::equal(name.begin(), name.end(), lower_case_name.begin(), [](char a, char b) {
             return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
           });
  };
  std::string_view found;
  bool seen = false;
  for (const auto& field : fields) {
    if (!same(field.first)) continue;
    if (seen) return {};
    seen = true;
    found = field.second;
  }
  return found;
}

Result<nlohmann::ordered_json> read_schema(const std::string& schema) {
  auto read = nlohmann::ordered_json::parse(schema, nullptr, false);
  if (!read.is_object()) return fail(ErrorCode::invalid_json, "the reply's schema is no JSON object", "schema");
  return read;
}

tl::unexpected<Error> invalid(std::string message, std::string field) {
  return fail(ErrorCode::invalid_json, std::move(message), std::move(field));
}

}  // namespace reply_json

namespace {

bool is_strict(const reply_json::Json& schema) {
  if (!schema.is_structured()) return true;
  if (const auto* properties = reply_json::member(schema, "properties")) {
    const auto* others = reply_json::member(schema, "additionalProperties");
    if (!others || *others != false || !properties->is_object()) return false;
    const auto& required = reply_json::array_member(schema, "required");
    for (const auto& [name, unused] : properties->items()) {
      if (std::find(required.begin(), required.end(), name) == required.end()) return false;
    }
  }
  return std::all_of(schema.begin(), schema.end(), is_strict);
}

}  // namespace

bool is_strict_schema(std::string_view schema) {
  const auto read = reply_json::parsed(schema);
  return read.is_object() && is_strict(read);
}

std::string asking_for_json(std::string_view system, std::string_view schema) {
  std::string asking(system);
  if (!asking.empty()) asking += "\n\n";
  asking += "Reply with one JSON value that fits this JSON Schema, and with nothing else:\n";
  asking += schema;
  return asking;
}

const Format& format_of(ApiFormat format) {
  switch (format) {
    case ApiFormat::openai: break;
    case ApiFormat::groq: return groq_format();
    case ApiFormat::anthropic: return anthropic_format();
    case ApiFormat::gemini: return gemini_format();
    case ApiFormat::ollama: return ollama_format();
  }
  return openai_format();
}

}  // namespace polygraph::proxy
