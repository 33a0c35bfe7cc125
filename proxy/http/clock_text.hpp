// The time of day as text, for the Date field and for logs. Formatting is paid once a second, not once an answer.
#pragma once

#include <string>
#include <string_view>

namespace polygraph::http {

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7). Valid until the next call on the same thread.
std::string_view http_date();
/// Appends `1994-11-06T08:49:37.123Z`.
void append_iso_time(std::string& out);

}  // namespace polygraph::http
