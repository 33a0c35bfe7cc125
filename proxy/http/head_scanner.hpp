// The strict check of a request's head, on the raw bytes and before Beast or any handler sees them.
//
// Beast's parser is lenient where leniency lets two servers disagree about where a request ends (request smuggling):
// it takes both framing headers, lists of transfer codings, doubled Hosts, absolute targets. This scanner refuses every
// form that RFC 9112 leaves open to doubt. It only refuses: what it lets pass is parsed by Beast.
//
// Sans-IO and linear: it is fed the growing buffer, remembers where it stopped, and refuses at the first byte that can't
// be right, so a bad head need not be complete to be answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/http/limits.hpp"

namespace polygraph::http {

/// Why a request is not served: an HTTP status, the stable `code` of the error in its answer, and words for a person.
struct Refusal {
  unsigned status = 400;
  std::string_view code = "bad_request";
  std::string message = {};
};

class HeadScanner {
 public:
  enum class State : std::uint8_t { incomplete, complete, refused };

  /// Keeps a reference to `limits`, which must outlive the scanner.
  explicit HeadScanner(const Limits& limits) noexcept : limits_(&limits) {}

  /// `bytes` are all bytes since the previous request ended: those of the last call, and more after them.
  State feed(std::string_view bytes);

  /// Where the request line begins (one empty line before it is skipped, RFC 9112 §2.2) and where the head ends, after
  /// its empty line. Valid once complete.
  std::size_t begin() const noexcept { return begin_; }
  std::size_t end() const noexcept { return position_; }
  /// The length that the head announces; 0 without Content-Length. Valid once complete.
  std::uint64_t body_bytes() const noexcept { return content_length_.value_or(0); }
  /// Valid once refused.
  const Refusal& refusal() const noexcept { return refusal_; }

  /// Ready for the next request.
  void reset() noexcept { *this = HeadScanner(*limits_); }

 private:
  State refuse(unsigned status, std::string_view code, std::string message);
  State refuse(std::string message) { return refuse(400, "bad_request", std::move(message)); }
  State request_line(std::string_view line);
  State field_line(std::string_view line);
  State finish();

  const Limits* limits_;
  State state_ = State::incomplete;
  std::size_t begin_ = 0;
  std::size_t position_ = 0;      // next byte to look at
  std::size_t line_start_ = 0;
  std::size_t target_start_ = 0;  // 0 while the method is being read
  bool target_ended_ = false;
  bool have_request_line_ = false;
  bool skipped_empty_line_ = false;
  std::size_t fields_ = 0;

  bool http_1_0_ = false;
  bool needs_length_ = false;  // a method whose request carries a body
  bool host_ = false;
  std::optional<std::uint64_t> content_length_;
  bool length_too_large_ = false;
  unsigned transfer_encodings_ = 0;
  bool chunked_alone_ = false;
  Refusal refusal_;
};

}  // namespace polygraph::http
