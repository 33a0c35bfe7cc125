#include "proxy/http/metrics.hpp"

namespace polygraph::http {

std::string_view name(Route route) noexcept {
  constexpr std::array<std::string_view, route_count> names = {"refused",  "site",       "api",     "complete", "ask",
                                                                "status",   "recordings", "healthz", "readyz",   "metrics"};
  return names[static_cast<std::size_t>(route)];
}

std::string Metrics::text() const {
  std::string text =
      "# HELP polygraph_requests_total Requests answered, by route and status.\n"
      "# TYPE polygraph_requests_total counter\n";
  for (std::size_t route = 0; route < route_count; ++route) {
    for (unsigned status = 0; status < statuses; ++status) {
      const auto count = requests_[route][status].load(std::memory_order_relaxed);
      if (count == 0) continue;
      text += "polygraph_requests_total{route=\"";
      text += name(static_cast<Route>(route));
      text += "\",status=\"" + std::to_string(status + first_status) + "\"} " + std::to_string(count) + '\n';
    }
  }
  text +=
      "# HELP polygraph_connections Connections that are open now.\n"
      "# TYPE polygraph_connections gauge\n"
      "polygraph_connections " +
      std::to_string(connections()) + '\n';
  return text;
}

}  // namespace polygraph::http
