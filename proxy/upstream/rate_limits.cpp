#include "proxy/upstream/rate_limits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

namespace polygraph::proxy {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t nanoseconds_per_second = 1'000'000'000;
constexpr std::uint64_t max_nanoseconds = 366ULL * 24 * 3600 * nanoseconds_per_second;
/// The longest sound span is shorter.
constexpr std::size_t max_span_bytes = 64;

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() &&
         std::equal(text.begin(), text.end(), lower_case.begin(), [](char a, char b) { return lower(a) == b; });
}

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

/// Longer names before their beginnings. The micro sign has two code points.
constexpr std::array units = {Unit{"d", 86'400 * nanoseconds_per_second}, Unit{"h", 3'600 * nanoseconds_per_second}, Unit{"ms", 1'000'000},
                              Unit{"m", 60 * nanoseconds_per_second},     Unit{"s", nanoseconds_per_second},         Unit{"us", 1'000},
                              Unit{"\xc2\xb5s", 1'000},                   Unit{"\xce\xbcs", 1'000},                  Unit{"ns", 1}};

/// `12.5` as digits: what it is worth depends on the unit after it.
struct Number {
  std::uint64_t whole = 0;
  std::string_view fraction;
};

std::optional<Number> take_number(std::string_view& text) {
  Number number;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number.whole);
  if (read.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  if (!text.empty() && text.front() == '.') {
    const auto end = std::find_if_not(text.begin() + 1, text.end(), is_digit);
    number.fraction = text.substr(1, static_cast<std::size_t>(end - text.begin()) - 1);
    if (number.fraction.empty()) return std::nullopt;
    text.remove_prefix(number.fraction.size() + 1);
  }
  return number;
}

std::optional<std::uint64_t> nanoseconds(const Number& number, std::uint64_t unit) {
  if (number.whole > max_nanoseconds / unit) return std::nullopt;
  std::uint64_t sum = number.whole * unit;
  bool more = false;
  for (const char digit : number.fraction) {
    more = more || (unit % 10 != 0 && digit != '0');
    unit /= 10;
    sum += unit * static_cast<std::uint64_t>(digit - '0');
  }
  return sum + (more ? 1 : 0);
}

std::optional<milliseconds> rounded_up(std::uint64_t sum) {
  if (sum > max_nanoseconds) return std::nullopt;
  return milliseconds(static_cast<milliseconds::rep>((sum + 999'999) / 1'000'000));
}

std::optional<std::uint64_t> read_count(std::string_view text) {
  std::uint64_t count = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return count;
}

/// `clock` is dd:dd:dd.
std::optional<std::chrono::sys_seconds> time_of(std::string_view year, unsigned month, std::string_view day, std::string_view clock) {
  const auto y = read_count(year), d = read_count(day), h = read_count(clock.substr(0, 2)), m = read_count(clock.substr(3, 2)), s = read_count(clock.substr(6, 2));
  if (!y || !d || !h || !m || !s || *h > 23 || *m > 59 || *s > 60 || clock[2] != ':' || clock[5] != ':') return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*y)), std::chrono::month(month), std::chrono::day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*h) + std::chrono::minutes(*m) + std::chrono::seconds(*s);
}

}  // namespace

std::optional<milliseconds> read_span(std::string_view text) {
  if (text.empty() || text.size() > max_span_bytes) return std::nullopt;
  if (text == "0") return milliseconds(0);
  std::uint64_t sum = 0, last = ~std::uint64_t{0};
  while (!text.empty()) {
    const auto number = take_number(text);
    if (!number) return std::nullopt;
    const auto* unit = std::find_if(units.begin(), units.end(), [&](const Unit& each) { return text.substr(0, each.name.size()) == each.name; });
    if (unit == units.end() || unit->nanoseconds >= last) return std::nullopt;
    last = unit->nanoseconds;
    text.remove_prefix(unit->name.size());
    const auto part = nanoseconds(*number, unit->nanoseconds);
    if (!part) return std::nullopt;
    sum += *part;
  }
  return rounded_up(sum);
}

