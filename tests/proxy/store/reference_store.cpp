#include "tests/proxy/store/reference_store.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "tests/proxy/store/backends.hpp"

namespace polygraph::proxy::test {
namespace {

std::string day_name(Millis time) {
  const std::time_t seconds = time / second;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

}  // namespace

Remaining ReferenceStore::used(const std::string& model, Millis time) const {
  Remaining used;
  for (const auto& call : calls_) {
    if (call.model != model || call.state == Call::State::released) continue;
    if (call.at > time - minute) {
      used.requests_minute += 1;
      used.tokens_minute += call.counts();
    }
    if (day_name(call.at) == day_name(time)) {
      used.requests_day += 1;
      used.tokens_day += call.counts();
    }
  }
  const auto found = pauses_.find(model);
  used.paused_until = found != pauses_.end() && found->second > time ? found->second : 0;
  return used;
}

std::set<Window> ReferenceStore::full(const std::string& model, std::uint64_t tokens, const ModelLimits& limits, Millis time) const {
  const auto now = used(model, time);
  std::set<Window> windows;
  if (now.paused_until != 0) windows.insert(Window::paused);
  if (now.requests_minute + 1 > limits.requests_per_minute) windows.insert(Window::requests_minute);
  if (now.requests_day + 1 > limits.requests_per_day) windows.insert(Window::requests_day);
  if (now.tokens_minute + tokens > limits.tokens_per_minute) windows.insert(Window::tokens_minute);
  if (now.tokens_day + tokens > limits.tokens_per_day) windows.insert(Window::tokens_day);
  return windows;
}

Millis ReferenceStore::fits_at(const std::string& model, std::uint64_t tokens, const ModelLimits& limits, Millis now) const {
  // Room comes only when a call leaves its minute, a pause ends, or a day begins.
  std::set<Millis> moments{now};
  for (const auto& call : calls_) moments.insert(call.at + minute);
  for (const auto& [paused, until] : pauses_) moments.insert(until);
  for (const Millis moment : std::set<Millis>(moments)) {
    for (const int days : {1, 2, 3}) moments.insert((moment / day + days) * day);
  }
  for (const Millis moment : moments) {
    if (moment >= now && full(model, tokens, limits, moment).empty()) return moment;
  }
  return never;
}

void ReferenceStore::reserve(ReservationId id, const std::string& model, std::uint64_t tokens, Millis now) { calls_.push_back({id, model, now, tokens, {}}); }

ReferenceStore::Call* ReferenceStore::open_call(ReservationId id) {
  for (auto& call : calls_) {
    if (call.id == id && call.state == Call::State::open) return &call;
  }
  return nullptr;
}

void ReferenceStore::settle(ReservationId id, std::optional<Tokens> used) {
  if (auto* call = open_call(id)) {
    call->used = used.value_or(Tokens{call->reserved, 0});
    call->state = Call::State::settled;
  }
}

void ReferenceStore::release(ReservationId id) {
  if (auto* call = open_call(id)) call->state = Call::State::released;
}

void ReferenceStore::pause(const std::string& model, Millis until) { pauses_[model] = std::max(pauses_[model], until); }

Remaining ReferenceStore::remaining(const std::string& model, const ModelLimits& limits, Millis now) const {
  const auto spent = used(model, now);
  const auto left = [](std::uint64_t limit, std::uint64_t gone) { return gone > limit ? 0 : limit - gone; };
  return {left(limits.requests_per_minute, spent.requests_minute), left(limits.requests_per_day, spent.requests_day),
          left(limits.tokens_per_minute, spent.tokens_minute), left(limits.tokens_per_day, spent.tokens_day), spent.paused_until};
}

std::vector<DayUsage> ReferenceStore::usage() const {
  std::map<std::pair<std::string, std::string>, DayUsage> days;
  for (const auto& call : calls_) {
    if (call.state == Call::State::released) continue;
    auto& line = days[{day_name(call.at), call.model}];
    line.day = day_name(call.at);
    line.model = call.model;
    line.requests += 1;
    if (call.state == Call::State::open) {
      line.open_requests += 1;
      line.open_tokens += call.reserved;
    } else {
      line.tokens_in += call.used.in;
      line.tokens_out += call.used.out;
    }
  }
  std::vector<DayUsage> lines;
  for (const auto& [key, line] : days) lines.push_back(line);
  return lines;
}

}  // namespace polygraph::proxy::test
