// What both stores count by: the windows' lengths, the UTC day, how long entries are kept, and reservation ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "proxy/store/store.hpp"

namespace polygraph::proxy {

constexpr Millis minute_ms = 60'000;
constexpr Millis day_ms = 86'400'000;
/// How long a closed call is kept: longer than its minute, so that a clock that is set back still finds it.
constexpr Millis closed_call_kept_ms = 5 * minute_ms;
/// How long an open call can still be settled: far beyond any deadline. Afterwards its day keeps it as open.
constexpr Millis open_call_kept_ms = 2 * day_ms;

/// Counts are kept so small that their sums stay exact in Lua's doubles as well.
constexpr std::uint64_t largest_count = 1'000'000'000'000;
/// Of a client's bucket: 60,000 times this is exact too.
constexpr std::uint64_t largest_bucket = 1'000'000'000;

constexpr std::int64_t counted(std::uint64_t value) { return static_cast<std::int64_t>(std::min(value, largest_count)); }
constexpr std::int64_t bucketed(std::uint64_t value) { return static_cast<std::int64_t>(std::min(value, largest_bucket)); }
constexpr std::uint64_t left_of(std::uint64_t limit, std::int64_t used) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, counted(limit) - used));
}

/// Days since 1970-01-01 (UTC).
std::int64_t day_of(Millis time);
/// 2026-11-30
std::string day_text(std::int64_t day);

/// A reservation of `tokens` that no empty window holds: which one.
std::optional<Window> never_fits(std::uint64_t tokens, const ModelLimits& limits);

/// Random, so that ids differ over instances and over a store that was lost and begun again: a settlement that arrives
/// late never meets another's reservation.
ReservationId new_reservation_id();

}  // namespace polygraph::proxy
