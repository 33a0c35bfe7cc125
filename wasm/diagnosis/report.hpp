// The EvaluationReport of one pipeline over one set of queries (assets/schemas/evaluation_report.schema.json), and what
// it says in words: insights, health, confidence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/diagnosis/category.hpp"
#include "wasm/diagnosis/query_result.hpp"
#include "wasm/error.hpp"
#include "wasm/json/cursor.hpp"
#include "wasm/json/writer.hpp"

namespace polygraph::diagnosis {

struct RetrievalMeans {
  double mean_precision_at_k = 0, mean_recall_at_k = 0, mrr = 0;  ///< 0 where undefined
  std::uint32_t k = default_k;
  std::uint64_t scored_queries = 0;  ///< completed queries with a recall
};

struct SemanticRates {
  std::optional<double> answer_correctness_rate, groundedness_rate, mean_judge_confidence;
  std::uint64_t correctness_judged = 0, groundedness_judged = 0;
};

/// Of `retrieval_ms` over completed queries; all 0 without any.
struct LatencySummary {
  std::uint64_t count = 0;
  double mean_ms = 0, p50_ms = 0, p95_ms = 0, p99_ms = 0, min_ms = 0, max_ms = 0;
};

struct TypeMetrics {
  std::string query_type;
  std::uint64_t total_queries = 0, completed_queries = 0, failed_queries = 0;
  double mean_precision_at_k = 0, mean_recall_at_k = 0, mrr = 0;
  std::optional<double> answer_correctness_rate, groundedness_rate;
  CategoryCounts diagnosis_counts{};
  std::uint64_t scored_queries = 0;
};

struct TopFailure {
  std::string query_id, query;
  Category category = Category::unknown;
  Severity severity = Severity::major;
  double confidence = 1;
  std::string reason, action;
  std::vector<std::string> evidence;
};

/// Sentences, and beside each its code for machines.
struct Statements {
  std::vector<std::string> sentences, codes;
  void add(std::string code, std::string sentence) {
    codes.push_back(std::move(code));
    sentences.push_back(std::move(sentence));
  }
};

struct Health {
  double score = 0;  ///< 0 to 100, one decimal
  std::string grade = "Critical", status = "Critical";
  Statements strengths, weaknesses, recommendations;
  bool defined = false;
  std::vector<std::string> missing;  ///< `retrieval`, `latency`: terms without a value
};

struct Confidence {
  double score = 0;  ///< 0 to 100, one decimal
  std::string level = "Very Low";
  Statements reasons;
};

struct EvaluationReport {
  std::string dataset_name, dataset_version;
  std::optional<std::string> pipeline_name;
  std::uint64_t total_queries = 0, completed_queries = 0, failed_queries = 0, judged_queries = 0, judge_failures = 0;
  RetrievalMeans retrieval;
  SemanticRates semantic;
  LatencySummary latency;
  CategoryCounts diagnosis_counts{};
  std::vector<TypeMetrics> by_type;  ///< factual, reasoning, multi-hop first, then by name
  std::vector<TopFailure> top_failures;
  Statements insights;
  Health health;
  Confidence confidence;

  std::uint64_t count(Category category) const noexcept { return diagnosis_counts[index(category)]; }
  std::uint64_t passed() const noexcept { return count(Category::pass); }
  std::uint64_t judge_attempts() const noexcept { return judged_queries + judge_failures; }
};

/// The value of the pipeline's quality alone, 0 to 1: the terms of the health formula without latency and failures. Nothing
/// where neither retrieval nor judge gave a value.
std::optional<double> quality(const EvaluationReport& report);

Statements insights(const EvaluationReport& report);
Health health(const EvaluationReport& report);
Confidence confidence(const EvaluationReport& report);

/// Whether `a` is listed before `b`: factual, reasoning, multi-hop, then others by name.
bool type_before(std::string_view a, std::string_view b) noexcept;

/// Writes the report's fields into an object that is open.
void write_fields(json::Writer& writer, const EvaluationReport& report);
void write(json::Writer& writer, const Statements& statements);  ///< the sentences
void write_codes(json::Writer& writer, const Statements& statements);
void write_counts(json::Writer& writer, const CategoryCounts& counts);
void write_insights(json::Writer& writer, const Statements& insights);  ///< both fields
void write(json::Writer& writer, const std::vector<TopFailure>& failures);
void write(json::Writer& writer, const Health& health);
void write(json::Writer& writer, const Confidence& confidence);

/// A stored report: what it says, and the text of each of its fields, so that it is printed as it is.
struct StoredReport {
  EvaluationReport report;
  std::vector<std::pair<std::string, std::string_view>> fields;  ///< name and JSON text within the document
  std::optional<std::string_view> results;                       ///< of a report that holds its results
};

/// Reads the object at the cursor. Missing fields get their defaults; insights, health and confidence are worked out where
/// they are missing. Fails with `invalid_json` and the field.
Result<StoredReport> read_report(json::Cursor& at);

/// Writes a stored report into an object that is open: every field as it is, then those that were missing.
void write_fields(json::Writer& writer, const StoredReport& stored);

}  // namespace polygraph::diagnosis
