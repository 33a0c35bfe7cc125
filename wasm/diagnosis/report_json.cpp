// EvaluationReports written and read.
#include <algorithm>

#include "wasm/diagnosis/ranking.hpp"
#include "wasm/diagnosis/report.hpp"

namespace polygraph::diagnosis {
namespace {

using json::Cursor;
using json::Writer;

constexpr std::uint64_t max_queries = std::uint64_t{1} << 53;

void write_texts(Writer& writer, const std::vector<std::string>& texts) {
  writer.begin_array();
  for (const auto& text : texts) writer.value(text);
  writer.end_array();
}

std::vector<std::string> texts(Cursor& at) {
  std::vector<std::string> out;
  at.array([&](std::size_t) { out.push_back(at.string()); });
  return out;
}

std::optional<double> number_or_null(Cursor& at) {
  if (at.take_null()) return std::nullopt;
  return at.number();
}

CategoryCounts counts(Cursor& at) {
  CategoryCounts out{};
  at.object([&](std::string_view key) {
    const std::uint64_t value = at.count(max_queries);
    if (const auto known = category(key)) out[index(*known)] = value;
  });
  return out;
}

/// A field that was not given, so that its default can depend on others.
using MaybeCount = std::optional<std::uint64_t>;

RetrievalMeans retrieval(Cursor& at, MaybeCount& scored) {
  RetrievalMeans out;
  at.object([&](std::string_view key) {
    if (key == "mean_precision_at_k") {
      out.mean_precision_at_k = at.number();
    } else if (key == "mean_recall_at_k") {
      out.mean_recall_at_k = at.number();
    } else if (key == "mrr") {
      out.mrr = at.number();
    } else if (key == "k") {
      const std::uint64_t k = at.count(max_k);
      if (!at.failed() && k == 0) return at.fail("must be at least 1");
      out.k = static_cast<std::uint32_t>(k);
    } else if (key == "scored_queries") {
      scored = at.count(max_queries);
    } else {
      at.raw();
    }
  });
  return out;
}

SemanticRates semantic(Cursor& at) {
  SemanticRates out;
  at.object([&](std::string_view key) {
    if (key == "answer_correctness_rate") {
      out.answer_correctness_rate = number_or_null(at);
    } else if (key == "groundedness_rate") {
      out.groundedness_rate = number_or_null(at);
    } else if (key == "mean_judge_confidence") {
      out.mean_judge_confidence = number_or_null(at);
    } else if (key == "correctness_judged") {
      out.correctness_judged = at.count(max_queries);
    } else if (key == "groundedness_judged") {
      out.groundedness_judged = at.count(max_queries);
    } else {
      at.raw();
    }
  });
  return out;
}

LatencySummary latency(Cursor& at) {
  LatencySummary out;
  at.object([&](std::string_view key) {
    if (key == "count") {
      out.count = at.count(max_queries);
      return;
    }
    struct Field {
      std::string_view name;
      double* into;
    };
    for (const auto& [name, into] : {Field{"mean_ms", &out.mean_ms}, Field{"p50_ms", &out.p50_ms}, Field{"p95_ms", &out.p95_ms},
                                     Field{"p99_ms", &out.p99_ms}, Field{"min_ms", &out.min_ms}, Field{"max_ms", &out.max_ms}}) {
      if (name != key) continue;
      *into = at.number();
      return;
    }
    at.raw();
  });
  return out;
}

TypeMetrics type_metrics(Cursor& at, std::string_view type) {
  TypeMetrics out;
  out.query_type = std::string(type);
  MaybeCount scored;
  at.object([&](std::string_view key) {
    if (key == "query_type") {
      at.string();  // the key above is what counts
    } else if (key == "total_queries") {
      out.total_queries = at.count(max_queries);
    } else if (key == "completed_queries") {
      out.completed_queries = at.count(max_queries);
    } else if (key == "failed_queries") {
      out.failed_queries = at.count(max_queries);
    } else if (key == "mean_precision_at_k") {
      out.mean_precision_at_k = at.number();
    } else if (key == "mean_recall_at_k") {
      out.mean_recall_at_k = at.number();
    } else if (key == "mrr") {
      out.mrr = at.number();
    } else if (key == "answer_correctness_rate") {
      out.answer_correctness_rate = number_or_null(at);
    } else if (key == "groundedness_rate") {
      out.groundedness_rate = number_or_null(at);
    } else if (key == "diagnosis_counts") {
      out.diagnosis_counts = counts(at);
    } else if (key == "scored_queries") {
      scored = at.count(max_queries);
    } else {
      at.raw();
    }
  });
  out.scored_queries = scored.value_or(out.completed_queries);
  return out;
}

TopFailure top_failure(Cursor& at) {
  TopFailure out;
  at.object([&](std::string_view key) {
    if (key == "query_id") {
      out.query_id = at.string();
    } else if (key == "query") {
      out.query = at.string();
    } else if (key == "category") {
      const std::string text = at.string();
      const auto known = category(text);
      if (!known && !at.failed()) return at.fail("is none of the eight categories: \"" + text + "\"");
      if (known) out.category = *known;
    } else if (key == "severity") {
      const std::string text = at.string();
      const auto known = severity(text);
      if (!known && !at.failed()) return at.fail("expected info, warning or major, found \"" + text + "\"");
      if (known) out.severity = *known;
    } else if (key == "confidence") {
      out.confidence = at.number();
    } else if (key == "reason") {
      out.reason = at.string();
    } else if (key == "action") {
      out.action = at.string();
    } else if (key == "evidence") {
      out.evidence = texts(at);
    } else {
      at.raw();
    }
  });
  return out;
}

Health stored_health(Cursor& at) {
  Health out;
  out.defined = true;
  at.object([&](std::string_view key) {
    if (key == "score") {
      out.score = at.number();
    } else if (key == "grade") {
      out.grade = at.string();
    } else if (key == "status") {
      out.status = at.string();
    } else if (key == "strengths") {
      out.strengths.sentences = texts(at);
    } else if (key == "weaknesses") {
      out.weaknesses.sentences = texts(at);
    } else if (key == "recommendations") {
      out.recommendations.sentences = texts(at);
    } else if (key == "strength_codes") {
      out.strengths.codes = texts(at);
    } else if (key == "weakness_codes") {
      out.weaknesses.codes = texts(at);
    } else if (key == "recommendation_codes") {
      out.recommendations.codes = texts(at);
    } else if (key == "defined") {
      out.defined = at.boolean();
    } else if (key == "missing") {
      out.missing = texts(at);
    } else {
      at.raw();
    }
  });
  return out;
}

Confidence stored_confidence(Cursor& at) {
  Confidence out;
  at.object([&](std::string_view key) {
    if (key == "score") {
      out.score = at.number();
    } else if (key == "level") {
      out.level = at.string();
    } else if (key == "reasons") {
      out.reasons.sentences = texts(at);
    } else if (key == "reason_codes") {
      out.reasons.codes = texts(at);
    } else {
      at.raw();
    }
  });
  return out;
}

}  // namespace

void write(Writer& writer, const Statements& statements) { write_texts(writer, statements.sentences); }
void write_codes(Writer& writer, const Statements& statements) { write_texts(writer, statements.codes); }

void write_counts(Writer& writer, const CategoryCounts& counts) {
  writer.begin_object();
  for (const Category category : categories) writer.key(name(category)).count(counts[index(category)]);
  writer.end_object();
}

void write_insights(Writer& writer, const Statements& insights) {
  writer.key("overall_insights");
  write(writer, insights);
  writer.key("insight_codes");
  write_codes(writer, insights);
}

void write(Writer& writer, const std::vector<TopFailure>& failures) {
  writer.begin_array();
  for (const TopFailure& failure : failures) {
    writer.begin_object();
    writer.field("query_id", failure.query_id);
    writer.field("query", failure.query);
    writer.field("category", name(failure.category));
    writer.field("severity", name(failure.severity));
    writer.field("confidence", failure.confidence);
    writer.field("reason", failure.reason);
    writer.field("action", failure.action);
    writer.key("evidence");
    write_texts(writer, failure.evidence);
    writer.end_object();
  }
  writer.end_array();
}

void write(Writer& writer, const Health& health) {
  writer.begin_object();
  writer.field("score", health.score);
  writer.field("grade", health.grade);
  writer.field("status", health.status);
  writer.key("strengths");
  write(writer, health.strengths);
  writer.key("weaknesses");
  write(writer, health.weaknesses);
  writer.key("recommendations");
  write(writer, health.recommendations);
  writer.key("strength_codes");
  write_codes(writer, health.strengths);
  writer.key("weakness_codes");
  write_codes(writer, health.weaknesses);
  writer.key("recommendation_codes");
  write_codes(writer, health.recommendations);
  writer.field("defined", health.defined);
  writer.key("missing");
  write_texts(writer, health.missing);
  writer.end_object();
}

void write(Writer& writer, const Confidence& confidence) {
  writer.begin_object();
  writer.field("score", confidence.score);
  writer.field("level", confidence.level);
  writer.key("reasons");
  write(writer, confidence.reasons);
  writer.key("reason_codes");
  write_codes(writer, confidence.reasons);
  writer.end_object();
}

void write_fields(Writer& writer, const EvaluationReport& report) {
  writer.field("dataset_name", report.dataset_name);
  writer.field("dataset_version", report.dataset_version);
  writer.field("pipeline_name", report.pipeline_name);
  writer.key("total_queries").count(report.total_queries);
  writer.key("completed_queries").count(report.completed_queries);
  writer.key("failed_queries").count(report.failed_queries);
  writer.key("judged_queries").count(report.judged_queries);
  writer.key("judge_failures").count(report.judge_failures);

  writer.key("retrieval").begin_object();
  writer.field("mean_precision_at_k", report.retrieval.mean_precision_at_k);
  writer.field("mean_recall_at_k", report.retrieval.mean_recall_at_k);
  writer.field("mrr", report.retrieval.mrr);
  writer.key("k").count(report.retrieval.k);
  writer.key("scored_queries").count(report.retrieval.scored_queries);
  writer.end_object();

  writer.key("semantic").begin_object();
  writer.field("answer_correctness_rate", report.semantic.answer_correctness_rate);
  writer.field("groundedness_rate", report.semantic.groundedness_rate);
  writer.field("mean_judge_confidence", report.semantic.mean_judge_confidence);
  writer.key("correctness_judged").count(report.semantic.correctness_judged);
  writer.key("groundedness_judged").count(report.semantic.groundedness_judged);
  writer.end_object();

  writer.key("latency").begin_object();
  writer.key("count").count(report.latency.count);
  writer.field("mean_ms", report.latency.mean_ms);
  writer.field("p50_ms", report.latency.p50_ms);
  writer.field("p95_ms", report.latency.p95_ms);
  writer.field("p99_ms", report.latency.p99_ms);
  writer.field("min_ms", report.latency.min_ms);
  writer.field("max_ms", report.latency.max_ms);
  writer.end_object();

  writer.key("diagnosis_counts");
  write_counts(writer, report.diagnosis_counts);
  writer.key("diagnosis_by_query_type").begin_object();
  for (const TypeMetrics& type : report.by_type) {
    writer.key(type.query_type);
    write_counts(writer, type.diagnosis_counts);
  }
  writer.end_object();
  writer.key("metrics_by_query_type").begin_object();
  for (const TypeMetrics& type : report.by_type) {
    writer.key(type.query_type).begin_object();
    writer.field("query_type", type.query_type);
    writer.key("total_queries").count(type.total_queries);
    writer.key("completed_queries").count(type.completed_queries);
    writer.key("failed_queries").count(type.failed_queries);
    writer.field("mean_precision_at_k", type.mean_precision_at_k);
    writer.field("mean_recall_at_k", type.mean_recall_at_k);
    writer.field("mrr", type.mrr);
    writer.field("answer_correctness_rate", type.answer_correctness_rate);
    writer.field("groundedness_rate", type.groundedness_rate);
    writer.key("diagnosis_counts");
    write_counts(writer, type.diagnosis_counts);
    writer.key("scored_queries").count(type.scored_queries);
    writer.end_object();
  }
  writer.end_object();

  writer.key("top_failures");
  write(writer, report.top_failures);
  write_insights(writer, report.insights);
  writer.key("health_profile");
  write(writer, report.health);
  writer.key("confidence");
  write(writer, report.confidence);
}

Result<StoredReport> read_report(Cursor& at) {
  StoredReport out;
  EvaluationReport& report = out.report;
  MaybeCount scored;
  bool has_insights = false, has_health = false, has_confidence = false;
  std::vector<std::pair<std::string, CategoryCounts>> by_type;
  at.object([&](std::string_view key) {
    at.kind();
    const std::size_t start = at.offset();
    if (key == "dataset_name") {
      report.dataset_name = at.string();
    } else if (key == "dataset_version") {
      report.dataset_version = at.string();
    } else if (key == "pipeline_name") {
      report.pipeline_name = at.take_null() ? std::nullopt : std::optional(at.string());
    } else if (key == "total_queries") {
      report.total_queries = at.count(max_queries);
    } else if (key == "completed_queries") {
      report.completed_queries = at.count(max_queries);
    } else if (key == "failed_queries") {
      report.failed_queries = at.count(max_queries);
    } else if (key == "judged_queries") {
      report.judged_queries = at.count(max_queries);
    } else if (key == "judge_failures") {
      report.judge_failures = at.count(max_queries);
    } else if (key == "retrieval") {
      report.retrieval = retrieval(at, scored);
    } else if (key == "semantic") {
      report.semantic = semantic(at);
    } else if (key == "latency") {
      report.latency = latency(at);
    } else if (key == "diagnosis_counts") {
      report.diagnosis_counts = counts(at);
    } else if (key == "diagnosis_by_query_type") {
      at.object([&](std::string_view type) { by_type.emplace_back(type, counts(at)); });
    } else if (key == "metrics_by_query_type") {
      report.by_type.clear();
      at.object([&](std::string_view type) { report.by_type.push_back(type_metrics(at, type)); });
    } else if (key == "top_failures") {
      report.top_failures.clear();
      at.array([&](std::size_t) { report.top_failures.push_back(top_failure(at)); });
    } else if (key == "overall_insights") {
      report.insights.sentences = texts(at);
      has_insights = true;
    } else if (key == "insight_codes") {
      report.insights.codes = texts(at);
    } else if (key == "health_profile") {
      report.health = stored_health(at);
      has_health = true;
    } else if (key == "confidence") {
      report.confidence = stored_confidence(at);
      has_confidence = true;
    } else if (key == "results") {
      if (at.kind() != json::Kind::array) return at.wrong("an array of results");
      out.results = at.raw();
      return;
    } else {
      at.raw();
    }
    out.fields.emplace_back(key, at.text(start));
  });
  if (at.failed()) return tl::unexpected(at.error());
  report.retrieval.scored_queries = scored.value_or(report.completed_queries);
  for (const auto& entry : by_type) {
    const auto known = std::find_if(report.by_type.begin(), report.by_type.end(), [&](const TypeMetrics& one) { return one.query_type == entry.first; });
    if (known != report.by_type.end() && known->diagnosis_counts == CategoryCounts{}) known->diagnosis_counts = entry.second;
  }
  std::stable_sort(report.by_type.begin(), report.by_type.end(),
                   [](const TypeMetrics& a, const TypeMetrics& b) { return type_before(a.query_type, b.query_type); });
  if (!has_insights) report.insights = insights(report);
  if (!has_health) report.health = health(report);
  if (!has_confidence) report.confidence = confidence(report);
  return out;
}

void write_fields(Writer& writer, const StoredReport& stored) {
  bool has_insights = false, has_health = false, has_confidence = false;
  for (auto field = stored.fields.begin(); field != stored.fields.end(); ++field) {
    // Of a field that stands there twice the last one was read.
    if (std::any_of(field + 1, stored.fields.end(), [&](const auto& later) { return later.first == field->first; })) continue;
    if (field->first == "insight_codes" && std::none_of(stored.fields.begin(), stored.fields.end(), [](const auto& one) { return one.first == "overall_insights"; })) {
      continue;  // written with the insights below
    }
    has_insights = has_insights || field->first == "overall_insights";
    has_health = has_health || field->first == "health_profile";
    has_confidence = has_confidence || field->first == "confidence";
    writer.key(field->first).raw(field->second);
  }
  if (!has_insights) write_insights(writer, stored.report.insights);
  if (!has_health) {
    writer.key("health_profile");
    write(writer, stored.report.health);
  }
  if (!has_confidence) {
    writer.key("confidence");
    write(writer, stored.report.confidence);
  }
}

}  // namespace polygraph::diagnosis
