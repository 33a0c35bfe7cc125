// The LLM tasks: which messages, schema and parameters a grade, a rewrite or a generation is sent with, and how its reply
// is read. The prompts are files of assets/prompts, versioned by their content and compiled in; nothing that a caller sends
// becomes part of a system prompt. The proxy and the command line use the same.
//
// The engine's effects carry a schema of their own (wasm/agent/reply.hpp), because replies are read there; a test holds the
// two to each other, and what is sent is the one of assets/prompts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/upstream/model_request.hpp"
#include "wasm/agent/effect.hpp"
#include "wasm/error.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::proxy {

struct TaskModels {
  std::string generator = "openai/gpt-oss-120b", grader = "openai/gpt-oss-20b", rewriter = "openai/gpt-oss-20b";
  const std::string& of(agent::Task task) const;
};

/// Token caps of a task's reply, reasoning included where a model reasons.
inline constexpr std::size_t default_max_tokens_grade = 512, default_max_tokens_rewrite = 256, default_max_tokens_generate = 1024;

/// Longest fields, in bytes; what is longer is cut on a code point and marked with an ellipsis. The question is bounded by the agent.
inline constexpr std::size_t longest_reason_bytes = 2000, longest_query_bytes = 2000, longest_repair_bytes = 1000,
                             longest_heading_bytes = 400, longest_passage_bytes = 16 * 1024;

/// One task as it goes to an OpenAI-compatible endpoint.
struct TaskCall {
  std::string body;             ///< JSON: model, messages, response_format where there is a schema, max tokens, temperature 0, stream
  std::string prompt_version;   ///< digest of the prompt's files, e.g. "grade-1a2b3c4d"
  std::uint64_t prompt_tokens = 0;  ///< estimate, never below what the endpoint will count
};

/// Which dialect of the chat API: fields differ between endpoints.
enum class Dialect : std::uint8_t {
  groq,   ///< strict schemas where the model has them, reasoning kept short and out of the text
  plain,  ///< what OpenAI, Ollama, llama.cpp and vLLM all take
};

/// By the host of an endpoint's URL.
Dialect dialect_of(std::string_view upstream_url);

/// A task in no endpoint's format.
struct TaskRequestText {
  ModelRequest request;
  std::string prompt_version;
};

/// As task_call, for whoever asks through another format.
Result<TaskRequestText> task_request(const agent::CompleteRequest& request, const index::Index& index, std::string_view model, std::size_t max_tokens,
                                     bool stream);

/// The message that asks again after a reply that could not be read; `wrong` says why.
std::string repair_message(std::string_view wrong);

/// Fails with `not_found` (field `chunk_ids`) for an id that the index does not hold. `request.repair` adds what was wrong
/// with the reply before.
Result<TaskCall> task_call(const agent::CompleteRequest& request, const index::Index& index, std::string_view model, std::size_t max_tokens, bool stream,
                           Dialect dialect);

/// Version of a task's prompt.
std::string prompt_version(agent::Task task);

/// Of a request's messages and the template around them, never below what an endpoint counts; and of a schema that is shown.
std::uint64_t most_prompt_tokens(const ModelRequest& request);
std::uint64_t most_schema_tokens(std::string_view schema);

/// An estimate of the tokens of a text that no tokenizer in use exceeds.
std::uint64_t most_tokens(std::string_view text);

}  // namespace polygraph::proxy
