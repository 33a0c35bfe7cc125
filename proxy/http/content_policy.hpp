// The Content-Security-Policy of the site's pages: what the server sends with every answer, and an exported page carries itself.
#pragma once

#include <string>
#include <string_view>

namespace polygraph::http {

/// Everything comes from the page's own host, which it may connect to beside `connect_endpoints` (space-separated origins).
/// `inline_sources` ('sha256-…', space-separated): scripts and style sheets that stand in a page itself. Without
/// frame-ancestors, which counts in a header only.
std::string content_policy(std::string_view connect_endpoints, std::string_view inline_sources = {});

}  // namespace polygraph::http
