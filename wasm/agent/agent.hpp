// The reflective agent as a state machine without I/O:
//
//   retrieve → grade_context → relevant: generate
//                            → not relevant, rewrites left: rewrite_query → retrieve
//                            → not relevant, none left: refuse
//
// It hands its host a list of effects and is resumed with each result, in any order, until it is finished:
//
//   auto run = agent::Agent::create(*index, question, *agent::preset("tuned"), {"no embedder", "no reranker", {}});
//   if (!run) return std::cerr << run.error().message << '\n', 2;
//   for (auto effects = run->start(); !effects.empty();) {  // over words alone there is one effect at a time: the time
//     effects = *run->resume(effects.front().id, {.value = agent::Time{"2026-12-01T12:00:00Z", now_ms}});
//   }
//   std::cout << run->run().answer << '\n';
//
// A host with models performs all effects that it was handed, at once or one after another. What `resume` gives may be empty while
// others are open; it fails for an id that is not (README.md has the whole program).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wasm/agent/run.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::agent {

/// What the host knows before it starts. A stage that is named here with a reason is not asked for.
struct Options {
  std::string embedder_missing;  ///< why no embedding can be had; empty: it can
  std::string reranker_missing;
  std::vector<Earlier> earlier;  ///< of a fork: what the steps before it ran under, by until_step
};

inline constexpr std::size_t max_question_bytes = 16 * 1024;

class Agent {
 public:
  /// Fails with `invalid_argument` (empty or over-long question), `invalid_text` (not UTF-8, with the byte offset).
  /// `index` must outlive the agent.
  static Result<Agent> create(const index::Index& index, std::string question, const Config& config, Options options = {});

  Agent(Agent&&) noexcept;
  Agent& operator=(Agent&&) noexcept;
  ~Agent();

  /// The first effects. Call it once.
  std::vector<Effect> start();
  /// Hands in one result and gets the effects that follow from it: none while others are open, none when finished.
  /// Fails with `invalid_argument` on an effect that is not open or a result of another kind; the run is unchanged then.
  Result<std::vector<Effect>> resume(EffectId id, EffectResult result);
  /// Ends the run at once as failed with this reason (a host that gives up). The first open effect records it.
  void abort(Error error);

  bool finished() const noexcept;
  /// The record so far; complete once finished.
  const Run& run() const noexcept;
  /// Effects that were handed out and not yet answered.
  std::vector<EffectId> open_effects() const;

 private:
  struct State;
  explicit Agent(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace polygraph::agent
