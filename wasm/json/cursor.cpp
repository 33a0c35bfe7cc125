#include "wasm/json/cursor.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "wasm/text/utf8.hpp"

namespace polygraph::json {
namespace {

/// Bytes that a string's plain run ends at: quote, backslash, control characters, and all beyond ASCII.
constexpr std::array<bool, 256> special = [] {
  std::array<bool, 256> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i < 0x20 || i >= 0x80 || i == '"' || i == '\\';
  return out;
}();

bool digit(char c) noexcept { return c >= '0' && c <= '9'; }

int hexadecimal(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The four digits at `at`, which were checked.
char32_t unit(std::string_view text, std::size_t at) noexcept {
  char32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value * 16 + static_cast<char32_t>(hexadecimal(text[at + i]));
  return value;
}

std::string unescaped(std::string_view body) {
  std::string out;
  out.reserve(body.size());
  for (std::size_t i = 0; i < body.size();) {
    const std::size_t end = std::min(body.find('\\', i), body.size());
    out.append(body.substr(i, end - i));
    i = end;
    if (i == body.size()) break;
    const char kind = body[i + 1];
    i += 2;
    switch (kind) {
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u': {
        char32_t value = unit(body, i);
        i += 4;
        if (value >= 0xd800 && value < 0xdc00) {
          value = 0x10000 + ((value - 0xd800) << 10) + (unit(body, i + 2) - 0xdc00);
          i += 6;
        }
        text::append(out, value);
        break;
      }
      default: out += kind;
    }
  }
  return out;
}

/// A number whose form was checked. Infinite when it is beyond double.
double to_double(std::string_view number) {
#ifdef __EMSCRIPTEN__
  // libc++ 14 has no from_chars for doubles; musl's strtod knows no other locale and rounds correctly.
  return std::strtod(std::string(number).c_str(), nullptr);
#else
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  // Out of range is too large or too small for a double; the exponent's sign, or a point at the front, tells them apart.
  return std::strtod(std::string(number).c_str(), nullptr);
#endif
}

}  // namespace

std::string_view name(Kind kind) noexcept {
  switch (kind) {
    case Kind::nothing: return "nothing";
    case Kind::null: return "null";
    case Kind::boolean: return "a boolean";
    case Kind::number: return "a number";
    case Kind::string: return "a string";
    case Kind::array: return "an array";
    case Kind::object: return "an object";
  }
  return "";
}

std::uint64_t line_at(std::string_view text, std::size_t offset) noexcept {
  return 1 + static_cast<std::uint64_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size())), '\n'));
}

void Cursor::blanks() noexcept {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
}

Kind Cursor::kind() noexcept {
  blanks();
  if (failed() || at_ >= text_.size()) return Kind::nothing;
  switch (text_[at_]) {
    case 'n': return Kind::null;
    case 't':
    case 'f': return Kind::boolean;
    case '"': return Kind::string;
    case '[': return Kind::array;
    case '{': return Kind::object;
    default: return text_[at_] == '-' || digit(text_[at_]) ? Kind::number : Kind::nothing;
  }
}

std::string Cursor::path(std::string_view field) const {
  std::string out;
  for (const Level& level : path_) {
    if (level.key.empty()) {
      out += "[" + std::to_string(level.index) + "]";
    } else {
      if (!out.empty()) out += '.';
      out += level.key;
    }
  }
  if (!field.empty()) {
    if (!out.empty()) out += '.';
    out += field;
  }
  return out;
}

void Cursor::fail(std::string message, std::string_view field) {
  if (!failed()) error_ = Error{ErrorCode::invalid_json, std::move(message), path(field), line_at(text_, at_)};
}

void Cursor::wrong(std::string_view expected) {
  const Kind found = kind();
  if (found != Kind::nothing) return fail("expected " + std::string(expected) + ", found " + std::string(name(found)));
  if (at_ >= text_.size()) return fail("ends where " + std::string(expected) + " should stand");
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
    if (text_.substr(at_, word.size()) == word) return fail(std::string(word) + " is not JSON");
  }
  fail("is not JSON: expected " + std::string(expected));
}

