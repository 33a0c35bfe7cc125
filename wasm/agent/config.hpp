// The agent's configuration: one set of names in the page, the command line and the environment.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wasm/error.hpp"
#include "wasm/retrieval/config.hpp"

namespace polygraph::agent {

enum class Provider : std::uint8_t { extractive, proxy, openai_compatible };

struct Config {
  retrieval::Config retrieval;
  bool use_reflection = true;
  std::uint32_t max_rewrites = 2;
  std::uint32_t top_k = 4;
  Provider provider = Provider::extractive;

  bool operator==(const Config&) const = default;
};

/// `baseline`, `hybrid`, `hybrid_rerank`, `full` (the ablations: RRF, the reranker's own order) and `tuned` (the default).
std::span<const std::string_view> preset_names() noexcept;
/// Fails with `invalid_argument` naming what is allowed.
Result<Config> preset(std::string_view name);

/// Sets one option by its name (`TOP_K`, `RETRIEVAL_MODE` …, case does not count). Fails with `invalid_argument`;
/// `field` is the name, the message lists what is allowed.
Result<void> set(Config& config, std::string_view name, std::string_view value);
/// The names that `set` accepts, in the order of documentation.
std::span<const std::string_view> option_names() noexcept;
/// An option's value as `set` would accept it.
Result<std::string> get(const Config& config, std::string_view name);

}  // namespace polygraph::agent
