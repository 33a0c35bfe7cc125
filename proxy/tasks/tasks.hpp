// The LLM tasks: which messages, schema and parameters a grade, a rewrite or a generation is sent with, and how its reply
// is read. The prompts are files of assets/prompts, versioned by their content and compiled in; nothing that a caller sends
// becomes part of a system prompt. The proxy and the command line use the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/agent/effect.hpp"
#include "wasm/error.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::proxy {

struct TaskModels {
  std::string generator = "openai/gpt-oss-120b", grader = "openai/gpt-oss-20b", rewriter = "openai/gpt-oss-20b";
  const std::string& of(agent::Task task) const;
};

/// One task as it goes to an OpenAI-compatible endpoint.
struct TaskCall {
  std::string body;             ///< JSON: model, messages, response_format where there is a schema, max tokens, temperature 0, stream
  std::string prompt_version;   ///< digest of the prompt's files, e.g. "grade-1a2b3c4d"
  std::uint64_t prompt_tokens = 0;  ///< estimate, never below what the endpoint will count
};

/// Which dialect of the chat API: fields differ between endpoints.
enum class Dialect : std::uint8_t { groq, plain };

/// Fails with `not_found` (field `chunk_ids`) for an id that the index does not hold. `request.repair` adds what was wrong
/// with the reply before.
Result<TaskCall> task_call(const agent::CompleteRequest& request, const index::Index& index, std::string_view model, std::size_t max_tokens, bool stream,
                           Dialect dialect);

/// Version of a task's prompt.
std::string prompt_version(agent::Task task);

/// An estimate of the tokens of a text that no tokenizer in use exceeds.
std::uint64_t most_tokens(std::string_view text);

}  // namespace polygraph::proxy