bool Cursor::open(Kind kind_wanted) {
  if (failed()) return false;
  if (kind() != kind_wanted) {
    wrong(name(kind_wanted));
    return false;
  }
  if (++depth_ > max_depth) {
    fail("is nested deeper than " + std::to_string(max_depth) + " levels");
    return false;
  }
  ++at_;
  return true;
}

bool Cursor::next(char close, bool first) {
  blanks();
  if (at_ >= text_.size()) {
    fail("is cut off");
    return false;
  }
  if (text_[at_] == close) {
    ++at_;
    return false;
  }
  if (first) return true;
  if (text_[at_] != ',') {
    fail(std::string("is not JSON: expected \",\" or \"") + close + "\"");
    return false;
  }
  ++at_;
  return true;
}

std::string_view Cursor::member(std::string& decoded) {
  if (kind() != Kind::string) {
    wrong("a field's name");
    return {};
  }
  std::string_view key;
  bool escaped = false;
  if (!scan_string(key, escaped)) return {};
  if (escaped) {
    decoded = unescaped(key);
    key = decoded;
  }
  blanks();
  if (at_ >= text_.size() || text_[at_] != ':') {
    fail(at_ >= text_.size() ? "is cut off" : "is not JSON: expected \":\" after a field's name");
    return {};
  }
  ++at_;
  return key;
}

bool Cursor::scan_string(std::string_view& body, bool& escaped) {
  const std::size_t start = ++at_;
  bool ascii = true;
  escaped = false;
  const char* const bytes = text_.data();
  const std::size_t size = text_.size();
  while (true) {
    while (at_ < size && !special[static_cast<unsigned char>(bytes[at_])]) ++at_;
    if (at_ >= size) break;
    const char c = bytes[at_];
    if (c == '"') {
      body = text_.substr(start, at_ - start);
      if (!ascii) {
        if (const auto bad = text::first_invalid(body)) {
          at_ = start + *bad;
          fail("is not UTF-8");
          return false;
        }
      }
      ++at_;
      return true;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      fail("is not JSON: a control character stands unescaped in a string");
      return false;
    }
    if (byte >= 0x80) ascii = false;
    ++at_;
    if (c != '\\') continue;
    escaped = true;
    if (at_ >= text_.size()) break;
    const char kind = text_[at_++];
    if (kind != 'u') {
      if (std::string_view("\"\\/bfnrt").find(kind) != std::string_view::npos) continue;
      fail("is not JSON: an unknown escape in a string");
      return false;
    }
    const auto hex = [&](std::size_t at) {
      if (at + 4 > text_.size()) return false;
      return std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(at), text_.begin() + static_cast<std::ptrdiff_t>(at + 4),
                         [](char x) { return hexadecimal(x) >= 0; });
    };
    if (!hex(at_)) {
      fail("is not JSON: \\u needs four hexadecimal digits");
      return false;
    }
    const char32_t value = unit(text_, at_);
    at_ += 4;
    if (value < 0xd800 || value > 0xdfff) continue;
    const bool paired = value < 0xdc00 && text_.substr(at_, 2) == "\\u" && hex(at_ + 2) && unit(text_, at_ + 2) >= 0xdc00 && unit(text_, at_ + 2) <= 0xdfff;
    if (!paired) {
      fail("holds half of a surrogate pair, which is no character");
      return false;
    }
    at_ += 6;
  }
  fail("is cut off within a string");
  return false;
}

std::string Cursor::string() {
  if (failed()) return {};
  if (kind() != Kind::string) {
    wrong("a string");
    return {};
  }
  std::string_view body;
  bool escaped = false;
  if (!scan_string(body, escaped)) return {};
  return escaped ? unescaped(body) : std::string(body);
}

void Cursor::skip_word(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return fail("is not JSON: expected " + std::string(word));
  at_ += word.size();
}

bool Cursor::boolean() {
  if (failed()) return false;
  if (kind() != Kind::boolean) {
    wrong("true or false");
    return false;
  }
  const bool value = text_[at_] == 't';
  skip_word(value ? "true" : "false");
  return value;
}

