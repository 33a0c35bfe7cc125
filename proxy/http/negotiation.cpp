#include "proxy/http/negotiation.hpp"

#include <algorithm>
#include <limits>

namespace polygraph::http {
namespace {

constexpr int full_weight = 1000;  // q=1, in thousandths: RFC 9110 §12.4.2 allows three decimals

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same(std::string_view a, std::string_view lower_case) {
  return a.size() == lower_case.size() && std::equal(a.begin(), a.end(), lower_case.begin(), [](char x, char y) { return lower(x) == y; });
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The part before the next `separator`, taken off the front of `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const auto at = rest.find(separator);
  const auto part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return trimmed(part);
}

/// qvalue of RFC 9110 §12.4.2 in thousandths.
std::optional<int> weight(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  int value = (text[0] - '0') * full_weight;
  if (text.size() > 1) {
    if (text[1] != '.') return std::nullopt;
    int scale = full_weight / 10;
    for (const char c : text.substr(2)) {
      if (c < '0' || c > '9') return std::nullopt;
      value += (c - '0') * scale;
      scale /= 10;
    }
  }
  return value <= full_weight ? std::optional(value) : std::nullopt;
}

/// Saturates: a position past 2^64 is past every file.
std::optional<std::uint64_t> number(std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    constexpr auto max = std::numeric_limits<std::uint64_t>::max();
    const auto digit = static_cast<std::uint64_t>(c - '0');
    value = value > (max - digit) / 10 ? max : value * 10 + digit;
  }
  return value;
}

}  // namespace

Coding choose_coding(std::string_view accept_encoding, bool field_present, bool has_br, bool has_gzip) {
  if (!field_present || (!has_br && !has_gzip)) return Coding::identity;
  std::optional<int> br, gzip, identity, others;
  for (auto rest = accept_encoding; !rest.empty();) {
    auto element = take(rest, ',');
    const auto name = take(element, ';');
    int q = full_weight;
    bool understood = !name.empty();
    while (!element.empty()) {
      auto value = take(element, ';');
      const auto parameter = take(value, '=');
      const auto parsed = same(parameter, "q") ? weight(trimmed(value)) : std::nullopt;
      if (parsed) q = *parsed;
      else understood = false;
    }
    if (!understood) continue;
    if (same(name, "br")) br = q;
    else if (same(name, "gzip") || same(name, "x-gzip")) gzip = q;
    else if (same(name, "identity")) identity = q;
    else if (name == "*") others = q;
  }
  const int br_weight = has_br ? br.value_or(others.value_or(0)) : 0;
  const int gzip_weight = has_gzip ? gzip.value_or(others.value_or(0)) : 0;
  // Identity needs no mention to be acceptable; unmentioned, it ranks behind whatever the client did mention.
  const int identity_weight = identity.value_or(0);
  if (br_weight > 0 && br_weight >= gzip_weight && br_weight >= identity_weight) return Coding::br;
  if (gzip_weight > 0 && gzip_weight >= identity_weight) return Coding::gzip;
  return Coding::identity;
}

bool matches_any(std::string_view if_none_match, std::string_view etag) {
  auto rest = trimmed(if_none_match);
  if (rest == "*") return true;
  while (!rest.empty()) {
    // entity-tag = [ W/ ] DQUOTE *etagc DQUOTE; the quotes may hold commas, so the list can't be split at them.
    rest.remove_prefix(std::min(rest.find_first_not_of(", \t"), rest.size()));
    if (rest.substr(0, 2) == "W/") rest.remove_prefix(2);
    if (rest.empty() || rest.front() != '"') return false;
    const auto close = rest.find('"', 1);
    if (close == std::string_view::npos) return false;
    if (rest.substr(0, close + 1) == etag) return true;
    rest.remove_prefix(close + 1);
  }
  return false;
}

RangeChoice choose_range(std::string_view range, std::uint64_t size) {
  const auto equals = range.find('=');
  if (equals == std::string_view::npos || !same(trimmed(range.substr(0, equals)), "bytes")) return {};
  const auto spec = trimmed(range.substr(equals + 1));
  const auto dash = spec.find('-');
  if (dash == std::string_view::npos || spec.find(',') != std::string_view::npos) return {};
  const auto first_text = trimmed(spec.substr(0, dash));
  const auto last_text = trimmed(spec.substr(dash + 1));
  if (first_text.empty()) {
    const auto suffix = number(last_text);
    if (!suffix) return {};
    if (*suffix == 0 || size == 0) return {RangeChoice::unsatisfiable, {}};
    const auto length = std::min(*suffix, size);
    return {RangeChoice::part, {size - length, length}};
  }
  const auto first = number(first_text);
  const auto last = last_text.empty() ? std::optional(std::numeric_limits<std::uint64_t>::max()) : number(last_text);
  if (!first || !last || *last < *first) return {};
  if (*first >= size) return {RangeChoice::unsatisfiable, {}};
  return {RangeChoice::part, {*first, std::min(*last, size - 1) - *first + 1}};
}

}  // namespace polygraph::http
