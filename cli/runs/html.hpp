// A report as a page of its own: one file that opens without a network.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "cli/settings.hpp"
#include "wasm/error.hpp"
#include "wasm/json/writer.hpp"

namespace polygraph::cli {

/// Writes `out`: the page `report.html` of the distribution with the document that `write` gives inside. Fails with `not_found`
/// where the page was not built, and `io`.
Result<void> write_report_page(const Settings& settings, const std::function<void(json::Writer&)>& write, const std::filesystem::path& out);

}  // namespace polygraph::cli
