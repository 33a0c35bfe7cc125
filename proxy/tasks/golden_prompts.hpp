// What making a golden set asks of a language model, as messages: the prompts are assets/prompts/golden_*.md, versioned by their
// content and compiled in. Nothing of a corpus reaches the system message, and none of it can close its tag (prompt_data.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace polygraph::proxy {

enum class GoldenTask : std::uint8_t {
  label,  ///< how far each passage answers a question
  draft,  ///< one question from a passage
};

struct GoldenPrompt {
  std::string system, user;
  std::string_view schema;     ///< of the reply, valid for the program's life
  std::string schema_name;     ///< `golden_label`, `golden_draft`
  std::size_t max_tokens = 0;  ///< room for the reply and for what a reasoning model thinks before it
};

/// Passages are labelled P1, P2, … in the order given.
GoldenPrompt label_prompt(std::string_view question, std::span<const std::string> passages);
/// `kind`: answerable, vague or unanswerable.
GoldenPrompt draft_prompt(std::string_view kind, std::string_view title, std::string_view heading, std::string_view passage);

/// Digest of prompt and schema: `golden_label-1a2b3c4d`.
std::string golden_prompt_version(GoldenTask task);

/// The files of assets/prompts as they are.
std::string_view golden_prompt_file(GoldenTask task) noexcept;
std::string_view golden_schema_file(GoldenTask task) noexcept;

}  // namespace polygraph::proxy
