// The APIs of language models: each builds a request's body, and reads replies, streams, refusals and limits.
//
// Nothing but bytes in and values out. A reply is taken only when it is whole: text that was filtered, refused or ended by
// anything but its end or the token limit is no reply. Messages of these functions quote nothing of what was read.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/upstream/chat_body.hpp"
#include "proxy/upstream/chat_client.hpp"
#include "proxy/upstream/model_request.hpp"
#include "proxy/upstream/rate_limits.hpp"

namespace polygraph::proxy {

/// What an answer other than 200 says.
struct Refusal {
  Outcome outcome = Outcome::refused_us;  ///< too_large, limited, unavailable or refused_us
  UpstreamLimit limit = UpstreamLimit::unknown;
  RefusedFor refused_for = RefusedFor::unknown;
  std::string message;                    ///< the endpoint's own words
  std::optional<std::chrono::milliseconds> retry_after;  ///< said in the body
};

enum class Framing : std::uint8_t { events, lines };  ///< server-sent events, or a JSON value a line

class Format {
 public:
  virtual ~Format() = default;

  /// Path and query of a completion; `path` is the endpoint's own.
  virtual std::string target(std::string_view path, std::string_view model, bool stream) const = 0;
  virtual std::string models_target(std::string_view path) const = 0;
  /// The header fields that carry the key and the API's version, each with its line end. Without a key only the latter.
  virtual std::string fields(std::string_view key) const = 0;
  /// Fails with `invalid_json`, field `schema`, for a schema that is no JSON object.
  virtual Result<std::string> body(const ModelRequest& request) const = 0;

  virtual Result<Completion> read(std::string_view body) const = 0;
  virtual std::unique_ptr<ReplyStream> stream() const = 0;
  virtual Framing framing() const { return Framing::events; }
  virtual Result<std::vector<ListedModel>> read_models(std::string_view body) const = 0;
  virtual Refusal read_refusal(unsigned status, std::string_view body, std::span<const Field> fields) const = 0;
  virtual RateLimits read_limits(std::span<const Field> fields) const = 0;
};

/// One for the whole program, without state.
const Format& format_of(ApiFormat format);

/// Of each format, in a file of its own.
const Format& openai_format();
const Format& groq_format();
const Format& anthropic_format();
const Format& gemini_format();
const Format& ollama_format();

/// Whether every object of a JSON Schema names all its properties as required and allows no other: what strict modes ask for.
bool is_strict_schema(std::string_view schema);

/// `system` with the words that ask for JSON of this schema, for endpoints that take no schema.
std::string asking_for_json(std::string_view system, std::string_view schema);

}  // namespace polygraph::proxy
