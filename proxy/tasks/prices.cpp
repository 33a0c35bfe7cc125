#include "proxy/tasks/prices.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "proxy/tasks/prompts.hpp"

namespace polygraph::proxy {
namespace {

struct Price {
  std::string endpoint, model;
  double in = 0, out = 0;  ///< USD a token
};

std::vector<Price> read_prices() {
  std::vector<Price> prices;
  const auto document = nlohmann::json::parse(price_list());
  const double tokens = document.at("tokens").get<double>();
  for (const auto& each : document.at("prices")) {
    prices.push_back({each.at("endpoint").get<std::string>(), each.at("model").get<std::string>(), each.at("in").get<double>() / tokens,
                      each.at("out").get<double>() / tokens});
  }
  return prices;
}

}  // namespace

std::string host_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (const std::size_t user = rest.rfind('@'); user != std::string_view::npos) rest.remove_prefix(user + 1);
  const std::size_t bracket = rest.starts_with('[') ? rest.find(']') : std::string_view::npos;
  rest = bracket != std::string_view::npos ? rest.substr(1, bracket - 1) : rest.substr(0, rest.find(':'));
  std::string host(rest);
  for (char& c : host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return host;
}

std::optional<double> cost_usd(std::string_view upstream_url, std::string_view model, const agent::Tokens& tokens) {
  static const std::vector<Price> prices = read_prices();
  const std::string host = host_of(upstream_url);
  for (const Price& price : prices) {
    if (price.endpoint != host || price.model != model) continue;
    return static_cast<double>(tokens.in) * price.in + static_cast<double>(tokens.out) * price.out;
  }
  return std::nullopt;
}

}  // namespace polygraph::proxy
