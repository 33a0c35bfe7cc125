// What the fuzzers share: the promise that is checked, and bytes of exactly their size, so that a sanitizer sees a read
// past them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#define FUZZ_CHECK(condition)                                                            \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

namespace polygraph::fuzz {

/// Sizes of pieces, drawn from the input's own bytes, so that a finding can be repeated.
class Pieces {
 public:
  explicit Pieces(std::string_view bytes) noexcept {
    for (const char c : bytes) state_ = (state_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  /// 1 to 16, mostly small.
  std::size_t next() noexcept {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto drawn = state_ >> 60;
    return drawn < 8 ? 1 : drawn + 1;
  }

 private:
  std::uint64_t state_ = 14695981039346656037ULL;
};

/// A copy in memory of its own, without a byte after it.
class Exact {
 public:
  explicit Exact(std::string_view bytes) : bytes_(bytes.begin(), bytes.end()) { bytes_.shrink_to_fit(); }
  std::string_view view() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  std::vector<char> bytes_;
};

}  // namespace polygraph::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
