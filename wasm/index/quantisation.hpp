// Vectors as int8 with one scale each: what the file stores and what a query vector becomes before it is compared.
#pragma once

#include <cstdint>
#include <span>

namespace polygraph::index {

/// Writes `row` such that vector ≈ row * scale and returns scale = max |vector| / 127 (0 for a zero vector). Values are
/// rounded to the nearest integer, halves away from zero, so -128 never occurs. `vector` must be finite and as long as
/// `row`. Integer and IEEE 754 operations only: the same bits on every target.
float quantise(std::span<const float> vector, std::span<std::int8_t> row) noexcept;

}  // namespace polygraph::index
