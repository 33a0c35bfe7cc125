// The JSON that an OpenAI-compatible endpoint answers with: a completion, the pieces of a stream, an error.
//
// Strict where it matters: an answer without text, refused, filtered or with tool calls is no answer. Usage counts only
// when it is believable; without it the caller charges what it reserved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wasm/error.hpp"

namespace polygraph::proxy {

struct Usage {
  std::uint64_t in = 0, out = 0;
  bool operator==(const Usage&) const = default;
};

struct Completion {
  std::string text, model;
  std::string finish;  ///< "stop" or "length"
  std::optional<Usage> usage;
};

/// The body of a 200. Fails with `invalid_json`; the message quotes nothing of the body.
Result<Completion> read_completion(std::string_view body);

/// A stream, piece by piece: the data of each event in, text out.
class CompletionStream {
 public:
  /// The text that this event adds, often empty. Fails with `invalid_json` as read_completion does, for an event after
  /// the end, and for an error that the endpoint sends as an event.
  Result<std::string> add(std::string_view data);

  /// Whether `[DONE]` was there.
  bool done() const noexcept { return done_; }
  /// What was gathered. Fails with `truncated` when the stream ended before its end.
  Result<Completion> finish() const;

 private:
  Completion completion_;
  bool done_ = false;
};

struct EndpointError {
  std::string message, code;  ///< empty where the body held none
};

/// The body of any other status: `{"error": {"message", "code"}}`, `{"error": "…"}` or `{"message": "…"}`.
EndpointError read_endpoint_error(std::string_view body);

}  // namespace polygraph::proxy
