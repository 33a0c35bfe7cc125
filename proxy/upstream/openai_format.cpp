// OpenAI's chat completions, and Groq's dialect of them. Replies are read in chat_body.cpp.
#include "proxy/upstream/reply_json.hpp"

namespace polygraph::proxy {
namespace {

using Json = nlohmann::ordered_json;

bool gpt_oss(std::string_view model) { return model.find("gpt-oss") != std::string_view::npos; }
bool qwen(std::string_view model) { return model.find("qwen3") != std::string_view::npos; }

/// OpenAI's own reasoning models take neither `max_tokens` nor a temperature.
bool openai_reasoning(std::string_view model) {
  for (const std::string_view prefix : {"o1", "o3", "o4", "gpt-5"}) {
    if (model.starts_with(prefix)) return true;
  }
  return false;
}

class OpenAiFormat : public Format {
 public:
  explicit OpenAiFormat(bool groq) : groq_(groq) {}

  std::string target(std::string_view path, std::string_view, bool) const override { return std::string(path) + "/chat/completions"; }
  std::string models_target(std::string_view path) const override { return std::string(path) + "/models"; }

  std::string fields(std::string_view key) const override {
    return key.empty() ? std::string() : "Authorization: Bearer " + std::string(key) + "\r\n";
  }

  Result<std::string> body(const ModelRequest& request) const override {
    Json messages = Json::array();
    // Groq's models take a schema where they are gpt-oss; the others promise JSON, and are told the schema.
    const bool takes_schema = !groq_ || gpt_oss(request.model);
    const bool tell = !request.schema.empty() && !takes_schema && !request.describes_reply;
    const std::string system = tell ? asking_for_json(request.system, request.schema) : request.system;
    if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
    for (const auto& message : request.user) messages.push_back({{"role", "user"}, {"content", message}});
    Json body;
    body["model"] = request.model;
    body["messages"] = std::move(messages);
    if (!request.schema.empty()) {
      auto schema = reply_json::read_schema(request.schema);
      if (!schema) return tl::unexpected(schema.error());
      if (takes_schema) {
        const bool strict = is_strict_schema(request.schema);
        body["response_format"] = {{"type", "json_schema"}, {"json_schema", {{"name", request.schema_name}, {"strict", strict}, {"schema", std::move(*schema)}}}};
      } else {
        body["response_format"] = {{"type", "json_object"}};
      }
    }
    const bool own_temperature = !groq_ && openai_reasoning(request.model);
    body[groq_ || own_temperature ? "max_completion_tokens" : "max_tokens"] = request.max_tokens;
    if (!own_temperature && request.temperature) {
      // 0 stands as the integer that it is.
      if (*request.temperature == 0) body["temperature"] = 0;
      else body["temperature"] = *request.temperature;
    }
    if (groq_ && gpt_oss(request.model)) {
      body["reasoning_effort"] = "low";
      body["include_reasoning"] = false;
    } else if (groq_ && qwen(request.model)) {
      body["reasoning_format"] = "hidden";
    }
    // Groq refuses a request that asks for them.
    if (!groq_ && request.top_logprobs > 0) {
      body["logprobs"] = true;
      body["top_logprobs"] = request.top_logprobs;
    }
    body["stream"] = request.stream;
    if (request.stream) body["stream_options"] = {{"include_usage", true}};
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  Result<Completion> read(std::string_view body) const override { return read_completion(body); }
  std::unique_ptr<ReplyStream> stream() const override { return std::make_unique<CompletionStream>(); }

  Result<std::vector<ListedModel>> read_models(std::string_view body) const override {
    const auto json = reply_json::parsed(body);
    const auto* data = reply_json::member(json, "data");
    if (!data || !data->is_array()) return reply_json::invalid("the list of models holds none", "data");
    std::vector<ListedModel> models;
    for (const auto& each : *data) {
      const auto* active = reply_json::member(each, "active");
      if (active && *active == false) continue;
      auto id = reply_json::text_member(each, "id");
      if (!id.empty()) models.push_back({std::move(id), reply_json::count_member(each, "context_window")});
    }
    return models;
  }

  Refusal read_refusal(unsigned status, std::string_view body, std::span<const Field>) const override {
    Refusal refusal;
    auto error = read_endpoint_error(body);
    if (status == 413 || (status == 429 && says_too_large(error.message)) || (status == 400 && error.code == "context_length_exceeded")) {
      refusal.outcome = Outcome::too_large;
    } else if (status == 429) {
      refusal.outcome = Outcome::limited;
    } else if (status >= 500) {
      refusal.outcome = Outcome::unavailable;
    }
    if (refusal.outcome == Outcome::limited || refusal.outcome == Outcome::too_large) refusal.limit = named_limit(error.message);
    if (refusal.outcome == Outcome::limited && error.code == "insufficient_quota") refusal.limit = UpstreamLimit::balance;
    if (status == 401 || status == 403) refusal.refused_for = RefusedFor::key;
    else if (status == 404) refusal.refused_for = RefusedFor::model;
    else if (refusal.outcome == Outcome::refused_us) refusal.refused_for = error.code == "model_not_found" ? RefusedFor::model : RefusedFor::request;
    refusal.message = std::move(error.message);
    return refusal;
  }

  RateLimits read_limits(std::span<const Field> fields) const override {
    RateLimits limits = read_rate_limits(fields);
    limits.requests_of_minute = !groq_;
    return limits;
  }

 private:
  bool groq_;
};

}  // namespace

const Format& openai_format() {
  static const OpenAiFormat format(false);
  return format;
}

const Format& groq_format() {
  static const OpenAiFormat format(true);
  return format;
}

}  // namespace polygraph::proxy
