#include <nlohmann/json.hpp>

#include "wasm/metrics/agent_metrics.hpp"

namespace polygraph::metrics {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json document(const MetricValue& value) {
  return {{"value", number(value.value)}, {"n", value.n},
          {"low", number(value.low)},     {"high", number(value.high)},
          {"scored", value.scored},       {"unscorable", value.unscorable},
          {"judge_error", value.judge_error}, {"failed", value.failed}};
}

Json document(const Confusion& confusion) {
  return {{"true_positive", confusion.true_positive},
          {"false_positive", confusion.false_positive},
          {"false_negative", confusion.false_negative},
          {"true_negative", confusion.true_negative}};
}

Json document(const LatencySummary& latency) {
  return {{"count", latency.count},         {"mean_ms", number(latency.mean)}, {"p50_ms", number(latency.p50)}, {"p95_ms", number(latency.p95)},
          {"p99_ms", number(latency.p99)}, {"min_ms", number(latency.min)},   {"max_ms", number(latency.max)}};
}

Json document(const RoleUsage& usage) {
  return {{"calls", usage.calls},
          {"cached", usage.cached},
          {"tokens", {{"in", usage.tokens.in}, {"out", usage.tokens.out}}},
          {"cost_usd", usage.unpriced > 0 ? Json() : Json(usage.priced_usd)},
          {"priced_usd", usage.priced_usd},
          {"unpriced_calls", usage.unpriced}};
}

}  // namespace

std::string to_json(const AgentSummary& summary) {
  Json out = {{"metrics", Json::object()}};
  for (const auto& [name, value] : summary.metrics) out["metrics"][name] = document(value);
  out["grader"] = {{"set", document(summary.grader_set)}, {"chunk", document(summary.grader_chunk)}};
  out["rewrites_unanswerable"] = summary.rewrites_unanswerable;
  out["latency"] = {{"query", document(summary.latency)}, {"nodes", Json::object()}};
  for (std::size_t node = 0; node < nodes; ++node) {
    out["latency"]["nodes"][std::string(agent::name(static_cast<agent::Node>(node)))] = document(summary.node_latency[node]);
  }
  constexpr std::array<const char*, roles> role_names = {"grader", "rewriter", "generator"};
  out["usage"] = Json::object();
  for (std::size_t role = 0; role < roles; ++role) out["usage"][role_names[role]] = document(summary.usage[role]);
  return out.dump();
}

}  // namespace polygraph::metrics
