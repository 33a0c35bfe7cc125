#include "wasm/diagnosis/document.hpp"

#include <algorithm>
#include <array>

namespace polygraph::diagnosis {
namespace {

using json::Cursor;
using json::Kind;
using json::Writer;

constexpr int schema_version = 1;

/// Fields that are made anew, or say what the document is.
constexpr std::array made_anew = {
    std::string_view("kind"), std::string_view("schema"), std::string_view("k"), std::string_view("dataset_name"), std::string_view("dataset_version"),
    std::string_view("pipeline_name"), std::string_view("total_queries"), std::string_view("completed_queries"), std::string_view("failed_queries"),
    std::string_view("judged_queries"), std::string_view("judge_failures"), std::string_view("retrieval"), std::string_view("semantic"),
    std::string_view("latency"), std::string_view("diagnosis_counts"), std::string_view("diagnosis_by_query_type"),
    std::string_view("metrics_by_query_type"), std::string_view("top_failures"), std::string_view("overall_insights"), std::string_view("insight_codes"),
    std::string_view("health_profile"), std::string_view("confidence"), std::string_view("results"),
};

/// What the fields of an object say that it is.
struct Shape {
  bool results = false, report = false, comparison = false;
  std::optional<double> schema;          ///< version, of a document of Polygraph's own
  std::optional<std::size_t> diagnosed;  ///< of a printed Diagnosis: where its report stands
};

Shape shape(std::string_view text, std::size_t offset) {
  Shape out;
  Cursor at(text, offset);
  bool inner_report = false, modes = false, own = false;
  std::size_t inner = 0;
  at.object([&](std::string_view key) {
    const Kind kind = at.kind();
    const std::size_t start = at.offset();
    out.results = out.results || key == "results";
    out.comparison = out.comparison || key == "pipeline_a_report" || key == "pipeline_b_report" || key == "query_outcomes";
    for (const std::string_view mark : {"retrieval", "diagnosis_counts", "completed_queries", "total_queries", "metrics_by_query_type"}) {
      out.report = out.report || key == mark;
    }
    modes = modes || key == "failure_modes";
    if (key == "report" && kind == Kind::object) {
      inner_report = true;
      inner = start;
    }
    own = own || (key == "kind" && kind == Kind::string);
    if (key == "schema" && kind == Kind::number) {
      out.schema = at.number();
    } else {
      at.raw();
    }
  });
  if (!own) out.schema.reset();
  if (inner_report && modes) out.diagnosed = inner;
  return out;
}

Result<Document> from_evaluation(Result<Evaluation> evaluation) {
  if (!evaluation) return tl::unexpected(std::move(evaluation.error()));
  Document out;
  out.evaluation = std::move(*evaluation);
  out.report = out.evaluation->report();
  return out;
}

Error within(Error error, std::string_view field) {
  error.field = error.field.empty() ? std::string(field) : std::string(field) + "." + error.field;
  return error;
}

/// An object that is a report, or results with their names: at `offset` of `text`.
Result<Document> from_object(std::string_view text, std::size_t offset, bool has_results, const ReadOptions& options, const Rules& rules) {
  Cursor at(text, offset);
  if (!has_results) {
    auto stored = read_report(at);
    if (!stored) return tl::unexpected(std::move(stored.error()));
    Document out;
    out.report = stored->report;
    out.stored = std::move(*stored);
    return out;
  }
  auto out = from_evaluation(Evaluation::read(text, offset, options, rules));
  if (!out) return out;
  at.object([&](std::string_view key) {
    at.kind();
    const std::size_t start = at.offset();
    at.raw();
    if (std::find(made_anew.begin(), made_anew.end(), key) == made_anew.end()) out->others.emplace_back(key, at.text(start));
  });
  return out;
}

}  // namespace

Result<Document> read_document(std::string_view text, const ReadOptions& options, const Rules& rules) {
  const std::size_t start = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  Cursor at(text, start);
  if (at.kind() != Kind::object) {
    if (at.kind() == Kind::array) return from_evaluation(Evaluation::read(text, 0, options, rules));
    at.wrong("results or an evaluation report");
    return tl::unexpected(at.error());
  }
  if (is_json_lines(text, at.offset())) return from_evaluation(Evaluation::read(text, 0, options, rules));
  const std::size_t offset = at.offset();
  at.raw();
  at.finish();
  if (at.failed()) return tl::unexpected(at.error());
  const Shape outer = shape(text, offset);
  if (outer.schema && *outer.schema != schema_version) {
    return fail(ErrorCode::unsupported_version,
                "has version " + json::to_text(*outer.schema) + " of its format; this program reads version " + std::to_string(schema_version), "schema");
  }
  if (outer.comparison) return fail(ErrorCode::invalid_json, "is a comparison; give one of the reports it compares, or results");
  if (outer.diagnosed) {
    const Shape inner = shape(text, *outer.diagnosed);
    auto out = from_object(text, *outer.diagnosed, inner.results, options, rules);
    if (!out) return tl::unexpected(within(std::move(out.error()), "report"));
    return out;
  }
  if (!outer.results && !outer.report) return fail(ErrorCode::invalid_json, "holds neither results nor an evaluation report");
  return from_object(text, offset, outer.results, options, rules);
}

void write_report_fields(Writer& writer, const Document& document, const WriteResults& results) {
  if (document.stored) return write_fields(writer, *document.stored);
  write_fields(writer, document.report);
  for (const auto& [name, value] : document.others) writer.key(name).raw(value);
  if (!document.evaluation) return;
  writer.key("results");
  if (results) return results(writer);
  document.evaluation->write_results(writer, document.evaluation->all());
}

void write_report(Writer& writer, const Document& document, const WriteResults& results) {
  writer.begin_object();
  const auto& fields = document.stored ? document.stored->fields : document.others;
  if (std::none_of(fields.begin(), fields.end(), [](const auto& field) { return field.first == "kind" || field.first == "schema"; })) {
    writer.field("kind", "evaluation");
    writer.key("schema").count(schema_version);
  }
  write_report_fields(writer, document, results);
  writer.end_object();
}

std::vector<FailureMode> failure_modes(const EvaluationReport& report) {
  std::vector<FailureMode> out;
  for (const Category category : categories) {
    if (category != Category::pass && report.count(category) > 0) out.push_back({category, report.count(category)});
  }
  std::sort(out.begin(), out.end(), [](const FailureMode& a, const FailureMode& b) {
    if (severity(a.category) != severity(b.category)) return severity(a.category) > severity(b.category);
    return a.count != b.count ? a.count > b.count : name(a.category) < name(b.category);
  });
  return out;
}

void write_diagnosis(Writer& writer, const Document& document, const WriteResults& results) {
  const EvaluationReport& report = document.report;
  const auto as_stored = [&](std::string_view key) -> std::optional<std::string_view> {
    if (!document.stored) return std::nullopt;
    std::optional<std::string_view> out;
    for (const auto& [name, value] : document.stored->fields) {
      if (name == key) out = value;
    }
    return out;
  };
  writer.begin_object();
  writer.field("kind", "diagnosis");
  writer.key("schema").count(schema_version);
  writer.key("total_queries").count(report.total_queries);
  writer.key("passed_queries").count(report.passed());
  writer.key("failed_queries").count(report.total_queries - std::min(report.passed(), report.total_queries));
  writer.key("failure_modes").begin_array();
  for (const FailureMode& mode : failure_modes(report)) {
    writer.begin_object();
    writer.field("category", name(mode.category));
    writer.key("count").count(mode.count);
    writer.field("action", action(mode.category));
    writer.end_object();
  }
  writer.end_array();
  writer.key("important_queries");
  if (const auto stored = as_stored("top_failures")) {
    writer.raw(*stored);
  } else {
    write(writer, report.top_failures);
  }
  writer.key("health_profile");
  if (const auto stored = as_stored("health_profile")) {
    writer.raw(*stored);
  } else {
    write(writer, report.health);
  }
  writer.key("confidence");
  if (const auto stored = as_stored("confidence")) {
    writer.raw(*stored);
  } else {
    write(writer, report.confidence);
  }
  writer.key("report").begin_object();
  write_report_fields(writer, document, results);
  writer.end_object();
  writer.end_object();
}

}  // namespace polygraph::diagnosis
