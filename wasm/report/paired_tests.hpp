// The paired tests of a comparison (sign-flip over means, McNemar's over rates, Holm's correction over all): what wasm/comparison
// takes as `Options::test`.
#pragma once

#include <cstdint>
#include <vector>

#include "wasm/comparison/comparison.hpp"

namespace polygraph::report {

/// One seed for everything that is drawn: the same results give the same figures everywhere.
inline constexpr std::uint64_t seed = 1;

/// All metrics at once, so that Holm's correction is over them. A metric without an item that both sides have a value for has no test.
std::vector<comparison::PairedTest> paired_tests(const std::vector<comparison::PairedSample>& samples);

}  // namespace polygraph::report
