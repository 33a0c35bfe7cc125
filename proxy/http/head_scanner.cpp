#include "proxy/http/head_scanner.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace polygraph::http {
namespace {

/// The longest method we know has 11 letters; a first word past this is no HTTP.
constexpr std::size_t max_method_bytes = 32;

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

/// tchar of RFC 9110 §5.6.2: what methods and field names are made of.
constexpr std::array<bool, 256> token_table = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  for (int c = 0; c < 128; ++c) {
    if (is_digit(static_cast<char>(c)) || is_alpha(static_cast<char>(c))) table[static_cast<std::size_t>(c)] = true;
  }
  return table;
}();

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return token_table[static_cast<unsigned char>(c)]; });
}

bool same_name(std::string_view name, std::string_view lower_case) {
  return name.size() == lower_case.size() &&
         std::equal(name.begin(), name.end(), lower_case.begin(), [](char a, char b) { return lower(a) == b; });
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// uri-host [ ":" port ] of RFC 9110 §7.2. A comma, which the grammar allows in a name, is refused: it is what a joined
/// pair of Host fields looks like.
bool is_host(std::string_view host) {
  if (host.empty()) return false;
  std::string_view port;
  if (host.front() == '[') {
    const auto close = host.find(']');
    if (close == std::string_view::npos || close < 3) return false;
    const auto address = host.substr(1, close - 1);
    if (!std::all_of(address.begin(), address.end(), [](char c) { return is_hex(c) || c == ':' || c == '.'; })) return false;
    port = host.substr(close + 1);
  } else {
    const auto colon = host.find(':');
    const auto name = host.substr(0, colon);
    if (name.empty()) return false;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const char c = name[i];
      if (c == '%') {
        if (i + 2 >= name.size() || !is_hex(name[i + 1]) || !is_hex(name[i + 2])) return false;
        i += 2;
      } else if (!is_digit(c) && !is_alpha(c) && std::string_view("-._~!$&'()*+;=").find(c) == std::string_view::npos) {
        return false;
      }
    }
    port = colon == std::string_view::npos ? std::string_view() : host.substr(colon);
  }
  if (port.empty()) return true;
  if (port.front() != ':' || port.size() > 6) return false;
  port.remove_prefix(1);
  if (!std::all_of(port.begin(), port.end(), is_digit)) return false;
  unsigned number = 0;
  std::from_chars(port.data(), port.data() + port.size(), number);
  return number <= 65535;
}

}  // namespace

HeadScanner::State HeadScanner::refuse(unsigned status, std::string_view code, std::string message) {
  refusal_ = {status, code, std::move(message)};
  return state_ = State::refused;
}

HeadScanner::State HeadScanner::feed(std::string_view bytes) {
  while (state_ == State::incomplete && position_ < bytes.size()) {
    const char c = bytes[position_];
    if (position_ - begin_ >= limits_->max_header_bytes) {
      return refuse(431, "headers_too_large",
                    "the request's head is longer than " + std::to_string(limits_->max_header_bytes) + " bytes");
    }
    if (c == '\0') return refuse("the request's head holds a NUL byte");
    const bool after_cr = position_ > line_start_ && bytes[position_ - 1] == '\r';
    if (c != '\n') {
      if (after_cr) return refuse("the request's head holds a CR without its LF");
      if (!have_request_line_ && !target_ended_) {
        if (target_start_ == 0) {
          if (c == ' ') target_start_ = position_ + 1;
          else if (position_ - line_start_ >= max_method_bytes) return refuse("the request does not begin with a method");
        } else if (c == ' ' || c == '\r') {
          target_ended_ = true;
        } else if (position_ - target_start_ >= limits_->max_target_bytes) {
          return refuse(414, "target_too_long",
                        "the request's target is longer than " + std::to_string(limits_->max_target_bytes) + " bytes");
        }
      }
      ++position_;
      continue;
    }
    if (!after_cr) return refuse("the request's head holds an LF without its CR");
    const auto line = bytes.substr(line_start_, position_ - 1 - line_start_);
    ++position_;
    line_start_ = position_;
    if (!have_request_line_) {
      if (line.empty() && !skipped_empty_line_) {
        skipped_empty_line_ = true;
        begin_ = position_;
        continue;
      }
      if (request_line(line) == State::incomplete) have_request_line_ = true;
    } else if (!line.empty()) {
      field_line(line);
    } else {
      finish();
    }
  }
  return state_;
}

