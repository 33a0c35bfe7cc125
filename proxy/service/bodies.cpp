#include "proxy/service/bodies.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "wasm/agent/agent.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::proxy {
namespace {

using Json = nlohmann::json;

tl::unexpected<http::Refusal> refuse(std::string_view code, std::string message, unsigned status = 400) {
  return tl::unexpected(http::Refusal{status, code, std::move(message)});
}
tl::unexpected<http::Refusal> invalid(std::string_view field, std::string_view wanted) {
  return refuse("invalid_field", std::string(field) + ": " + std::string(wanted));
}

/// The object of a body. A key that stands twice in one object is refused: two readers could take two meanings.
OrRefusal<Json> read_object(std::string_view body) {
  constexpr int deepest = 32;
  std::vector<std::set<std::string>> keys;
  std::string doubled;
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > deepest) too_deep = true;
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second && doubled.empty()) doubled = value.get<std::string>();
    return !too_deep;
  };
  Json json;
  try {
    json = Json::parse(body, watch);
  } catch (const Json::exception& error) {
    // The library's message ends in what it saw; the position is what helps.
    const std::string_view what = error.what();
    const auto at = what.find("at line");
    return refuse("bad_json", "the body is no JSON" + (at == std::string_view::npos ? std::string() : ": wrong " + std::string(what.substr(at, what.find(':', at) - at))));
  }
  if (too_deep) return refuse("bad_json", "the body is nested too deeply");
  if (!doubled.empty()) return refuse("unknown_field", "the field " + doubled + " stands twice");
  if (!json.is_object()) return refuse("bad_json", "the body must be a JSON object");
  return json;
}

std::optional<http::Refusal> only(const Json& object, std::initializer_list<std::string_view> known, std::string_view where) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string message = "there is no field " + key.substr(0, 64) + std::string(where) + "; there are ";
    for (const auto name : known) message += (name == *known.begin() ? "" : ", ") + std::string(name);
    return http::Refusal{400, "unknown_field", std::move(message)};
  }
  return std::nullopt;
}

OrRefusal<std::string> text(const Json& object, const std::string& field, std::size_t most, bool required) {
  const auto found = object.find(field);
  if (found == object.end()) {
    if (!required) return std::string();
    return invalid(field, "is missing");
  }
  if (!found->is_string()) return invalid(field, "must be a text");
  auto value = found->get<std::string>();
  if (text::code_points(value) > most) return invalid(field, "has more than " + std::to_string(most) + " characters");
  if (value.find('\0') != std::string::npos) return invalid(field, "holds a NUL");
  if (required && agent::folded(value).empty()) return invalid(field, "is empty");
  return value;
}

OrRefusal<std::vector<std::string>> chunk_ids(const Json& ids, const std::string& field, const index::Index& index, std::size_t most) {
  if (!ids.is_array()) return invalid(field, "must be a list of chunk ids");
  if (ids.empty()) return invalid(field, "is empty");
  if (ids.size() > most) return invalid(field, "holds more than " + std::to_string(most) + " ids");
  std::vector<std::string> out;
  for (const auto& id : ids) {
    if (!id.is_string()) return invalid(field, "must hold texts only");
    auto value = id.get<std::string>();
    if (std::find(out.begin(), out.end(), value) != out.end()) return invalid(field, "names a chunk twice");
    if (!index.find_chunk(value)) return refuse("unknown_chunk", field + ": the index holds no chunk " + value.substr(0, 200));
    out.push_back(std::move(value));
  }
  return out;
}

std::optional<agent::Task> task_named(std::string_view name) {
  for (const auto task : {agent::Task::grade, agent::Task::rewrite, agent::Task::generate}) {
    if (agent::name(task) == name) return task;
  }
  return std::nullopt;
}

/// Of a trace's step: its node and what went into it.
std::optional<http::Refusal> read_step(const Json& step, const index::Index& index, const ServiceSettings& settings, agent::CompleteRequest& task) {
  if (!step.is_object()) return http::Refusal{400, "invalid_field", "step: must be a step of a trace"};
  const auto node = step.find("node");
  const auto data = step.find("data");
  if (node == step.end() || !node->is_string()) return http::Refusal{400, "invalid_field", "step.node: is missing"};
  if (data == step.end() || !data->is_object()) return http::Refusal{400, "invalid_field", "step.data: is missing"};
  const auto ids = [&](const std::string& field) -> std::optional<http::Refusal> {
    auto read = chunk_ids(data->value(field, Json()), field, index, settings.max_chunks);
    if (!read) return http::Refusal{read.error().status, read.error().code, "step.data." + read.error().message};
    task.chunk_ids = std::move(*read);
    return std::nullopt;
  };
  if (*node == "grade_context") {
    task.task = agent::Task::grade;
    return ids("graded_ids");
  }
  if (*node == "generate") {
    task.task = agent::Task::generate;
    return ids("context_ids");
  }
  if (*node == "rewrite_query") {
    task.task = agent::Task::rewrite;
    auto from = text(*data, "from", settings.max_question_chars, true);
    if (!from) return http::Refusal{400, "invalid_field", "step.data." + from.error().message};
    task.failed_query = std::move(*from);
    return std::nullopt;
  }
  return http::Refusal{400, "invalid_field", "step.node: must be grade_context, rewrite_query or generate"};
}

}  // namespace

bool is_json(std::string_view content_type) {
  auto type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  constexpr std::string_view wanted = "application/json";
  return type.size() == wanted.size() && std::equal(type.begin(), type.end(), wanted.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
         });
}

