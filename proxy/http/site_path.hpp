// From a request's path to the name of a file below the site's folder. Whatever could name something else than a plain
// file in there is not found: dot segments in any encoding, dot files, folders, backslashes, NUL, encoded slashes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace polygraph::http {

/// `path` is percent-encoded and begins with `/`; the result is decoded (once), relative, and has no empty or dot
/// segment. `/` is `index.html`.
std::optional<std::string> site_path(std::string_view path);

}  // namespace polygraph::http
