#include "proxy/upstream/response_head.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace polygraph::proxy {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

/// tchar of RFC 9110 §5.6.2.
bool is_token_char(char c) {
  return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

bool same(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() &&
         std::equal(text.begin(), text.end(), lower_case.begin(), [](char a, char b) { return lower(a) == b; });
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; });
}

}  // namespace

ResponseHeadScanner::State ResponseHeadScanner::refuse(std::string why) {
  why_ = std::move(why);
  return state_ = State::refused;
}

ResponseHeadScanner::State ResponseHeadScanner::feed(std::string_view bytes) {
  while (state_ == State::incomplete && position_ < bytes.size()) {
    if (position_ >= max_head_bytes) return refuse("its head is longer than " + std::to_string(max_head_bytes) + " bytes");
    const char c = bytes[position_];
    const bool after_cr = position_ > line_start_ && bytes[position_ - 1] == '\r';
    if (c != '\n') {
      if (c == '\0') return refuse("its head holds a NUL byte");
      if (after_cr) return refuse("its head holds a CR without its LF");
      // What is no HTTP at all is refused at its first bytes: it may never send the end of a line.
      constexpr std::string_view begins = "HTTP/1.";
      if (position_ < begins.size() && c != begins[position_]) return refuse("it is not HTTP/1.1");
      ++position_;
      continue;
    }
    if (!after_cr) return refuse("its head holds an LF without its CR");
    const auto line = bytes.substr(line_start_, position_ - 1 - line_start_);
    ++position_;
    line_start_ = position_;
    if (!have_status_line_) {
      if (status_line(line) == State::incomplete) have_status_line_ = true;
    } else if (!line.empty()) {
      field_line(line);
    } else {
      finish();
    }
  }
  return state_;
}

ResponseHeadScanner::State ResponseHeadScanner::status_line(std::string_view line) {
  // status-line = HTTP-version SP 3DIGIT SP [ reason-phrase ], RFC 9112 §4
  if (line.size() < 13 || (line[7] != '1' && line[7] != '0') || line[8] != ' ' || line[12] != ' ') return refuse("its status line is malformed");
  for (const auto place : {9, 10, 11}) {
    if (!is_digit(line[static_cast<std::size_t>(place)])) return refuse("its status is not a number");
    status_ = status_ * 10 + static_cast<unsigned>(line[static_cast<std::size_t>(place)] - '0');
  }
  if (status_ < 100 || status_ > 599) return refuse("its status is out of range");
  if (has_control(line.substr(13))) return refuse("its status line holds a control character");
  http_1_0_ = line[7] == '0';
  return state_;
}

ResponseHeadScanner::State ResponseHeadScanner::field_line(std::string_view line) {
  if (++fields_ > max_fields) return refuse("it has more than " + std::to_string(max_fields) + " fields");
  if (line.front() == ' ' || line.front() == '\t') return refuse("a field is folded over two lines");
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return refuse("a field has no colon");
  const auto name = line.substr(0, colon);
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_token_char)) return refuse("a field's name is not a token");
  const auto value = trimmed(line.substr(colon + 1));
  if (has_control(value)) return refuse("a field's value holds a control character");
  if (same(name, "content-length")) {
    if (content_length_) return refuse("it has two Content-Length fields");
    std::uint64_t length = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), length);
    if (value.empty() || !std::all_of(value.begin(), value.end(), is_digit) || read.ec != std::errc()) {
      return refuse("its Content-Length is not a number");
    }
    content_length_ = length;
  } else if (same(name, "transfer-encoding")) {
    if (chunked_) return refuse("it has two Transfer-Encoding fields");
    if (!same(value, "chunked")) return refuse("its Transfer-Encoding is not understood");
    chunked_ = true;
  }
  return state_;
}

ResponseHeadScanner::State ResponseHeadScanner::finish() {
  if (chunked_ && content_length_) return refuse("it has both Content-Length and Transfer-Encoding");
  if (chunked_ && http_1_0_) return refuse("HTTP/1.0 has no Transfer-Encoding");
  // RFC 9112 §6.1: these have no body, so neither field can be meant.
  if ((status_ < 200 || status_ == 204) && (chunked_ || content_length_.value_or(0) > 0)) return refuse("it announces a body that its status can't have");
  return state_ = State::complete;
}

}  // namespace polygraph::proxy
