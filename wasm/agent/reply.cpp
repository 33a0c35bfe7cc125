#include "wasm/agent/reply.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "wasm/json/brackets.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::agent {

// JSON Schemas of the replies that `complete` effects ask a model for.
const std::string_view grade_schema =
    R"({"type":"object","properties":{"relevant":{"type":"boolean"},"reason":{"type":"string"},)"
    R"("relevant_chunk_ids":{"type":"array","items":{"type":"string"}}},)"
    R"("required":["relevant","reason","relevant_chunk_ids"],"additionalProperties":false})";
const std::string_view rewrite_schema =
    R"({"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false})";

namespace {

// Same instantiation as the trace, so that the library is in the module once.
using Json = nlohmann::ordered_json;

/// The last top-level object or array of `reply` that is JSON.
Json last_value(std::string_view reply) {
  // A reply of nothing but brackets would take quadratic time: what is read twice is limited.
  std::size_t budget = 16 * reply.size() + 4096;
  Json last = Json::value_t::discarded;
  std::size_t at = 0;
  while (at < reply.size()) {
    if (reply[at] != '{' && reply[at] != '[') {
      ++at;
      continue;
    }
    const auto end = json::balanced_end(reply, at);
    const std::size_t read = (end ? *end : reply.size()) - at;
    if (read > budget) break;
    budget -= read;
    if (end) {
      Json value = Json::parse(reply.begin() + static_cast<std::ptrdiff_t>(at), reply.begin() + static_cast<std::ptrdiff_t>(*end), nullptr, false);
      if (!value.is_discarded()) {
        last = std::move(value);
        at = *end;
        continue;
      }
    }
    ++at;
  }
  return last;
}

Result<Json> last_object(std::string_view reply) {
  Json value = last_value(reply);
  if (value.is_discarded()) return fail(ErrorCode::invalid_json, "the reply holds no complete JSON value; a JSON object was expected");
  if (!value.is_object()) {
    return fail(ErrorCode::invalid_json, std::string("the reply's last JSON value is an ") + value.type_name() + "; an object was expected");
  }
  return value;
}

tl::unexpected<Error> wrong(const Json& object, const char* field, const char* expected) {
  const auto found = object.find(field);
  const std::string met = found == object.end() ? "is missing" : std::string("is of type ") + found->type_name();
  return fail(ErrorCode::invalid_json, "\"" + std::string(field) + "\" " + met + "; " + expected + " was expected", field);
}

}  // namespace

Result<GradeReply> parse_grade(std::string_view reply) {
  auto object = last_object(reply);
  if (!object) return tl::unexpected(object.error());
  GradeReply grade;
  const auto relevant = object->find("relevant");
  if (relevant == object->end() || !relevant->is_boolean()) return wrong(*object, "relevant", "true or false");
  grade.relevant = relevant->get<bool>();
  const auto reason = object->find("reason");
  if (reason == object->end() || !reason->is_string()) return wrong(*object, "reason", "a string");
  grade.reason = reason->get_ref<const std::string&>();
  const auto ids = object->find("relevant_chunk_ids");
  if (ids == object->end() || !ids->is_array()) return wrong(*object, "relevant_chunk_ids", "an array of strings");
  for (const Json& id : *ids) {
    if (!id.is_string()) return wrong(*object, "relevant_chunk_ids", "an array of nothing but strings");
    grade.relevant_chunk_ids.push_back(id.get_ref<const std::string&>());
  }
  return grade;
}

Result<std::string> parse_rewrite(std::string_view reply, std::size_t longest) {
  auto object = last_object(reply);
  if (!object) return tl::unexpected(object.error());
  const auto query = object->find("query");
  if (query == object->end() || !query->is_string()) return wrong(*object, "query", "a string");
  std::string text = query->get<std::string>();
  if (folded(text).empty()) return fail(ErrorCode::invalid_json, "\"query\" is empty; a search query was expected", "query");
  if (text.size() > longest) {
    return fail(ErrorCode::invalid_json, "\"query\" has " + std::to_string(text.size()) + " bytes; at most " + std::to_string(longest) + " are allowed",
                "query");
  }
  return text;
}

bool declines(std::string_view answer) {
  // Ways in which models decline. Only the opening counts, and only what is said of the answer or of oneself: "Docker
  // cannot find the image" and "the build context does not hold it" are answers.
  static constexpr std::array<std::string_view, 34> phrases = {
      "cannot answer this", "cannot answer the", "cannot answer your", "can't answer this", "can't answer the", "can't answer your",
      "unable to answer", "not able to answer", "cannot be answered", "can't be answered", "cannot be determined from", "i cannot answer",
      "i can't answer", "i could not find", "i couldn't find", "i cannot find", "i can't find", "i did not find", "i didn't find",
      "i am unable to", "i'm unable to", "i don't know", "i do not know", "don't have enough information", "not enough information",
      "insufficient information", "provided context do", "given context do", "provided passages do not", "provided passages don't",
      "passages do not", "passages don't", "provided documentation do", "knowledge base does not",
  };
  constexpr std::size_t opening_bytes = 240;
  std::string opening = folded(answer.substr(0, opening_bytes));
  // A typographic apostrophe (U+2019) reads as the plain one.
  for (std::size_t at = opening.find("\xE2\x80\x99"); at != std::string::npos; at = opening.find("\xE2\x80\x99", at + 1)) opening.replace(at, 3, "'");
  for (const std::string_view stop : {". ", "! ", "? "}) {
    if (const std::size_t end = opening.find(stop); end != std::string::npos) opening.resize(end);
  }
  for (const std::string_view phrase : phrases) {
    if (opening.find(phrase) != std::string::npos) return true;
  }
  return false;
}

std::string well_formed(std::string_view text) {
  if (!text::first_invalid(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const text::CodePoint point = text::decode(text, at);
    text::append(out, point.value);
    at += point.length;
  }
  return out;
}

std::string folded(std::string_view text) {
  std::string out;
  bool gap = false;
  for (std::size_t at = 0; at < text.size();) {
    const text::CodePoint point = text::decode(text, at);
    at += point.length;
    char32_t c = point.value;
    const bool space = c <= U' ' || c == 0x7F || c == 0x85 || c == 0xA0 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
                       c == 0x202F || c == 0x205F || c == 0x3000;
    if (space) {
      gap = !out.empty();
      continue;
    }
    if (gap) out.push_back(' ');
    gap = false;
    if (c >= U'A' && c <= U'Z') c = c - U'A' + U'a';
    // Latin-1, Greek and Cyrillic capitals lie a constant away from their small letters.
    if (c >= 0xC0 && c <= 0xDE && c != 0xD7) c += 0x20;
    if (c >= 0x391 && c <= 0x3A9) c += 0x20;
    if (c >= 0x410 && c <= 0x42F) c += 0x20;
    text::append(out, c);
  }
  return out;
}

}  // namespace polygraph::agent
