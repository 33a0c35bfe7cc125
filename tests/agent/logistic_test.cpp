#include "wasm/agent/extractive/logistic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace polygraph::agent::extractive {
namespace {

TEST(Logistic, TheExponentialAgreesWithTheLibraryToTwoUnitsInTheLastPlace) {
  for (int i = -70000; i <= 70000; ++i) {
    const double x = i * 0.01003;
    const double exact = std::exp(x);
    const double unit = std::nextafter(exact, std::numeric_limits<double>::infinity()) - exact;
    ASSERT_LE(std::abs(exponential(x) - exact), 2 * unit) << x;
  }
}

TEST(Logistic, StaysFiniteAndOrderedAtTheEnds) {
  EXPECT_EQ(logistic(0), 0.5);
  EXPECT_EQ(logistic(1e308), 1.0);
  EXPECT_EQ(logistic(-1e308), 1.0 / (1.0 + std::numeric_limits<double>::max()));
  EXPECT_LT(logistic(-5), logistic(-4.999));
}

}  // namespace
}  // namespace polygraph::agent::extractive
