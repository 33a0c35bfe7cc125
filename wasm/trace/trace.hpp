// The trace: a run as one JSON document (assets/schemas/trace.schema.json), written, read, replayed and forked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wasm/agent/agent.hpp"
#include "wasm/agent/run.hpp"
#include "wasm/error.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::trace {

inline constexpr int schema_version = 1;

struct WriteOptions {
  bool with_text = false;          ///< put the passages into `data.passages`, for readers without the index
  const index::Index* index = nullptr;  ///< needed with_text
};

/// One JSON document, keys in a fixed order, numbers in shortest round-trip form. The same run gives the same bytes
/// natively and in WebAssembly.
std::string to_json(const agent::Run& run, const WriteOptions& options = {});

/// What replay and fork need of a stored trace. Unknown fields are ignored. Fails with `invalid_json` naming the field.
Result<agent::Run> parse(std::string_view json);

/// How a replay ended.
struct Replay {
  bool identical = false;
  std::string difference;          ///< which step, effect or field differs first, and both values; empty if identical
  std::uint32_t step = 0;          ///< of the first difference
  agent::EffectId effect = 0;      ///< of the first difference; 0 where it is not an effect
  agent::Run run;                  ///< what the engine made of the recorded results
};

/// Runs the engine over the recorded results: no model, no network. Fails with `mismatch` when `index` is not the
/// trace's (both digests named).
Result<Replay> replay(const index::Index& index, std::string_view trace_json);

/// A finished run continued another way: the run's question under `config` from step `from_step` on. Effects whose digest
/// the trace already holds are served from it by `recorded`; only others need a host.
class Fork {
 public:
  static Result<Fork> create(const index::Index& index, std::string_view trace_json, std::uint32_t from_step, const agent::Config& config,
                             agent::Options options = {});
  /// Effects that the trace cannot answer; `agent().finished()` when there are none left.
  std::vector<agent::Effect> start();
  Result<std::vector<agent::Effect>> resume(agent::EffectId id, agent::EffectResult result);
  const agent::Agent& agent() const noexcept;
  std::uint32_t served() const noexcept;  ///< effects answered from the trace

 private:
  struct State;
  explicit Fork(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace polygraph::trace
