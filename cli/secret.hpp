// Keys, from the environment, `.env` or a file that one of them names; never from the command line.
#pragma once

#include <string>

#include "cli/settings.hpp"
#include "wasm/error.hpp"

namespace polygraph::cli {

/// A key, and the variable that it came from.
struct Secret {
  std::string value, variable;
};

/// The value of `name`, or the content of the file that NAME_FILE names, without the white space around it; empty where
/// neither is set. Fails with the variable as its field when the file can't be read or holds nothing.
Result<Secret> secret(const Settings& settings, const std::string& name);

}  // namespace polygraph::cli
