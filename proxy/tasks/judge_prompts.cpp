#include "proxy/tasks/judge_prompts.hpp"

#include "proxy/tasks/prompt_data.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::proxy {
namespace {

using judges::JudgeTask;

/// Labels and ids are the engine's own: letters, digits and hyphens.
std::string passages(const judges::JudgeCall& call) {
  std::string out;
  for (const auto& passage : call.passages) {
    if (!out.empty()) out += "\n\n";
    out += "<passage label=\"" + passage.id + "\">\n" + as_data(passage.text, longest_judged_passage_bytes) + "\n</passage>";
  }
  return out;
}

std::string claims(const judges::JudgeCall& call) {
  std::string out;
  for (const auto& claim : call.claims) {
    if (!out.empty()) out += '\n';
    out += "<claim id=\"" + claim.id + '"';
    if (!claim.passage.empty()) out += " passage=\"" + claim.passage + '"';
    out += ">" + as_data(claim.text, longest_judged_claim_bytes) + "</claim>";
  }
  return out;
}

/// Room for the reply and for what a reasoning model thinks before it.
std::size_t max_tokens(const judges::JudgeCall& call) {
  constexpr std::size_t reasoning = 1024, of_verdict = 80;
  switch (call.task) {
    case JudgeTask::statements: return reasoning + 512 + call.answer.size() / 2;  // the answer again, in more words
    case JudgeTask::statement_verdicts:
    case JudgeTask::citation_verdicts: return reasoning + 128 + of_verdict * call.claims.size();
    case JudgeTask::questions: return reasoning + 256;
    case JudgeTask::correctness: return reasoning + 256;
    case JudgeTask::groundedness: break;
  }
  return reasoning + 1024;
}

std::string file_name(JudgeTask task) { return "judge_" + std::string(judges::name(task)); }

}  // namespace

std::string judge_prompt_version(JudgeTask task) {
  std::string bytes(judge_prompt_file(task));
  bytes += '\0';
  bytes += judge_schema_file(task);
  constexpr std::size_t prefix = 7;  // "xxh128:"
  return file_name(task) + '-' + text::digest(bytes).substr(prefix, 8);
}

JudgePrompt judge_prompt(const judges::JudgeCall& call) {
  constexpr std::string_view system_heading = "# system\n", user_heading = "\n# user\n";
  const std::string_view file = judge_prompt_file(call.task);
  const std::size_t user = file.find(user_heading);
  JudgePrompt prompt;
  prompt.system = trimmed(file.substr(system_heading.size(), user - system_heading.size()));
  prompt.user = filled(trimmed(file.substr(user + user_heading.size())), {{"nonce", call.nonce},
                                                                         {"question", as_data(call.question, longest_judged_question_bytes)},
                                                                         {"answer", as_data(call.answer, call.answer.size() * 3 + 3)},
                                                                         {"reference_answer", as_data(call.reference_answer, longest_judged_reference_bytes)},
                                                                         {"passages", passages(call)},
                                                                         {"claims", claims(call)},
                                                                         {"count", std::to_string(call.claims.size())}});
  if (!call.repair.empty()) {
    prompt.user += "\n\nYour last reply could not be read: " + as_data(call.repair, longest_judge_repair_bytes) + "\nReply again, briefly, with the JSON object alone.";
  }
  prompt.schema = judge_schema_file(call.task);
  prompt.schema_name = file_name(call.task);
  prompt.max_tokens = max_tokens(call);
  prompt.prompt_version = judge_prompt_version(call.task);
  prompt.wants_probabilities = call.task == JudgeTask::correctness;
  return prompt;
}

}  // namespace polygraph::proxy
