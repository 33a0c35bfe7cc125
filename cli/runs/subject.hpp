// What a run evaluates: an agent under one configuration, or somebody else's pipeline. Both answer golden items and give one
// query result for each.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "cli/host.hpp"
#include "cli/pipelines/pipeline.hpp"
#include "wasm/agent/config.hpp"
#include "wasm/diagnosis/query_result.hpp"
#include "wasm/error.hpp"
#include "wasm/golden/golden_set.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/judges/judge.hpp"

namespace polygraph::cli {

/// What became of one item, and what a judge needs to see of it.
struct Answer {
  diagnosis::QueryResult result;
  judges::AnswerStatus status = judges::AnswerStatus::answered;
  std::vector<judges::Passage> context;      ///< the chunks that the answer was made from
  std::vector<judges::CitedSpan> citations;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual const std::string& name() const noexcept = 0;
  /// A JSON object: everything about the subject that decides its answers.
  virtual const std::string& identity() const noexcept = 0;

  /// Whether its identity says all that decides its answers. A pipeline's code may have changed since: a finished run of it is
  /// run again, an unfinished one continued.
  virtual bool known_whole() const noexcept = 0;

  /// Answers each item. `use` gets each as soon as it is there, with its place, one at a time but in any order; false ends it.
  /// What goes wrong with an item is its result. Fails on what would go wrong with every further one: `quota_spent`,
  /// `model_unavailable`, a key that is refused.
  using Use = std::function<bool(std::size_t place, Answer answer)>;
  virtual Result<void> answer(std::span<const golden::Item* const> items, const Use& use) = 0;

  /// Generation alone, over `chunks` (best first) in place of what the subject would retrieve. Fails as answer() does, and with
  /// `invalid_argument` where the subject only retrieves.
  virtual Result<Answer> answer_over(const golden::Item& item, std::span<const judges::Passage> chunks) = 0;
};

struct AgentSubject {
  std::string preset;       ///< names it
  agent::Config config;
  std::uint32_t k = diagnosis::default_k;
};
/// `index` and `models` must outlive it. Figures of another configuration would be wrong: a stage that the configuration
/// needs and that is missing fails with `model_unavailable`.
Result<std::unique_ptr<Subject>> agent_subject(AgentSubject of, const index::Index& index, const Models::Available& models);

struct PipelineSubject {
  std::string pipeline;     ///< as `--pipeline` names it
  std::uint32_t k = diagnosis::default_k;
  unsigned concurrency = 1, warm_up = 0;
  std::string refusal_pattern;  ///< ECMAScript; an answer that it matches is a refusal where the pipeline doesn't say. Empty: none
};
Result<std::unique_ptr<Subject>> pipeline_subject(PipelineSubject of, pipelines::Options options);

}  // namespace polygraph::cli
