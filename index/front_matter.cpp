#include "index/front_matter.hpp"

#include <algorithm>

#include <yaml-cpp/yaml.h>

namespace polygraph::corpus {
namespace {

/// The offset of the line behind a closing line that is exactly `fence`, and where that line begins.
bool find_closing(std::string_view text, std::size_t from, std::string_view fence, std::size_t& inner_end, std::size_t& body) {
  for (std::size_t begin = from; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (line == fence) {
      inner_end = begin;
      body = std::min(end + 1, text.size());
      return true;
    }
    begin = end + 1;
  }
  return false;
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
}

void read_yaml(const std::string& yaml, FrontMatter& front) {
  try {
    const YAML::Node root = YAML::Load(yaml);
    if (root.IsNull()) return;
    if (!root.IsMap()) {
      front.problem = "its front matter is not a YAML mapping";
      return;
    }
    for (const auto& entry : root) {
      if (!entry.first.IsScalar() || !entry.second.IsScalar()) continue;
      front.params.insert_or_assign(entry.first.Scalar(), entry.second.Scalar());
    }
  } catch (const YAML::Exception& error) {
    front.problem = "its front matter is not valid YAML (line " + std::to_string(error.mark.line + 2) + ": " + error.msg + ")";
    return;
  }
  const auto value = [&](const char* key) {
    const auto found = front.params.find(key);
    return found == front.params.end() ? std::string() : one_line(found->second);
  };
  front.title = value("title");
  front.description = value("description");
  const std::string url = value("url");
  if (url.starts_with("https://") || url.starts_with("http://")) front.url = url;
}

}  // namespace

FrontMatterSplit split_front_matter(std::string_view text) {
  FrontMatterSplit result;
  result.body = text;
  for (const std::string_view fence : {"---", "+++"}) {
    if (!text.starts_with(fence)) continue;
    const std::size_t line_end = text.find('\n');
    if (line_end == std::string_view::npos || text.substr(3, line_end - 3).find_first_not_of(" \t") != std::string_view::npos) continue;
    std::size_t inner_end = 0, body = 0;
    if (!find_closing(text, line_end + 1, fence, inner_end, body)) continue;  // a thematic break, not front matter
    result.body = text.substr(body);
    result.body_line = 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(body), '\n'));
    if (fence == "---") {
      read_yaml(std::string(text.substr(line_end + 1, inner_end - line_end - 1)), result.front);
    } else {
      result.front.problem = "its front matter is TOML, which is not read; its title is taken from the first heading";
    }
    break;
  }
  return result;
}

}  // namespace polygraph::corpus
