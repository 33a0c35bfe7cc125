// Google's Gemini API, generateContent. The key goes into a header field: in a URL it would stand in every log on the way.
#include <algorithm>

#include "proxy/upstream/reply_json.hpp"

namespace polygraph::proxy {
namespace {

using reply_json::array_member;
using reply_json::count_member;
using reply_json::invalid;
using reply_json::member;
using reply_json::parsed;
using reply_json::text_member;
using Json = nlohmann::ordered_json;

constexpr std::string_view models_prefix = "models/";

/// A model's name as a segment of a path: what can't stand there is percent-encoded.
std::string segment(std::string_view name) {
  if (name.starts_with(models_prefix)) name.remove_prefix(models_prefix.size());
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' || c == '~';
    const auto byte = static_cast<unsigned char>(c);
    if (plain) text += c;
    else text += {'%', digits[byte >> 4U], digits[byte & 15U]};
  }
  return text;
}

std::string finish_of(const std::string& reason) { return reason == "STOP" ? "stop" : reason == "MAX_TOKENS" ? "length" : ""; }

/// What a model thought counts as written.
std::optional<Usage> read_usage(const reply_json::Json& reply, bool has_text) {
  const auto* usage = member(reply, "usageMetadata");
  if (!usage) return std::nullopt;
  const auto in = count_member(*usage, "promptTokenCount");
  const std::uint64_t thoughts = count_member(*usage, "thoughtsTokenCount").value_or(0);
  auto out = count_member(*usage, "candidatesTokenCount");
  if (out) *out += thoughts;
  else if (thoughts > 0 || !has_text) out = thoughts;
  return reply_json::sound_usage(in, out, has_text);
}

/// Adds the first candidate's text and end of one reply, or of one piece of a stream, to `into`; gives the text.
Result<std::string> read_candidate(const reply_json::Json& reply, Completion& into) {
  if (member(reply, "error")) return invalid("the reply holds an error", "error");
  if (const auto* feedback = member(reply, "promptFeedback"); feedback && member(*feedback, "blockReason")) {
    return invalid("the endpoint blocked the prompt", "promptFeedback");
  }
  std::string text;
  if (into.model.empty()) into.model = text_member(reply, "modelVersion");
  const auto& candidates = array_member(reply, "candidates");
  if (candidates.empty()) {
    if (auto usage = read_usage(reply, !into.text.empty())) into.usage = usage;
    return text;
  }
  const auto& candidate = candidates.front();
  if (const auto* content = member(candidate, "content")) {
    for (const auto& part : array_member(*content, "parts")) {
      const auto* thought = member(part, "thought");
      if (thought && *thought == true) continue;
      const auto* words = member(part, "text");
      if (words && !words->is_string()) return invalid("the text of a part is not a string", "text");
      if (words) text += words->get<std::string>();
    }
  }
  if (!text.empty() && !into.finish.empty()) return invalid("the stream holds text after its finish", "content");
  if (const auto* logprobs = member(candidate, "logprobsResult")) {
    const auto& chosen = array_member(*logprobs, "chosenCandidates");
    const auto& top = array_member(*logprobs, "topCandidates");
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      TokenPosition position{text_member(chosen[i], "token"), {}};
      if (i < top.size()) {
        for (const auto& choice : array_member(top[i], "candidates")) {
          const auto* logprob = member(choice, "logProbability");
          if (logprob && logprob->is_number()) position.top.push_back({text_member(choice, "token"), logprob->get<double>()});
        }
      }
      into.probabilities.push_back(std::move(position));
    }
  }
  if (const auto reason = text_member(candidate, "finishReason"); !reason.empty()) {
    into.finish = finish_of(reason);
    if (into.finish.empty()) return invalid("the reply did not finish with stop or length", "finishReason");
  }
  into.text += text;
  if (auto usage = read_usage(reply, !into.text.empty())) into.usage = usage;
  return text;
}

class GeminiStream : public ReplyStream {
 public:
  Result<std::string> add(std::string_view data) override {
    const auto json = parsed(data);
    if (!json.is_object()) return invalid("an event of the stream is not a JSON object");
    return read_candidate(json, completion_);
  }
  /// Only the body's end ends it: its usage may follow its finish.
  bool done() const noexcept override { return false; }
  Result<Completion> finish() const override {
    if (completion_.finish.empty()) return fail(ErrorCode::truncated, "the stream was cut before its end");
    return completion_;
  }

 private:
  Completion completion_;
};

/// The day of Google's quotas ends at midnight in California; in winter that is this hour of UTC, in summer one earlier.
constexpr std::chrono::hours pacific_midnight{8};

class GeminiFormat : public Format {
 public:
  std::string target(std::string_view path, std::string_view model, bool stream) const override {
    return std::string(path) + "/models/" + segment(model) + (stream ? ":streamGenerateContent?alt=sse" : ":generateContent");
  }
  std::string models_target(std::string_view path) const override { return std::string(path) + "/models?pageSize=1000"; }

  std::string fields(std::string_view key) const override { return key.empty() ? std::string() : "x-goog-api-key: " + std::string(key) + "\r\n"; }

