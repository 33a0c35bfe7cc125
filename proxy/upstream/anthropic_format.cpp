// Anthropic's Messages API, version 2023-06-01.
//
// Newer models take a schema in `output_config`; older ones, and schemas that are not strict, a tool that the model is made
// to call, whose input is the reply.
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

constexpr std::string_view tool_name = "reply";

/// Models from before structured outputs.
bool takes_no_schema(std::string_view model) {
  for (const std::string_view prefix : {"claude-2", "claude-3", "claude-instant", "claude-opus-4-0", "claude-opus-4-2", "claude-sonnet-4-0", "claude-sonnet-4-2"}) {
    if (model.starts_with(prefix)) return true;
  }
  return false;
}

/// `stop` or `length`; empty for an end that makes no reply.
std::string finish_of(const std::string& reason) {
  if (reason == "end_turn" || reason == "stop_sequence" || reason == "tool_use") return "stop";
  return reason == "max_tokens" || reason == "model_context_window_exceeded" ? "length" : "";
}

/// What was read from a cache was read too.
std::optional<std::uint64_t> tokens_in(const reply_json::Json& usage) {
  const auto in = count_member(usage, "input_tokens");
  if (!in) return std::nullopt;
  return *in + count_member(usage, "cache_creation_input_tokens").value_or(0) + count_member(usage, "cache_read_input_tokens").value_or(0);
}

class AnthropicStream : public ReplyStream {
 public:
  Result<std::string> add(std::string_view data) override {
    if (done_) return invalid("the stream goes on after its end");
    const auto json = parsed(data);
    if (!json.is_object()) return invalid("an event of the stream is not a JSON object");
    const std::string type = text_member(json, "type");
    if (type == "error") return invalid("the stream holds an error", "error");
    if (type == "message_start") {
      const auto* message = member(json, "message");
      if (!message) return invalid("the stream's start holds no message", "message");
      completion_.model = text_member(*message, "model");
      if (const auto* usage = member(*message, "usage")) in_ = tokens_in(*usage);
      started_ = true;
      return std::string();
    }
    if (type == "content_block_delta") {
      const auto* delta = member(json, "delta");
      if (!started_ || !delta) return invalid("an event of the stream holds no delta", "delta");
      if (!completion_.finish.empty()) return invalid("the stream holds text after its finish", "delta");
      const std::string kind = text_member(*delta, "type");
      // Thinking and citations are no text of the reply.
      const std::string text = kind == "text_delta" ? text_member(*delta, "text") : kind == "input_json_delta" ? text_member(*delta, "partial_json") : "";
      completion_.text += text;
      return text;
    }
    if (type == "message_delta") {
      if (const auto* delta = member(json, "delta")) {
        if (const auto reason = text_member(*delta, "stop_reason"); !reason.empty()) {
          completion_.finish = finish_of(reason);
          if (completion_.finish.empty()) return invalid("the stream did not finish with stop or length", "stop_reason");
        }
      }
      if (const auto* usage = member(json, "usage")) {
        if (const auto in = tokens_in(*usage)) in_ = in;
        completion_.usage = reply_json::sound_usage(in_, count_member(*usage, "output_tokens"), !completion_.text.empty());
      }
    }
    if (type == "message_stop") done_ = true;
    return std::string();  // ping, the begin and end of a block, and what is to come
  }

  bool done() const noexcept override { return done_; }

  Result<Completion> finish() const override {
    if (!done_ || completion_.finish.empty()) return fail(ErrorCode::truncated, "the stream was cut before its end");
    return completion_;
  }

 private:
  Completion completion_;
  std::optional<std::uint64_t> in_;
  bool started_ = false, done_ = false;
};

class AnthropicFormat : public Format {
 public:
  std::string target(std::string_view path, std::string_view, bool) const override { return std::string(path) + "/v1/messages"; }
  std::string models_target(std::string_view path) const override { return std::string(path) + "/v1/models?limit=1000"; }

  std::string fields(std::string_view key) const override {
    std::string text = "anthropic-version: 2023-06-01\r\n";
    if (!key.empty()) text += "x-api-key: " + std::string(key) + "\r\n";
    return text;
  }

