// Server-sent events (WHATWG HTML §9.2), as chat endpoints stream them: bytes in, however they are split; events out.
//
// Lines end in LF, CR or CRLF; comments, `id` and `retry` are skipped; `data` lines are joined with LF; an event that the
// end of the stream cuts is dropped. Sans-IO, linear, and bounded: an event larger than the limit ends the stream.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace polygraph::proxy {

struct StreamEvent {
  std::string_view type;  ///< `message` where the stream names none
  std::string_view data;
};

class EventStream {
 public:
  explicit EventStream(std::size_t max_event_bytes) noexcept : max_event_bytes_(max_event_bytes) {}

  /// Calls `take` for every event that these bytes complete; its views are valid during the call. When it returns false
  /// nothing more is read. False when `take` said so, or an event is larger than the limit: the stream is at its end.
  bool feed(std::string_view bytes, const std::function<bool(const StreamEvent&)>& take);

 private:
  bool end_line(const std::function<bool(const StreamEvent&)>& take);

  std::size_t max_event_bytes_;
  std::string line_, type_, data_;
  bool have_data_ = false;
  bool first_line_ = true;  // which may begin with a byte order mark
  bool after_cr_ = false;   // an LF now belongs to the line before it
  bool ended_ = false;
};

}  // namespace polygraph::proxy
