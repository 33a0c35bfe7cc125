// Vectors and logits in JSON: base64 (RFC 4648, section 4, padded) of little-endian float32.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace polygraph::trace {

std::string floats_to_base64(std::span<const float> values);
/// Nothing when `text` is not canonical base64 (wrong length, other characters, bits set in the padding) or not a whole
/// number of floats.
std::optional<std::vector<float>> floats_from_base64(std::string_view text);

}  // namespace polygraph::trace
