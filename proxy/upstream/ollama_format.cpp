// Ollama's own /api/chat. Its OpenAI endpoint can neither set the size of the context, which cuts long prompts without a
// word, nor is its `format` enforced by every version.
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

/// Contexts are asked for in powers of two: for another size the server loads the model anew.
constexpr std::size_t least_context = 4096, most_context = 131'072;

/// A token is hardly ever shorter than two bytes on average, and templates add some.
std::size_t context_for(const ModelRequest& request) {
  std::size_t bytes = request.system.size();
  for (const auto& message : request.user) bytes += message.size();
  std::size_t context = least_context;
  while (context < most_context && context < bytes / 2 + request.max_tokens + 256) context *= 2;
  return context;
}

/// Adds a reply, or one line of a streamed one, to `into`; gives the text.
Result<std::string> read_piece(const reply_json::Json& json, Completion& into) {
  if (!json.is_object()) return invalid("the reply is not a JSON object");
  if (member(json, "error")) return invalid("the reply holds an error", "error");
  const auto* message = member(json, "message");
  if (!message) return invalid("the reply holds no message", "message");
  const auto* content = member(*message, "content");
  if (content && !content->is_string()) return invalid("the reply's text is not a string", "content");
  std::string text = content ? content->get<std::string>() : std::string();
  if (into.model.empty()) into.model = text_member(json, "model");
  for (const auto& position : array_member(json, "logprobs")) {
    TokenPosition read{text_member(position, "token"), {}};
    for (const auto& choice : array_member(position, "top_logprobs")) {
      const auto* logprob = member(choice, "logprob");
      if (logprob && logprob->is_number()) read.top.push_back({text_member(choice, "token"), logprob->get<double>()});
    }
    into.probabilities.push_back(std::move(read));
  }
  into.text += text;
  const auto* done = member(json, "done");
  if (done && *done == true) {
    into.finish = text_member(json, "done_reason");
    if (into.finish.empty()) into.finish = "stop";  // of servers from before it
    if (into.finish != "stop" && into.finish != "length") return invalid("the reply did not finish with stop or length", "done_reason");
    into.usage = reply_json::sound_usage(count_member(json, "prompt_eval_count"), count_member(json, "eval_count"), !into.text.empty());
  }
  return text;
}

class OllamaStream : public ReplyStream {
 public:
  Result<std::string> add(std::string_view data) override {
    if (done()) return invalid("the stream goes on after its end");
    return read_piece(parsed(data), completion_);
  }
  bool done() const noexcept override { return !completion_.finish.empty(); }
  Result<Completion> finish() const override {
    if (!done()) return fail(ErrorCode::truncated, "the stream was cut before its end");
    return completion_;
  }

 private:
  Completion completion_;
};

class OllamaFormat : public Format {
 public:
  std::string target(std::string_view path, std::string_view, bool) const override { return std::string(path) + "/api/chat"; }
  std::string models_target(std::string_view path) const override { return std::string(path) + "/api/tags"; }

  std::string fields(std::string_view key) const override {
    return key.empty() ? std::string() : "Authorization: Bearer " + std::string(key) + "\r\n";
  }

  Result<std::string> body(const ModelRequest& request) const override {
    Json body;
    body["model"] = request.model;
    Json messages = Json::array();
    if (!request.system.empty()) messages.push_back({{"role", "system"}, {"content", request.system}});
    for (const auto& message : request.user) messages.push_back({{"role", "user"}, {"content", message}});
    body["messages"] = std::move(messages);
    if (!request.schema.empty()) {
      auto schema = reply_json::read_schema(request.schema);
      if (!schema) return tl::unexpected(schema.error());
      body["format"] = std::move(*schema);
    }
    Json options;
    if (request.temperature) options["temperature"] = *request.temperature;
    options["num_predict"] = request.max_tokens;
    options["num_ctx"] = context_for(request);
    body["options"] = std::move(options);
    if (request.top_logprobs > 0) {
      body["logprobs"] = true;
      body["top_logprobs"] = request.top_logprobs;
    }
    body["stream"] = request.stream;
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  Result<Completion> read(std::string_view body) const override {
    Completion read;
    if (auto text = read_piece(parsed(body), read); !text) return tl::unexpected(text.error());
    if (read.finish.empty()) return invalid("the reply is not done", "done");
    return read;
  }

  std::unique_ptr<ReplyStream> stream() const override { return std::make_unique<OllamaStream>(); }
  Framing framing() const override { return Framing::lines; }

  Result<std::vector<ListedModel>> read_models(std::string_view body) const override {
    const auto json = parsed(body);
    const auto* list = member(json, "models");
    if (!list || !list->is_array()) return invalid("the list of models holds none", "models");
    std::vector<ListedModel> models;
    for (const auto& each : *list) {
      auto id = text_member(each, "model");
      if (id.empty()) id = text_member(each, "name");
      if (!id.empty()) models.push_back({std::move(id), std::nullopt});
    }
    return models;
  }

  Refusal read_refusal(unsigned status, std::string_view body, std::span<const Field>) const override {
    Refusal refusal;
    refusal.message = read_endpoint_error(body).message;
    if (status == 413) refusal.outcome = Outcome::too_large;
    else if (status == 429) refusal.outcome = Outcome::limited;
    else if (status >= 500) refusal.outcome = Outcome::unavailable;
    else refusal.refused_for = status == 401 || status == 403 ? RefusedFor::key : status == 404 ? RefusedFor::model : RefusedFor::request;
    return refusal;
  }

  RateLimits read_limits(std::span<const Field> fields) const override {
    RateLimits limits;
    limits.requests_of_minute = true;
    limits.retry_after = read_retry_after(reply_json::field_value(fields, "retry-after"));
    return limits;
  }
};

}  // namespace

const Format& ollama_format() {
  static const OllamaFormat format;
  return format;
}

}  // namespace polygraph::proxy