  Result<std::string> body(const ModelRequest& request) const override {
    Json body;
    body["model"] = request.model;
    body["max_tokens"] = request.max_tokens;
    if (!request.system.empty()) body["system"] = request.system;
    Json messages = Json::array();
    for (const auto& message : request.user) messages.push_back({{"role", "user"}, {"content", message}});
    body["messages"] = std::move(messages);
    if (request.temperature) body["temperature"] = *request.temperature;
    if (!request.schema.empty()) {
      auto schema = reply_json::read_schema(request.schema);
      if (!schema) return tl::unexpected(schema.error());
      if (is_strict_schema(request.schema) && !takes_no_schema(request.model)) {
        body["output_config"] = {{"format", {{"type", "json_schema"}, {"schema", std::move(*schema)}}}};
      } else if (schema->value("type", Json()) == "object") {
        body["tools"] = Json::array({{{"name", tool_name}, {"description", "Give the reply."}, {"input_schema", std::move(*schema)}}});
        body["tool_choice"] = {{"type", "tool"}, {"name", tool_name}};
      } else if (!request.describes_reply) {
        body["system"] = asking_for_json(request.system, request.schema);  // a tool's input is an object
      }
    }
    body["stream"] = request.stream;
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  Result<Completion> read(std::string_view body) const override {
    const auto json = parsed(body);
    if (!json.is_object()) return invalid("the reply is not a JSON object");
    if (text_member(json, "type") == "error" || member(json, "error")) return invalid("the reply holds an error", "error");
    const auto* content = member(json, "content");
    if (!content || !content->is_array()) return invalid("the reply holds no content", "content");
    Completion read;
    read.finish = finish_of(text_member(json, "stop_reason"));
    if (read.finish.empty()) return invalid("the reply did not finish with stop or length", "stop_reason");
    bool any = false;
    for (const auto& block : *content) {
      const auto type = text_member(block, "type");
      const auto* text = member(block, "text");
      const auto* input = member(block, "input");
      if (type == "text" && text && text->is_string()) {
        read.text += text->get<std::string>();
        any = true;
      } else if (type == "tool_use" && input && text_member(block, "name") == tool_name) {
        read.text = input->dump(-1, ' ', false, reply_json::Json::error_handler_t::replace);
        any = true;
        break;
      }
    }
    if (!any && read.finish != "length") return invalid("the reply holds no text", "content");
    read.model = text_member(json, "model");
    if (const auto* usage = member(json, "usage")) {
      read.usage = reply_json::sound_usage(tokens_in(*usage), count_member(*usage, "output_tokens"), !read.text.empty());
    }
    return read;
  }

  std::unique_ptr<ReplyStream> stream() const override { return std::make_unique<AnthropicStream>(); }

  Result<std::vector<ListedModel>> read_models(std::string_view body) const override {
    const auto json = parsed(body);
    const auto* data = member(json, "data");
    if (!data || !data->is_array()) return invalid("the list of models holds none", "data");
    std::vector<ListedModel> models;
    for (const auto& each : *data) {
      if (auto id = text_member(each, "id"); !id.empty()) models.push_back({std::move(id), std::nullopt});
    }
    return models;
  }

  Refusal read_refusal(unsigned status, std::string_view body, std::span<const Field>) const override {
    Refusal refusal;
    const auto json = parsed(body);
    const auto* error = member(json, "error");
    const std::string type = error ? text_member(*error, "type") : std::string();
    if (error) refusal.message = text_member(*error, "message");
    const bool too_long = status == 400 && refusal.message.starts_with("prompt is too long");
    if (status == 413 || type == "request_too_large" || too_long) {
      refusal.outcome = Outcome::too_large;
    } else if (status == 429) {
      // The message tells the limit in words, and the fields of the answer say which is at its end: none is of a day.
      refusal.outcome = Outcome::limited;
    } else if (status >= 500) {  // 529 among them: overloaded
      refusal.outcome = Outcome::unavailable;
    } else if (status == 401 || status == 403) {
      refusal.refused_for = RefusedFor::key;
    } else if (status == 404) {
      refusal.refused_for = RefusedFor::model;
    } else {
      refusal.refused_for = RefusedFor::request;
    }
    return refusal;
  }

  RateLimits read_limits(std::span<const Field> fields) const override {
    const auto value = [&](std::string_view name) { return reply_json::field_value(fields, name); };
    const auto count = [&](std::string_view name) -> std::optional<std::uint64_t> {
      const auto read = parsed(value(name));
      return read.is_number_unsigned() ? std::optional(read.get<std::uint64_t>()) : std::nullopt;
    };
    RateLimits limits;
    limits.requests_of_minute = true;
    limits.retry_after = read_retry_after(value("retry-after"));
    limits.limit_requests = count("anthropic-ratelimit-requests-limit");
    limits.remaining_requests = count("anthropic-ratelimit-requests-remaining");
    limits.limit_tokens = count("anthropic-ratelimit-tokens-limit");
    limits.remaining_tokens = count("anthropic-ratelimit-tokens-remaining");
    const auto date = value("date");
    limits.reset_requests = time_between(date, value("anthropic-ratelimit-requests-reset"));
    limits.reset_tokens = time_between(date, value("anthropic-ratelimit-tokens-reset"));
    return limits;
  }
};

}  // namespace

const Format& anthropic_format() {
  static const AnthropicFormat format;
  return format;
}

}  // namespace polygraph::proxy
