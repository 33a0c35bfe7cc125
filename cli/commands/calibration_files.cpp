#include "cli/commands/calibration_files.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "wasm/text/digest.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;
using judges::Metric;

/// Fields of one result. The first that does not fit is kept as the error.
class Fields {
 public:
  Fields(const Json& json, std::string where, std::uint64_t line) : json_(&json), where_(std::move(where)), line_(line) {}

  /// Empty for null and where it is missing.
  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) {
      wrong(key, "a string", *value);
      return {};
    }
    return value->get<std::string>();
  }
  std::optional<bool> boolean(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (found->is_boolean()) return found->get<bool>();
    wrong(key, "true or false", *found);
    return std::nullopt;
  }
  const Json* find(const char* key) const {
    const auto found = json_->find(key);
    return found == json_->end() || found->is_null() ? nullptr : &*found;
  }
  void wrong(const std::string& key, const char* expected, const Json& value) { reject(key, std::string("expected ") + expected + ", found " + value.type_name()); }
  void reject(const std::string& key, std::string message) {
    if (!error_) error_ = Error{ErrorCode::invalid_json, std::move(message), where_ + key, line_};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const Json* json_;
  std::string where_;
  std::uint64_t line_;
  std::optional<Error> error_;
};

std::optional<double> unit_number(const Json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return std::nullopt;
  const auto found = object->find(key);
  if (found == object->end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  return value >= 0 && value <= 1 ? std::optional(value) : std::nullopt;
}

/// Verdict and score of one result; nothing where there is none.
struct Verdict {
  bool verdict = false;
  double score = 0;
  std::string judge;
};
std::optional<Verdict> verdict_of(Fields& fields, Metric metric) {
  if (const Json* stored = fields.find("judgement")) {
    const auto judgement = judges::judgement_from_json(stored->dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!judgement) {
      fields.reject("judgement." + judgement.error().field, judgement.error().message);
      return std::nullopt;
    }
    const auto& found = judgement->of(metric);
    if (!found || found->state != judges::State::scored || !found->verdict) return std::nullopt;
    Verdict out{*found->verdict, *found->value, judgement->judge};
    // A boolean has two bands; how much of the answer is faithful has more.
    const auto& faithful = judgement->of(Metric::faithfulness);
    if (metric == Metric::groundedness && faithful && faithful->value) out.score = *faithful->value;
    return out;
  }
  const Json* metrics = fields.find("metrics");
  if (metrics == nullptr) return std::nullopt;
  if (!metrics->is_object()) {
    fields.wrong("metrics", "an object", *metrics);
    return std::nullopt;
  }
  const auto verdict = fields.boolean(*metrics, metric == Metric::correctness ? "answer_correct" : "grounded");
  if (!verdict || fields.find("judge_error") != nullptr) return std::nullopt;
  const auto score = unit_number(metrics, metric == Metric::correctness ? "correctness" : "faithfulness");
  return Verdict{*verdict, score.value_or(*verdict ? 1.0 : 0.0), ""};
}

Result<void> add_result(const Json& json, std::string where, std::uint64_t line, Metric metric, JudgedResults& out, std::set<std::string>& ids) {
  if (!json.is_object()) return fail(ErrorCode::invalid_json, std::string("expected an object, found ") + json.type_name(), where, line);
  Fields fields(json, where.empty() ? "" : where + ".", line);
  JudgedItem item;
  item.id = fields.text("query_id");
  item.question = fields.text("query");
  item.answer = fields.text("generated_answer");
  item.reference = fields.text("expected_answer");
  const std::string status = fields.text("status");
  if (item.id.empty()) fields.reject("query_id", "is missing or empty");
  if (!ids.insert(item.id).second) fields.reject("query_id", "\"" + item.id + "\" occurs twice");
  if (const Json* chunks = fields.find("retrieved_chunks"); chunks != nullptr && !chunks->is_array()) {
    fields.wrong("retrieved_chunks", "an array", *chunks);
  } else if (chunks != nullptr) {
    for (const Json& chunk : *chunks) {
      if (!chunk.is_object() || !chunk.contains("id") || !chunk["id"].is_string() || !chunk.contains("text") || !chunk["text"].is_string()) {
        fields.reject("retrieved_chunks", "expected objects with the strings id and text");
        break;
      }
      item.passages.push_back({chunk["id"].get<std::string>(), chunk["text"].get<std::string>()});
    }
  }
  const auto verdict = verdict_of(fields, metric);
  const bool refused = fields.boolean(json, "refused").value_or(false);
  if (fields.error()) return tl::unexpected(*fields.error());
  if (!verdict || refused || (!status.empty() && status != "completed")) {
    ++out.without_verdict;
    return {};
  }
  item.verdict = verdict->verdict;
  item.score = verdict->score;
  item.judge = verdict->judge;
  out.items.push_back(std::move(item));
  return {};
}

}  // namespace

