// Files that a reader never meets half written.
#pragma once

#include <filesystem>
#include <string_view>

#include "wasm/error.hpp"

namespace polygraph::cli {

/// Writes beside `file`, then renames; "-" is stdout. Fails with `io`; what stood there before is left as it was.
Result<void> write_whole(const std::filesystem::path& file, std::string_view text);

}  // namespace polygraph::cli
