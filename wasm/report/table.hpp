// Runs side by side: configurations as columns, metrics as rows, as Markdown or as text for a terminal.
#pragma once

#include <span>
#include <string>

#include "wasm/report/evaluation.hpp"

namespace polygraph::report {

struct TableOptions {
  bool intervals = true;     ///< below each value its 95 % interval
  bool counts = true;        ///< and over how many
  bool all = false;          ///< every cut-off; otherwise retrieval at TOP_K, and recall and hit rate at 10
};

/// Rows: the metrics that any run has a place for, in the order of their summaries; a value that is undefined everywhere has no row
/// unless it belongs to the core ones. The best of each row is bold where more than one run has a value; what is undefined is —.
/// An offline judge's figures stand in rows of their own.
std::string markdown_table(std::span<const EvaluatedRun> runs, const TableOptions& options = {});
/// The same for a terminal of 80 columns: up to five runs side by side, further ones beneath.
std::string text_table(std::span<const EvaluatedRun> runs, const TableOptions& options = {});

/// What the figures are over, and what they are not: items, source, subset, judge, what is incomplete. One sentence a line.
std::string notes(std::span<const EvaluatedRun> runs);

/// The same for a terminal of 80 columns.
std::string notes_text(std::span<const EvaluatedRun> runs);

/// Up to five failures of a run as Markdown: the question, what was expected, what came, the steps of the trace.
std::string failure_cases(const EvaluatedRun& run);

/// The differences of each run to the first one that a paired test finds, with its p after Holm's correction. Markdown.
std::string tests_table(std::span<const EvaluatedRun> runs);

/// The same for a terminal of 80 columns.
std::string tests_text(std::span<const EvaluatedRun> runs);

/// `text` with what stands between `<!-- polygraph:results -->` and `<!-- /polygraph:results -->` replaced by `section`. Fails with
/// `not_found` where a marker is missing, stands twice or in the wrong order.
Result<std::string> with_section(std::string_view text, std::string_view section);

}  // namespace polygraph::report
