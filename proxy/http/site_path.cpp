#include "proxy/http/site_path.hpp"

namespace polygraph::http {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> site_path(std::string_view path) {
  if (path == "/") return "index.html";
  if (path.empty() || path.front() != '/') return std::nullopt;
  std::string name;
  name.reserve(path.size());
  bool segment_begins = true;
  for (std::size_t i = 1; i < path.size(); ++i) {
    char c = path[i];
    if (c == '/') {
      if (segment_begins) return std::nullopt;
      segment_begins = true;
      name += '/';
      continue;
    }
    if (c == '%') {
      const int high = i + 1 < path.size() ? hex_value(path[i + 1]) : -1;
      const int low = i + 2 < path.size() ? hex_value(path[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
      if (c == '/') return std::nullopt;
    }
    if (c == '\\' || static_cast<unsigned char>(c) < ' ' || c == '\x7f') return std::nullopt;
    // Refuses "." and ".." along with every other name that begins with a dot.
    if (segment_begins && c == '.') return std::nullopt;
    segment_begins = false;
    name += c;
  }
  if (segment_begins) return std::nullopt;
  return name;
}

}  // namespace polygraph::http
