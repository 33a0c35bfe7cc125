// A comparison for people: who wins at what price, deltas, what became of the queries, whether it is a regression.
#pragma once

#include <string>

#include "wasm/comparison/matrix.hpp"
#include "wasm/report/layout.hpp"

namespace polygraph::report {

/// For a terminal of 80 columns.
std::string comparison_text(const comparison::Comparison& comparison, const Ink& ink = {});
/// The same as Markdown, names and ids escaped.
std::string comparison_markdown(const comparison::Comparison& comparison);

/// The ranking of a matrix and its pairs.
std::string matrix_text(const comparison::Matrix& matrix, const Ink& ink = {});
std::string matrix_markdown(const comparison::Matrix& matrix);

/// What a warning's code means.
std::string warning_sentence(const std::string& code);

}  // namespace polygraph::report
