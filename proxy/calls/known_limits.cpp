#include "proxy/calls/known_limits.hpp"

#include <nlohmann/json.hpp>

#include "proxy/upstream/reply_json.hpp"

namespace polygraph::proxy {

ModelLimits with_named(const ModelLimits& base, const RateLimits& named) {
  ModelLimits limits = base;
  auto& requests = named.requests_of_minute ? limits.requests_per_minute : limits.requests_per_day;
  auto& others = named.requests_of_minute ? limits.requests_per_day : limits.requests_per_minute;
  const bool another_tier = (named.limit_requests && *named.limit_requests > requests) || (named.limit_tokens && *named.limit_tokens > limits.tokens_per_minute);
  if (another_tier) {
    others = no_limits.requests_per_day;
    limits.tokens_per_day = no_limits.tokens_per_day;
  }
  if (named.limit_requests && *named.limit_requests > 0) requests = *named.limit_requests;
  if (named.limit_tokens && *named.limit_tokens > 0) limits.tokens_per_minute = *named.limit_tokens;
  return limits;
}

std::string limits_key(std::string_view model) { return "limits of " + std::string(model); }

std::string write_limits(const ModelLimits& limits) {
  return nlohmann::json{{"requests_per_minute", limits.requests_per_minute},
                        {"requests_per_day", limits.requests_per_day},
                        {"tokens_per_minute", limits.tokens_per_minute},
                        {"tokens_per_day", limits.tokens_per_day}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ModelLimits read_limits(std::string_view text, const ModelLimits& otherwise) {
  const auto json = reply_json::parsed(text);
  const auto rpm = reply_json::count_member(json, "requests_per_minute"), rpd = reply_json::count_member(json, "requests_per_day"),
             tpm = reply_json::count_member(json, "tokens_per_minute"), tpd = reply_json::count_member(json, "tokens_per_day");
  if (!rpm || !rpd || !tpm || !tpd) return otherwise;
  return {*rpm, *rpd, *tpm, *tpd};
}

}  // namespace polygraph::proxy
