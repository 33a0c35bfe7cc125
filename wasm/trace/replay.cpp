// Replay: the engine over a trace's recorded results, and a comparison of the two documents field by field.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/text/utf8.hpp"
#include "wasm/trace/document.hpp"
#include "wasm/trace/json_reader.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::trace {
namespace {

using agent::RecordedEffect;
using agent::Run;

/// A value in a message: at most a line, cut at a code point.
std::string shown(const Json& value) {
  constexpr std::size_t longest = 120;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= longest) return text;
  std::size_t end = 0;
  while (end < longest) end += text::decode(text, end).length;
  return text.substr(0, end) + "… (" + std::to_string(text.size()) + " bytes)";
}

struct Difference {
  std::string where;  ///< path within what is compared
  std::string what;   ///< both values
};

/// The first value of `replayed` that `stored` has otherwise or not at all. Fields that only `stored` has are unknown
/// ones, which do not count; elements of arrays do.
std::optional<Difference> first_difference(const Json& stored, const Json& replayed, const std::string& path) {
  if (replayed.is_object() && stored.is_object()) {
    for (const auto& item : replayed.items()) {
      const std::string at = path.empty() ? item.key() : path + "." + item.key();
      const auto found = stored.find(item.key());
      if (found == stored.end()) return Difference{at, "the trace has none, the replay has " + shown(item.value())};
      if (auto difference = first_difference(*found, item.value(), at)) return difference;
    }
    return std::nullopt;
  }
  if (replayed.is_array() && stored.is_array()) {
    for (std::size_t i = 0; i < std::max(stored.size(), replayed.size()); ++i) {
      const std::string at = path + "[" + std::to_string(i) + "]";
      if (i >= stored.size()) return Difference{at, "the trace has none, the replay has " + shown(replayed[i])};
      if (i >= replayed.size()) return Difference{at, "the trace has " + shown(stored[i]) + ", the replay has none"};
      if (auto difference = first_difference(stored[i], replayed[i], at)) return difference;
    }
    return std::nullopt;
  }
  if (stored == replayed) return std::nullopt;
  return Difference{path, "the trace has " + shown(stored) + ", the replay has " + shown(replayed)};
}

/// Fields of an object, to be compared in this order and without the others.
Json only(const Json& object, std::initializer_list<const char*> keys) {
  Json out = Json::object();
  for (const char* key : keys) {
    if (const auto found = object.find(key); found != object.end()) out[key] = *found;
  }
  return out;
}

Json without(const Json& object, std::initializer_list<std::string_view> keys) {
  Json out = Json::object();
  for (const auto& item : object.items()) {
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) out[item.key()] = item.value();
  }
  return out;
}

std::string step_name(const Json& step) {
  return "step " + std::to_string(step.value("n", 0U)) + " (" + step.value("node", std::string("?")) + ")";
}

void set_difference(Replay& replay, std::uint32_t step, agent::EffectId effect, std::string words) {
  replay.identical = false;
  replay.step = step;
  replay.effect = effect;
  replay.difference = std::move(words);
}

/// Compares one step: its effects first, since they are what its decision comes from. True if they differ. A step's `ms`
/// is known once the next step began (`ended`).
bool step_differs(const Json& stored, const Json& replayed, std::uint32_t number, bool ended, Replay& replay) {
  const std::string name = step_name(replayed);
  if (const auto difference = first_difference(only(stored, {"n", "node"}), only(replayed, {"n", "node"}), "")) {
    set_difference(replay, number, 0, name + ", " + difference->where + ": " + difference->what);
    return true;
  }
  const Json& stored_effects = stored["effects"];
  const Json& replayed_effects = replayed["effects"];
  for (std::size_t i = 0; i < std::max(stored_effects.size(), replayed_effects.size()); ++i) {
    const bool missing = i >= stored_effects.size();
    const Json& shows = missing ? replayed_effects[i] : stored_effects[i];
    const auto id = static_cast<agent::EffectId>(shows.value("id", std::uint64_t{0}));
    const std::string effect = name + ", effect " + std::to_string(id) + " (" + shows.value("kind", std::string("?")) + ")";
    if (missing || i >= replayed_effects.size()) {
      set_difference(replay, number, id, effect + ": " + (missing ? "only the replay has it" : "only the trace has it"));
      return true;
    }
    auto difference = first_difference(stored_effects[i], replayed_effects[i], "");
    if (!difference) continue;
    std::string words = effect + ", " + difference->where + ": " + difference->what;
    if (difference->where == "result_digest") {
      words += " (its result, ms, model, tokens, cost, cached or finish, or this digest, was changed after it was recorded)";
    }
    set_difference(replay, number, id, std::move(words));
    return true;
  }
  // Times last: they follow from the effects.
  for (const char* field : {"data", "started_ms", "ms"}) {
    if (!ended && field == std::string_view("ms")) continue;
    if (const auto difference = first_difference(only(stored, {field}), only(replayed, {field}), "")) {
      set_difference(replay, number, 0, name + ", " + difference->where + ": " + difference->what);
      return true;
    }
  }
  return false;
}

