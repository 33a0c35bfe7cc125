// Fork: a finished run continued under another configuration. The steps before the fork are replayed; after it, model
// calls that the trace already holds are served from it, and the clock is the trace's own: it goes on from the last
// recorded time by what the host measures for the calls that it makes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wasm/trace/document.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::trace {
namespace {

using agent::RecordedEffect;
using agent::Run;

/// Milliseconds since 1970 of `YYYY-MM-DDThh:mm:ss[.fff]Z`; nothing for another form.
std::optional<double> parse_utc(const std::string& utc) {
  int year = 0;
  unsigned month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  const auto digits = [&](std::size_t at, std::size_t count) -> std::optional<unsigned> {
    unsigned value = 0;
    for (std::size_t i = at; i < at + count; ++i) {
      if (i >= utc.size() || utc[i] < '0' || utc[i] > '9') return std::nullopt;
      value = value * 10 + static_cast<unsigned>(utc[i] - '0');
    }
    return value;
  };
  const auto y = digits(0, 4), mo = digits(5, 2), d = digits(8, 2), h = digits(11, 2), mi = digits(14, 2), s = digits(17, 2);
  if (!y || !mo || !d || !h || !mi || !s || utc.back() != 'Z') return std::nullopt;
  year = static_cast<int>(*y);
  month = *mo, day = *d, hour = *h, minute = *mi;
  second = *s;
  double scale = 1;
  if (utc.size() > 20 && utc[19] == '.') {
    for (std::size_t i = 20; i + 1 < utc.size() && i < 26; ++i) {
      const auto digit = digits(i, 1);
      if (!digit) return std::nullopt;
      scale /= 10;
      second += scale * *digit;
    }
  }
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{day}};
  if (!date.ok()) return std::nullopt;
  const auto days = static_cast<double>(std::chrono::sys_days{date}.time_since_epoch().count());
  return ((days * 24 + hour) * 60 + minute) * 60000.0 + second * 1000.0;
}

std::string format_utc(double ms) {
  const auto whole = static_cast<long long>(std::floor(ms));
  constexpr long long day_ms = 86400000;
  const long long days = whole / day_ms;
  const long long in_day = whole % day_ms;
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{static_cast<int>(days)}}};
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02lld:%02lld:%02lld.%03lldZ", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), in_day / 3600000, in_day / 60000 % 60, in_day / 1000 % 60, in_day % 1000);
  return text;
}

}  // namespace

struct Fork::State {
  Run recorded;
  std::uint32_t from_step = 1;
  agent::Options host;
  std::optional<agent::Agent> agent;

  std::map<agent::EffectId, const RecordedEffect*> before;      ///< effects of the steps that are kept, by id
  std::map<std::string, const RecordedEffect*> model_calls;     ///< all that succeeded, by digest
  std::optional<agent::Time> first_time;
  double clock_ms = 0;
  bool clock_runs = false;  ///< the kept steps are over
  std::uint32_t served = 0;
  std::map<agent::EffectId, agent::EffectKind> asked;
  bool started = false;

  agent::EffectResult now() {
    agent::Time time;
    time.ms = clock_ms;
    const auto began = first_time ? parse_utc(first_time->utc) : std::nullopt;
    if (began) time.utc = format_utc(*began + (clock_ms - first_time->ms));
    agent::EffectResult result;
    result.value = std::move(time);
    return result;
  }

  /// The result of an effect without the host, if there is one.
  std::optional<agent::EffectResult> from_trace(const agent::Effect& effect) {
    const bool kept = agent->run().steps.back().n < from_step && !closing(effect);
    if (kept) {
      const auto found = before.find(effect.id);
      if (found != before.end() && found->second->effect.digest == effect.digest) {
        if (const auto* time = std::get_if<agent::Time>(&found->second->result.value)) {
          if (!first_time) first_time = *time;
          clock_ms = time->ms;
        } else {
          ++served;
        }
        return found->second->result;
      }
    }
    if (effect.kind() == agent::EffectKind::time) {
      if (!clock_runs) {
        clock_runs = true;
        // The fork begins when the recorded step did.
        for (const RecordedEffect& each : recorded.steps[from_step - 1].effects) {
          if (const auto* time = std::get_if<agent::Time>(&each.result.value)) {
            if (!first_time) first_time = *time;
            clock_ms = time->ms;
            break;
          }
        }
      }
      return now();
    }
    if (const auto found = model_calls.find(effect.digest); found != model_calls.end()) {
      ++served;
      agent::EffectResult result = found->second->result;
      result.cached = true;
      return result;
    }
    const std::string& missing = effect.kind() == agent::EffectKind::embed   ? host.embedder_missing
                                 : effect.kind() == agent::EffectKind::score ? host.reranker_missing
                                                                             : no_reason;
    if (missing.empty()) return std::nullopt;
    agent::EffectResult result;
    result.value = Error{ErrorCode::model_unavailable, missing, {}, 0};
    return result;
  }

