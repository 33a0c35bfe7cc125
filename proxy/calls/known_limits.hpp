// What is known of a model's limits: those that were set, and those that its endpoint's answers named.
//
// Named ones are kept in the store's cache under a key that no digest has, so that the next program and `usage` know them;
// when they are dropped there, the next answer names them again.
#pragma once

#include <string>
#include <string_view>

#include "proxy/store/store.hpp"
#include "proxy/upstream/chat_client.hpp"

namespace polygraph::proxy {

/// No limit.
constexpr ModelLimits no_limits{1'000'000'000'000, 1'000'000'000'000, 1'000'000'000'000, 1'000'000'000'000};
constexpr bool is_limit(std::uint64_t value) { return value < no_limits.requests_per_day; }

/// `base` with what an answer named. An endpoint that names more than was set is another tier than was thought of, and what
/// it does not name is then unknown.
ModelLimits with_named(const ModelLimits& base, const RateLimits& named);

std::string limits_key(std::string_view model);
std::string write_limits(const ModelLimits& limits);
/// `otherwise` for text that is none.
ModelLimits read_limits(std::string_view text, const ModelLimits& otherwise);

}  // namespace polygraph::proxy