/// Compares the first `complete` steps; `stopped`: the replay did not get further.
bool steps_differ(const Json& stored, const Json& replayed, std::size_t complete, bool stopped, Replay& replay) {
  const Json& stored_steps = stored["steps"];
  const Json& replayed_steps = replayed["steps"];
  for (std::size_t i = 0; i < complete; ++i) {
    const auto number = static_cast<std::uint32_t>(i + 1);
    if (i >= stored_steps.size() || i >= replayed_steps.size()) {
      const bool only_stored = i < stored_steps.size();
      set_difference(replay, number, 0, step_name(only_stored ? stored_steps[i] : replayed_steps[i]) + ": only the " + (only_stored ? "trace" : "replay") + " has it");
      return true;
    }
    if (step_differs(stored_steps[i], replayed_steps[i], number, !stopped || i + 1 < complete, replay)) return true;
  }
  return false;
}

bool holds_passages(const Json& document) {
  const Json& steps = document["steps"];
  return std::any_of(steps.begin(), steps.end(), [](const Json& step) { return step["data"].contains("passages"); });
}

}  // namespace

Result<Replay> replay(const index::Index& index, std::string_view trace_json) {
  const auto stored = parse_document(trace_json);
  if (!stored) return tl::unexpected(stored.error());
  auto recorded = from_document(*stored);
  if (!recorded) return tl::unexpected(recorded.error());
  if (recorded->index_digest != index.digest()) {
    return fail(ErrorCode::mismatch, "the trace was made over index " + recorded->index_digest + ", this index is " + index.digest(), "index_digest");
  }
  if (recorded->status == agent::Status::running) {
    return fail(ErrorCode::invalid_argument, "the trace is of a run that has not finished", "status");
  }
  auto agent = agent::Agent::create(index, recorded->question, recorded->config,
                                    {recorded->embedder_missing, recorded->reranker_missing, recorded->earlier});
  if (!agent) return tl::unexpected(agent.error());

  std::map<agent::EffectId, const RecordedEffect*> by_id;
  for (const agent::Step& step : recorded->steps) {
    for (const RecordedEffect& effect : step.effects) by_id.emplace(effect.effect.id, &effect);
  }

  Replay replay;
  replay.identical = true;
  // Why the replay could not go on, if it could not.
  std::string stop;
  agent::EffectId stopped_at = 0;
  std::vector<agent::Effect> waiting = agent->start();
  while (!waiting.empty() && stop.empty()) {
    std::vector<agent::Effect> next;
    for (const agent::Effect& effect : waiting) {
      const std::string name = "effect " + std::to_string(effect.id) + " (" + std::string(agent::name(effect.kind())) + ")";
      const auto found = by_id.find(effect.id);
      stopped_at = effect.id;
      if (found == by_id.end()) {
        stop = name + ": the replay asks for it, the trace does not hold it";
        break;
      }
      const RecordedEffect& answer = *found->second;
      if (answer.effect.kind() != effect.kind()) {
        stop = name + ", kind: the trace has \"" + std::string(agent::name(answer.effect.kind())) + "\", the replay has \"" +
               std::string(agent::name(effect.kind())) + "\"";
        break;
      }
      if (answer.effect.digest != effect.digest) {
        stop = name + ", digest: the trace has " + answer.effect.digest + ", the replay asks for " + effect.digest;
        break;
      }
      auto following = agent->resume(effect.id, answer.result);
      if (!following) {
        stop = name + ", result: " + following.error().message;
        break;
      }
      next.insert(next.end(), std::make_move_iterator(following->begin()), std::make_move_iterator(following->end()));
    }
    waiting = std::move(next);
  }

  replay.run = agent->run();
  const WriteOptions options{holds_passages(*stored), &index};
  const Json replayed = to_document(replay.run, options);
  // A step that could not go on is incomplete; those before it are compared.
  const std::size_t steps = stop.empty() ? std::max((*stored)["steps"].size(), replayed["steps"].size()) : replayed["steps"].size() - 1;
  if (steps_differ(*stored, replayed, steps, !stop.empty(), replay)) return replay;
  if (!stop.empty()) {
    const auto number = static_cast<std::uint32_t>(replayed["steps"].size());
    set_difference(replay, number, stopped_at, step_name(replayed["steps"].back()) + ", " + stop);
    return replay;
  }
  // The engine that replays need not be the one that recorded.
  if (const auto difference = first_difference(without(*stored, {"steps", "engine"}), without(replayed, {"steps", "engine"}), "")) {
    set_difference(replay, 0, 0, difference->where + ": " + difference->what);
  }
  return replay;
}

}  // namespace polygraph::trace