OrRefusal<TaskRequest> read_complete_body(std::string_view body, const index::Index& index, const ServiceSettings& settings) {
  auto json = read_object(body);
  if (!json) return tl::unexpected(json.error());
  const bool of_step = json->contains("step");
  if (auto wrong = of_step ? only(*json, {"step", "question", "reason", "model", "stream", "index_digest"}, " beside a step")
                           : only(*json, {"task", "question", "chunk_ids", "failed_query", "reason", "model", "stream", "index_digest"}, "")) {
    return tl::unexpected(*wrong);
  }
  // Before anything is read against the index: an id may stand for another text in another one.
  if (json->contains("index_digest")) {
    auto digest = text(*json, "index_digest", settings.max_question_chars, true);
    if (!digest) return tl::unexpected(digest.error());
    if (*digest != index.digest()) {
      return refuse("index_mismatch", "the server answers from the index " + std::string(index.digest()) + ", the request is about another", 409);
    }
  }
  TaskRequest request;
  agent::CompleteRequest& task = request.task;
  auto question = text(*json, "question", settings.max_question_chars, true);
  if (!question) return tl::unexpected(question.error());
  task.question = std::move(*question);
  if (of_step) {
    if (auto wrong = read_step((*json)["step"], index, settings, task)) return tl::unexpected(*wrong);
    if (task.task != agent::Task::rewrite && json->contains("reason")) return invalid("reason", "belongs to a rewrite");
  } else {
    auto name = text(*json, "task", settings.max_question_chars, true);
    if (!name) return tl::unexpected(name.error());
    const auto named = task_named(*name);
    if (!named) return invalid("task", "must be grade, rewrite or generate");
    task.task = *named;
    const bool rewrite = task.task == agent::Task::rewrite;
    if (rewrite && json->contains("chunk_ids")) return invalid("chunk_ids", "belongs to grade and generate");
    if (!rewrite && json->contains("failed_query")) return invalid("failed_query", "belongs to a rewrite");
    if (!rewrite && json->contains("reason")) return invalid("reason", "belongs to a rewrite");
    if (rewrite) {
      auto failed = text(*json, "failed_query", settings.max_question_chars, true);
      if (!failed) return tl::unexpected(failed.error());
      task.failed_query = std::move(*failed);
    } else {
      if (!json->contains("chunk_ids")) return invalid("chunk_ids", "is missing");
      auto ids = chunk_ids((*json)["chunk_ids"], "chunk_ids", index, settings.max_chunks);
      if (!ids) return tl::unexpected(ids.error());
      task.chunk_ids = std::move(*ids);
    }
  }
  if (task.task == agent::Task::rewrite) {
    auto reason = text(*json, "reason", settings.max_question_chars, false);
    if (!reason) return tl::unexpected(reason.error());
    task.reason = std::move(*reason);
  }
  if (task.task == agent::Task::grade) task.schema = agent::grade_schema;
  if (task.task == agent::Task::rewrite) task.schema = agent::rewrite_schema;

  request.model = settings.models.of(task.task);
  if (json->contains("model")) {
    auto model = text(*json, "model", settings.max_question_chars, true);
    if (!model) return tl::unexpected(model.error());
    if (!settings.allows(*model)) {
      std::string allowed;
      for (const auto& each : settings.all_models()) allowed += (allowed.empty() ? "" : ", ") + each;
      return refuse("model_not_allowed", "model: must be one of " + allowed);
    }
    request.model = std::move(*model);
  }
  if (json->contains("stream")) {
    const auto& stream = (*json)["stream"];
    if (!stream.is_boolean()) return invalid("stream", "must be true or false");
    request.stream = stream.get<bool>();
    if (request.stream && task.task != agent::Task::generate) return invalid("stream", "only generate streams");
  }
  return request;
}

OrRefusal<AskRequest> read_ask_body(std::string_view body, const ServiceSettings& settings) {
  auto json = read_object(body);
  if (!json) return tl::unexpected(json.error());
  if (auto wrong = only(*json, {"question", "config"}, "")) return tl::unexpected(*wrong);
  AskRequest request;
  auto question = text(*json, "question", settings.max_question_chars, true);
  if (!question) return tl::unexpected(question.error());
  request.question = std::move(*question);
  request.config = *agent::preset("tuned");
  request.config.provider = agent::Provider::proxy;
  request.config.top_k = static_cast<std::uint32_t>(std::min<std::size_t>(request.config.top_k, settings.max_chunks));
  if (!json->contains("config")) return request;
  const auto& config = (*json)["config"];
  if (!config.is_object()) return invalid("config", "must be an object of settings");
  for (const auto& [name, value] : config.items()) {
    std::string written;
    if (value.is_string()) written = value.get<std::string>();
    else if (value.is_boolean() || value.is_number()) written = value.dump();
    else return invalid("config." + name.substr(0, 64), "must be a text, a number or a truth value");
    if (auto set = agent::set(request.config, name, written); !set) {
      const bool known = agent::get(request.config, name).has_value();
      return refuse(known ? "invalid_field" : "unknown_field", "config." + set.error().message);
    }
  }
  if (request.config.provider == agent::Provider::openai_compatible) return invalid("config.PROVIDER", "must be proxy or extractive");
  // What a run costs is the operator's to say: passages that are paid for, and pairs that occupy the server's models.
  if (request.config.top_k > settings.max_chunks) return invalid("config.TOP_K", "must be at most " + std::to_string(settings.max_chunks) + " on this server");
  if (const auto most = agent::preset("full")->retrieval.rerank_candidates; request.config.retrieval.rerank_candidates > most) {
    return invalid("config.RERANK_CANDIDATES", "must be at most " + std::to_string(most) + " on a server; the page and the command line take more");
  }
  return request;
}

}  // namespace polygraph::proxy
