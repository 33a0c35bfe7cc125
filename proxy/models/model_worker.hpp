// Embeds texts and scores pairs for native programs, through one child process (Node with onnxruntime-node).
//
// onnxruntime has no C++ package on the systems we support, so the models run in a worker that shares its code with the
// page (web/models). The frames between the two are described in web/models/frames.ts.
//
// Promises: results depend on a text alone, never on its company (every text runs as a batch of one) nor on how often it
// is asked; a worker that dies or falls silent is started again and what it was asked is asked once more; the worker ends
// with this object and with this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "wasm/agent/effect.hpp"
#include "wasm/error.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::models {

/// A model as a trace names it, and where its file is. An empty path: not configured.
struct WorkerModel {
  std::string name;    ///< "BAAI/bge-small-en-v1.5"
  std::string sha256;  ///< of model.onnx, 64 hex digits
  std::filesystem::path path;
};

struct ModelWorkerOptions {
  std::string node = "node";     ///< a path, or a name looked up in PATH
  std::filesystem::path script;  ///< the bundle dist/model-worker.mjs; POLYGRAPH_WORKER overrides it
  WorkerModel embedder, reranker;
  int threads = 0;               ///< for one operator; 0: one per core
  /// Without any sign of life (a reply, or a finished text) for this long the worker counts as dead. It must cover the
  /// loading of a model and one text on a slow, busy machine.
  std::chrono::milliseconds silence{60'000};
};

struct Scores {
  std::vector<float> logits;  ///< of the first logits.size() pairs
  double ms = 0;              ///< in the model, without its loading
};

class ModelWorker {
 public:
  /// Called after every finished text with the number finished so far and the number asked for.
  using Progress = std::function<void(std::size_t done, std::size_t total)>;

  /// Starts the worker and waits until it is ready; models are loaded by the first request that needs them. Fails with
  /// `model_unavailable`, saying what to install, when Node, the script or onnxruntime-node is missing.
  static Result<std::unique_ptr<ModelWorker>> start(ModelWorkerOptions options);

  ~ModelWorker();
  ModelWorker(const ModelWorker&) = delete;
  ModelWorker& operator=(const ModelWorker&) = delete;

  /// One vector per text in the order given: CLS-pooled, L2-normalised. Ids include [CLS] and [SEP], 1 to 512 a text.
  /// `model_unavailable` when the model or the worker cannot be used; `invalid_argument` for a text of another length.
  Result<std::vector<std::vector<float>>> embed(std::span<const std::vector<text::TokenId>> texts, const Progress& progress = {});

  /// One logit per pair in the order given. With `budget_ms` > 0 no pair is begun after that time in the model, so there
  /// may be fewer logits than pairs, but at least one.
  Result<Scores> score(std::span<const agent::TokenPair> pairs, double budget_ms);

  const WorkerModel& embedder() const noexcept;
  const WorkerModel& reranker() const noexcept;
  /// "onnxruntime-node 1.30.0"
  const std::string& runtime() const noexcept;
  /// The child's process id; it changes when the worker had to be started again.
  pid_t pid() const;

  // All functions may be called from several threads; requests are answered one after the other.

 private:
  struct State;
  explicit ModelWorker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace polygraph::models
