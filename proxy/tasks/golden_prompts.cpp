#include "proxy/tasks/golden_prompts.hpp"

#include "proxy/tasks/prompt_data.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::proxy {
namespace {

constexpr std::size_t longest_passage = 16 * 1024, longest_question = 16 * 1024, longest_heading = 1000;
constexpr std::size_t reasoning_tokens = 1024, tokens_of_label = 80, tokens_of_draft = 512;

std::string file_name(GoldenTask task) { return task == GoldenTask::label ? "golden_label" : "golden_draft"; }

std::string tagged(std::size_t number, std::string_view text) {
  return "<passage label=\"P" + std::to_string(number) + "\">\n" + as_data(text, longest_passage) + "\n</passage>";
}

/// The file's two halves, and what is the same of every call.
struct Halves {
  GoldenPrompt prompt;
  std::string_view user;
};
Halves halves(GoldenTask task) {
  constexpr std::string_view system_heading = "# system\n", user_heading = "\n# user\n";
  const std::string_view file = golden_prompt_file(task);
  const std::size_t user = file.find(user_heading);
  Halves out;
  out.prompt.system = trimmed(file.substr(system_heading.size(), user - system_heading.size()));
  out.prompt.schema = golden_schema_file(task);
  out.prompt.schema_name = file_name(task);
  out.user = trimmed(file.substr(user + user_heading.size()));
  return out;
}

}  // namespace

GoldenPrompt label_prompt(std::string_view question, std::span<const std::string> passages) {
  auto [prompt, user] = halves(GoldenTask::label);
  std::string all;
  for (std::size_t i = 0; i < passages.size(); ++i) all += (i == 0 ? "" : "\n\n") + tagged(i + 1, passages[i]);
  prompt.user = filled(user, {{"question", as_data(question, longest_question)}, {"passages", all}, {"count", std::to_string(passages.size())}});
  prompt.max_tokens = reasoning_tokens + tokens_of_label * passages.size();
  return prompt;
}

GoldenPrompt draft_prompt(std::string_view kind, std::string_view title, std::string_view heading, std::string_view passage) {
  auto [prompt, user] = halves(GoldenTask::draft);
  prompt.user = filled(user, {{"kind", kind}, {"title", as_data(title, longest_heading)}, {"heading", as_data(heading, longest_heading)}, {"passages", tagged(1, passage)}});
  prompt.max_tokens = reasoning_tokens + tokens_of_draft;
  return prompt;
}

std::string golden_prompt_version(GoldenTask task) {
  std::string bytes(golden_prompt_file(task));
  bytes += '\0';
  bytes += golden_schema_file(task);
  constexpr std::size_t prefix = 7;  // "xxh128:"
  return file_name(task) + '-' + text::digest(bytes).substr(prefix, 8);
}

}  // namespace polygraph::proxy
