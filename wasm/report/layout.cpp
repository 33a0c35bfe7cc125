#include "wasm/report/layout.hpp"

#include <algorithm>

#include "wasm/diagnosis/ranking.hpp"
#include "wasm/json/writer.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::report {

std::string one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const text::CodePoint point = text::decode(text, i);
    const char32_t c = point.value;
    const bool direction = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    if (c == '\n' || c == '\r' || c == '\t' || c == 0x2028 || c == 0x2029) {
      out += ' ';
    } else if (!point.valid || c < 0x20 || (c >= 0x7f && c < 0xa0) || direction) {
      text::append(out, 0xfffd);
    } else {
      out.append(text.substr(i, point.length));
    }
    i += point.length;
  }
  return out;
}

namespace {

/// Byte offset behind the first `count` code points.
std::size_t prefix(std::string_view text, std::size_t count) {
  std::size_t i = 0;
  for (; i < text.size() && count > 0; --count) i += text::decode(text, i).length;
  return i;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t from) {
  std::string out;
  std::size_t column = from;
  bool fresh = true;  // nothing stands on this line yet
  const auto new_line = [&] {
    out += '\n';
    out.append(indent, ' ');
    column = indent;
    fresh = true;
  };
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    const std::size_t end = std::min(text.find(' ', i), text.size());
    std::string_view word = text.substr(i, end - i);
    i = end;
    std::size_t width = text::code_points(word);
    if (!fresh && column + 1 + width > columns) new_line();
    while (column + (fresh ? 0 : 1) + width > columns) {
      const std::size_t bytes = prefix(word, columns - column);
      out.append(word.substr(0, bytes));
      word.remove_prefix(bytes);
      width = text::code_points(word);
      new_line();
    }
    if (!fresh) {
      out += ' ';
      ++column;
    }
    out.append(word);
    column += width;
    fresh = false;
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (text::code_points(text) <= width) return std::string(text);
  return std::string(text.substr(0, prefix(text, width - 1))) + "…";
}

std::string left(std::string_view text, std::size_t width) {
  const std::size_t points = text::code_points(text);
  return std::string(text) + std::string(points < width ? width - points : 0, ' ');
}

std::string right(std::string_view text, std::size_t width) {
  const std::size_t points = text::code_points(text);
  return std::string(points < width ? width - points : 0, ' ') + std::string(text);
}

std::string fixed(double value, int decimals) {
  std::string text = json::to_text(diagnosis::rounded(value, decimals));
  if (text.find('e') != std::string::npos) return text;
  std::size_t point = text.find('.');
  if (point == std::string::npos) {
    point = text.size();
    text += '.';
  }
  if (decimals == 0) return text.substr(0, point);
  text.resize(point + 1 + static_cast<std::size_t>(decimals), '0');
  return text;
}

std::string fixed(const std::optional<double>& value, int decimals) { return value ? fixed(*value, decimals) : "—"; }

std::string signed_fixed(const std::optional<double>& value, int decimals) {
  if (!value) return "—";
  const std::string text = fixed(*value, decimals);
  return diagnosis::rounded(*value, decimals) > 0 ? "+" + text : text;
}

std::string markdown(std::string_view text) {
  constexpr std::string_view special = "\\`*_{}[]()<>#+-.!|~&$:@";
  std::string out;
  for (const char c : one_line(text)) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string row(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const auto& cell : cells) out += " " + cell + " |";
  return out + "\n";
}

std::string head(const std::vector<std::string>& cells) {
  std::string out = row(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) out += i == 0 ? "---|" : "---:|";
  return out + "\n";
}

}  // namespace polygraph::report
