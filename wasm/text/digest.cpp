#include "wasm/text/digest.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace polygraph::text {

Digest128 digest128(std::span<const std::byte> bytes) noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Digest128 digest;
  static_assert(sizeof canonical.digest == sizeof(Digest128));
  for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = canonical.digest[i];
  return digest;
}

Digest128 digest128(std::string_view bytes) noexcept {
  return digest128(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

std::string to_string(const Digest128& digest) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "xxh128:";
  out.reserve(out.size() + 2 * digest.size());
  for (const std::uint8_t byte : digest) {
    out += hex[byte >> 4];
    out += hex[byte & 15];
  }
  return out;
}

std::string digest(std::string_view bytes) { return to_string(digest128(bytes)); }

}  // namespace polygraph::text
