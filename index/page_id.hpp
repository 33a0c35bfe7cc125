// Ids and paths of pages.
#pragma once

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

}  // namespace polygraph::corpus
