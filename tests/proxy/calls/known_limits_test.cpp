#include "proxy/calls/known_limits.hpp"

#include <gtest/gtest.h>

namespace polygraph::proxy {
namespace {

TEST(KnownLimits, AreThoseThatTheEndpointNamed) {
  RateLimits named;
  named.limit_requests = 500;
  named.limit_tokens = 6000;
  const auto limits = with_named(ModelLimits{}, named);
  EXPECT_EQ(limits.requests_per_day, 500U);
  EXPECT_EQ(limits.tokens_per_minute, 6000U);
  EXPECT_EQ(limits.requests_per_minute, 30U) << "was not named";
}

TEST(KnownLimits, OfAnotherTierLeaveWhatWasNotNamedUnknown) {
  RateLimits named;
  named.limit_requests = 500'000;
  named.limit_tokens = 250'000;
  const auto limits = with_named(ModelLimits{}, named);
  EXPECT_EQ(limits.requests_per_day, 500'000U);
  EXPECT_FALSE(is_limit(limits.requests_per_minute));
  EXPECT_FALSE(is_limit(limits.tokens_per_day));
}

TEST(KnownLimits, MayBeOfAMinute) {
  RateLimits named;
  named.limit_requests = 50;
  named.requests_of_minute = true;
  const auto limits = with_named(no_limits, named);
  EXPECT_EQ(limits.requests_per_minute, 50U);
  EXPECT_FALSE(is_limit(limits.requests_per_day));
}

TEST(KnownLimits, SurviveBeingKept) {
  const auto kept = read_limits(write_limits({1, 2, 3, no_limits.tokens_per_day}), ModelLimits{});
  EXPECT_EQ(kept.requests_per_minute, 1U);
  EXPECT_EQ(kept.tokens_per_minute, 3U);
  EXPECT_FALSE(is_limit(kept.tokens_per_day));
  EXPECT_EQ(read_limits("junk", ModelLimits{}).requests_per_minute, 30U);
}

}  // namespace
}  // namespace polygraph::proxy
