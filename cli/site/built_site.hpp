// The site as web/build.mjs makes it, and the three places in its files that an export writes anew: the site's record (in
// site.json and, escaped, in the pages), the service worker's list, and the policy.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::cli::site {

struct BuiltSite {
  std::filesystem::path folder;
  nlohmann::ordered_json record;   ///< site.json: every file that the pages load, by its hashed name
  nlohmann::ordered_json offline;  ///< what the service worker keeps
  std::vector<std::string> files;  ///< relative paths in their order, without the compressed variants

  std::string version() const { return record.at("version"); }
};

/// Fails with `not_found` where no site was built, `invalid_json` or `corrupt` where its parts don't fit, `field` naming the file.
Result<BuiltSite> read_built_site(const std::filesystem::path& folder);

/// The page with `record` in place of the one that it carries. A page without one stays as it is.
std::string with_record(std::string page, const nlohmann::ordered_json& record);
/// The service worker with `offline` in place of its list.
std::string with_offline(const std::string& worker, const nlohmann::ordered_json& offline);
/// The page with `policy` (a Content-Security-Policy) in it; a page that has its own keeps it.
std::string with_policy(std::string page, std::string_view policy);

std::string replaced(std::string text, std::string_view old, std::string_view with);

}  // namespace polygraph::cli::site