bool Cursor::take_null() {
  if (failed() || kind() != Kind::null) return false;
  skip_word("null");
  return !failed();
}

void Cursor::skip_number() {
  const std::size_t start = at_;
  const auto digits = [&] {
    const std::size_t from = at_;
    while (at_ < text_.size() && digit(text_[at_])) ++at_;
    return at_ > from;
  };
  bool formed = true, scaled = false;
  if (text_[at_] == '-') ++at_;
  if (at_ < text_.size() && text_[at_] == '0') {
    ++at_;
  } else {
    formed = digits();
  }
  if (formed && at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    formed = digits();
  }
  if (formed && at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    scaled = true;
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    formed = digits();
  }
  if (!formed) {
    at_ = start;
    if (text_.substr(start, 9) == "-Infinity") return fail("-Infinity is not JSON");
    return fail("is not JSON: a malformed number");
  }
  // Without an exponent only more digits than 1e308 has go beyond double.
  constexpr std::size_t surely_finite = 300;
  if ((scaled || at_ - start > surely_finite) && !std::isfinite(to_double(text_.substr(start, at_ - start)))) {
    fail("is a number beyond double: " + std::string(text_.substr(start, std::min<std::size_t>(at_ - start, 40))));
  }
}

double Cursor::number() {
  if (failed()) return 0;
  if (kind() != Kind::number) {
    wrong("a number");
    return 0;
  }
  const std::size_t start = at_;
  skip_number();
  return failed() ? 0 : to_double(text_.substr(start, at_ - start));
}

std::uint64_t Cursor::count(std::uint64_t most) {
  const double value = number();
  if (failed()) return 0;
  if (value < 0 || value > static_cast<double>(most) || value != std::floor(value)) {
    fail("expected a whole number from 0 to " + std::to_string(most));
    return 0;
  }
  return static_cast<std::uint64_t>(value);
}

void Cursor::skip_value() {
  // Written as a loop, so that a document can't choose how deep the stack grows.
  std::array<char, max_depth> open_ones;
  std::size_t depth = 0;
  bool first = false;
  const auto key = [&] {
    blanks();
    if (at_ >= text_.size()) return fail("is cut off");
    if (text_[at_] != '"') return fail("is not JSON: expected a field's name");
    std::string_view body;
    bool escaped = false;
    if (!scan_string(body, escaped)) return;
    blanks();
    if (at_ >= text_.size() || text_[at_] != ':') return fail(at_ >= text_.size() ? "is cut off" : "is not JSON: expected \":\" after a field's name");
    ++at_;
  };
  do {
    if (depth > 0) {
      if (!next(open_ones[depth - 1], first)) {
        if (failed()) return;
        --depth;
        first = false;
        continue;
      }
      if (open_ones[depth - 1] == '}') key();
      if (failed()) return;
      first = false;
    }
    switch (kind()) {
      case Kind::null: skip_word("null"); break;
      case Kind::boolean: skip_word(text_[at_] == 't' ? "true" : "false"); break;
      case Kind::number: skip_number(); break;
      case Kind::string: {
        std::string_view body;
        bool escaped = false;
        scan_string(body, escaped);
        break;
      }
      case Kind::array:
      case Kind::object:
        if (depth_ + depth + 1 > max_depth) return fail("is nested deeper than " + std::to_string(max_depth) + " levels");
        open_ones[depth++] = text_[at_] == '[' ? ']' : '}';
        ++at_;
        first = true;
        break;
      case Kind::nothing: return wrong("a value");
    }
    if (failed()) return;
  } while (depth > 0);
}

std::string_view Cursor::raw() {
  if (failed()) return {};
  blanks();
  const std::size_t start = at_;
  skip_value();
  return failed() ? std::string_view{} : text_.substr(start, at_ - start);
}

bool Cursor::more() noexcept {
  blanks();
  return at_ < text_.size();
}

void Cursor::finish() {
  if (!failed() && more()) fail("is not JSON: something stands after the value");
}

}  // namespace polygraph::json
