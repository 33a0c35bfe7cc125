#include "wasm/trace/base64.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "wasm/bits.hpp"

namespace polygraph::trace {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr auto values_of = [] {
  std::array<std::int8_t, 256> values{};
  for (auto& value : values) value = -1;
  for (std::size_t i = 0; i < alphabet.size(); ++i) values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  return values;
}();

}  // namespace

std::string floats_to_base64(std::span<const float> values) {
  std::string bytes;
  bytes.reserve(values.size() * 4);
  for (const float value : values) {
    const auto bits = bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>((bits >> shift) & 0xFF));
  }
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t left = bytes.size() - at;
    const auto byte = [&](std::size_t i) { return i < left ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) : 0U; };
    const std::uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += alphabet[group >> 18];
    out += alphabet[(group >> 12) & 63];
    out += left > 1 ? alphabet[(group >> 6) & 63] : '=';
    out += left > 2 ? alphabet[group & 63] : '=';
  }
  return out;
}

std::optional<std::vector<float>> floats_from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  const std::size_t size = text.size() / 4 * 3 - padding;
  if (size % 4 != 0) return std::nullopt;
  std::vector<float> out;
  out.reserve(size / 4);
  std::uint32_t bits = 0;
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const bool padded = at + i >= text.size() - padding;
      const int value = padded ? 0 : values_of[static_cast<unsigned char>(text[at + i])];
      if (value < 0) return std::nullopt;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    for (int shift = 16; shift >= 0; shift -= 8) {
      const std::uint32_t byte = (group >> shift) & 0xFF;
      if (bytes == size) {
        if (byte != 0) return std::nullopt;
        continue;
      }
      bits |= byte << (8 * (bytes % 4));
      if (++bytes % 4 == 0) {
        out.push_back(bit_cast<float>(bits));
        bits = 0;
      }
    }
  }
  return out;
}

}  // namespace polygraph::trace
