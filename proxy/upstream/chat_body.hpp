// The JSON that an OpenAI-compatible endpoint answers with: a completion, the pieces of a stream, an error.
//
// Strict where it matters: an answer without text, refused, filtered or with tool calls is no answer. Usage counts only
// when it is believable; without it the caller charges what it reserved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/upstream/chat_client.hpp"
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
  std::vector<TokenPosition> probabilities;  ///< where they were asked for and given
};

/// A stream of any format, piece by piece: the data of each event, or each line, in; text out.
class ReplyStream {
 public:
  virtual ~ReplyStream() = default;
  /// The text that this piece adds, often empty. Fails with `invalid_json` for what is no sound piece.
  virtual Result<std::string> add(std::string_view data) = 0;
  /// Whether the stream has said that nothing follows.
  virtual bool done() const noexcept = 0;
  /// What was gathered. Fails with `truncated` when the stream ended before its end.
  virtual Result<Completion> finish() const = 0;
};

/// The body of a 200. Fails with `invalid_json`; the message quotes nothing of the body.
Result<Completion> read_completion(std::string_view body);

/// A stream, piece by piece: the data of each event in, text out.
class CompletionStream : public ReplyStream {
 public:
  /// The text that this event adds, often empty. Fails with `invalid_json` as read_completion does, for an event after
  /// the end, and for an error that the endpoint sends as an event.
  Result<std::string> add(std::string_view data) override;

  /// Whether `[DONE]` was there.
  bool done() const noexcept override { return done_; }
  /// What was gathered. Fails with `truncated` when the stream ended before its end.
  Result<Completion> finish() const override;

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
