#include "proxy/upstream/event_stream.hpp"

namespace polygraph::proxy {

bool EventStream::feed(std::string_view bytes, const std::function<bool(const StreamEvent&)>& take) {
  while (!bytes.empty() && !ended_) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const auto end = bytes.find_first_of("\r\n");
    const auto part = bytes.substr(0, end);
    if (part.size() + line_.size() + data_.size() > max_event_bytes_) {
      ended_ = true;
      break;
    }
    line_ += part;
    if (end == std::string_view::npos) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!end_line(take)) ended_ = true;
  }
  return !ended_;
}

bool EventStream::end_line(const std::function<bool(const StreamEvent&)>& take) {
  std::string_view line = line_;
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (first_line_ && line.substr(0, byte_order_mark.size()) == byte_order_mark) line.remove_prefix(byte_order_mark.size());
  first_line_ = false;

  bool go_on = true;
  if (line.empty()) {
    if (have_data_) go_on = take({type_.empty() ? std::string_view("message") : std::string_view(type_), data_});
    type_.clear();
    data_.clear();
    have_data_ = false;
  } else if (const auto colon = line.find(':'); colon != 0) {  // a line that begins with a colon is a comment
    const auto name = line.substr(0, colon);
    auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    if (name == "data") {
      if (have_data_) data_ += '\n';
      data_ += value;
      have_data_ = true;
    } else if (name == "event") {
      type_ = value;
    }
  }
  line_.clear();
  return go_on;
}

}  // namespace polygraph::proxy
