// The promises of the store in their plainest form: every call ever made in a list, every question answered by counting.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proxy/store/store.hpp"

namespace polygraph::proxy::test {

class ReferenceStore {
 public:
  struct Call {
    ReservationId id;
    std::string model;
    Millis at;
    std::uint64_t reserved;
    Tokens used;
    enum class State { open, settled, released } state = State::open;
    std::uint64_t counts() const { return state == State::open ? reserved : used.in + used.out; }
  };

  /// The windows that do not hold the reservation at that time.
  std::set<Window> full(const std::string& model, std::uint64_t tokens, const ModelLimits& limits, Millis time) const;
  /// The earliest time from `now` on at which every window holds it.
  Millis fits_at(const std::string& model, std::uint64_t tokens, const ModelLimits& limits, Millis now) const;
  void reserve(ReservationId id, const std::string& model, std::uint64_t tokens, Millis now);
  void settle(ReservationId id, std::optional<Tokens> used);
  void release(ReservationId id);
  void pause(const std::string& model, Millis until);
  Remaining remaining(const std::string& model, const ModelLimits& limits, Millis now) const;
  std::vector<DayUsage> usage() const;

 private:
  Call* open_call(ReservationId id);
  Remaining used(const std::string& model, Millis time) const;
  std::vector<Call> calls_;
  std::map<std::string, Millis> pauses_;
};

}  // namespace polygraph::proxy::test
