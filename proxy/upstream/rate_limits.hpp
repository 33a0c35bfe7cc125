// What an endpoint says about its limits: the fields of every answer, and the message of a 429.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "proxy/upstream/chat_client.hpp"

namespace polygraph::proxy {

/// A span as Go writes it, as these endpoints do: `2m59.56s`, `7.66s`, `250ms`, `1h2m`, `0s`. Units fall from left to
/// right. Rounded up to a millisecond, so that nobody waits too short. Nothing for any other text, or more than 366 days.
std::optional<std::chrono::milliseconds> read_span(std::string_view text);

/// `retry-after` in seconds, also with a fraction. A date (RFC 9110 §10.2.3) is nothing: these endpoints send none, and
/// their clocks are not ours.
std::optional<std::chrono::milliseconds> read_retry_after(std::string_view text);

/// A time as HTTP's Date field writes it, and one of RFC 3339 in UTC, without its fraction.
std::optional<std::chrono::sys_seconds> read_http_date(std::string_view text);
std::optional<std::chrono::sys_seconds> read_utc_time(std::string_view text);

/// From the Date field of an answer to a time that the same answer names: both are of one clock, which need not be ours.
std::optional<std::chrono::milliseconds> time_between(std::string_view http_date, std::string_view utc_time);

using Field = std::pair<std::string_view, std::string_view>;  ///< name and value of a header field

/// Of the fields x-ratelimit-{limit,remaining,reset}-{requests,tokens} and retry-after, in any case. One that comes twice says nothing.
RateLimits read_rate_limits(std::span<const Field> fields);

/// The limit that the message of a 429 names in parentheses. The words around it are not looked at: they hold advertising.
UpstreamLimit named_limit(std::string_view message);

/// Whether a refusal says that the request alone is larger than the limit, so that waiting can't help.
bool says_too_large(std::string_view message);

}  // namespace polygraph::proxy
