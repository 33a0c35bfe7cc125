// The first retrieval of questions as the page makes it: in headless Chromium, with the built site's engine and models.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/settings.hpp"
#include "wasm/agent/config.hpp"
#include "wasm/error.hpp"

namespace polygraph::cli {

struct Chromium {
  std::string version;
  unsigned threads = 0;  ///< that its models run on
};

/// Hands `on_trace` one trace after the other, in the order of `questions`; false ends it early. Each holds the first retrieval
/// under `config` and nothing behind it. `models`: whether the configuration needs them. Fails with `model_unavailable` where Node,
/// Chromium or the built site is missing, and with what Chromium said.
Result<Chromium> retrieve_in_chromium(const Settings& settings, const std::filesystem::path& index, const agent::Config& config, bool models,
                                      std::span<const std::string> questions, const std::function<Result<bool>(std::string_view trace)>& on_trace);

}  // namespace polygraph::cli
