// The calls of a judge (wasm/judges) as messages for a language model: the prompts are assets/prompts/judge_*.md, versioned
// by their content and compiled in. Every endpoint's client puts them into its own form.
//
// Nothing of an item reaches the system message. In the user's message every `<` of the data is written `&lt;`, so that no
// answer or passage can close a tag, open one, or forge a role mark.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "wasm/judges/request.hpp"

namespace polygraph::proxy {

/// Judges are asked with this temperature, where an endpoint takes one, and runs record it.
inline constexpr double judge_temperature = 0;

struct JudgePrompt {
  std::string system, user;
  std::string_view schema;       ///< JSON Schema of the reply, valid for the program's life
  std::string schema_name;       ///< `judge_correctness` …
  std::size_t max_tokens = 0;    ///< cap of the reply, reasoning included where a model reasons: it grows with the verdicts
  std::string prompt_version;    ///< digest of prompt and schema, e.g. `judge_correctness-1a2b3c4d`
  bool wants_probabilities = false;  ///< correctness: ask for the five most probable tokens at each place, where the API can
};

/// Longest data, in bytes; what is longer is cut on a code point and marked with an ellipsis. Answers are bounded by the judge.
inline constexpr std::size_t longest_judged_passage_bytes = 16 * 1024, longest_judged_reference_bytes = 16 * 1024, longest_judged_question_bytes = 16 * 1024,
                             longest_judged_claim_bytes = 8 * 1024, longest_judge_repair_bytes = 1000;

JudgePrompt judge_prompt(const judges::JudgeCall& call);
/// The version alone, for a run's record.
std::string judge_prompt_version(judges::JudgeTask task);

/// The files of assets/prompts as they are.
std::string_view judge_prompt_file(judges::JudgeTask task) noexcept;
std::string_view judge_schema_file(judges::JudgeTask task) noexcept;

}  // namespace polygraph::proxy
