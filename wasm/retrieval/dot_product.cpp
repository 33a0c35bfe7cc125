#include "wasm/retrieval/dot_product.hpp"

#include <array>

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#elif defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define POLYGRAPH_X86_KERNELS
#endif

namespace polygraph::retrieval {

std::int32_t dot_product_plain(const std::int8_t* a, const std::int8_t* b, std::size_t size) noexcept {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += std::int32_t{a[i]} * std::int32_t{b[i]};
  return sum;
}

// All vector kernels widen to int16 and multiply-add pairs to int32: two products of at most 128 * 128 fit. The integer
// dot products that take int8 directly saturate or want one unsigned operand, so they would not be exact.

#if defined(__wasm_simd128__)

namespace {

std::int32_t dot_product_simd128(const std::int8_t* a, const std::int8_t* b, std::size_t size) noexcept {
  constexpr std::size_t width = 16;
  v128_t low = wasm_i32x4_splat(0), high = wasm_i32x4_splat(0);
  std::size_t i = 0;
  for (; i + width <= size; i += width) {
    const v128_t x = wasm_v128_load(a + i), y = wasm_v128_load(b + i);
    low = wasm_i32x4_add(low, wasm_i32x4_dot_i16x8(wasm_i16x8_extend_low_i8x16(x), wasm_i16x8_extend_low_i8x16(y)));
    high = wasm_i32x4_add(high, wasm_i32x4_dot_i16x8(wasm_i16x8_extend_high_i8x16(x), wasm_i16x8_extend_high_i8x16(y)));
  }
  const v128_t sum = wasm_i32x4_add(low, high);
  return wasm_i32x4_extract_lane(sum, 0) + wasm_i32x4_extract_lane(sum, 1) + wasm_i32x4_extract_lane(sum, 2) +
         wasm_i32x4_extract_lane(sum, 3) + dot_product_plain(a + i, b + i, size - i);
}

constexpr std::array<DotProductKernel, 2> kernels = {{{"plain", dot_product_plain}, {"simd128", dot_product_simd128}}};

}  // namespace

std::span<const DotProductKernel> dot_product_kernels() noexcept { return kernels; }

#elif defined(POLYGRAPH_X86_KERNELS)

namespace {

__attribute__((target("sse4.1"))) std::int32_t dot_product_sse41(const std::int8_t* a, const std::int8_t* b,
                                                                 std::size_t size) noexcept {
  constexpr std::size_t width = 8;
  __m128i sum = _mm_setzero_si128();
  std::size_t i = 0;
  for (; i + width <= size; i += width) {
    const __m128i x = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(a + i)));
    const __m128i y = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(b + i)));
    sum = _mm_add_epi32(sum, _mm_madd_epi16(x, y));
  }
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
  return _mm_cvtsi128_si32(sum) + dot_product_plain(a + i, b + i, size - i);
}

__attribute__((target("avx2"))) std::int32_t dot_product_avx2(const std::int8_t* a, const std::int8_t* b, std::size_t size) noexcept {
  constexpr std::size_t width = 32;
  __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
  std::size_t i = 0;
  for (; i + width <= size; i += width) {
    const __m256i x0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i)));
    const __m256i y0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i)));
    const __m256i x1 = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i + width / 2)));
    const __m256i y1 = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i + width / 2)));
    low = _mm256_add_epi32(low, _mm256_madd_epi16(x0, y0));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(x1, y1));
  }
  const __m256i both = _mm256_add_epi32(low, high);
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
  return _mm_cvtsi128_si32(sum) + dot_product_plain(a + i, b + i, size - i);
}

constexpr std::array<DotProductKernel, 3> kernels = {
    {{"plain", dot_product_plain}, {"sse4.1", dot_product_sse41}, {"avx2", dot_product_avx2}}};

}  // namespace

std::span<const DotProductKernel> dot_product_kernels() noexcept {
  const std::size_t usable = __builtin_cpu_supports("avx2") ? 3 : __builtin_cpu_supports("sse4.1") ? 2 : 1;
  return std::span(kernels).first(usable);
}

#else

namespace {
constexpr std::array<DotProductKernel, 1> kernels = {{{"plain", dot_product_plain}}};
}

std::span<const DotProductKernel> dot_product_kernels() noexcept { return kernels; }

#endif

DotProductKernel best_dot_product() noexcept { return dot_product_kernels().back(); }

}  // namespace polygraph::retrieval
