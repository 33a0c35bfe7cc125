// The one call that goes out: a POST that completes a chat, or a GET that lists models, in the format that the endpoint
// speaks (format.hpp), over TLS that is verified with the host's name against the system's CA bundle, or plain to a loopback
// address. Redirects and proxy variables are not followed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "wasm/error.hpp"

namespace polygraph::proxy {

/// Which API an endpoint speaks.
enum class ApiFormat : std::uint8_t {
  openai,     ///< POST URL/chat/completions, as OpenAI, llama.cpp, vLLM and Ollama's /v1 take it
  groq,       ///< the same with Groq's own fields
  anthropic,  ///< POST URL/v1/messages
  gemini,     ///< POST URL/models/MODEL:generateContent
  ollama,     ///< POST URL/api/chat
};

/// Which limit a 429 named: by the parenthesised name in its message, (RPM), (RPD), (TPM), (TPD), or by Gemini's quota id.
/// `balance` is an account's money: no time brings it back.
enum class UpstreamLimit : std::uint8_t { unknown, requests_minute, requests_day, tokens_minute, tokens_day, balance };

/// What the rate-limit fields of an answer said; nothing where a field was missing or unreadable.
struct RateLimits {
  std::optional<std::uint64_t> remaining_requests;  ///< of the day, or of the minute where `requests_of_minute` says so
  std::optional<std::uint64_t> remaining_tokens;    ///< of the minute
  std::optional<std::chrono::milliseconds> reset_requests, reset_tokens, retry_after;
  std::optional<std::uint64_t> limit_requests, limit_tokens;  ///< the limits themselves
  bool requests_of_minute = false;
};

/// What an endpoint refused a call for, as far as it said.
enum class RefusedFor : std::uint8_t { unknown, key, model, request };

/// A token that could have stood at a position of the reply.
struct TokenChoice {
  std::string token;
  double logprob = 0;
  bool operator==(const TokenChoice&) const = default;
};

/// One position of a reply: the token that stands there, and what the model thought of it and of others, likeliest first.
struct TokenPosition {
  std::string token;
  std::vector<TokenChoice> top;
  bool operator==(const TokenPosition&) const = default;
};

/// A model that a key can use.
struct ListedModel {
  std::string id;
  std::optional<std::uint64_t> context_tokens;  ///< where the endpoint says it
  bool operator==(const ListedModel&) const = default;
};

enum class Outcome : std::uint8_t {
  answered,     ///< 200 with a sound body
  too_large,    ///< the request is larger than any window: never to be retried
  limited,      ///< 429
  unavailable,  ///< 5xx, or the connection failed before the request was fully sent: may be retried; nothing was charged
  refused_us,   ///< 400, 401, 403, 404, a redirect, any other status: retrying changes nothing
  invalid,      ///< 200, but cut, malformed, of both framings, too long, or no answer at all to a request that was sent:
                ///< charged in full, never retried
  timed_out,    ///< the deadline passed after the request was sent (before that: unavailable)
  cancelled,
};

struct ChatReply {
  Outcome outcome = Outcome::invalid;
  unsigned status = 0;               ///< upstream's; 0 when there was no answer
  std::string text;                  ///< of the first choice
  std::string model;                 ///< as upstream named it
  std::string finish;                ///< "stop" or "length"
  std::optional<std::uint64_t> tokens_in, tokens_out;  ///< both or neither: sound usage
  UpstreamLimit limit = UpstreamLimit::unknown;        ///< limited, too_large
  RateLimits rate_limits;
  RefusedFor refused_for = RefusedFor::unknown;        ///< refused_us
  std::vector<TokenPosition> probabilities;            ///< where they were asked for and the endpoint gives them
  std::vector<ListedModel> models;                     ///< of list_models
  std::string why;                   ///< for the log and the error: what was wrong; never holds the key
  bool sent = false;                 ///< some of the request went out
  std::chrono::milliseconds took{0};
};

struct ChatCall {
  std::string body;                  ///< JSON of the request, complete; `stream` in it must agree with `stream` here
  std::string model = {};            ///< for the formats that name it in the URL
  bool list_models = false;          ///< instead of a completion: no body, no stream
  bool stream = false;
  std::chrono::steady_clock::time_point deadline;
  /// With `stream`: each piece of text as it comes, on the client's executor. It may cancel the call, and is not called
  /// after that.
  std::function<void(std::string_view)> on_delta = nullptr;
};

/// A call under way. Dying or cancel() ends it: the connection is closed and done is called with `cancelled`, unless it
/// was called, or is about to be, with another outcome. Both may happen on any thread.
class CallHandle {
 public:
  virtual ~CallHandle() = default;
  virtual void cancel() = 0;
};

struct Upstream {
  std::string url;        ///< https://api.groq.com/openai/v1, or http to a loopback address
  std::string key;        ///< empty: no field with one
  ApiFormat format = ApiFormat::openai;
  std::size_t max_reply_bytes = 1 << 20;
  std::size_t max_idle_connections = 8;  ///< kept between calls
  std::string ca_file;    ///< empty: the system's bundle (tests name their own)
};

class ChatClient {
 public:
  virtual ~ChatClient() = default;
  /// `done` is called exactly once, on the executor, never inside call().
  virtual std::shared_ptr<CallHandle> call(ChatCall call, std::function<void(ChatReply)> done) = 0;
};

/// Whether a client can be made of it, without reading certificates: fails with `invalid_argument` as make_chat_client does.
Result<void> check(const Upstream& upstream);

/// A context has no work while no call is under way. Fails with
/// `invalid_argument` for a URL that is not as Upstream says (field `upstream`) and a key that fits no header field (`key`),
/// and with `io` for an unreadable `ca_file`. All work runs on `executor`, which must serve one thread at a time (a strand,
/// or a context of one thread) and must outlive the client. Calls outlive the client; their end is their handle's affair.
Result<std::shared_ptr<ChatClient>> make_chat_client(boost::asio::any_io_executor executor, Upstream upstream);

}  // namespace polygraph::proxy
