// Settings come from an option, the environment, a `.env` file in the current folder, or a default, in this order.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/agent/config.hpp"
#include "wasm/error.hpp"

namespace polygraph::cli {

struct SettingValue {
  std::string value;
  std::string source;  ///< `option`, `environment`, `.env`, `default`
};

class Settings {
 public:
  /// Reads the environment and `env_file` (which may be missing). Fails with `invalid_json` and a line on a `.env` line
  /// that is not NAME=value.
  static Result<Settings> load(const std::filesystem::path& env_file = ".env");

  /// `name=value`, from an option: the agent's, and known settings that are no secret. Fails with `invalid_argument`.
  Result<void> set(std::string_view assignment);

  /// Empty value and source `default` where the name is not set anywhere.
  SettingValue get(const std::string& name) const;

  /// Where models, caches and built indexes are kept: POLYGRAPH_DIR, or `polygraph` in the user's cache folder.
  std::filesystem::path home() const;

  /// The preset with every agent option that is set anywhere applied to it. Fails with `invalid_argument` naming the
  /// setting, its source and what is allowed.
  Result<agent::Config> agent_config(const std::string& preset) const;

 private:
  std::map<std::string, std::string, std::less<>> options_, environment_, file_;
};

/// Values of PROVIDER that name an endpoint asked with the user's own key.
std::span<const std::string_view> llm_providers() noexcept;
bool is_llm_provider(std::string_view name) noexcept;

/// A setting that `config` lists beside the agent's.
struct KnownSetting {
  std::string_view name, meaning, fallback;
  bool secret = false;  ///< never printed, never an option
  bool option = false;  ///< `--set` takes it beside the agent's
};
const std::vector<KnownSetting>& known_settings();

}  // namespace polygraph::cli
