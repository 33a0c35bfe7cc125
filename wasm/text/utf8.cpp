#include "wasm/text/utf8.hpp"

namespace polygraph::text {
namespace {

constexpr CodePoint ill_formed{U'\uFFFD', 1, false};

}  // namespace

// Table 3-7 of the Unicode Standard: what may follow each leading byte. The second byte's range rules out overlong forms
// (E0, F0), surrogates (ED) and what lies above U+10FFFF (F4).
CodePoint decode(std::string_view text, std::size_t offset) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[offset + i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};

  std::uint8_t length = 0;
  std::uint8_t low = 0x80, high = 0xBF;
  char32_t value = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    value = lead & 0x1Fu;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    value = lead & 0x0Fu;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    value = lead & 0x07u;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return ill_formed;
  }
  if (text.size() - offset < length) return ill_formed;
  for (std::uint8_t i = 1; i < length; ++i) {
    const std::uint8_t next = byte(i);
    if (next < low || next > high) return ill_formed;
    value = value << 6 | (next & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {value, length, true};
}

void append(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<std::uint8_t>(byte)); };
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) code_point = U'\uFFFD';
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::optional<std::size_t> first_invalid(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    if (!point.valid) return at;
    at += point.length;
  }
  return std::nullopt;
}

std::size_t code_points(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += decode(text, at).length;
  return count;
}

}  // namespace polygraph::text
