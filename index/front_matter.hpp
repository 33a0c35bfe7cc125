// The YAML front matter of a Markdown page.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace polygraph::corpus {

struct FrontMatter {
  std::string title;
  std::string description;
  std::string url;                            ///< only an absolute http(s) URL
  std::map<std::string, std::string> params;  ///< every scalar at the top level: what the `param` shortcode may name
  std::string problem;                        ///< why it could not be read; the body is used all the same
};

struct FrontMatterSplit {
  FrontMatter front;
  std::string_view body;       ///< views the text that was split
  std::size_t body_line = 1;   ///< 1-based line on which the body begins
};

/// Splits `---` front matter (YAML) from its page. TOML front matter (`+++`) is left out and reported in `problem`; a text
/// without front matter is all body. Line ends must be `\n`.
FrontMatterSplit split_front_matter(std::string_view text);

}  // namespace polygraph::corpus
