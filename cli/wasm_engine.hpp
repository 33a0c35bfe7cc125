// The compiled WebAssembly engine, run in Node.js: what the browser runs, checked from the command line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cli/settings.hpp"
#include "wasm/error.hpp"

namespace polygraph::cli {

/// Replays one trace in the WebAssembly engine. The engine's JSON reply: `{"identical", "difference", "step", "effect", …}`. Fails with `io` and the
/// engine's words where it can't read the index or the trace.
Result<std::string> run_wasm_replay(const Settings& settings, const std::filesystem::path& index, std::string_view trace);

}  // namespace polygraph::cli
