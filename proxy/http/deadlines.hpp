// The deadlines of one connection: each kind has its own point in time, set when its phase begins and cleared when it
// ends, so that a request which begins late in an idle period still gets its full time. Sans-IO: time is passed in.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "proxy/http/limits.hpp"

namespace polygraph::http {

class Deadlines {
 public:
  enum Kind : std::uint8_t { idle, head, body, write, total, drain, kinds };

  void set(Kind kind, Clock::time_point at) noexcept { at_[kind] = at; }
  bool is_set(Kind kind) const noexcept { return at_[kind] != never; }
  void clear(Kind kind) noexcept { at_[kind] = never; }
  void clear_all() noexcept { at_.fill(never); }

  /// The next one to come; nothing when none is set.
  std::optional<Clock::time_point> earliest() const noexcept {
    const auto first = *std::min_element(at_.begin(), at_.end());
    return first == never ? std::nullopt : std::optional(first);
  }
  /// The one that has passed first, if any has.
  std::optional<Kind> expired(Clock::time_point now) const noexcept {
    const auto first = std::min_element(at_.begin(), at_.end());
    return *first <= now ? std::optional(static_cast<Kind>(first - at_.begin())) : std::nullopt;
  }

 private:
  static constexpr Clock::time_point never = Clock::time_point::max();
  std::array<Clock::time_point, kinds> at_{never, never, never, never, never, never};
};

}  // namespace polygraph::http
