// The server's settings: `PROXY_NAME` in the environment, or `--set NAME=VALUE`, which wins.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/client_address.hpp"
#include "proxy/http/limits.hpp"
#include "wasm/error.hpp"

namespace polygraph::http {

struct Settings {
  Limits limits;
  std::vector<std::string> connect_endpoints;  ///< exact origins that the page may connect to besides its own
  std::vector<std::string> allowed_origins;    ///< exact origins whose pages may read the API's answers
  TrustedProxies trusted_proxies;
};

/// A setting of the routes that the server itself knows nothing of. `apply` returns what is wrong, or nothing.
struct ExtraSetting {
  std::string name, fallback, meaning;
  std::function<std::optional<std::string>(std::string_view value)> apply;
};

/// A setting as `--help` explains it.
struct SettingHelp {
  std::string name, fallback, meaning;
};
/// Of the server itself, in the order in which they are to be read.
std::vector<SettingHelp> server_settings();

/// Looks an environment variable up by name. Injected, so that a test needs no environment.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// `overrides` are `NAME=VALUE`. Fails with invalid_argument and the setting's name as the field for an unknown name, a
/// number that is none or out of range, an endpoint that is not an exact origin.
/// `more` are read the same way.
Result<Settings> read_settings(const Environment& environment, const std::vector<std::string>& overrides, const std::vector<ExtraSetting>& more = {});

/// Scheme `http` or `https`, host, optional port, and nothing else: what may stand in a security policy as it is.
bool is_origin(std::string_view text) noexcept;

}  // namespace polygraph::http
