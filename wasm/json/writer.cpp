#include "wasm/json/writer.hpp"

#include <array>
#include <nlohmann/detail/conversions/to_chars.hpp>

namespace polygraph::json {
namespace {

constexpr std::size_t piece = std::size_t{1} << 16;

/// Bytes that stand in a string as they are.
constexpr std::array<bool, 256> plain = [] {
  std::array<bool, 256> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i >= 0x20 && i != '"' && i != '\\';
  return out;
}();

bool blank(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// Where the string that opens at `at` ends, behind its closing quote.
std::size_t string_end(std::string_view json, std::size_t at) noexcept {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at + 1;
}

}  // namespace

std::string to_text(double value) {
  std::array<char, 64> buffer;
  // What nlohmann/json prints, so that every document of Polygraph spells a number alike.
  const char* const end = nlohmann::detail::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

void Writer::line() {
  if (indent_ == 0) return;
  buffer_ += '\n';
  buffer_.append(static_cast<std::size_t>(indent_) * depth_, ' ');
}

void Writer::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!empty_) buffer_ += ',';
  line();
  empty_ = false;
}

void Writer::begin(char bracket) {
  before_value();
  buffer_ += bracket;
  ++depth_;
  empty_ = true;
}

void Writer::end(char bracket) {
  --depth_;
  if (!empty_) line();
  buffer_ += bracket;
  empty_ = false;
  if (buffer_.size() >= piece) flush();
}

Writer& Writer::key(std::string_view name) {
  if (!empty_) buffer_ += ',';
  line();
  empty_ = false;
  quoted(name);
  buffer_ += indent_ == 0 ? ":" : ": ";
  after_key_ = true;
  return *this;
}

void Writer::scalar(std::string_view text) {
  before_value();
  buffer_ += text;
}

void Writer::value(std::string_view text) {
  before_value();
  quoted(text);
}

void Writer::quoted(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  buffer_ += '"';
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (plain[c]) continue;
    buffer_.append(text.substr(start, i - start));
    start = i + 1;
    switch (c) {
      case '"': buffer_ += "\\\""; break;
      case '\\': buffer_ += "\\\\"; break;
      case '\n': buffer_ += "\\n"; break;
      case '\r': buffer_ += "\\r"; break;
      case '\t': buffer_ += "\\t"; break;
      case '\b': buffer_ += "\\b"; break;
      case '\f': buffer_ += "\\f"; break;
      default:
        buffer_ += "\\u00";
        buffer_ += digits[c >> 4];
        buffer_ += digits[c & 15];
    }
  }
  buffer_.append(text.substr(start));
  buffer_ += '"';
}

void Writer::raw(std::string_view json) {
  for (std::size_t i = 0; i < json.size();) {
    const char c = json[i];
    if (blank(c) || c == ',' || c == ':') {
      ++i;
    } else if (c == '{' || c == '[') {
      begin(c);
      ++i;
    } else if (c == '}' || c == ']') {
      end(c);
      ++i;
    } else {
      std::size_t stop = i;
      if (c == '"') {
        stop = string_end(json, i);
      } else {
        while (stop < json.size() && !blank(json[stop]) && json[stop] != ',' && json[stop] != '}' && json[stop] != ']') ++stop;
      }
      std::size_t after = stop;
      while (after < json.size() && blank(json[after])) ++after;
      const std::string_view token = json.substr(i, stop - i);
      if (c == '"' && after < json.size() && json[after] == ':') {
        if (!empty_) buffer_ += ',';
        line();
        empty_ = false;
        buffer_ += token;
        buffer_ += indent_ == 0 ? ":" : ": ";
        after_key_ = true;
      } else {
        scalar(token);
      }
      i = stop;
    }
  }
}

void Writer::flush() {
  if (!buffer_.empty()) sink_(buffer_);
  buffer_.clear();
}

}  // namespace polygraph::json