  Result<std::string> body(const ModelRequest& request) const override {
    Json body;
    if (!request.system.empty()) body["systemInstruction"] = {{"parts", Json::array({{{"text", request.system}}})}};
    Json contents = Json::array();
    for (const auto& message : request.user) contents.push_back({{"role", "user"}, {"parts", Json::array({{{"text", message}}})}});
    body["contents"] = std::move(contents);
    Json config;
    if (request.temperature) config["temperature"] = *request.temperature;
    config["maxOutputTokens"] = request.max_tokens;
    if (!request.schema.empty()) {
      auto schema = reply_json::read_schema(request.schema);
      if (!schema) return tl::unexpected(schema.error());
      config["responseMimeType"] = "application/json";
      config["responseJsonSchema"] = std::move(*schema);
    }
    if (request.top_logprobs > 0) {
      config["responseLogprobs"] = true;
      config["logprobs"] = request.top_logprobs;
    }
    // Thoughts count against the limit of tokens, and short verdicts need none.
    if (request.model.find("gemini-2.5-flash") != std::string::npos) config["thinkingConfig"] = {{"thinkingBudget", 0}};
    body["generationConfig"] = std::move(config);
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  Result<Completion> read(std::string_view body) const override {
    const auto json = parsed(body);
    if (!json.is_object()) return invalid("the reply is not a JSON object");
    Completion read;
    if (auto text = read_candidate(json, read); !text) return tl::unexpected(text.error());
    if (read.finish.empty()) return invalid("the reply did not finish with stop or length", "finishReason");
    if (read.text.empty() && read.finish != "length") return invalid("the reply holds no text", "content");
    return read;
  }

  std::unique_ptr<ReplyStream> stream() const override { return std::make_unique<GeminiStream>(); }

  Result<std::vector<ListedModel>> read_models(std::string_view body) const override {
    const auto json = parsed(body);
    const auto* list = member(json, "models");
    if (!list || !list->is_array()) return invalid("the list of models holds none", "models");
    std::vector<ListedModel> models;
    for (const auto& each : *list) {
      const auto& methods = array_member(each, "supportedGenerationMethods");
      if (std::find(methods.begin(), methods.end(), "generateContent") == methods.end()) continue;
      std::string id = text_member(each, "name");
      if (id.starts_with(models_prefix)) id.erase(0, models_prefix.size());
      if (!id.empty()) models.push_back({std::move(id), count_member(each, "inputTokenLimit")});
    }
    return models;
  }

  Refusal read_refusal(unsigned status, std::string_view body, std::span<const Field> fields) const override {
    Refusal refusal;
    auto json = parsed(body);
    if (json.is_array() && !json.empty()) json = reply_json::Json(json.front());  // as streams are refused
    const auto* error = member(json, "error");
    bool bad_key = false;
    if (error) {
      refusal.message = text_member(*error, "message");
      for (const auto& detail : array_member(*error, "details")) {
        bad_key = bad_key || text_member(detail, "reason") == "API_KEY_INVALID";
        if (const auto delay = text_member(detail, "retryDelay"); !delay.empty()) refusal.retry_after = read_span(delay);
        for (const auto& violation : array_member(detail, "violations")) note(refusal, text_member(violation, "quotaId"));
      }
    }
    if (status == 413 || (status == 400 && refusal.message.find("exceeds the maximum number of tokens") != std::string::npos)) {
      refusal.outcome = Outcome::too_large;
    } else if (status == 429) {
      refusal.outcome = Outcome::limited;
      if (refusal.limit == UpstreamLimit::requests_day || refusal.limit == UpstreamLimit::tokens_day) refusal.retry_after = rest_of_day(fields);
    } else if (status >= 500) {
      refusal.outcome = Outcome::unavailable;
    } else if (status == 401 || status == 403 || bad_key) {
      refusal.refused_for = RefusedFor::key;
    } else if (status == 404) {
      refusal.refused_for = RefusedFor::model;
    } else {
      refusal.refused_for = RefusedFor::request;
    }
    return refusal;
  }

  RateLimits read_limits(std::span<const Field> fields) const override {
    RateLimits limits;  // there are none in its fields but this
    limits.requests_of_minute = true;
    limits.retry_after = read_retry_after(reply_json::field_value(fields, "retry-after"));
    return limits;
  }

 private:
  /// Of several violated quotas that of the day holds longest.
  static void note(Refusal& refusal, std::string_view quota) {
    const bool tokens = quota.find("Tokens") != std::string_view::npos;
    if (quota.find("PerDay") != std::string_view::npos) {
      refusal.limit = tokens ? UpstreamLimit::tokens_day : UpstreamLimit::requests_day;
    } else if (quota.find("PerMinute") != std::string_view::npos && refusal.limit == UpstreamLimit::unknown) {
      refusal.limit = tokens ? UpstreamLimit::tokens_minute : UpstreamLimit::requests_minute;
    }
  }

  static std::optional<std::chrono::milliseconds> rest_of_day(std::span<const Field> fields) {
    const auto now = read_http_date(reply_json::field_value(fields, "date"));
    if (!now) return std::nullopt;
    auto next = std::chrono::sys_seconds(std::chrono::floor<std::chrono::days>(*now)) + pacific_midnight;
    if (next <= *now) next += std::chrono::days(1);
    return next - *now;
  }
};

}  // namespace

const Format& gemini_format() {
  static const GeminiFormat format;
  return format;
}

}  // namespace polygraph::proxy
