#include "wasm/gaps/gaps.hpp"

namespace polygraph::gaps {
namespace {

void write_text_or_null(json::Writer& writer, std::string_view key, const std::string& text) {
  writer.key(key);
  if (text.empty()) writer.null();
  else writer.value(text);
}

void write(json::Writer& writer, const Gap& gap) {
  writer.begin_object();
  writer.field("label", gap.label);
  writer.key("count").count(gap.count);
  write_text_or_null(writer, "first_seen", gap.first_seen);
  write_text_or_null(writer, "last_seen", gap.last_seen);
  writer.field("kind", name(gap.kind));
  writer.key("nearness");
  if (gap.nearness) {
    writer.begin_object();
    writer.field("value", gap.nearness->value);
    writer.field("measure", name(gap.nearness->measure));
    writer.field("near_from", near_from(gap.nearness->measure));
    writer.end_object();
  } else {
    writer.null();
  }
  writer.key("questions").begin_array();
  for (const auto& [question, count] : gap.questions) {
    writer.begin_object();
    writer.field("question", question);
    writer.key("count").count(count);
    writer.end_object();
  }
  writer.end_array();
  writer.key("reasons").begin_array();
  for (const auto& [reason, count] : gap.reasons) {
    writer.begin_object();
    writer.field("reason", reason);
    writer.key("count").count(count);
    writer.end_object();
  }
  writer.end_array();
  write_text_or_null(writer, "detail", gap.detail);
  writer.key("closest").begin_array();
  for (const auto& [page, count] : gap.closest) {
    writer.begin_object();
    writer.field("title", page.title);
    writer.field("url", page.url);
    writer.key("count").count(count);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
}

}  // namespace

void write(json::Writer& writer, const Report& report) {
  writer.begin_object();
  writer.field("kind", "gaps");
  writer.key("schema").count(1);
  write_text_or_null(writer, "corpus", report.corpus);
  write_text_or_null(writer, "index_digest", report.index_digest);
  writer.key("grouped_by").begin_object();
  writer.field("measure", name(report.grouped_by));
  writer.field("threshold", report.threshold);
  write_text_or_null(writer, "why", report.why_words);
  writer.end_object();
  writer.key("asked").count(report.asked);
  writer.key("refused").count(report.refused);
  writer.key("failed").count(report.failed);
  writer.key("distinct_questions").count(report.distinct);
  writer.key("gaps").begin_array();
  for (const auto& gap : report.gaps) write(writer, gap);
  writer.end_array();
  writer.end_object();
}

}  // namespace polygraph::gaps