Result<JudgedResults> read_judged(std::string_view text, Metric metric) {
  JudgedResults out;
  std::set<std::string> ids;
  const Json whole = Json::parse(text, nullptr, false);
  const Json* list = nullptr;
  if (whole.is_array()) list = &whole;
  if (whole.is_object() && whole.contains("results")) list = &whole["results"];
  if (list != nullptr) {
    if (!list->is_array()) return fail(ErrorCode::invalid_json, std::string("expected an array, found ") + list->type_name(), "results");
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (auto added = add_result((*list)[i], "[" + std::to_string(i) + "]", 0, metric, out, ids); !added) return tl::unexpected(added.error());
    }
    return out;
  }
  std::uint64_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Json json = Json::parse(one, nullptr, false);
    if (json.is_discarded()) return fail(ErrorCode::invalid_json, "is no JSON value", "", line);
    // A line about the file itself.
    if (json.is_object() && json.contains("kind") && !json.contains("query_id")) continue;
    if (auto added = add_result(json, "", line, metric, out, ids); !added) return tl::unexpected(added.error());
  }
  return out;
}

Result<Labels> read_labels(std::string_view text) {
  Labels labels;
  std::uint64_t line = 0;
  bool header = false;
  for (std::size_t at = 0; at < text.size();) {
    ++line;
    const std::size_t newline = text.find('\n', at);
    const bool whole = newline != std::string_view::npos;
    const std::size_t end = whole ? newline : text.size();
    const std::string_view one = text.substr(at, end - at);
    const Json json = Json::parse(one, nullptr, false);
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) {
      at = whole ? end + 1 : end;
      labels.sound_bytes = at;
      continue;
    }
    if (!whole && json.is_discarded() && header) return labels;  // cut by a crash
    if (!json.is_object()) return fail(ErrorCode::invalid_json, "is no JSON object", "", line);
    const auto text_of = [&](const char* key) { return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string(); };
    if (!header) {
      if (text_of("kind") != "judge_labels") return fail(ErrorCode::invalid_json, "expected \"judge_labels\"", "kind", line);
      if (!json.contains("schema") || json["schema"] != 1) return fail(ErrorCode::unsupported_version, "expected 1", "schema", line);
      const auto metric = judges::metric_of(text_of("metric"));
      if (!metric || (*metric != Metric::correctness && *metric != Metric::groundedness)) {
        return fail(ErrorCode::invalid_json, "expected correctness or groundedness", "metric", line);
      }
      labels.metric = *metric;
      if (json.contains("seed") && json["seed"].is_number_unsigned()) labels.seed = json["seed"].get<std::uint64_t>();
      if (!json.contains("ids") || !json["ids"].is_array()) return fail(ErrorCode::invalid_json, "expected an array of strings", "ids", line);
      for (const Json& id : json["ids"]) {
        if (!id.is_string()) return fail(ErrorCode::invalid_json, "expected an array of strings", "ids", line);
        labels.ids.push_back(id.get<std::string>());
      }
      header = true;
    } else {
      const std::string id = text_of("id");
      if (std::find(labels.ids.begin(), labels.ids.end(), id) == labels.ids.end()) return fail(ErrorCode::invalid_json, "\"" + id + "\" is none of the header's ids", "id", line);
      if (!json.contains("label") || !(json["label"].is_boolean() || json["label"].is_null())) {
        return fail(ErrorCode::invalid_json, "expected true, false or null", "label", line);
      }
      labels.labels[id] = {json["label"].is_null() ? std::nullopt : std::optional(json["label"].get<bool>()), text_of("answer_digest")};
    }
    at = whole ? end + 1 : end;
    labels.sound_bytes = at;
    labels.needs_line_end = !whole;
  }
  if (!header) return fail(ErrorCode::invalid_json, "holds no header line {\"kind\": \"judge_labels\", …}");
  return labels;
}

std::string labels_header(const Labels& labels) {
  const Json json = {{"kind", "judge_labels"}, {"schema", 1}, {"metric", judges::name(labels.metric)}, {"seed", labels.seed}, {"ids", labels.ids}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string label_line(std::string_view id, const Label& label, std::string_view reviewer, std::string_view labelled_at) {
  const Json json = {{"id", id},
                     {"label", label.label ? Json(*label.label) : Json(nullptr)},
                     {"answer_digest", label.answer_digest},
                     {"reviewer", reviewer.empty() ? Json(nullptr) : Json(reviewer)},
                     {"labelled_at", labelled_at}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string answer_digest(const JudgedItem& item) { return text::digest(std::to_string(item.question.size()) + ":" + item.question + item.answer); }

}  // namespace polygraph::cli
