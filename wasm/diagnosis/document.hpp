// Any document that can be diagnosed or compared, told apart by its content: stored results, an EvaluationReport of Polygraph
// or RAGDiag, or a Diagnosis that was printed.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "wasm/diagnosis/evaluation.hpp"
#include "wasm/diagnosis/report.hpp"

namespace polygraph::diagnosis {

struct Document {
  EvaluationReport report;
  std::optional<Evaluation> evaluation;  ///< of results, and of a report that holds its results: it is made anew
  std::optional<StoredReport> stored;    ///< of a report without results
  /// Fields of a report with results that are no part of an EvaluationReport (its configuration, say): they are written again.
  std::vector<std::pair<std::string, std::string_view>> others;
};

/// `text` must outlive the document. Fails with `invalid_json` and the place: not JSON, a field of another type, K under 1, a
/// query id twice, neither results nor an evaluation report.
Result<Document> read_document(std::string_view text, const ReadOptions& options = {}, const Rules& rules = {});

/// Writes the array of a document's results in place of its evaluation, for whoever writes several documents at once.
using WriteResults = std::function<void(json::Writer&)>;

/// Writes the EvaluationReport into an object that is open, with `results`, the last of its fields, where they are known.
void write_report_fields(json::Writer& writer, const Document& document, const WriteResults& results = {});

/// The EvaluationReport as a document of its own (`kind` "evaluation").
void write_report(json::Writer& writer, const Document& document, const WriteResults& results = {});

/// How often a kind of failure occurred, major before warning, then by count descending, then by name.
struct FailureMode {
  Category category;
  std::uint64_t count;
};
std::vector<FailureMode> failure_modes(const EvaluationReport& report);

/// The diagnosis as a document (`kind` "diagnosis"; assets/schemas/diagnosis.schema.json).
void write_diagnosis(json::Writer& writer, const Document& document, const WriteResults& results = {});

}  // namespace polygraph::diagnosis
