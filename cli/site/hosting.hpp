// What a host of an exported site should send beside the files, in the forms that hosts read. The pages work without any of
// it; with it they are isolated from the first visit on, cached for as long as they hold, and sent compressed.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace polygraph::cli::site {

/// Relative path -> content: `_headers` (Netlify, Cloudflare Pages), `hosting/nginx.conf`, `hosting/apache.htaccess`.
/// `base` begins and ends with a slash; `pages` are the paths whose names stay the same in every version; `policy` is their
/// Content-Security-Policy.
std::map<std::string, std::string> hosting_files(const std::string& base, const std::vector<std::string>& pages, const std::string& policy);

}  // namespace polygraph::cli::site
