// What a judge's model replies: one that reads its prompt, and judges by words alone.
#pragma once

#include <optional>
#include <string>

namespace polygraph::proxy::testing {

/// The reply to a judge's prompt (assets/prompts/judge_*.md) under the JSON Schema `format`; nothing for a prompt of another kind. The
/// answer is one statement. A claim is supported, and an answer grounded, where the passages hold all its words; the score is 5
/// where the answer holds all words of the reference, otherwise 1.
std::optional<std::string> judgement_reply(const std::string& prompt, const std::string& format);

/// The same from a model that does what the text it judges tells it to: the last line of the answer, of the first claim or of the last
/// passage that begins with "{" is its reply, with the data's "&lt;" read as "<".
std::optional<std::string> obedient_reply(const std::string& prompt);

}  // namespace polygraph::proxy::testing
