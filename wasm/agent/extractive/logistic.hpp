// The logistic function with the same bits everywhere: C libraries differ in the last bit of exp.
#pragma once

namespace polygraph::agent::extractive {

/// e^x within 2 units in the last place; 0 below -708, the largest double above 709.
double exponential(double x) noexcept;
/// 1 / (1 + e^-z)
double logistic(double z) noexcept;

}  // namespace polygraph::agent::extractive
