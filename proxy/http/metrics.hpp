// Counters in Prometheus' text format: requests by route and status, and connections that are open now.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace polygraph::http {

/// The label `route` of a request. A fixed set, so that no caller can grow the metrics by asking for odd paths.
enum class Route : std::uint8_t { refused, site, api, complete, ask, status, recordings, healthz, readyz, metrics };
inline constexpr std::size_t route_count = 10;
std::string_view name(Route route) noexcept;
constexpr bool is_api(Route route) noexcept { return route >= Route::api && route <= Route::recordings; }

class Metrics {
 public:
  void count_request(Route route, unsigned status) noexcept {
    if (status >= first_status && status < first_status + statuses) {
      requests_[static_cast<std::size_t>(route)][status - first_status].fetch_add(1, std::memory_order_relaxed);
    }
  }
  void connection_opened() noexcept { connections_.fetch_add(1, std::memory_order_relaxed); }
  void connection_closed() noexcept { connections_.fetch_sub(1, std::memory_order_relaxed); }
  std::int64_t connections() const noexcept { return connections_.load(std::memory_order_relaxed); }

  std::string text() const;

 private:
  static constexpr unsigned first_status = 100, statuses = 500;
  std::array<std::array<std::atomic<std::uint64_t>, statuses>, route_count> requests_{};
  std::atomic<std::int64_t> connections_{0};
};

}  // namespace polygraph::http
