#include "proxy/upstream/chat_body.hpp"

#include "proxy/upstream/reply_json.hpp"

namespace polygraph::proxy {
namespace {

using reply_json::invalid;
using reply_json::Json;
using reply_json::member;
using reply_json::parsed;
using reply_json::text_member;

std::optional<Usage> read_usage(const Json* usage, bool has_text) {
  if (!usage) return std::nullopt;
  const auto read = reply_json::sound_usage(reply_json::count_member(*usage, "prompt_tokens"), reply_json::count_member(*usage, "completion_tokens"), has_text);
  if (!read) return std::nullopt;
  if (const auto* total = member(*usage, "total_tokens"); total && *total != read->in + read->out) return std::nullopt;
  return read;
}

bool is_finish(const std::string& finish) { return finish == "stop" || finish == "length"; }

/// `logprobs` of a choice: positions of its text.
void read_probabilities(const Json& choice, std::vector<TokenPosition>& into) {
  const auto* logprobs = member(choice, "logprobs");
  if (!logprobs) return;
  for (const auto& position : reply_json::array_member(*logprobs, "content")) {
    TokenPosition read;
    read.token = text_member(position, "token");
    for (const auto& choice_of_token : reply_json::array_member(position, "top_logprobs")) {
      const auto* logprob = member(choice_of_token, "logprob");
      if (logprob && logprob->is_number()) read.top.push_back({text_member(choice_of_token, "token"), logprob->get<double>()});
    }
    into.push_back(std::move(read));
  }
}

}  // namespace

Result<Completion> read_completion(std::string_view body) {
  const auto json = parsed(body);
  if (json.is_discarded()) return invalid("the reply is not JSON");
  if (!json.is_object()) return invalid("the reply is not a JSON object");
  if (member(json, "error")) return invalid("the reply holds an error", "error");
  const auto* choices = member(json, "choices");
  if (!choices || !choices->is_array() || choices->empty()) return invalid("the reply holds no choice", "choices");
  const auto& choice = choices->front();
  const auto* message = member(choice, "message");
  if (!message || !message->is_object()) return invalid("the reply's choice holds no message", "message");
  if (!text_member(*message, "refusal").empty()) return invalid("the model refused", "refusal");
  const auto* content = member(*message, "content");
  if (!content || !content->is_string()) return invalid("the reply's message holds no text", "content");
  Completion read;
  read.finish = text_member(choice, "finish_reason");
  if (!is_finish(read.finish)) return invalid("the reply did not finish with stop or length", "finish_reason");
  read.text = content->get<std::string>();
  read.model = text_member(json, "model");
  read.usage = read_usage(member(json, "usage"), !read.text.empty());
  read_probabilities(choice, read.probabilities);
  return read;
}

Result<std::string> CompletionStream::add(std::string_view data) {
  if (done_) return invalid("the stream goes on after its end");
  if (data == "[DONE]") {
    done_ = true;
    return std::string();
  }
  const auto json = parsed(data);
  if (json.is_discarded()) return invalid("an event of the stream is not JSON");
  if (!json.is_object()) return invalid("an event of the stream is not a JSON object");
  const auto* groq = member(json, "x_groq");
  if (member(json, "error") || (groq && member(*groq, "error"))) return invalid("the stream holds an error", "error");
  const auto* choices = member(json, "choices");
  const auto* usage = member(json, "usage");
  if (!usage && groq) usage = member(*groq, "usage");
  if (!usage && (!choices || !choices->is_array())) return invalid("an event of the stream holds no choices", "choices");
  if (completion_.model.empty()) completion_.model = text_member(json, "model");

  std::string text;
  if (choices && choices->is_array() && !choices->empty()) {
    const auto& choice = choices->front();
    if (const auto* delta = member(choice, "delta")) {
      if (!text_member(*delta, "refusal").empty()) return invalid("the model refused", "refusal");
      if (const auto* content = member(*delta, "content")) {
        if (!content->is_string()) return invalid("the text of an event is not a string", "content");
        text = content->get<std::string>();
      }
    }
    if (!text.empty() && !completion_.finish.empty()) return invalid("the stream holds text after its finish", "content");
    read_probabilities(choice, completion_.probabilities);
    if (const auto* reason = member(choice, "finish_reason")) {
      if (!reason->is_string() || !is_finish(reason->get<std::string>())) {
        return invalid("the stream did not finish with stop or length", "finish_reason");
      }
      completion_.finish = reason->get<std::string>();
    }
  }
  completion_.text += text;
  // Some endpoints count along in every event; the last one holds.
  if (usage) completion_.usage = read_usage(usage, !completion_.text.empty());
  return text;
}

Result<Completion> CompletionStream::finish() const {
  if (!done_ || completion_.finish.empty()) return fail(ErrorCode::truncated, "the stream was cut before its end");
  return completion_;
}

EndpointError read_endpoint_error(std::string_view body) {
  EndpointError read;
  const auto json = parsed(body);
  if (json.is_discarded()) return read;
  const auto* error = member(json, "error");
  if (error && error->is_string()) {
    read.message = error->get<std::string>();
    return read;
  }
  const auto& object = error ? *error : json;
  read.message = text_member(object, "message");
  read.code = text_member(object, "code");
  return read;
}

}  // namespace polygraph::proxy
