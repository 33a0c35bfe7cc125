// What a judge's reply says, and what is wrong with it. Any bytes may come: from a model that thinks aloud, from one that was
// cut, and from an answer that tries to write its own verdict.
//
// A reply is its last complete JSON value. It must be an object with exactly the fields of its schema, and its `id` must be
// the call's nonce; verdicts are matched by the ids of the claims, one for each. Labels are compared whole. Everything here
// fails with `invalid_json`, or `truncated` for a reply that was cut by the token limit; the message can be shown to a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/judges/request.hpp"

namespace polygraph::judges {

/// A token of a reply with the most probable tokens at its place (its own among them), where the API gives them.
struct ReplyToken {
  std::string text;
  std::vector<std::pair<std::string, double>> top;  ///< token and natural logarithm of its probability
};

struct JudgeReply {
  std::string text;
  std::string finish = "stop";      ///< `length`: cut by the token limit
  std::vector<ReplyToken> tokens;   ///< in order; empty where the API gives no probabilities
};

inline constexpr std::size_t most_statements = 100;
inline constexpr std::size_t questions_asked = 3;

/// The bytes [begin, end) of a text's last complete JSON object or array, found outside of all others; nothing where there
/// is none. Time is linear in the text for whatever is no attack, and bounded for what is.
struct JsonSpan {
  std::size_t begin = 0, end = 0;
  bool operator==(const JsonSpan&) const = default;
};
std::optional<JsonSpan> last_json(std::string_view text);

/// At least one and at most `most_statements`, none blank.
Result<std::vector<std::string>> read_statements(const JudgeReply& reply, std::string_view nonce);

enum class Label : std::uint8_t { supported, unsupported, missing };
struct ClaimVerdict {
  Label label = Label::missing;
  std::string reason;
};
/// One verdict for each claim, in the order of `claims`. A verdict whose label is null or absent is `missing`; one with
/// another label, an unknown or repeated id, or a list of another length is an error.
Result<std::vector<ClaimVerdict>> read_verdicts(const JudgeReply& reply, std::string_view nonce, std::span<const Claim> claims);

struct Questions {
  std::vector<std::string> questions;  ///< three; of a noncommittal answer any number up to that
  bool noncommittal = false;
};
Result<Questions> read_questions(const JudgeReply& reply, std::string_view nonce);

struct Rubric {
  int stated = 0;                    ///< 1 to 5, as the reply says
  double score = 0;                  ///< `stated`, or its expectation over the token probabilities
  bool weighted = false;             ///< `score` is the expectation
  std::optional<double> confidence;  ///< 0 to 1; another number is none
  std::string reason;
};
Result<Rubric> read_rubric(const JudgeReply& reply, std::string_view nonce);

struct Grounding {
  bool grounded = false;
  std::vector<std::string> unsupported_claims;  ///< none exactly when grounded
  std::optional<double> confidence;
  std::string reason;
};
Result<Grounding> read_grounding(const JudgeReply& reply, std::string_view nonce);

/// Σ s·p ÷ Σ p over the score tokens 1 to 5 with p of at least 1 % at token `at` (G-Eval: Liu et al. 2023). Nothing where
/// none is so probable or the figures are no probabilities.
std::optional<double> expected_score(const ReplyToken& at);

std::string_view name(Label label) noexcept;

}  // namespace polygraph::judges