  /// A time effect that ends the run rather than begins a step (the step has effects already).
  bool closing(const agent::Effect& effect) const {
    return effect.kind() == agent::EffectKind::time && !agent->run().steps.back().effects.empty();
  }

  /// Serves what can be served and returns what the host must do.
  std::vector<agent::Effect> serve(std::vector<agent::Effect> effects) {
    std::deque<agent::Effect> queue(std::make_move_iterator(effects.begin()), std::make_move_iterator(effects.end()));
    std::vector<agent::Effect> for_host;
    while (!queue.empty()) {
      agent::Effect effect = std::move(queue.front());
      queue.pop_front();
      auto result = from_trace(effect);
      if (!result) {
        for_host.push_back(std::move(effect));
        continue;
      }
      auto next = agent->resume(effect.id, std::move(*result));
      if (!next) {
        // A recorded result that the engine does not take: the trace was edited.
        agent->abort(next.error());
        return {};
      }
      for (agent::Effect& each : *next) queue.push_back(std::move(each));
    }
    return for_host;
  }

  const std::string no_reason;
};

Fork::Fork(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<Fork> Fork::create(const index::Index& index, std::string_view trace_json, std::uint32_t from_step, const agent::Config& config,
                          agent::Options options) {
  auto recorded = parse(trace_json);
  if (!recorded) return tl::unexpected(recorded.error());
  if (recorded->index_digest != index.digest()) {
    return fail(ErrorCode::mismatch, "the trace was made over index " + recorded->index_digest + ", this index is " + index.digest(), "index_digest");
  }
  if (from_step < 1 || from_step > recorded->steps.size()) {
    return fail(ErrorCode::invalid_argument,
                "there is no step " + std::to_string(from_step) + "; the trace has steps 1 to " + std::to_string(recorded->steps.size()), "from_step");
  }
  auto state = std::make_shared<State>();
  state->recorded = std::move(*recorded);
  state->from_step = from_step;
  state->host = std::move(options);
  const Run& run = state->recorded;

  // What each kept step ran under: the earlier parts of the recorded run, then its own configuration.
  agent::Options made;
  for (const agent::Earlier& part : run.earlier) {
    if (part.until_step < from_step) made.earlier.push_back(part);
  }
  const auto last = std::find_if(run.earlier.begin(), run.earlier.end(), [&](const agent::Earlier& part) { return part.until_step >= from_step; });
  agent::Earlier kept{run.id, from_step, run.config, run.embedder_missing, run.reranker_missing};
  if (last != run.earlier.end()) kept = {run.id, from_step, last->config, last->embedder_missing, last->reranker_missing};
  if (from_step > 1) made.earlier.push_back(std::move(kept));

  auto agent = agent::Agent::create(index, run.question, config, std::move(made));
  if (!agent) return tl::unexpected(agent.error());
  state->agent.emplace(std::move(*agent));
  for (const agent::Step& step : run.steps) {
    for (const RecordedEffect& effect : step.effects) {
      if (step.n < from_step) state->before.emplace(effect.effect.id, &effect);
      const bool failed = std::holds_alternative<Error>(effect.result.value);
      if (effect.effect.kind() != agent::EffectKind::time && !failed) state->model_calls.emplace(effect.effect.digest, &effect);
    }
  }
  return Fork(std::move(state));
}

std::vector<agent::Effect> Fork::start() {
  if (state_->started) return {};
  state_->started = true;
  return state_->serve(state_->agent->start());
}

Result<std::vector<agent::Effect>> Fork::resume(agent::EffectId id, agent::EffectResult result) {
  const double ms = result.cached ? 0 : result.ms;
  auto next = state_->agent->resume(id, std::move(result));
  if (!next) return next;
  // Effects of one batch run one after another here; a host that overlaps them is a little faster than its record.
  state_->clock_ms += ms;
  return state_->serve(std::move(*next));
}

const agent::Agent& Fork::agent() const noexcept { return *state_->agent; }
std::uint32_t Fork::served() const noexcept { return state_->served; }

}  // namespace polygraph::trace