HeadScanner::State HeadScanner::request_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return refuse("the request line is not \"METHOD /target HTTP/1.1\"");
  const auto method = line.substr(0, first);
  const auto target = line.substr(first + 1, last - first - 1);
  const auto version = line.substr(last + 1);
  if (!is_token(method)) return refuse("the method is not a token");
  if (version.size() != 8 || version.substr(0, 5) != "HTTP/" || !is_digit(version[5]) || version[6] != '.' || !is_digit(version[7])) {
    return refuse("the request line does not end in an HTTP version");
  }
  if (target.empty() || target.front() != '/') return refuse("the target is not in origin form: it must begin with /");
  for (const char c : target) {
    if (c <= ' ' || c > '~' || c == '#') return refuse("the target holds a character that must be percent-encoded");
  }
  if (version[5] != '1' || version[7] > '1') {
    return refuse(505, "version_not_supported", "only HTTP/1.1 and HTTP/1.0 are spoken here");
  }
  http_1_0_ = version[7] == '0';
  needs_length_ = method == "POST" || method == "PUT" || method == "PATCH";
  return state_;
}

HeadScanner::State HeadScanner::field_line(std::string_view line) {
  if (++fields_ > limits_->max_headers) {
    return refuse(431, "headers_too_large", "the request has more than " + std::to_string(limits_->max_headers) + " fields");
  }
  if (line.front() == ' ' || line.front() == '\t') return refuse("a field is folded over two lines");
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return refuse("a field has no colon");
  const auto name = line.substr(0, colon);
  if (!is_token(name)) return refuse("a field's name is not a token");
  const auto value = trimmed(line.substr(colon + 1));
  for (const char c : value) {
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f') return refuse("a field's value holds a control character");
  }
  if (same_name(name, "host")) {
    if (host_) return refuse("there are two Host fields");
    host_ = true;
    if (!is_host(value)) return refuse("the Host field is not a host name with an optional port");
  } else if (same_name(name, "content-length")) {
    if (content_length_) return refuse("there are two Content-Length fields");
    if (value.empty() || !std::all_of(value.begin(), value.end(), is_digit)) return refuse("Content-Length is not a number");
    std::uint64_t length = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), length);
    length_too_large_ = read.ec != std::errc() || length > limits_->max_body_bytes;
    content_length_ = length;
  } else if (same_name(name, "transfer-encoding")) {
    ++transfer_encodings_;
    chunked_alone_ = same_name(value, "chunked");
  }
  return state_;
}

HeadScanner::State HeadScanner::finish() {
  if (!host_ && !http_1_0_) return refuse("there is no Host field");
  if (transfer_encodings_ > 0) {
    if (content_length_) return refuse("there are both Content-Length and Transfer-Encoding");
    if (http_1_0_) return refuse("HTTP/1.0 has no Transfer-Encoding");
    if (transfer_encodings_ > 1 || !chunked_alone_) return refuse("the Transfer-Encoding is not understood");
    return refuse(411, "length_required", "send the body with a Content-Length: chunked bodies are not taken");
  }
  if (needs_length_ && !content_length_) return refuse(411, "length_required", "send the body with a Content-Length");
  if (length_too_large_) {
    return refuse(413, "body_too_large", "the body is longer than " + std::to_string(limits_->max_body_bytes) + " bytes");
  }
  return state_ = State::complete;
}

}  // namespace polygraph::http
