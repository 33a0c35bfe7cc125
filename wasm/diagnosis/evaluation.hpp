// All results of one pipeline, evaluated: of each query what reports and comparisons need, and where its text stands.
//
// A hundred thousand results fit because only figures are kept; the results themselves are read again when they are written.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "wasm/diagnosis/report.hpp"
#include "wasm/diagnosis/rules.hpp"

namespace polygraph::diagnosis {

/// What is kept of a query.
struct EvaluatedQuery {
  std::string id;
  std::string_view json;  ///< the stored result, within the document or the evaluation's own copy
  std::optional<double> precision, recall, reciprocal_rank;  ///< of a completed query
  std::optional<double> retrieval_ms, judge_confidence;
  double confidence = 1;
  std::optional<bool> correct, grounded;  ///< verdicts that count
  std::uint32_t type = 0;                 ///< index into `Evaluation::types()`; 0: none
  Category category = Category::unknown;
  Severity severity = Severity::major;    ///< as the diagnosis has it
  JudgeState judge = JudgeState::none;
  bool completed = false;
};

class Evaluation {
 public:
  Evaluation() = default;
  explicit Evaluation(ResultsHeader header, Rules rules = {}) : header_(std::move(header)), rules_(rules) {}
  // Queries refer to texts that the evaluation owns.
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;
  Evaluation(Evaluation&&) = default;
  Evaluation& operator=(Evaluation&&) = default;

  /// Reads stored results; `document` must outlive the evaluation. Fails as read_results() does, and with `invalid_json` for
  /// a query id that occurs twice. `offset` as there.
  static Result<Evaluation> read(std::string_view document, std::size_t offset = 0, const ReadOptions& options = {}, const Rules& rules = {});

  /// Adds a result that is in memory; the evaluation keeps a copy as JSON.
  Result<void> add(QueryResult result);
  /// The same for one whose text `json` outlives the evaluation.
  Result<void> add(QueryResult result, std::string_view json);

  const ResultsHeader& header() const noexcept { return header_; }
  ResultsHeader& header() noexcept { return header_; }
  const Rules& rules() const noexcept { return rules_; }
  const std::vector<EvaluatedQuery>& queries() const noexcept { return queries_; }
  /// Names of the query types; the first one is "" and means none.
  const std::vector<std::string>& types() const noexcept { return types_; }
  /// The number of a query, or nothing.
  std::optional<std::uint32_t> find(std::string_view id) const;

  /// The report over all queries, or over those numbered in `selection` (rising).
  EvaluationReport report() const;
  EvaluationReport report(std::span<const std::uint32_t> selection) const;

  /// The whole result, finished.
  QueryResult result(std::uint32_t number) const;
  /// Writes the results of `selection` as an array. Their texts are read again for it: `passed` is told now and then that those
  /// up to here won't be needed.
  void write_results(json::Writer& writer, std::span<const std::uint32_t> selection, const std::function<void()>& passed = {}) const;
  std::vector<std::uint32_t> all() const;

 private:
  Result<void> take(QueryResult&& result, std::string_view json);

  ResultsHeader header_;
  Rules rules_;
  std::vector<EvaluatedQuery> queries_;
  std::vector<std::string> types_ = {""};
  std::unordered_map<std::string, std::uint32_t> type_numbers_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  ///< looked up, never walked through
  std::deque<std::string> own_;
};

}  // namespace polygraph::diagnosis
