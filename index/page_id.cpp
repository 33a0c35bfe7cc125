#include "index/page_id.hpp"

#include <algorithm>
#include <vector>

namespace polygraph::corpus {

std::string normal_path(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (parts.empty()) return {};
      parts.pop_back();
      continue;
    }
    parts.push_back(part);
  }
  std::string out;
  for (const std::string_view part : parts) {
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

std::string url_path(std::string_view path) {
  constexpr std::string_view allowed = "-._~!$&'()*+,;=:@/";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || allowed.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string with_slash(std::string url) {
  if (!url.empty() && !url.ends_with('/')) url += '/';
  return url;
}

std::optional<std::string> absolute_link(std::string_view target) {
  for (const std::string_view scheme : {"https://", "http://", "mailto:"}) {
    if (target.starts_with(scheme)) return std::string(target);
  }
  if (target.starts_with("//")) return "https:" + std::string(target);
  const std::size_t colon = target.find(':');
  if (colon != std::string_view::npos && colon < target.find_first_of("/?#")) return std::string();
  return std::nullopt;
}

}  // namespace polygraph::corpus
