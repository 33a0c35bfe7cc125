// Ids and paths of pages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wasm/index/page_id.hpp"

namespace polygraph::corpus {

using index::page_id;
using index::page_id_of_reference;
using index::without_extension;

/// `a/b/../c` -> `a/c`. A path that climbs out of its root comes back empty.
std::string normal_path(std::string_view path);

/// A path as it stands in a URL: whatever is neither unreserved nor allowed in a path segment (RFC 3986, 3.3) is
/// percent-encoded, byte by byte; slashes stay.
std::string url_path(std::string_view path);

/// A URL that ends in a slash; an empty one stays empty.
std::string with_slash(std::string url);

/// A link target that is complete by itself: the web and mail as they are, `//host/` with https, and empty for any other
/// scheme, since a `javascript:` link must not reach a page. Nothing for a target relative to its page.
std::optional<std::string> absolute_link(std::string_view target);

}  // namespace polygraph::corpus
