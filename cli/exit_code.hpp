// What the program's exit status says.
#pragma once

#include "wasm/error.hpp"

namespace polygraph::cli {

enum class ExitCode : int {
  done = 0,
  check_failed = 1,    ///< gate, validate, index check, replay: the check itself ran and failed
  wrong_use = 2,
  unreadable = 3,      ///< input that can't be read; the message has file, line and field
  quota_spent = 4,     ///< continue later
  model_or_network = 5,
  interrupted = 130,   ///< by SIGINT; everything finished is saved
};

/// The status for an error that ends a command.
constexpr ExitCode exit_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return ExitCode::wrong_use;
    case ErrorCode::diverged: return ExitCode::check_failed;
    case ErrorCode::quota_spent: return ExitCode::quota_spent;
    case ErrorCode::model_unavailable:
    case ErrorCode::provider_failed:
    case ErrorCode::internal: return ExitCode::model_or_network;
    case ErrorCode::invalid_text:
    case ErrorCode::invalid_json:
    case ErrorCode::unsupported_version:
    case ErrorCode::corrupt:
    case ErrorCode::truncated:
    case ErrorCode::mismatch:
    case ErrorCode::not_found:
    case ErrorCode::io: return ExitCode::unreadable;
  }
  return ExitCode::model_or_network;
}

}  // namespace polygraph::cli
