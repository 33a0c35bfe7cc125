// Digests that identify content inside Polygraph: XXH3-128 in its canonical form, written `xxh128:` and 32 hex digits.
// They find damage and edits; they do not withstand an attacker (model files are verified by SHA-256 elsewhere).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace polygraph::text {

using Digest128 = std::array<std::uint8_t, 16>;

Digest128 digest128(std::span<const std::byte> bytes) noexcept;
Digest128 digest128(std::string_view bytes) noexcept;

std::string to_string(const Digest128& digest);

/// `to_string(digest128(bytes))`
std::string digest(std::string_view bytes);

}  // namespace polygraph::text
