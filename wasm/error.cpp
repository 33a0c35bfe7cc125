#include "wasm/error.hpp"

#include <array>

namespace polygraph {
namespace {

constexpr std::array<std::string_view, 14> names = {
    "invalid_argument", "invalid_text", "invalid_json", "unsupported_version", "corrupt",         "truncated",   "mismatch",
    "not_found",        "diverged",     "model_unavailable", "provider_failed", "quota_spent", "io", "internal",
};
static_assert(names.size() == static_cast<std::size_t>(ErrorCode::internal) + 1);

}  // namespace

std::string_view name(ErrorCode code) noexcept { return names[static_cast<std::size_t>(code)]; }

ErrorCode error_code(std::string_view wanted) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == wanted) return static_cast<ErrorCode>(i);
  }
  return ErrorCode::internal;
}

}  // namespace polygraph
