#include "wasm/judges/request.hpp"

#include <array>
#include <cstddef>

#include "wasm/text/digest.hpp"

namespace polygraph::judges {
namespace {

constexpr std::size_t digest_prefix = 7;  // "xxh128:"

/// A length before each part, so that no two different calls have one text.
void add(std::string& bytes, std::string_view part) {
  bytes += std::to_string(part.size());
  bytes += ':';
  bytes += part;
}

std::string shown(std::string_view salt, const JudgeCall& call) {
  std::string bytes;
  for (const std::string_view part : {salt, name(call.task), std::string_view(call.question), std::string_view(call.answer), std::string_view(call.reference_answer)}) {
    add(bytes, part);
  }
  for (const Passage& passage : call.passages) {
    add(bytes, passage.id);
    add(bytes, passage.text);
  }
  return bytes;
}

}  // namespace

std::string_view name(JudgeTask task) noexcept {
  constexpr std::array<std::string_view, judge_tasks> names = {"statements", "statement_verdicts", "questions", "correctness", "groundedness", "citation_verdicts"};
  return names[static_cast<std::size_t>(task)];
}

std::string nonce_of(std::string_view salt, const JudgeCall& call) { return text::digest(shown(salt, call)).substr(digest_prefix, 8); }

std::string claim_id(std::string_view salt, const JudgeCall& call, std::size_t number, std::string_view text) {
  std::string bytes = shown(salt, call);
  add(bytes, std::to_string(number));
  add(bytes, text);
  return "c" + std::to_string(number) + "-" + text::digest(bytes).substr(digest_prefix, 4);
}

}  // namespace polygraph::judges
