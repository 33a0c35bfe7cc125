// Replies of judges: whatever the bytes, a verdict of the promised form or an error, and never a verdict without the task's id.
// The input is one reply.
#include <nlohmann/json.hpp>

#include "fuzz.hpp"
#include "wasm/judges/reply.hpp"

using namespace polygraph;

namespace {

constexpr std::string_view nonce = "0badcafe";

/// Both ways: an error says something, and what was read came with the id.
template <class T>
bool sound(const Result<T>& read, std::string_view text) {
  if (!read) {
    FUZZ_CHECK(!read.error().message.empty());
    return false;
  }
  // A name may also be written with escapes.
  FUZZ_CHECK(text.find(nonce) != std::string_view::npos || text.find("\\u") != std::string_view::npos);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Exact bytes({reinterpret_cast<const char*>(data), size});
  if (const auto span = judges::last_json(bytes.view())) {
    FUZZ_CHECK(span->begin < span->end && span->end <= size);
    const char open = bytes.view()[span->begin], close = bytes.view()[span->end - 1];
    FUZZ_CHECK((open == '{' && close == '}') || (open == '[' && close == ']'));
    // Nothing complete stands behind it.
    FUZZ_CHECK(!judges::last_json(bytes.view().substr(span->end)));
  }
  judges::JudgeReply reply{std::string(bytes.view()), "stop", {}};
  reply.tokens.push_back({reply.text, {{"4", -0.5}, {"2", -1.5}}});
  const std::vector<judges::Claim> claims = {{"c1-ab", "a", ""}, {"c2-cd", "b", ""}};

  if (const auto read = judges::read_statements(reply, nonce); sound(read, bytes.view())) FUZZ_CHECK(!read->empty() && read->size() <= judges::most_statements);
  if (const auto read = judges::read_verdicts(reply, nonce, claims); sound(read, bytes.view())) FUZZ_CHECK(read->size() == claims.size());
  if (const auto read = judges::read_questions(reply, nonce); sound(read, bytes.view())) {
    FUZZ_CHECK(read->questions.size() <= judges::questions_asked && (read->noncommittal || read->questions.size() == judges::questions_asked));
  }
  if (const auto read = judges::read_rubric(reply, nonce); sound(read, bytes.view())) {
    FUZZ_CHECK(read->stated >= 1 && read->stated <= 5 && read->score >= 1 && read->score <= 5);
    if (read->confidence) FUZZ_CHECK(*read->confidence >= 0 && *read->confidence <= 1);
  }
  if (const auto read = judges::read_grounding(reply, nonce); sound(read, bytes.view())) FUZZ_CHECK(read->grounded == read->unsupported_claims.empty());

  reply.finish = "length";
  FUZZ_CHECK(!judges::read_rubric(reply, nonce) && !judges::read_verdicts(reply, nonce, claims));
  return 0;
}
