// The native host of the engine: performs the effects that a run asks for, with the model worker and, where a provider is
// set, with its language models.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cli/llm.hpp"
#include "cli/settings.hpp"
#include "proxy/models/model_worker.hpp"
#include "wasm/agent/agent.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/retrieval/retrieval.hpp"

namespace polygraph::cli {

/// The models of this machine, started when first needed. Where they can't be used, `missing()` says why and runs go on
/// without them.
class Models {
 public:
  explicit Models(const Settings& settings) : settings_(&settings) {}

  /// Starts the worker (once) and checks that its models are those of `index`. Fails with `model_unavailable`, or with
  /// `mismatch` when the index was built with another model.
  Result<models::ModelWorker*> worker(const index::Index& index);
  /// The same for building an index, where no index exists yet.
  Result<models::ModelWorker*> worker();

  /// The worker for work that goes on lexically without one, or why there is none.
  struct Available {
    models::ModelWorker* worker = nullptr;
    std::string why_missing = {};
    Llm* llm = nullptr;  ///< completes the tasks of PROVIDER=openai-compatible
    /// Asked between pieces of work, from the thread that does it; once true, what is under way ends as `interrupted_work()`.
    std::function<bool()> cancelled = {};
  };
  /// Fails where going on would hide a mistake: another model than the index's, a setting that is none.
  Result<Available> available(const index::Index& index);

 private:
  Result<std::unique_ptr<models::ModelWorker>> start() const;

  const Settings* settings_;
  std::unique_ptr<models::ModelWorker> worker_;
  std::optional<Error> failed_;
};

/// The models for several threads at once, started when first asked.
class SharedModels {
 public:
  SharedModels(const Settings& settings, const index::Index& index) : models_(settings), index_(&index) {}
  /// As Models::available; an index of other models than this machine's is no reason to answer nothing here: work goes on
  /// lexically and says why. The worker ends with the thread that called this first.
  Models::Available available();

 private:
  std::mutex mutex_;
  Models models_;
  const index::Index* index_;
};

/// What work ends with that was cancelled.
Error interrupted_work();

/// What `search` needs of one query.
Result<void> perform(retrieval::Retrieval& retrieval, const Models::Available& models);

/// Runs an agent to its end. `on_progress` sees the run after each effect.
using OnProgress = std::function<void(const agent::Run&)>;
Result<void> perform(agent::Agent& agent, const Models::Available& models, const OnProgress& on_progress = {});

/// The result of one effect. Without a worker, one that needs it fails with `why_missing`.
agent::EffectResult perform(const agent::Effect& effect, const Models::Available& models);

}  // namespace polygraph::cli
