#include "wasm/report/gate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

namespace polygraph::report {
namespace {

using Json = nlohmann::ordered_json;

bool is_cost(std::string_view metric) { return metric.starts_with("latency_") || metric == "tokens_mean" || metric == "cost_mean_usd"; }


const std::optional<double>* find(const Figures& figures, std::string_view name) {
  const auto found = std::find_if(figures.begin(), figures.end(), [&](const auto& each) { return each.first == name; });
  return found == figures.end() ? nullptr : &found->second;
}

Result<void> read_side(const Json& json, const char* side, std::vector<std::pair<std::string, double>>& into) {
  const auto found = json.find(side);
  if (found == json.end() || found->is_null()) return {};
  if (!found->is_object()) return fail(ErrorCode::invalid_json, "should be an object {metric: number}", side);
  for (const auto& [metric, value] : found->items()) {
    const std::string field = std::string(side) + '.' + metric;
    if (!value.is_number()) return fail(ErrorCode::invalid_json, "should be a number, is " + value.dump(), field);
    const double number = value.get<double>();
    if (!std::isfinite(number)) return fail(ErrorCode::invalid_json, "is beyond every number", field);
    into.emplace_back(metric, number);
  }
  return {};
}

std::string text(double value) { return Json(std::round(value * 1e6) / 1e6).dump(); }

Check held(const std::string& metric, double threshold, const Figures& figures, bool minimum) {
  Check check;
  check.metric = metric;
  check.threshold = threshold;
  check.rule = minimum ? Check::Rule::at_least : Check::Rule::at_most;
  const auto* value = find(figures, metric);
  if (value == nullptr) {
    check.message = metric + " is missing in the run: its threshold " + text(threshold) + " can't be checked";
    return check;
  }
  if (!*value) {
    check.message = metric + " is undefined in the run: its threshold " + text(threshold) + " can't be checked";
    return check;
  }
  check.value = *value;
  // Nine decimals, as everywhere: 0.80 - 0.10 is 0.70, whatever the last bit says.
  const double difference = std::round((**value - threshold) * 1e9);
  check.passed = minimum ? difference >= 0 : difference <= 0;
  check.message = metric + " is " + text(**value) + (check.passed ? (minimum ? ", at least " : ", at most ") : (minimum ? ", below its minimum " : ", above its maximum ")) +
                  text(threshold);
  return check;
}

}  // namespace

bool is_news(std::string_view metric) noexcept { return metric == "rewrites" || metric.starts_with("steps_") || metric.starts_with("judged@"); }

bool more_is_better(std::string_view metric) noexcept {
  return !is_cost(metric) && !is_news(metric) && metric != "false_refusal_rate" && metric != "loop_rate" && metric != "stalled_rate";
}

Thresholds make_thresholds(const Figures& figures, double margin, std::string subset, std::string source) {
  Thresholds made{std::move(subset), std::move(source), margin, {}, {}};
  const auto rounded = [](double value) { return std::round(value * 1e9) / 1e9; };
  for (const auto& [metric, value] : figures) {
    if (!value || is_news(metric)) continue;
    if (is_cost(metric)) {
      made.max.emplace_back(metric, rounded(*value * (1 + margin)));
    } else if (more_is_better(metric)) {
      made.min.emplace_back(metric, rounded(std::clamp(*value - margin, 0.0, 1.0)));
    } else {
      made.max.emplace_back(metric, rounded(std::clamp(*value + margin, 0.0, 1.0)));
    }
  }
  return made;
}

Result<Thresholds> parse_thresholds(std::string_view text) {
  const auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::invalid_json, "is not JSON");
  if (!json.is_object()) return fail(ErrorCode::invalid_json, "should be an object {subset, source, margin, min, max}");
  Thresholds out;
  for (const auto& [name, into] : {std::pair{"subset", &out.subset}, std::pair{"source", &out.source}}) {
    const auto found = json.find(name);
    if (found == json.end() || found->is_null()) continue;
    if (!found->is_string()) return fail(ErrorCode::invalid_json, "should be text, is " + found->dump(), name);
    *into = found->get<std::string>();
  }
  if (const auto margin = json.find("margin"); margin != json.end()) {
    if (!margin->is_number()) return fail(ErrorCode::invalid_json, "should be a number, is " + margin->dump(), "margin");
    out.margin = margin->get<double>();
  }
  if (auto read = read_side(json, "min", out.min); !read) return tl::unexpected(read.error());
  if (auto read = read_side(json, "max", out.max); !read) return tl::unexpected(read.error());
  if (out.min.empty() && out.max.empty()) return fail(ErrorCode::invalid_json, "holds no threshold: a gate that checks nothing passes everything", "min");
  for (const auto& [metric, value] : out.min) {
    const auto both = std::find_if(out.max.begin(), out.max.end(), [name = metric](const auto& each) { return each.first == name; });
    if (both != out.max.end() && both->second < value) return fail(ErrorCode::invalid_json, "its maximum is below its minimum: nothing can pass", "max." + metric);
  }
  return out;
}

std::string to_json(const Thresholds& thresholds) {
  Json json = {{"kind", "thresholds"}, {"schema", 1}, {"subset", thresholds.subset}, {"source", thresholds.source}, {"margin", thresholds.margin},
               {"min", Json::object()}, {"max", Json::object()}};
  for (const auto& [metric, value] : thresholds.min) json["min"][metric] = value;
  for (const auto& [metric, value] : thresholds.max) json["max"][metric] = value;
  return json.dump(2) + '\n';
}

std::vector<Check> check(const Thresholds& thresholds, const Figures& figures) {
  std::vector<Check> checks;
  for (const auto& [metric, value] : thresholds.min) checks.push_back(held(metric, value, figures, true));
  for (const auto& [metric, value] : thresholds.max) checks.push_back(held(metric, value, figures, false));
  return checks;
}

}  // namespace polygraph::report
