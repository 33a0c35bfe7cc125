// The engine's statistics behind JSON lines, for statistics_oracle.py: {"of": NAME, …} in, the value out.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "wasm/judges/calibration.hpp"
#include "wasm/metrics/interval.hpp"
#include "wasm/metrics/statistics.hpp"

namespace {

namespace metrics = polygraph::metrics;
using nlohmann::json;

json ends(const std::optional<metrics::Interval>& interval) { return interval ? json{interval->low, interval->high} : json(); }

json value(const json& request) {
  const auto of = request.at("of").get<std::string>();
  const auto numbers = [&](const char* key) { return request.at(key).get<std::vector<double>>(); };
  if (of == "wilson") return ends(metrics::wilson(request.at("successes"), request.at("n")));
  if (of == "percentile") return metrics::percentile(numbers("sorted"), request.at("p"));
  if (of == "mcnemar") return metrics::mcnemar(request.at("only_a"), request.at("only_b"));
  if (of == "bootstrap") return ends(metrics::bootstrap_mean(numbers("values"), request.at("seed")));
  if (of == "sign_flip") {
    const auto p = metrics::sign_flip(numbers("differences"), request.at("seed"));
    return p ? json(*p) : json();
  }
  if (of == "holm") {
    std::vector<std::optional<double>> p;
    for (const auto& each : request.at("p")) p.push_back(each.is_null() ? std::nullopt : std::optional(each.get<double>()));
    auto out = json::array();
    for (const auto& each : metrics::holm(p)) out.push_back(each ? json(*each) : json());
    return out;
  }
  if (of == "kappa") {
    const auto agreement = polygraph::judges::agreement(request.at("counts").get<polygraph::judges::Confusion>());
    return {{"n", agreement.n}, {"accuracy", agreement.accuracy ? json(*agreement.accuracy) : json()}, {"kappa", agreement.kappa ? json(*agreement.kappa) : json()},
            {"interval", ends(agreement.kappa_interval)}};
  }
  return json{{"unknown", of}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << value(json::parse(line)).dump() << '\n' << std::flush;
  return 0;
}
