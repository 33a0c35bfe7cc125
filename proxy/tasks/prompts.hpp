// The files of assets/prompts, compiled in. A prompt is Markdown with two headings, `# system` and `# user`; in the text of
// the user's message `{{name}}` stands for a field of the task.
#pragma once

#include <string_view>

#include "wasm/agent/effect.hpp"

namespace polygraph::proxy {

struct PromptFiles {
  std::string_view prompt;  ///< of assets/prompts/*.md, by task
  std::string_view schema;  ///< assets/prompts/TASK.schema.json; empty where the reply is free text
};

PromptFiles prompt_files(agent::Task task) noexcept;

/// assets/prices.json
std::string_view price_list() noexcept;

}  // namespace polygraph::proxy
