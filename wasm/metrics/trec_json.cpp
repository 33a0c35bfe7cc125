#include <nlohmann/json.hpp>

#include "wasm/metrics/trec.hpp"

namespace polygraph::metrics {
namespace {

std::string object(const Measures& measures) {
  auto out = nlohmann::ordered_json::object();
  for (const auto& [name, value] : measures) out[name] = value;
  return out.dump();
}

}  // namespace

std::string to_json(const TrecEvaluation& evaluation) {
  // Put together as text, since an ordered object compares a new key with every one before: quadratic in the queries.
  std::string out = R"({"k":)" + nlohmann::json(evaluation.k).dump() + R"(,"mean":)" + object(evaluation.mean) + R"(,"queries":{)";
  bool first = true;
  for (const auto& [id, measures] : evaluation.queries) {
    if (!first) out += ',';
    first = false;
    out += nlohmann::json(id).dump() + ':' + object(measures);
  }
  const nlohmann::ordered_json counts = {{"queries", evaluation.counts.queries},
                                         {"not_in_run", evaluation.counts.not_in_run},
                                         {"no_relevant", evaluation.counts.no_relevant},
                                         {"only_in_run", evaluation.only_in_run.size()}};
  return out + R"(},"counts":)" + counts.dump() + R"(,"only_in_run":)" + nlohmann::json(evaluation.only_in_run).dump() + "}";
}

}  // namespace polygraph::metrics
