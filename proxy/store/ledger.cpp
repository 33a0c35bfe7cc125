#include "proxy/store/ledger.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <random>

namespace polygraph::proxy {

std::int64_t day_of(Millis time) { return std::chrono::floor<std::chrono::days>(std::chrono::milliseconds(time)).count(); }

std::string day_text(std::int64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()));
  return text.data();
}

std::optional<Window> never_fits(std::uint64_t tokens, const ModelLimits& limits) {
  if (limits.requests_per_minute == 0) return Window::requests_minute;
  if (limits.requests_per_day == 0) return Window::requests_day;
  if (counted(tokens) > counted(limits.tokens_per_minute)) return Window::tokens_minute;
  if (counted(tokens) > counted(limits.tokens_per_day)) return Window::tokens_day;
  return std::nullopt;
}

ReservationId new_reservation_id() {
  thread_local std::random_device device;
  const ReservationId id = (static_cast<ReservationId>(device()) << 32U | device()) >> 1U;  // SQLite's integers are signed
  return id == 0 ? 1 : id;
}

}  // namespace polygraph::proxy
