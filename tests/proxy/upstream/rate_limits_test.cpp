#include "proxy/upstream/rate_limits.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace polygraph::proxy {
namespace {

using std::chrono::milliseconds;

TEST(RateLimitSpan, ReadsWhatEndpointsSend) {
  const std::vector<std::pair<std::string, int>> spans = {
      {"2m59.56s", 179'560}, {"7.66s", 7'660}, {"250ms", 250}, {"1h2m", 3'720'000}, {"0s", 0}, {"0", 0}, {"6m0s", 360'000}, {"20h30m", 73'800'000},
      {"1h0m0.001s", 3'600'001}, {"1.5h", 5'400'000}, {"1d", 86'400'000}, {"86400s", 86'400'000}, {"1m250ms", 60'250}};
  for (const auto& [text, expected] : spans) EXPECT_EQ(read_span(text), milliseconds(expected)) << text;
}

TEST(RateLimitSpan, IsRoundedUpSoThatNobodyWaitsTooShort) {
  EXPECT_EQ(read_span("1ns"), milliseconds(1));
  EXPECT_EQ(read_span("120\xc2\xb5s"), milliseconds(1));
  EXPECT_EQ(read_span("1000us"), milliseconds(1));
  EXPECT_EQ(read_span("1000us1ns"), milliseconds(2));
  EXPECT_EQ(read_span("1.0000000001s"), milliseconds(1001));
}

TEST(RateLimitSpan, ReadsNothingElse) {
  for (const auto* text : {"", " ", "1", "s", "1.s", ".5s", "-1s", "+1s", "1 s", "1s ", "1x", "1s1m", "1s1s", "1m1h", "1e3s", "1,5s", "1.2.3s", "nan", "inf",
                           "0x1s", "99999999999999999999s", "9999999999999h", "367d", "366d1s", "1.5", "ms", "1\xb5s"}) {
    EXPECT_EQ(read_span(text), std::nullopt) << text;
  }
  EXPECT_EQ(read_span("1." + std::string(100, '0') + "s"), std::nullopt);
}

TEST(RetryAfter, IsSeconds) {
  EXPECT_EQ(read_retry_after("7"), milliseconds(7000));
  EXPECT_EQ(read_retry_after("0"), milliseconds(0));
  EXPECT_EQ(read_retry_after("1.5"), milliseconds(1500));
  for (const auto* text : {"", "7s", "-7", " 7", "Mon, 30 Nov 2026 10:00:00 GMT", "99999999999999999999", "1e9", "40000000"}) {
    EXPECT_EQ(read_retry_after(text), std::nullopt) << text;
  }
}

TEST(RateLimits, AreReadFromTheirFieldsAndADoubledFieldSaysNothing) {
  const std::vector<Field> fields = {{"X-RateLimit-Remaining-Requests", "0"}, {"x-ratelimit-remaining-tokens", "7000"}, {"x-ratelimit-reset-requests", "2m59.56s"},
                                     {"x-ratelimit-reset-tokens", "soon"}, {"Retry-After", "7"}, {"x-ratelimit-limit-tokens", "8000"}};
  const auto limits = read_rate_limits(fields);
  EXPECT_EQ(limits.remaining_requests, 0U);
  EXPECT_EQ(limits.remaining_tokens, 7000U);
  EXPECT_EQ(limits.reset_requests, milliseconds(179'560));
  EXPECT_EQ(limits.reset_tokens, std::nullopt);
  EXPECT_EQ(limits.retry_after, milliseconds(7000));
  EXPECT_EQ(read_rate_limits(std::vector<Field>{{"retry-after", "7"}, {"Retry-After", "7"}}).retry_after, std::nullopt);
  for (const auto* text : {"-1", "1.5", "many", "", "18446744073709551616", "1 "}) {
    EXPECT_EQ(read_rate_limits(std::vector<Field>{{"x-ratelimit-remaining-tokens", text}}).remaining_tokens, std::nullopt) << text;
  }
}

TEST(NamedLimit, IsTheOneInParenthesesWhateverTheAdvertisingSays) {
  const std::string begin = "Rate limit reached for model `m` in organization `org_1` on ", end =
      ": Limit 30, Used 30, Requested 1. Please try again in 2s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing "
      "for more tokens per minute and requests per day";
  EXPECT_EQ(named_limit(begin + "requests per minute (RPM)" + end), UpstreamLimit::requests_minute);
  EXPECT_EQ(named_limit(begin + "requests per day (RPD)" + end), UpstreamLimit::requests_day);
  EXPECT_EQ(named_limit(begin + "tokens per minute (TPM)" + end), UpstreamLimit::tokens_minute);
  EXPECT_EQ(named_limit(begin + "tokens per day (TPD)" + end), UpstreamLimit::tokens_day);
  EXPECT_EQ(named_limit(begin + "seconds of audio per hour (ASH)" + end), UpstreamLimit::unknown);
  EXPECT_EQ(named_limit("too many tokens per minute, TPM, (tpm), (TPM"), UpstreamLimit::unknown);
  EXPECT_EQ(named_limit(""), UpstreamLimit::unknown);
}

TEST(TooLarge, IsSaidAtTheBeginning) {
  EXPECT_TRUE(says_too_large("Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7000"));
  EXPECT_FALSE(says_too_large("Rate limit reached (TPM). Is your request too large for this tier? Upgrade!"));
  EXPECT_FALSE(says_too_large(""));
}

}  // namespace
}  // namespace polygraph::proxy
