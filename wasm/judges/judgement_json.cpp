#include <utility>

#include "wasm/judges/judgement.hpp"
#include "wasm/trace/json_reader.hpp"

namespace polygraph::judges {
namespace {

using trace::Json;
using trace::JsonReader;

constexpr std::string_view kind = "judgement";
constexpr std::uint64_t schema = 1;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json metric_json(Metric metric, const MetricVerdict& verdict) {
  Json json = {{"state", name(verdict.state)}, {"value", or_null(verdict.value)}, {"reason", verdict.reason}};
  switch (metric) {
    case Metric::faithfulness: {
      Json& statements = json["statements"] = Json::array();
      for (const auto& each : verdict.statements) statements.push_back({{"text", each.text}, {"verdict", name(each.label)}, {"reason", each.reason}});
      json["missing"] = verdict.missing;
      break;
    }
    case Metric::answer_relevancy:
      json["noncommittal"] = or_null(verdict.noncommittal);
      json["questions"] = verdict.questions;
      json["cosines"] = verdict.cosines;
      break;
    case Metric::correctness:
      json["verdict"] = or_null(verdict.verdict);
      json["score"] = or_null(verdict.score);
      json["weighted"] = verdict.weighted;
      json["confidence"] = or_null(verdict.confidence);
      break;
    case Metric::groundedness:
      json["verdict"] = or_null(verdict.verdict);
      json["unsupported_claims"] = verdict.unsupported_claims;
      json["confidence"] = or_null(verdict.confidence);
      break;
    case Metric::citation_precision:
    case Metric::citation_recall: json["missing"] = verdict.missing; break;
  }
  return json;
}

std::optional<State> state_of(std::string_view text) {
  for (const State state : {State::scored, State::unscorable, State::judge_error, State::failed}) {
    if (name(state) == text) return state;
  }
  return std::nullopt;
}

std::optional<bool> boolean_or_null(const JsonReader& reader, const char* key) {
  const Json* value = reader.find(key);
  if (value != nullptr && value->is_null()) return std::nullopt;
  return reader.boolean(key);
}

/// A number within [low, high], or null.
std::optional<double> within(const JsonReader& reader, const char* key, double low, double high) {
  const auto value = reader.number_or_null(key);
  if (value && (*value < low || *value > high)) reader.raise({ErrorCode::invalid_json, reader.at(key) + " is outside of its range", reader.at(key)});
  return value;
}

MetricVerdict read_metric(Metric metric, const JsonReader& reader) {
  MetricVerdict verdict;
  if (const auto state = state_of(reader.text("state"))) {
    verdict.state = *state;
  } else {
    reader.raise({ErrorCode::invalid_json, reader.at("state") + " is none of scored, unscorable, judge_error and failed", reader.at("state")});
  }
  verdict.value = within(reader, "value", 0, 1);
  if (verdict.value.has_value() != (verdict.state == State::scored)) {
    reader.raise({ErrorCode::invalid_json, reader.at("value") + " must be a number when scored, and null otherwise", reader.at("value")});
  }
  verdict.reason = reader.text("reason");
  switch (metric) {
    case Metric::faithfulness:
      reader.objects("statements", [&](const JsonReader& each) {
        StatementVerdict statement{each.text("text"), Label::missing, each.text("reason")};
        const std::string label = each.text("verdict");
        if (label == name(Label::supported)) {
          statement.label = Label::supported;
        } else if (label == name(Label::unsupported)) {
          statement.label = Label::unsupported;
        } else if (label != name(Label::missing)) {
          each.raise({ErrorCode::invalid_json, each.at("verdict") + " is none of supported, unsupported and missing", each.at("verdict")});
        }
        verdict.statements.push_back(std::move(statement));
      });
      verdict.missing = reader.count32("missing");
      break;
    case Metric::answer_relevancy:
      verdict.noncommittal = boolean_or_null(reader, "noncommittal");
      verdict.questions = reader.texts("questions");
      if (const Json* list = reader.find("cosines"); list != nullptr && list->is_array()) {
        for (const Json& each : *list) {
          if (!each.is_number()) {
            reader.wrong("cosines", "an array of nothing but numbers");
            break;
          }
          verdict.cosines.push_back(each.get<double>());
        }
      } else {
        reader.wrong("cosines", "an array of numbers");
      }
      break;
    case Metric::correctness:
      verdict.verdict = boolean_or_null(reader, "verdict");
      verdict.score = within(reader, "score", 1, 5);
      verdict.weighted = reader.boolean("weighted");
      verdict.confidence = within(reader, "confidence", 0, 1);
      break;
    case Metric::groundedness:
      verdict.verdict = boolean_or_null(reader, "verdict");
      verdict.unsupported_claims = reader.texts("unsupported_claims");
      verdict.confidence = within(reader, "confidence", 0, 1);
      break;
    case Metric::citation_precision:
    case Metric::citation_recall: verdict.missing = reader.count32("missing"); break;
  }
  return verdict;
}

}  // namespace

std::string to_json(const Judgement& judgement) {
  Json json = {{"kind", kind}, {"schema", schema}, {"judge", judgement.judge}};
  Json& metrics = json["metrics"] = Json::object();
  for (const Metric metric : all_metrics) {
    if (const auto& verdict = judgement.of(metric)) metrics[std::string(name(metric))] = metric_json(metric, *verdict);
  }
  Json& sentences = json["sentences"] = Json::array();
  for (const auto& each : judgement.sentences) {
    sentences.push_back({{"text", each.text}, {"begin", each.begin}, {"end", each.end}, {"cited_ids", each.cited_ids}, {"supporting_ids", each.supporting_ids}});
  }
  if (const Json extra = Json::parse(judgement.extra, nullptr, false); extra.is_object()) {
    for (const auto& [key, value] : extra.items()) {
      if (!json.contains(key)) json[key] = value;
    }
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Judgement> judgement_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::invalid_json, "the judgement is not JSON");
  std::optional<Error> error;
  const JsonReader reader(json, "", error);
  if (reader.text("kind") != kind) reader.raise({ErrorCode::invalid_json, "kind is not \"judgement\"", "kind"});
  if (reader.count("schema") != schema) reader.raise({ErrorCode::unsupported_version, "schema is not " + std::to_string(schema), "schema"});
  Judgement judgement;
  judgement.judge = reader.text("judge");
  const JsonReader metrics = reader.object("metrics");
  for (const Metric metric : all_metrics) {
    const std::string key(name(metric));
    if (metrics.find(key.c_str()) != nullptr) judgement.of(metric) = read_metric(metric, metrics.object(key.c_str()));
  }
  reader.objects("sentences", [&](const JsonReader& each) {
    judgement.sentences.push_back({each.text("text"), each.count32("begin"), each.count32("end"), each.texts("cited_ids"), each.texts("supporting_ids")});
  });
  if (error) return tl::unexpected(*error);
  Json extra = Json::object();
  for (const auto& [key, value] : json.items()) {
    if (key != "kind" && key != "schema" && key != "judge" && key != "metrics" && key != "sentences") extra[key] = value;
  }
  if (!extra.empty()) judgement.extra = extra.dump();
  return judgement;
}

}  // namespace polygraph::judges
