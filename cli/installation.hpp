// The files that are built beside the program: the model worker, the engine in WebAssembly, the site.
#pragma once

#include <filesystem>

#include "cli/settings.hpp"

namespace polygraph::cli {

/// POLYGRAPH_DIST, or the `dist` folder nearest above the program; `dist` in the current folder where there is none.
std::filesystem::path distribution(const Settings& settings);

/// assets/ of the checkout that the program was built in.
std::filesystem::path assets(const Settings& settings);

/// POLYGRAPH_NODE, or `node`.
std::string node_program(const Settings& settings);

}  // namespace polygraph::cli
