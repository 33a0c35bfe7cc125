// The strict check of an answer's head, on the raw bytes and before Beast sees them: the counterpart of
// http::HeadScanner for what upstream sends.
//
// Beast takes answers with both framing headers, doubled or listed lengths and folded fields. Whoever sends those, or
// stands in between, may see another end of the answer than we do, and the rest would be read as the answer to the next
// question. This scanner refuses every such form. It only refuses: what it lets pass is parsed by Beast.
//
// Sans-IO and linear: it is fed the growing buffer and remembers where it stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace polygraph::proxy {

class ResponseHeadScanner {
 public:
  enum class State : std::uint8_t { incomplete, complete, refused };

  static constexpr std::size_t max_head_bytes = 32 * 1024;
  static constexpr std::size_t max_fields = 200;

  /// `bytes` are all bytes of this answer: those of the last call, and more after them.
  State feed(std::string_view bytes);

  /// Where the head ends, after its empty line. Valid once complete.
  std::size_t end() const noexcept { return position_; }
  /// 100 to 599. Valid once complete.
  unsigned status() const noexcept { return status_; }
  /// Nothing when the body is chunked or ends with the connection. Valid once complete.
  std::optional<std::uint64_t> content_length() const noexcept { return content_length_; }
  bool chunked() const noexcept { return chunked_; }
  /// Valid once refused.
  const std::string& why() const noexcept { return why_; }

 private:
  State refuse(std::string why);
  State status_line(std::string_view line);
  State field_line(std::string_view line);
  State finish();

  State state_ = State::incomplete;
  std::size_t position_ = 0;  // next byte to look at
  std::size_t line_start_ = 0;
  std::size_t fields_ = 0;
  unsigned status_ = 0;
  bool have_status_line_ = false;
  bool http_1_0_ = false;
  std::optional<std::uint64_t> content_length_;
  bool chunked_ = false;
  std::string why_;
};

}  // namespace polygraph::proxy
