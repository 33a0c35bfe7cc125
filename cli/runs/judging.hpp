// Performs a judge's requests for one answer: the engine decides what is asked and what a reply means.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "cli/host.hpp"
#include "cli/runs/subject.hpp"
#include "wasm/judges/judge.hpp"
#include "wasm/judges/judgement.hpp"

namespace polygraph::cli {

class JudgeHost {
 public:
  virtual ~JudgeHost() = default;
  /// A JSON object: provider, model and prompts, for a run's identity and its report.
  virtual const std::string& identity() const noexcept = 0;
  /// Only `metrics` are asked for. Fails only on what ends a run (`quota_spent`, a key that is refused); what goes wrong with one
  /// answer is its judge error.
  virtual Result<judges::Judgement> judge(const golden::Item& item, const Answer& answer, std::span<const judges::Metric> metrics = judges::all_metrics) = 0;
};

/// What a judge is shown of an answered item.
judges::JudgeInput judge_input(const golden::Item& item, const Answer& answer, std::span<const judges::Metric> metrics);

struct LlmJudge {
  std::string provider, model;  ///< model empty: the setting JUDGE_MODEL
  bool no_cache = false, wait = false;
};
/// A language model as judge. `index`, where there is one, gives the tokenizer of the embedder in `models` for answer relevancy.
Result<std::unique_ptr<JudgeHost>> llm_judge(const Settings& settings, const LlmJudge& of, const index::Index* index, const Models::Available& models);

/// The offline judge (wasm/judges/offline.hpp): the cross-encoder of `models`, which must have a worker.
Result<std::unique_ptr<JudgeHost>> offline_judge(const index::Index& index, const Models::Available& models);

}  // namespace polygraph::cli
