#include "wasm/index/quantisation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace polygraph::index {

float quantise(std::span<const float> vector, std::span<std::int8_t> row) noexcept {
  constexpr double largest = 127.0;
  double max = 0;
  for (const float x : vector) max = std::max(max, std::fabs(static_cast<double>(x)));
  if (max == 0) {
    std::fill(row.begin(), row.end(), std::int8_t{0});
    return 0;
  }
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const double value = static_cast<double>(vector[i]) * largest / max;
    const double rounded = value < 0 ? value - 0.5 : value + 0.5;
    row[i] = static_cast<std::int8_t>(std::clamp(static_cast<int>(rounded), -127, 127));
  }
  return static_cast<float>(max / largest);
}

}  // namespace polygraph::index
