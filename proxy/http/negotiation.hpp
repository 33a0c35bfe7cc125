// What a client asks of a file beyond its name: a coding (Accept-Encoding), whether it has it already (If-None-Match),
// and a part of it (Range). The grammars of RFC 9110; what a client gets wrong falls back to the whole file, plainly.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace polygraph::http {

enum class Coding : std::uint8_t { identity, br, gzip };

/// The best coding of those that exist, by the client's weights; at equal weights br, then gzip, then identity. Identity
/// when nothing else is acceptable, and without the field (`field_present` false).
Coding choose_coding(std::string_view accept_encoding, bool field_present, bool has_br, bool has_gzip);

/// If-None-Match: `*`, or a list of tags of which one equals `etag` (with its quotes) in weak comparison.
bool matches_any(std::string_view if_none_match, std::string_view etag);

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct RangeChoice {
  enum Kind : std::uint8_t { whole, part, unsatisfiable };
  Kind kind = whole;
  ByteRange bytes = {};
};

/// One range of `size` bytes; `whole` for several ranges, another unit, or what is not a range at all.
RangeChoice choose_range(std::string_view range, std::uint64_t size);

}  // namespace polygraph::http
