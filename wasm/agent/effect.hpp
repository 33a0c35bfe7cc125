// What the agent asks of its host, and what the host answers. The agent itself never waits and never reads a clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::agent {

using EffectId = std::uint32_t;  ///< 1, 2, … within a run

enum class EffectKind : std::uint8_t { embed, score, complete, time };
enum class Task : std::uint8_t { grade, rewrite, generate };

/// Embed one text: CLS pooling, L2-normalised.
struct EmbedRequest {
  std::vector<text::TokenId> token_ids;
  bool operator==(const EmbedRequest&) const = default;
};

/// A (question, passage) pair as token ids; tokens from `split` on have type 1.
struct TokenPair {
  std::vector<text::TokenId> token_ids;
  std::uint32_t split = 0;
  bool operator==(const TokenPair&) const = default;
};

/// An encoded pair as an effect carries it.
TokenPair token_pair(text::Encoding encoding);

/// Score pairs with the cross-encoder, in this order. With `budget_ms` > 0 the host may stop after that time.
struct ScoreRequest {
  std::vector<TokenPair> pairs;
  double budget_ms = 0;
  bool operator==(const ScoreRequest&) const = default;
};

/// Complete one LLM task. The host owns the prompts; the reply must fit `schema` (JSON Schema; empty: free text).
struct CompleteRequest {
  Task task = Task::grade;
  std::string question;
  std::vector<std::string> chunk_ids;  ///< grade, generate
  std::string failed_query;            ///< rewrite
  std::string reason;                  ///< rewrite: the grader's
  std::string schema;
  std::string repair;                  ///< what was wrong with the reply before this one; empty on the first attempt
  bool operator==(const CompleteRequest&) const = default;
};

/// Read the time.
struct TimeRequest {
  bool operator==(const TimeRequest&) const = default;
};

struct Effect {
  EffectId id = 0;
  std::variant<EmbedRequest, ScoreRequest, CompleteRequest, TimeRequest> request;
  std::string digest;  ///< of kind and request in canonical form, the same on every target
  EffectKind kind() const noexcept { return static_cast<EffectKind>(request.index()); }
};

struct Tokens {
  std::uint64_t in = 0, out = 0;
  bool operator==(const Tokens&) const = default;
};

struct Embedding { std::vector<float> vector; };
struct Logits { std::vector<float> values; };     ///< of the first values.size() pairs
struct Completion { std::string text; };          ///< as the model gave it (JSON where a schema was given)
struct Time { std::string utc; double ms = 0; };  ///< ISO 8601 with Z, and a monotonic clock

struct EffectResult {
  /// The value, or why there is none. `model_unavailable` on embed or score: the run goes on without that stage. Any
  /// other error ends the run as failed.
  std::variant<Embedding, Logits, Completion, Time, Error> value;
  double ms = 0;                    ///< measured by the host; a cached result keeps its original figure
  std::string model;                ///< empty for time
  Tokens tokens;
  std::optional<double> cost_usd;   ///< nothing where there is no price
  bool cached = false;
  std::string finish = "stop";      ///< `stop`, or `length` when the reply was cut by the token limit
};

/// What a digest covers beside the request: results of another model, or about another text, never match.
struct DigestContext {
  std::string_view embedder;  ///< name and digest of the model
  std::string_view reranker;
  std::string_view index;     ///< digest of the index, which chunk ids refer to
  std::string_view provider;  ///< who completes tasks
};

/// Digest of kind and request in a canonical byte form, the same on every target.
std::string request_digest(const decltype(Effect::request)& request, const DigestContext& context);

/// Digest of everything that a host handed in: value, ms, model, tokens, cost, cached and finish. A trace stores it, so
/// that an edit is found even where it would change no decision.
std::string result_digest(const EffectResult& result);

std::string_view name(EffectKind kind) noexcept;
std::string_view name(Task task) noexcept;

}  // namespace polygraph::agent
