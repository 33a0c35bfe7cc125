// The int8 dot product behind exact dense search, in several instruction sets that all give the same integers.
//
// `best_dot_product()` is what search uses: SIMD128 in WebAssembly where it was compiled in; AVX2 or SSE4.1 natively, as far as the
// processor has them; the plain loop otherwise. Sums are exact: up to 65,536 dimensions no int32 overflows, whatever the
// operands (-128 included).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace polygraph::retrieval {

/// Sum of a[i] * b[i] over `size` elements. Neither operand need be aligned.
using DotProduct = std::int32_t (*)(const std::int8_t* a, const std::int8_t* b, std::size_t size) noexcept;

/// The definition that every other kernel is held to.
std::int32_t dot_product_plain(const std::int8_t* a, const std::int8_t* b, std::size_t size) noexcept;

struct DotProductKernel {
  std::string_view name;  ///< `plain`, `sse4.1`, `avx2`, `simd128`
  DotProduct function;
};

/// The kernels that this processor can run, slowest first; `plain` is always there.
std::span<const DotProductKernel> dot_product_kernels() noexcept;
DotProductKernel best_dot_product() noexcept;

}  // namespace polygraph::retrieval