std::optional<milliseconds> read_retry_after(std::string_view text) {
  if (text.size() > max_span_bytes) return std::nullopt;
  const auto number = take_number(text);
  if (!number || !text.empty()) return std::nullopt;
  const auto sum = nanoseconds(*number, nanoseconds_per_second);
  return sum ? rounded_up(*sum) : std::nullopt;
}

std::optional<milliseconds> time_between(std::string_view date, std::string_view time) {
  const auto from = read_http_date(date), to = read_utc_time(time);
  if (!from || !to) return std::nullopt;
  const auto span = *to > *from ? *to - *from : std::chrono::seconds(0);
  if (span > std::chrono::hours(24 * 366)) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(span);
}

std::optional<std::chrono::sys_seconds> read_http_date(std::string_view text) {
  // Mon, 30 Nov 2026 10:00:00 GMT, RFC 9110 §5.6.7
  constexpr std::string_view shape = "www, dd mmm yyyy dd:dd:dd GMT";
  if (text.size() != shape.size() || text.substr(3, 2) != ", " || !text.ends_with(" GMT")) return std::nullopt;
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto* month = std::find(months.begin(), months.end(), text.substr(8, 3));
  if (month == months.end()) return std::nullopt;
  return time_of(text.substr(12, 4), static_cast<unsigned>(month - months.begin()) + 1, text.substr(5, 2), text.substr(17, 8));
}

std::optional<std::chrono::sys_seconds> read_utc_time(std::string_view text) {
  // 2026-11-30T10:00:00Z, RFC 3339; a fraction is dropped.
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != ' ') || text.back() != 'Z') return std::nullopt;
  if (text.size() > 20 && text[19] != '.') return std::nullopt;
  const auto month = read_count(text.substr(5, 2));
  if (!month) return std::nullopt;
  return time_of(text.substr(0, 4), static_cast<unsigned>(*month), text.substr(8, 2), text.substr(11, 8));
}

RateLimits read_rate_limits(std::span<const Field> fields) {
  const auto value = [&](std::string_view name) -> std::string_view {
    std::string_view found;
    bool seen = false;
    for (const auto& field : fields) {
      if (!same(field.first, name)) continue;
      if (seen) return {};
      seen = true;
      found = field.second;
    }
    return found;
  };
  RateLimits limits;
  limits.remaining_requests = read_count(value("x-ratelimit-remaining-requests"));
  limits.remaining_tokens = read_count(value("x-ratelimit-remaining-tokens"));
  limits.reset_requests = read_span(value("x-ratelimit-reset-requests"));
  limits.reset_tokens = read_span(value("x-ratelimit-reset-tokens"));
  limits.retry_after = read_retry_after(value("retry-after"));
  limits.limit_requests = read_count(value("x-ratelimit-limit-requests"));
  limits.limit_tokens = read_count(value("x-ratelimit-limit-tokens"));
  return limits;
}

UpstreamLimit named_limit(std::string_view message) {
  struct Name {
    std::string_view text;
    UpstreamLimit limit;
  };
  constexpr std::array names = {Name{"(RPM)", UpstreamLimit::requests_minute}, Name{"(RPD)", UpstreamLimit::requests_day},
                                Name{"(TPM)", UpstreamLimit::tokens_minute}, Name{"(TPD)", UpstreamLimit::tokens_day}};
  for (auto open = message.find('('); open != std::string_view::npos; open = message.find('(', open + 1)) {
    for (const auto& name : names) {
      if (message.substr(open, name.text.size()) == name.text) return name.limit;
    }
  }
  return UpstreamLimit::unknown;
}

bool says_too_large(std::string_view message) {
  // At its beginning, where it names what was refused; further on it would be advice.
  constexpr std::string_view words = "request too large";
  return message.size() >= words.size() && same(message.substr(0, words.size()), words);
}

}  // namespace polygraph::proxy
