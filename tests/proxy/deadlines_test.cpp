#include "proxy/http/deadlines.hpp"

#include <gtest/gtest.h>

namespace polygraph::http {
namespace {

TEST(Deadlines, OfEachKindStandByThemselves) {
  const Clock::time_point start{};
  Deadlines deadlines;
  EXPECT_EQ(deadlines.earliest(), std::nullopt);
  EXPECT_EQ(deadlines.expired(start + std::chrono::hours(1)), std::nullopt);
  deadlines.set(Deadlines::total, start + Milliseconds(100));
  deadlines.set(Deadlines::head, start + Milliseconds(50));
  EXPECT_EQ(deadlines.earliest(), start + Milliseconds(50));
  EXPECT_EQ(deadlines.expired(start + Milliseconds(49)), std::nullopt);
  EXPECT_EQ(deadlines.expired(start + Milliseconds(50)), Deadlines::head);
  deadlines.clear(Deadlines::head);
  EXPECT_EQ(deadlines.expired(start + Milliseconds(99)), std::nullopt);
  EXPECT_EQ(deadlines.expired(start + Milliseconds(200)), Deadlines::total);
}

}  // namespace
}  // namespace polygraph::http
