// A pipeline over many questions: retrieval, then generation from what was retrieved, several questions at once.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "cli/pipelines/pipeline.hpp"

namespace polygraph::pipelines {

struct Asked {
  Outcome<Retrieved> retrieval;
  std::optional<Outcome<Generated>> generation;  ///< nothing where retrieval failed, or the pipeline only retrieves
};

struct AskOptions {
  unsigned k = 5;
  unsigned concurrency = 1;  ///< as the pipeline's
  unsigned warm_up = 0;      ///< the first so many questions are asked once before, and what comes of that is dropped
};

/// Asks each question. `use` gets each as soon as it is done, with its place, one at a time but in any order, on whatever
/// thread; false from it ends the asking: what is under way is finished and used, nothing more is begun.
void ask_all(Pipeline& pipeline, std::span<const std::string> questions, const AskOptions& options,
             const std::function<bool(std::size_t place, Asked asked)>& use);

}  // namespace polygraph::pipelines
