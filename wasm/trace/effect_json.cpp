#include "wasm/trace/effect_json.hpp"

#include <optional>
#include <string>
#include <utility>

#include "wasm/trace/base64.hpp"
#include "wasm/trace/json_reader.hpp"

namespace polygraph::trace {

using agent::Completion;
using agent::EffectResult;
using agent::Embedding;
using agent::Logits;
using agent::Time;

nlohmann::ordered_json effect_to_json(const agent::Effect& effect) {
  Json json = Json::object();
  json["id"] = effect.id;
  json["kind"] = agent::name(effect.kind());
  json["digest"] = effect.digest;
  if (const auto* embed = std::get_if<agent::EmbedRequest>(&effect.request)) {
    json["token_ids"] = embed->token_ids;
  } else if (const auto* score = std::get_if<agent::ScoreRequest>(&effect.request)) {
    Json pairs = Json::array();
    for (const agent::TokenPair& pair : score->pairs) {
      Json& added = pairs.emplace_back(Json::object());
      added["ids"] = pair.token_ids;
      added["split"] = pair.split;
    }
    json["pairs"] = std::move(pairs);
    json["budget_ms"] = score->budget_ms;
  } else if (const auto* complete = std::get_if<agent::CompleteRequest>(&effect.request)) {
    json["task"] = agent::name(complete->task);
    json["question"] = complete->question;
    json["chunk_ids"] = complete->chunk_ids;
    json["failed_query"] = complete->failed_query;
    json["reason"] = complete->reason;
    json["schema"] = complete->schema.empty() ? Json(nullptr) : Json::parse(std::string_view(complete->schema), nullptr, false);
    json["repair"] = complete->repair.empty() ? Json(nullptr) : Json(complete->repair);
  }
  return json;
}

nlohmann::ordered_json effect_value_to_json(const EffectResult& result) {
  Json json = Json::object();
  if (const auto* embedding = std::get_if<Embedding>(&result.value)) {
    json["embedding"] = floats_to_base64(embedding->vector);
  } else if (const auto* logits = std::get_if<Logits>(&result.value)) {
    json["logits"] = floats_to_base64(logits->values);
  } else if (const auto* completion = std::get_if<Completion>(&result.value)) {
    json["text"] = completion->text;
  } else if (const auto* time = std::get_if<Time>(&result.value)) {
    Json& inner = json["time"];
    inner["utc"] = time->utc;
    inner["ms"] = time->ms;
  } else if (const auto* error = std::get_if<Error>(&result.value)) {
    Json& inner = json["error"];
    inner["code"] = name(error->code);
    inner["message"] = error->message;
    if (!error->field.empty()) inner["field"] = error->field;
    if (error->line != 0) inner["line"] = error->line;
  }
  return json;
}

Result<decltype(EffectResult::value)> effect_value_from_json(const nlohmann::ordered_json& json, const std::string& path) {
  std::optional<Error> error;
  const JsonReader reader(json, path, error);
  decltype(EffectResult::value) value;
  int found = 0;
  const auto floats = [&](const char* key) {
    auto values = floats_from_base64(reader.text(key));
    if (!values) reader.wrong(key, "base64 of float32 values");
    return values.value_or(std::vector<float>{});
  };
  if (reader.find("embedding") != nullptr) {
    value = Embedding{floats("embedding")};
    ++found;
  }
  if (reader.find("logits") != nullptr) {
    value = Logits{floats("logits")};
    ++found;
  }
  if (reader.find("text") != nullptr) {
    value = Completion{reader.text("text")};
    ++found;
  }
  if (reader.find("time") != nullptr) {
    const JsonReader time = reader.object("time");
    value = Time{time.text("utc"), time.number("ms")};
    ++found;
  }
  if (reader.find("error") != nullptr) {
    const JsonReader inner = reader.object("error");
    Error read{error_code(inner.text("code")), inner.text("message"), {}, 0};
    if (inner.find("field") != nullptr) read.field = inner.text("field");
    if (inner.find("line") != nullptr) read.line = inner.count("line");
    value = std::move(read);
    ++found;
  }
  if (!error && found != 1) reader.wrong("", "exactly one of embedding, logits, text, time and error");
  if (error) return tl::unexpected(*error);
  return value;
}

Result<EffectResult> effect_result_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::invalid_json, "the effect's result is not JSON", "result");
  auto value = effect_value_from_json(json, "result");
  if (!value) return tl::unexpected(value.error());
  EffectResult result;
  result.value = std::move(*value);
  std::optional<Error> error;
  const JsonReader reader(json, "result", error);
  if (reader.find("ms") != nullptr) result.ms = reader.number("ms");
  if (reader.find("model") != nullptr) result.model = reader.text_or_null("model");
  if (reader.find("tokens") != nullptr) {
    const JsonReader tokens = reader.object("tokens");
    result.tokens = {tokens.count("in"), tokens.count("out")};
  }
  if (reader.find("cost_usd") != nullptr) result.cost_usd = reader.number_or_null("cost_usd");
  if (reader.find("cached") != nullptr) result.cached = reader.boolean("cached");
  if (reader.find("finish") != nullptr) result.finish = reader.text("finish");
  if (error) return tl::unexpected(*error);
  return result;
}

}  // namespace polygraph::trace
