// What one pipeline made of one query, as it is stored: read, completed and written (assets/schemas/query_result.schema.json).
//
//   auto files = read_results(text, {}, [](StoredResult&& stored) -> Result<void> { use(stored.result); return {}; });
//
// Stored results come as an array, as JSON Lines or as `{dataset_name, dataset_version, pipeline_name, k, results}`. They are
// read one by one, so that a file may be larger than the memory; fields that nobody here knows are kept and written again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/diagnosis/category.hpp"
#include "wasm/error.hpp"
#include "wasm/json/writer.hpp"

namespace polygraph::diagnosis {

inline constexpr std::uint32_t default_k = 5;
inline constexpr std::uint32_t max_k = 1'000'000;

/// Fields without a meaning here, in the order in which they stood: name, and the value's JSON text.
using OtherFields = std::vector<std::pair<std::string, std::string>>;

struct RetrievedChunk {
  std::string id, text;
  std::optional<double> score;
  std::string metadata;  ///< JSON text of an object; empty: null
  OtherFields others;
};

/// Milliseconds. What was not measured is absent.
struct Latency {
  std::optional<double> retrieval_ms, generation_ms, judge_ms, total_ms;
  std::vector<std::pair<std::string, double>> others;
};

/// Numbers and verdicts of a completed query. A verdict that is no boolean, a number of another type and a confidence outside
/// 0 to 1 are absent.
struct Metrics {
  std::optional<double> precision_at_k, recall_at_k, reciprocal_rank;
  std::optional<bool> answer_correct, grounded;
  std::optional<double> judge_confidence;
  std::optional<std::string> judge_reason;
  OtherFields others;
};

enum class JudgeState : std::uint8_t { none, judged, failed };
std::string_view name(JudgeState state) noexcept;

struct Diagnosis {
  Category category = Category::unknown;
  Severity severity = Severity::major;  ///< as stored; comparisons use the category's own
  double confidence = 1;
  std::string reason, action;
  std::vector<std::string> evidence;
  std::vector<Category> secondary;
  bool secondary_known = true;  ///< false: a stored diagnosis without the field
  JudgeState judge = JudgeState::none;
  OtherFields others;
};

enum class RefusalOutcome : std::uint8_t { correct, false_refusal, missed };
/// `correct`, `false`, `missed`.
std::string_view name(RefusalOutcome outcome) noexcept;

enum class AgentDiagnosis : std::uint8_t {
  grader_false_negative, retrieval_miss, missed_refusal, generation_error, grader_false_positive, rewrite_loop
};
std::string_view name(AgentDiagnosis diagnosis) noexcept;

struct QueryResult {
  std::string query_id, query;
  std::optional<std::string> query_type, expected_answer, generated_answer, error, judge_error;
  std::string status = "completed";  ///< anything else is a failure
  std::vector<std::string> expected_chunk_ids;
  std::vector<RetrievedChunk> retrieved_chunks;  ///< in rank order, duplicates in their places
  Latency latency;
  Metrics metrics;
  std::optional<Diagnosis> diagnosis;  ///< only one of the eight categories; any other is made anew

  // Of an agent.
  std::optional<bool> refused;
  std::optional<RefusalOutcome> refusal_outcome;
  bool refusal_outcome_known = false;  ///< the field stands there, be it null
  std::optional<AgentDiagnosis> agent_diagnosis;
  bool agent_diagnosis_known = false;
  std::string trace;  ///< JSON text of the run (assets/schemas/trace.schema.json); empty: none

  OtherFields others;

  bool completed() const noexcept { return status == "completed"; }
  bool has_type() const noexcept { return query_type && !query_type->empty(); }
  /// A verdict that counts: given, and the judge reported no error.
  std::optional<bool> correct() const noexcept { return judge_error ? std::nullopt : metrics.answer_correct; }
  std::optional<bool> grounded() const noexcept { return judge_error ? std::nullopt : metrics.grounded; }
  JudgeState judge() const noexcept {
    if (!completed()) return JudgeState::none;
    if (judge_error) return JudgeState::failed;
    return metrics.answer_correct || metrics.grounded ? JudgeState::judged : JudgeState::none;
  }
};

/// One result from its JSON object. `k` chooses the metrics that are meant (`recall_at_5`). Fails with `invalid_json`, the
/// field's path, and the query's id in the message where it was read before.
Result<QueryResult> parse_query_result(std::string_view json, std::uint32_t k = default_k);

/// Writes one result, every field of the schema in its order, then the others. A failed query gets `"metrics": {}`; the
/// agent's fields are written where it is an agent's (any of them known, or a trace).
void write(json::Writer& writer, const QueryResult& result, std::uint32_t k = default_k);
/// The same as one line, without the line's end.
std::string to_json(const QueryResult& result, std::uint32_t k = default_k);

/// precision@k, recall@k and reciprocal rank where the result has none: from the ids, null without expected ones. Clears the
/// metrics of a failed query. `total_ms` becomes the sum of what was measured of retrieval and generation where it is absent.
void complete_metrics(QueryResult& result, std::uint32_t k);

/// What a file of results says about all of them.
struct ResultsHeader {
  std::string dataset_name, dataset_version;
  std::optional<std::string> pipeline_name;
  std::uint32_t k = default_k;
  bool k_given = false;
};

struct StoredResult {
  QueryResult result;
  std::string_view json;        ///< its text within the document
  std::uint64_t position = 0;   ///< its line in JSON Lines, from 1; otherwise its index in the array, from 0
};

/// Whether the object at `offset` is the first line of JSON Lines, or a lone result.
bool is_json_lines(std::string_view document, std::size_t offset);

struct ReadOptions {
  std::uint32_t k = default_k;  ///< where the file names none
  /// Called now and then with how many bytes of the document will not be looked at again by this call.
  std::function<void(std::size_t)> passed = {};
};

/// Reads the header, then calls `use` for each result in order; stops at the first error, of the document or of `use`. Fails
/// with `invalid_json`; the message names the record (its index or line) and its id, `field` the path, `line` the line.
/// `head` is called before the first result, also when there is none.
/// With an `offset` the object there is read, an envelope within a larger document.
Result<ResultsHeader> read_results(std::string_view document, const ReadOptions& options, const std::function<Result<void>(StoredResult&&)>& use,
                                   const std::function<void(const ResultsHeader&)>& head = {}, std::size_t offset = 0);

}  // namespace polygraph::diagnosis
