// A diagnosis for people: totals, failure modes with what to look at, the most important queries, health, confidence.
#pragma once

#include <string>

#include "wasm/diagnosis/report.hpp"
#include "wasm/report/layout.hpp"

namespace polygraph::report {

/// For a terminal of 80 columns.
std::string diagnosis_text(const diagnosis::EvaluationReport& report, const Ink& ink = {});
/// The same as Markdown, names and ids escaped.
std::string diagnosis_markdown(const diagnosis::EvaluationReport& report);

}  // namespace polygraph::report
