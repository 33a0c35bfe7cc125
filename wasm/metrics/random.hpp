// The one seeded generator of Polygraph, with its own mapping to a range: the same numbers on every machine and in
// WebAssembly (std::uniform_int_distribution and std::shuffle differ between C++ libraries).
#pragma once

#include <array>
#include <cstdint>

namespace polygraph::metrics {

/// xoshiro256** 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), seeded by SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() noexcept {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// A number in [0, bound), each equally likely; `bound` must be positive. Numbers of the last, incomplete interval are
  /// drawn again.
  std::uint64_t below(std::uint64_t bound) noexcept {
    const std::uint64_t excess = (0 - bound) % bound;  // 2^64 mod bound
    std::uint64_t drawn = next();
    while (drawn < excess) drawn = next();
    return drawn % bound;
  }

 private:
  static std::uint64_t rotate(std::uint64_t x, int k) noexcept { return (x << k) | (x >> (64 - k)); }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace polygraph::metrics
