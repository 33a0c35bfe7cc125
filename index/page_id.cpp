#include "index/page_id.hpp"

#include <algorithm>
#include <vector>

namespace polygraph::corpus {

std::string_view without_extension(std::string_view path) noexcept {
  for (const std::string_view extension : {".md.gz", ".md", ".html"}) {
    if (path.ends_with(extension)) return path.substr(0, path.size() - extension.size());
  }
  return path;
}

std::string page_id(std::string_view path) {
  std::string_view id = without_extension(path);
  const std::size_t slash = id.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? id : id.substr(slash + 1);
  if (name == "_index" || name == "index" || name == "README") {
    return slash == std::string_view::npos ? "index" : std::string(id.substr(0, slash));
  }
  return std::string(id);
}

std::string page_id_of_reference(std::string_view reference) {
  while (reference.starts_with("./")) reference.remove_prefix(2);
  constexpr std::string_view hugo_root = "content/manuals/";
  if (reference.starts_with(hugo_root)) reference.remove_prefix(hugo_root.size());
  return page_id(reference);
}

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

}  // namespace polygraph::corpus
