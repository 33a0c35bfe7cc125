#include "proxy/telemetry/otlp.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include <nlohmann/json.hpp>

#include "wasm/text/digest.hpp"

namespace polygraph::telemetry {
namespace {

using Json = nlohmann::ordered_json;

// Values of OTLP's enumerations: SpanKind and StatusCode.
constexpr int kind_internal = 1, kind_client = 3, status_error = 2;
constexpr double ns_per_ms = 1e6;
/// 31 days. A longer duration is no measurement, and could not be added to a time.
constexpr double most_ms = 31.0 * 24 * 3600 * 1000;

// --- values -----------------------------------------------------------------------------------------------------------

/// The member, or null where it is missing or `json` is no object.
const Json& at(const Json& json, const char* key) {
  static const Json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

std::string text(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// The first bytes of a digest in hex: what OTLP takes for an id. Never all zero, which would be no id.
std::string hex_id(std::string_view of, std::size_t bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto digest = text::digest128(of);
  std::string id;
  for (std::size_t i = 0; i < bytes; ++i) {
    id += digits[digest[i] >> 4U];
    id += digits[digest[i] & 15U];
  }
  if (id.find_first_not_of('0') == std::string::npos) id.back() = '1';
  return id;
}

/// Nanoseconds since 1970 of `2026-12-01T03:42:36.902Z`, with up to nine digits of a second's fraction.
std::optional<std::int64_t> epoch_ns(std::string_view utc) {
  const auto number = [&](std::size_t begin, std::size_t length, int& into) {
    const char* first = utc.data() + begin;
    const auto read = std::from_chars(first, first + length, into);
    return read.ec == std::errc() && read.ptr == first + length && *first != '-';
  };
  constexpr std::size_t seconds_end = 19;
  if (utc.size() <= seconds_end || utc.back() != 'Z' || utc[4] != '-' || utc[7] != '-' || utc[10] != 'T' || utc[13] != ':' || utc[16] != ':') return std::nullopt;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!number(0, 4, year) || !number(5, 2, month) || !number(8, 2, day) || !number(11, 2, hour) || !number(14, 2, minute) || !number(17, 2, second)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)}, std::chrono::day{static_cast<unsigned>(day)}};
  // Within what 64 bits hold, and a leap second.
  if (!date.ok() || year < 1970 || year > 2200 || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  std::int64_t fraction = 0;
  if (const auto rest = utc.substr(seconds_end, utc.size() - seconds_end - 1); !rest.empty()) {
    constexpr std::size_t most_digits = 9;
    if (rest.front() != '.' || rest.size() < 2 || rest.size() > most_digits + 1) return std::nullopt;
    for (std::size_t i = 1; i <= most_digits; ++i) {
      const char digit = i < rest.size() ? rest[i] : '0';
      if (digit < '0' || digit > '9') return std::nullopt;
      fraction = fraction * 10 + (digit - '0');
    }
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  constexpr std::int64_t second_ns = 1'000'000'000;
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * second_ns + fraction;
}

std::int64_t ns(double ms) { return std::llround(std::clamp(ms, 0.0, most_ms) * ns_per_ms); }

double ms_of(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_number() ? value.get<double>() : 0;
}

// --- attributes -------------------------------------------------------------------------------------------------------

/// AnyValue; nothing for null, an object, or an array that is not of strings.
std::optional<Json> any_value(const Json& value) {
  if (value.is_string()) return Json{{"stringValue", value}};
  if (value.is_boolean()) return Json{{"boolValue", value}};
  if (value.is_number_integer()) return Json{{"intValue", value.dump()}};
  if (value.is_number()) return Json{{"doubleValue", value}};
  if (!value.is_array()) return std::nullopt;
  Json values = Json::array();
  for (const Json& each : value) {
    if (!each.is_string()) return std::nullopt;
    values.push_back({{"stringValue", each}});
  }
  return Json{{"arrayValue", {{"values", std::move(values)}}}};
}

class Attributes {
 public:
  void add(std::string key, const Json& value) {
    if (auto any = any_value(value)) attributes_.push_back({{"key", std::move(key)}, {"value", std::move(*any)}});
  }
  /// Where there is something to say.
  void add_text(std::string key, std::string value) {
    if (!value.empty()) add(std::move(key), Json(std::move(value)));
  }
  Json take() { return std::move(attributes_); }

 private:
  Json attributes_ = Json::array();
};

Json failed_status(const std::string& message) {
  Json status = {{"code", status_error}};
  if (!message.empty()) status["message"] = message;
  return status;
}

// --- spans ------------------------------------------------------------------------------------------------------------

class Mapping {
 public:
  Mapping(const Json& trace, const MapOptions& options, std::string run_id, std::int64_t start)
      : trace_(trace), options_(options), run_id_(std::move(run_id)), start_(start), trace_id_(hex_id("trace:" + run_id_, 16)), root_(span_id("run")) {}

  Json spans() {
    const Json& steps = at(trace_, "steps");
    std::int64_t end = start_ + ns(ms_of(at(trace_, "totals"), "ms"));
    Json below = Json::array();
    if (steps.is_array()) {
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::int64_t begin = start_ + ns(ms_of(steps[i], "started_ms"));
        const std::int64_t until = begin + ns(ms_of(steps[i], "ms"));
        end = std::max(end, until);
        add_step(below, steps[i], i, begin, until);
      }
    }
    Json spans = Json::array();
    spans.push_back(root(end));
    for (Json& each : below) spans.push_back(std::move(each));
    return spans;
  }

 private:
  std::string span_id(const std::string& part) const { return hex_id(run_id_ + ':' + part, 8); }

  Json span(const std::string& id, const std::string& parent, std::string name, int kind, std::int64_t begin, std::int64_t end) const {
    Json span = {{"traceId", trace_id_}, {"spanId", id}};
    if (!parent.empty()) span["parentSpanId"] = parent;
    span["name"] = std::move(name);
    span["kind"] = kind;
    span["startTimeUnixNano"] = std::to_string(begin);
    span["endTimeUnixNano"] = std::to_string(end);
    return span;
  }

  std::string words(std::string text) const { return options_.with_words ? std::move(text) : std::string(); }

  Json root(std::int64_t end) const {
    Json span = this->span(root_, "", "invoke_agent polygraph", kind_internal, start_, end);
    Attributes attributes;
    attributes.add("gen_ai.operation.name", "invoke_agent");
    attributes.add("gen_ai.agent.name", "polygraph");
    attributes.add("polygraph.run.id", run_id_);
    attributes.add("polygraph.status", at(trace_, "status"));
    for (const char* key : {"index_digest", "corpus_revision"}) attributes.add(std::string("polygraph.") + key, at(trace_, key));
    add_members(attributes, "polygraph.config.", at(trace_, "config"));
    add_members(attributes, "polygraph.models.", at(trace_, "models"));
    add_members(attributes, "polygraph.stages.", at(trace_, "stages"));
    for (const char* key : {"steps", "rewrites", "cost_usd"}) attributes.add(std::string("polygraph.totals.") + key, at(at(trace_, "totals"), key));
    for (const char* key : {"in", "out"}) attributes.add(std::string("polygraph.totals.tokens.") + key, at(at(at(trace_, "totals"), "tokens"), key));
    attributes.add("langfuse.observation.type", "agent");
    attributes.add("langfuse.trace.name", "polygraph");
    for (const char* level : {"trace", "observation"}) {
      attributes.add_text(std::string("langfuse.") + level + ".input", words(text(trace_, "question")));
      attributes.add_text(std::string("langfuse.") + level + ".output", words(text(trace_, "answer")));
    }
    if (const Json& error = at(trace_, "error"); error.is_object()) {
      attributes.add("error.type", at(error, "code"));
      span["status"] = failed_status(words(text(error, "message")));
    }
    span["attributes"] = attributes.take();
    return span;
  }

  static void add_members(Attributes& attributes, const std::string& prefix, const Json& object) {
    if (!object.is_object()) return;
    for (const auto& [key, value] : object.items()) attributes.add(prefix + key, value);
  }

  void add_step(Json& spans, const Json& step, std::size_t place, std::int64_t begin, std::int64_t end) const {
    const std::string node = text(step, "node");
    const std::string id = span_id("step:" + std::to_string(place + 1));
    Json span = this->span(id, root_, node.empty() ? "step" : node, kind_internal, begin, end);
    Attributes attributes;
    attributes.add("polygraph.step", Json(place + 1));
    attributes.add("langfuse.observation.type", node == "retrieve" ? "retriever" : node == "grade_context" ? "evaluator" : "span");
    attributes.add("langfuse.trace.name", "polygraph");
    const Json& data = at(step, "data");
    if (data.is_object()) {
      for (const auto& [key, value] : data.items()) {
        if (key == "candidates" && value.is_array()) attributes.add("polygraph." + node + ".candidates", Json(value.size()));
        // What stands there as plain text is somebody's words; ids stand in arrays.
        else if (!value.is_string() || options_.with_words) attributes.add("polygraph." + node + '.' + key, value);
      }
    }
    add_input_and_output(attributes, node, data);
    span["attributes"] = attributes.take();
    spans.push_back(std::move(span));

    const Json& effects = at(step, "effects");
    if (!effects.is_array()) return;
    std::int64_t now = begin;
    for (std::size_t i = 0; i < effects.size(); ++i) {
      const std::int64_t until = std::min(end, now + ns(ms_of(effects[i], "ms")));
      if (text(effects[i], "kind") == "complete") add_call(spans, effects[i], id, "step:" + std::to_string(place + 1) + ":effect:" + std::to_string(i + 1), now, until);
      now = until;
    }
  }

  /// What Langfuse shows of a step at first sight.
  void add_input_and_output(Attributes& attributes, const std::string& node, const Json& data) const {
    const auto in = [&](const char* key) { attributes.add_text("langfuse.observation.input", words(text(data, key))); };
    const auto out = [&](std::string value) { attributes.add_text("langfuse.observation.output", std::move(value)); };
    if (node == "retrieve") {
      in("query");
      if (const Json& ids = at(data, "retrieved_ids"); ids.is_array()) out(dump(ids));
    } else if (node == "rewrite_query") {
      in("from");
      out(words(text(data, "to")));
    } else if (node == "grade_context" || node == "refuse") {
      out(words(text(data, "reason")));
    } else if (node == "generate") {
      out(words(text(data, "draft")));
    }
  }

  /// The model that a task's calls are sent to.
  std::string asked_model(const std::string& task, const std::string& answered_by) const {
    const char* role = task == "grade" ? "grader" : task == "rewrite" ? "rewriter" : "generator";
    const std::string named = text(at(trace_, "models"), role);
    return named.empty() ? answered_by : named;
  }

  void add_call(Json& spans, const Json& effect, const std::string& parent, const std::string& part, std::int64_t begin, std::int64_t end) const {
    const std::string task = text(effect, "task"), model = text(effect, "model"), asked = asked_model(task, model);
    Json span = this->span(span_id(part), parent, asked.empty() ? "chat" : "chat " + asked, kind_client, begin, end);
    const Json& result = at(effect, "result");
    const Json& error = at(result, "error");
    const bool cached = at(effect, "cached").is_boolean() && at(effect, "cached").get<bool>();
    Attributes attributes;
    attributes.add("gen_ai.operation.name", "chat");
    attributes.add_text("gen_ai.provider.name", text(at(trace_, "config"), "provider"));
    attributes.add_text("gen_ai.request.model", asked);
    attributes.add_text("gen_ai.response.model", model);
    const std::string finish = text(effect, "finish");
    if (!error.is_object() && !finish.empty()) attributes.add("gen_ai.response.finish_reasons", Json::array({finish}));
    const Json& tokens = at(effect, "tokens");
    const std::string prefix = cached ? "polygraph.cached." : "gen_ai.usage.";
    attributes.add(prefix + "input_tokens", at(tokens, "in"));
    attributes.add(prefix + "output_tokens", at(tokens, "out"));
    attributes.add(prefix + "cost", as_double(at(effect, "cost_usd")));
    if (cached) {
      // Said outright: a reader that finds no usage may count the words and charge them.
      attributes.add("gen_ai.usage.input_tokens", Json(0));
      attributes.add("gen_ai.usage.output_tokens", Json(0));
      attributes.add("gen_ai.usage.cost", Json(0.0));
    }
    attributes.add("polygraph.cached", Json(cached));
    attributes.add_text("polygraph.task", task);
    attributes.add("polygraph.ms", as_double(at(effect, "ms")));
    attributes.add("langfuse.observation.type", "generation");
    attributes.add("langfuse.trace.name", "polygraph");
    if (const std::string reply = words(text(result, "text")); !reply.empty()) {
      Json message = {{"role", "assistant"}, {"parts", Json::array({{{"type", "text"}, {"content", reply}}})}, {"finish_reason", finish}};
      attributes.add("gen_ai.output.messages", dump(Json::array({std::move(message)})));
      attributes.add("langfuse.observation.output", reply);
    }
    if (error.is_object()) {
      attributes.add("error.type", at(error, "code"));
      span["status"] = failed_status(words(text(error, "message")));
    }
    span["attributes"] = attributes.take();
    spans.push_back(std::move(span));
  }

  /// One type for one attribute, whatever the number.
  static Json as_double(const Json& number) { return number.is_number() ? Json(number.get<double>()) : Json(); }

  const Json& trace_;
  const MapOptions& options_;
  std::string run_id_;
  std::int64_t start_;
  std::string trace_id_, root_;
};

}  // namespace

Result<std::string> resource_spans(std::string_view trace_json, const MapOptions& options) {
  const Json trace = Json::parse(trace_json, nullptr, false);
  if (trace.is_discarded()) return fail(ErrorCode::invalid_json, "the trace is not JSON");
  std::string id = text(trace, "id");
  if (id.empty()) return fail(ErrorCode::invalid_json, "is missing or no string", "id");
  const auto start = epoch_ns(text(trace, "started_at"));
  if (!start) return fail(ErrorCode::invalid_json, "is no time in UTC, 2026-12-01T12:00:00.000Z", "started_at");

  const std::string version = text(at(trace, "engine"), "version");
  Attributes resource;
  resource.add("service.name", options.service);
  resource.add_text("service.version", version);
  Json scope = {{"name", "polygraph"}};
  if (!version.empty()) scope["version"] = version;
  return dump({{"resource", {{"attributes", resource.take()}}},
               {"scopeSpans", Json::array({{{"scope", std::move(scope)}, {"spans", Mapping(trace, options, std::move(id), *start).spans()}}})}});
}

std::string export_request(std::span<const std::string> resource_spans) {
  std::string body = "{\"resourceSpans\":[";
  for (const std::string& each : resource_spans) {
    if (body.back() != '[') body += ',';
    body += each;
  }
  return body + "]}";
}

}  // namespace polygraph::telemetry
