#include "wasm/text/digest.hpp"

#include <string>

#include <gtest/gtest.h>

namespace polygraph::text {
namespace {

// Vectors of the xxHash project's specification (XXH3-128 of the empty input, seed 0).
TEST(Digest, IsTheCanonicalFormOfXxh3) {
  EXPECT_EQ(digest(""), "xxh128:99aa06d3014798d86001c324468d497f");
}

TEST(Digest, IsTheSameForBytesAndText) {
  const std::string text = "docker run --rm hello-world";
  EXPECT_EQ(digest128(text), digest128(std::as_bytes(std::span(text.data(), text.size()))));
  EXPECT_EQ(to_string(digest128(text)), digest(text));
}

TEST(Digest, ChangesWithOneBit) {
  std::string text(1000, 'x');
  const std::string before = digest(text);
  text[999] ^= 1;
  EXPECT_NE(digest(text), before);
}

TEST(Digest, ReadsZeroBytes) { EXPECT_NE(digest(std::string_view("a\0b", 3)), digest(std::string_view("a\0c", 3))); }

}  // namespace
}  // namespace polygraph::text
