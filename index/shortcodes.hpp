// Hugo shortcodes, resolved in the text of a page before its Markdown is parsed.
//
// `include` inserts a file, `param` a value, `tab` (and a titled `accordion`) its name as a line; every other shortcode is
// dropped and what stands between its tags is kept. https://gohugo.io/content-management/shortcodes/
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace polygraph::corpus {

struct ShortcodeCounts {
  std::size_t resolved = 0;
  std::map<std::string, std::size_t> dropped;  ///< by name: their tags were dropped, their inner text was kept
  std::vector<std::string> unresolved;         ///< "line 12: …": an include or param that names nothing, a tag that never ends
};

struct ShortcodeContext {
  /// The text of an include, without front matter; nothing when there is no such file.
  std::function<std::optional<std::string>(std::string_view name)> include;
  /// A parameter of the page or the site.
  std::function<std::optional<std::string>(std::string_view name)> param;
};

/// An include inside an include is followed this deep; a deeper one (or a cycle) counts as unresolved.
inline constexpr int include_depth_limit = 8;

/// `text` with its shortcodes resolved. `first_line` is the line on which it begins in its file, for messages.
std::string resolve_shortcodes(std::string_view text, const ShortcodeContext& context, ShortcodeCounts& counts,
                               std::size_t first_line = 1);

}  // namespace polygraph::corpus
