#include "wasm/agent/extractive/logistic.hpp"

#include <cstdint>
#include <limits>

#include "wasm/bits.hpp"

namespace polygraph::agent::extractive {

double exponential(double x) noexcept {
  if (x < -708.0) return 0.0;
  if (x > 709.0) return std::numeric_limits<double>::max();
  // x = k ln 2 + r with |r| <= ln 2 / 2; ln 2 in two parts, so that r keeps its low bits (Cody and Waite 1980).
  constexpr double log2_e = 1.4426950408889634;
  constexpr double ln2_high = 0x1.62e42feep-1;  // 21 trailing zero bits: k times it is exact
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  const double scaled = x * log2_e;
  const auto k = static_cast<std::int64_t>(scaled + (scaled < 0 ? -0.5 : 0.5));
  const double steps = static_cast<double>(k);
  const double r = (x - steps * ln2_high) - steps * ln2_low;
  // Taylor series; the first term left out is below 2^-58 for |r| <= 0.3466.
  constexpr int degree = 13;
  double sum = 1.0;
  for (int n = degree; n >= 1; --n) sum = 1.0 + sum * r / n;
  const double power = bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
  return sum * power;
}

double logistic(double z) noexcept { return 1.0 / (1.0 + exponential(-z)); }

}  // namespace polygraph::agent::extractive
