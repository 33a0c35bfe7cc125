// What a judge asks of a language model: the task, the data it is about, and the names by which the reply must refer to it.
//
// The data (question, answer, passages) comes from people, files and models, and any of it may try to set its own verdict.
// So the engine chooses every name: the reply carries the call's nonce, and each verdict the id of its claim. Whoever wrote
// the data knows neither, as long as `JudgeInput::salt` is nothing that they know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace polygraph::judges {

enum class JudgeTask : std::uint8_t {
  statements,          ///< cut an answer into statements
  statement_verdicts,  ///< does the context support each statement?
  questions,           ///< which questions does the answer answer?
  correctness,         ///< rubric, against the reference answer
  groundedness,        ///< does the context support the answer as a whole?
  citation_verdicts,   ///< does the cited passage support its sentence?
};
inline constexpr std::size_t judge_tasks = 6;

/// `statements`, `statement_verdicts`, … as prompt files, versions and records name them.
std::string_view name(JudgeTask task) noexcept;

struct Passage {
  std::string id, text;
  bool operator==(const Passage&) const = default;
};

/// One thing that gets a verdict.
struct Claim {
  std::string id;       ///< chosen by the engine, unlike that of any other claim
  std::string text;
  std::string passage;  ///< citation_verdicts: the label of the one passage that counts; otherwise empty: all count
  bool operator==(const Claim&) const = default;
};

/// One call of the judge's model. Texts are as they came; whoever renders them escapes them.
struct JudgeCall {
  JudgeTask task = JudgeTask::statements;
  std::string nonce;               ///< the reply's `id` must be this
  std::string question, answer;
  std::string reference_answer;    ///< correctness alone: it is never evidence for anything else
  std::vector<Passage> passages;   ///< labelled P1, P2, …: a chunk's own id is data too
  std::vector<Claim> claims;
  std::string repair;              ///< what was wrong with the reply before this one; empty on the first attempt
  bool operator==(const JudgeCall&) const = default;
};

/// A call's nonce: eight hexadecimal digits over the salt and everything the call shows.
std::string nonce_of(std::string_view salt, const JudgeCall& call);
/// The id of claim `number` (from 1) of a call: `c3-9f02`.
std::string claim_id(std::string_view salt, const JudgeCall& call, std::size_t number, std::string_view text);

}  // namespace polygraph::judges
