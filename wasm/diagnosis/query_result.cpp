#include "wasm/diagnosis/query_result.hpp"

#include <algorithm>
#include <unordered_set>

#include "wasm/diagnosis/ranking.hpp"
#include "wasm/json/cursor.hpp"

namespace polygraph::diagnosis {
namespace {

using json::Cursor;
using json::Kind;

constexpr auto outcomes = {RefusalOutcome::correct, RefusalOutcome::false_refusal, RefusalOutcome::missed};
constexpr auto agent_diagnoses = {AgentDiagnosis::grader_false_negative, AgentDiagnosis::retrieval_miss,        AgentDiagnosis::missed_refusal,
                                  AgentDiagnosis::generation_error,      AgentDiagnosis::grader_false_positive, AgentDiagnosis::rewrite_loop};

template <class T>
std::optional<T> by_name(std::initializer_list<T> all, std::string_view wanted) {
  for (const T one : all) {
    if (name(one) == wanted) return one;
  }
  return std::nullopt;
}

void keep(OtherFields& others, std::string_view key, Cursor& at) {
  const std::string_view value = at.raw();
  if (at.failed()) return;
  // Of a field that stands there twice the last one counts, as everywhere in JSON.
  const auto known = std::find_if(others.begin(), others.end(), [&](const auto& other) { return other.first == key; });
  if (known != others.end()) {
    known->second = std::string(value);
  } else {
    others.emplace_back(key, value);
  }
}

std::optional<std::string> text_or_null(Cursor& at) {
  if (at.take_null()) return std::nullopt;
  return at.string();
}

std::vector<std::string> texts(Cursor& at) {
  std::vector<std::string> out;
  at.array([&](std::size_t) { out.push_back(at.string()); });
  return out;
}

RetrievedChunk chunk(Cursor& at) {
  RetrievedChunk out;
  bool named = false;
  at.object([&](std::string_view key) {
    if (key == "id") {
      out.id = at.string();
      named = true;
    } else if (key == "text") {
      out.text = at.string();
    } else if (key == "score") {
      out.score = at.take_null() ? std::nullopt : std::optional(at.number());
    } else if (key == "metadata") {
      if (at.take_null()) {
        out.metadata.clear();
      } else if (at.kind() != Kind::object) {
        at.wrong("an object");
      } else {
        out.metadata = std::string(at.raw());
      }
    } else {
      keep(out.others, key, at);
    }
  });
  if (!named) at.fail("is missing", "id");
  return out;
}

Latency latency(Cursor& at) {
  Latency out;
  at.object([&](std::string_view key) {
    const double value = at.number();
    if (key == "retrieval_ms") {
      out.retrieval_ms = value;
    } else if (key == "generation_ms") {
      out.generation_ms = value;
    } else if (key == "judge_ms") {
      out.judge_ms = value;
    } else if (key == "total_ms") {
      out.total_ms = value;
    } else {
      out.others.emplace_back(key, value);
    }
  });
  return out;
}

/// A value of the kind wanted, or nothing: metrics and stored diagnoses are open dictionaries, in which another type only
/// means that there is no such value.
std::optional<double> number_if(Cursor& at) {
  if (at.kind() == Kind::number) return at.number();
  at.raw();
  return std::nullopt;
}
std::optional<bool> boolean_if(Cursor& at) {
  if (at.kind() == Kind::boolean) return at.boolean();
  at.raw();
  return std::nullopt;
}
std::optional<std::string> string_if(Cursor& at) {
  if (at.kind() == Kind::string) return at.string();
  at.raw();
  return std::nullopt;
}
std::optional<double> share_if(Cursor& at) {
  const auto value = number_if(at);
  return value && *value >= 0 && *value <= 1 ? value : std::nullopt;
}

/// The names of this K's metrics, made once for a file.
struct MetricNames {
  explicit MetricNames(std::uint32_t k) : precision("precision_at_" + std::to_string(k)), recall("recall_at_" + std::to_string(k)) {}
  std::string precision, recall;
};

Metrics metrics(Cursor& at, const MetricNames& names) {
  Metrics out;
  at.object([&](std::string_view key) {
    if (key == names.precision) {
      out.precision_at_k = number_if(at);
    } else if (key == names.recall) {
      out.recall_at_k = number_if(at);
    } else if (key == "reciprocal_rank") {
      out.reciprocal_rank = number_if(at);
    } else if (key == "answer_correct") {
      out.answer_correct = boolean_if(at);
    } else if (key == "grounded") {
      out.grounded = boolean_if(at);
    } else if (key == "judge_confidence") {
      out.judge_confidence = share_if(at);
    } else if (key == "judge_reason") {
      out.judge_reason = string_if(at);
    } else {
      keep(out.others, key, at);
    }
  });
  return out;
}

/// A stored diagnosis; nothing unless it is one of the eight.
struct StoredDiagnosis {
  std::optional<Category> category;
  std::optional<Severity> severity;
  std::optional<double> confidence;
  std::optional<std::string> reason, action;
  std::optional<std::vector<std::string>> evidence;
  std::optional<std::vector<Category>> secondary;
  std::optional<std::string> judge;
  OtherFields others;
};

StoredDiagnosis stored_diagnosis(Cursor& at) {
  StoredDiagnosis out;
  at.object([&](std::string_view key) {
    if (key == "category") {
      const auto text = string_if(at);
      out.category = text ? category(*text) : std::nullopt;
    } else if (key == "severity") {
      const auto text = string_if(at);
      out.severity = text ? severity(*text) : std::nullopt;
    } else if (key == "confidence") {
      out.confidence = share_if(at);
    } else if (key == "reason") {
      out.reason = string_if(at);
    } else if (key == "action") {
      out.action = string_if(at);
    } else if (key == "evidence" || key == "secondary") {
      if (at.kind() != Kind::array) {
        at.raw();
        return;
      }
      std::vector<std::string> lines;
      at.array([&](std::size_t) {
        if (auto line = string_if(at)) lines.push_back(std::move(*line));
      });
      if (key == "evidence") {
        out.evidence = std::move(lines);
        return;
      }
      out.secondary.emplace();
      for (const auto& line : lines) {
        if (const auto known = category(line)) out.secondary->push_back(*known);
      }
    } else if (key == "judge") {
      out.judge = string_if(at);
    } else {
      keep(out.others, key, at);
    }
  });
  return out;
}

/// Fills what a stored diagnosis leaves open from the result itself.
Diagnosis diagnosis_from(StoredDiagnosis&& stored, const QueryResult& result) {
  Diagnosis out;
  out.category = *stored.category;
  out.severity = stored.severity.value_or(severity(out.category));
  out.confidence = stored.confidence.value_or(1.0);
  out.reason = std::move(stored.reason).value_or(std::string());
  out.action = stored.action && !stored.action->empty() ? std::move(*stored.action) : std::string(action(out.category));
  if (stored.evidence) {
    out.evidence = std::move(*stored.evidence);
  } else if (result.error && !result.error->empty()) {
    out.evidence = {*result.error};
  }
  out.secondary_known = stored.secondary.has_value();
  if (stored.secondary) out.secondary = std::move(*stored.secondary);
  out.judge = result.judge();
  if (stored.judge) out.judge = by_name({JudgeState::none, JudgeState::judged, JudgeState::failed}, *stored.judge).value_or(out.judge);
  out.others = std::move(stored.others);
  return out;
}

Result<QueryResult> read(Cursor& at, const MetricNames& names) {
  QueryResult out;
  std::optional<StoredDiagnosis> stored;
  bool has_id = false, has_query = false;
  at.object([&](std::string_view key) {
    if (key == "query_id") {
      out.query_id = at.string();
      has_id = true;
      if (!at.failed() && out.query_id.empty()) at.fail("is empty");
    } else if (key == "query") {
      out.query = at.string();
      has_query = true;
    } else if (key == "query_type") {
      out.query_type = text_or_null(at);
    } else if (key == "expected_answer") {
      out.expected_answer = text_or_null(at);
    } else if (key == "generated_answer") {
      out.generated_answer = text_or_null(at);
    } else if (key == "error") {
      out.error = text_or_null(at);
    } else if (key == "judge_error") {
      out.judge_error = text_or_null(at);
    } else if (key == "status") {
      out.status = at.string();
    } else if (key == "expected_chunk_ids") {
      out.expected_chunk_ids = texts(at);
    } else if (key == "retrieved_chunks") {
      out.retrieved_chunks.clear();
      at.array([&](std::size_t) { out.retrieved_chunks.push_back(chunk(at)); });
    } else if (key == "latency") {
      out.latency = latency(at);
    } else if (key == "metrics") {
      out.metrics = metrics(at, names);
    } else if (key == "diagnosis") {
      if (at.take_null()) return;  // Polygraph's own unfinished results
      stored = stored_diagnosis(at);
    } else if (key == "refused") {
      out.refused = at.take_null() ? std::nullopt : std::optional(at.boolean());
    } else if (key == "refusal_outcome") {
      out.refusal_outcome_known = true;
      out.refusal_outcome.reset();
      if (at.take_null()) return;
      out.refusal_outcome = by_name(outcomes, at.string());
      if (!out.refusal_outcome) at.fail("expected correct, false, missed or null");
    } else if (key == "agent_diagnosis") {
      out.agent_diagnosis_known = true;
      out.agent_diagnosis.reset();
      if (at.take_null()) return;
      const std::string text = at.string();
      out.agent_diagnosis = by_name(agent_diagnoses, text);
      if (!out.agent_diagnosis) at.fail("is no known diagnosis of an agent: \"" + text + "\"");
    } else if (key == "trace") {
      if (at.take_null()) {
        out.trace.clear();
      } else if (at.kind() != Kind::object) {
        at.wrong("an object");
      } else {
        out.trace = std::string(at.raw());
      }
    } else {
      keep(out.others, key, at);
    }
  });
  if (!has_id) at.fail("is missing", "query_id");
  if (!has_query) at.fail("is missing", "query");
  if (at.failed()) {
    Error error = at.error();
    if (!out.query_id.empty()) error.message = "query \"" + out.query_id + "\": " + error.message;
    return tl::unexpected(std::move(error));
  }
  if (stored && stored->category) out.diagnosis = diagnosis_from(std::move(*stored), out);
  return out;
}

void write_others(json::Writer& writer, const OtherFields& others) {
  for (const auto& [key, value] : others) writer.key(key).raw(value);
}

/// `{` of a results file was seen: its own fields, and where its results stand.
struct Envelope {
  ResultsHeader header;
  std::optional<std::size_t> results;  ///< offset of the array
};

/// `whole`: nothing may stand behind it.
Envelope envelope(Cursor& at, std::uint32_t k, bool whole) {
  Envelope out;
  out.header.k = k;
  at.object([&](std::string_view key) {
    if (key == "dataset_name") {
      out.header.dataset_name = text_or_null(at).value_or(std::string());
    } else if (key == "dataset_version") {
      out.header.dataset_version = text_or_null(at).value_or(std::string());
    } else if (key == "pipeline_name") {
      out.header.pipeline_name = text_or_null(at);
    } else if (key == "k") {
      const std::uint64_t given = at.count(max_k);
      if (!at.failed() && given == 0) return at.fail("must be at least 1");
      out.header.k = static_cast<std::uint32_t>(given);
      out.header.k_given = true;
    } else if (key == "results") {
      if (at.kind() != Kind::array) return at.wrong("an array of results");
      out.results = at.offset();
      at.raw();
    } else if (key == "retrieval" && !out.header.k_given && at.kind() == Kind::object) {
      // An EvaluationReport with results keeps its K there.
      at.object([&](std::string_view inner) {
        if (inner != "k") {
          at.raw();
          return;
        }
        const std::uint64_t given = at.count(max_k);
        if (!at.failed() && given == 0) return at.fail("must be at least 1");
        out.header.k = static_cast<std::uint32_t>(given);
        out.header.k_given = true;
      });
    } else {
      at.raw();
    }
  });
  if (whole) at.finish();
  return out;
}

Error in_record(Error error, std::string_view record) {
  error.message = std::string(record) + ": " + error.message;
  return error;
}

class Reading {
 public:
  Reading(std::string_view document, const ReadOptions& options, const std::function<Result<void>(StoredResult&&)>& use)
      : document_(document), options_(options), use_(use) {}

  /// The array at `offset`. Where it is the `whole` document, nothing may stand behind it.
  Result<void> array(std::size_t offset, std::uint32_t k, bool whole) {
    const MetricNames names(k);
    Cursor at(document_, offset);
    std::optional<Error> failure;
    at.array([&](std::size_t index) {
      at.kind();
      const std::size_t start = at.offset();
      Cursor record(document_, start);
      auto result = read(record, names);
      const auto place = [&] { return "result " + std::to_string(index); };
      if (!result) {
        failure = in_record(std::move(result.error()), place());
        return at.fail("");
      }
      at.move_to(record.offset());
      pass(record.offset());
      if (auto done = use_({std::move(*result), document_.substr(start, record.offset() - start), index}); !done) {
        failure = in_record(std::move(done.error()), place());
        failure->line = json::line_at(document_, start);
        at.fail("");
      }
    });
    if (failure) return tl::unexpected(std::move(*failure));
    if (whole) at.finish();
    if (at.failed()) return tl::unexpected(at.error());
    return {};
  }

  Result<void> lines(std::size_t start, std::uint32_t k) {
    const MetricNames names(k);
    std::uint64_t number = 0;
    while (start < document_.size()) {
      ++number;
      const std::size_t end = std::min(document_.find('\n', start), document_.size());
      const std::string_view line = document_.substr(start, end - start);
      start = end + 1;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      Cursor record(line);
      auto result = read(record, names);
      if (result) record.finish();
      if (record.failed() || !result) {
        Error error = result ? record.error() : std::move(result.error());
        error.line = number;
        return tl::unexpected(std::move(error));
      }
      if (auto done = use_({std::move(*result), line, number}); !done) {
        done.error().line = number;
        return done;
      }
      pass(std::min(start, document_.size()));
    }
    return {};
  }

 private:
  void pass(std::size_t offset) {
    constexpr std::size_t often = std::size_t{8} << 20;
    if (!options_.passed || offset < passed_ + often) return;
    passed_ = offset;
    options_.passed(offset);
  }

  std::string_view document_;
  const ReadOptions& options_;
  const std::function<Result<void>(StoredResult&&)>& use_;
  std::size_t passed_ = 0;
};

}  // namespace

std::string_view name(JudgeState state) noexcept {
  switch (state) {
    case JudgeState::none: return "none";
    case JudgeState::judged: return "judged";
    case JudgeState::failed: return "failed";
  }
  return "";
}

std::string_view name(RefusalOutcome outcome) noexcept {
  switch (outcome) {
    case RefusalOutcome::correct: return "correct";
    case RefusalOutcome::false_refusal: return "false";
    case RefusalOutcome::missed: return "missed";
  }
  return "";
}

std::string_view name(AgentDiagnosis diagnosis) noexcept {
  switch (diagnosis) {
    case AgentDiagnosis::grader_false_negative: return "grader_false_negative";
    case AgentDiagnosis::retrieval_miss: return "retrieval_miss";
    case AgentDiagnosis::missed_refusal: return "missed_refusal";
    case AgentDiagnosis::generation_error: return "generation_error";
    case AgentDiagnosis::grader_false_positive: return "grader_false_positive";
    case AgentDiagnosis::rewrite_loop: return "rewrite_loop";
  }
  return "";
}

bool is_json_lines(std::string_view document, std::size_t offset) {
  const std::size_t end = std::min(document.find('\n', offset), document.size());
  Cursor line(document.substr(offset, end - offset));
  bool is_result = false;
  line.object([&](std::string_view key) {
    is_result = is_result || key == "query_id";
    line.raw();
  });
  if (is_result || line.failed()) return is_result;
  return document.find_first_not_of(" \t\r\n", end) != std::string_view::npos;
}

Result<QueryResult> parse_query_result(std::string_view json, std::uint32_t k) {
  Cursor at(json);
  auto result = read(at, MetricNames(k));
  if (!result) return result;
  at.finish();
  if (at.failed()) return tl::unexpected(at.error());
  return result;
}

void write(json::Writer& writer, const QueryResult& result, std::uint32_t k) {
  writer.begin_object();
  writer.field("query_id", result.query_id);
  writer.field("query", result.query);
  writer.field("query_type", result.query_type);
  writer.field("expected_answer", result.expected_answer);
  writer.field("generated_answer", result.generated_answer);
  writer.field("error", result.error);
  writer.field("judge_error", result.judge_error);
  writer.field("status", result.status);
  writer.key("expected_chunk_ids").begin_array();
  for (const auto& id : result.expected_chunk_ids) writer.value(id);
  writer.end_array();

  writer.key("retrieved_chunks").begin_array();
  for (const RetrievedChunk& chunk : result.retrieved_chunks) {
    writer.begin_object();
    writer.field("id", chunk.id);
    writer.field("text", chunk.text);
    writer.field("score", chunk.score);
    writer.key("metadata");
    if (chunk.metadata.empty()) {
      writer.null();
    } else {
      writer.raw(chunk.metadata);
    }
    write_others(writer, chunk.others);
    writer.end_object();
  }
  writer.end_array();

  writer.key("latency").begin_object();
  const auto milliseconds = [&](std::string_view key, const std::optional<double>& value) {
    if (value) writer.field(key, rounded(*value, 3));
  };
  milliseconds("retrieval_ms", result.latency.retrieval_ms);
  milliseconds("generation_ms", result.latency.generation_ms);
  milliseconds("judge_ms", result.latency.judge_ms);
  milliseconds("total_ms", result.latency.total_ms);
  for (const auto& [key, value] : result.latency.others) writer.field(key, value);
  writer.end_object();

  writer.key("metrics").begin_object();
  if (result.completed()) {
    const Metrics& metrics = result.metrics;
    const MetricNames names(k);
    writer.field(names.precision, metrics.precision_at_k);
    writer.field(names.recall, metrics.recall_at_k);
    writer.field("reciprocal_rank", metrics.reciprocal_rank);
    if (metrics.answer_correct) writer.field("answer_correct", *metrics.answer_correct);
    if (metrics.grounded) writer.field("grounded", *metrics.grounded);
    if (metrics.judge_confidence) writer.field("judge_confidence", *metrics.judge_confidence);
    if (metrics.judge_reason) writer.field("judge_reason", *metrics.judge_reason);
    write_others(writer, metrics.others);
  }
  writer.end_object();

  writer.key("diagnosis").begin_object();
  if (result.diagnosis) {
    const Diagnosis& diagnosis = *result.diagnosis;
    writer.field("category", name(diagnosis.category));
    writer.field("severity", name(diagnosis.severity));
    writer.field("confidence", diagnosis.confidence);
    writer.field("reason", diagnosis.reason);
    writer.field("action", diagnosis.action);
    writer.key("evidence").begin_array();
    for (const auto& line : diagnosis.evidence) writer.value(line);
    writer.end_array();
    writer.key("secondary").begin_array();
    for (const Category category : diagnosis.secondary) writer.value(name(category));
    writer.end_array();
    writer.field("judge", name(diagnosis.judge));
    write_others(writer, diagnosis.others);
  }
  writer.end_object();

  if (result.refused || result.refusal_outcome || result.agent_diagnosis || !result.trace.empty()) {
    writer.field("refused", result.refused);
    writer.key("refusal_outcome");
    if (result.refusal_outcome) {
      writer.value(name(*result.refusal_outcome));
    } else {
      writer.null();
    }
    writer.key("agent_diagnosis");
    if (result.agent_diagnosis) {
      writer.value(name(*result.agent_diagnosis));
    } else {
      writer.null();
    }
    if (!result.trace.empty()) writer.key("trace").raw(result.trace);
  }
  write_others(writer, result.others);
  writer.end_object();
}

std::string to_json(const QueryResult& result, std::uint32_t k) {
  std::string out;
  {
    json::Writer writer([&](std::string_view piece) { out += piece; });
    write(writer, result, k);
  }
  return out;
}

void complete_metrics(QueryResult& result, std::uint32_t k) {
  if (!result.completed()) {
    result.metrics = {};
  } else if (!result.expected_chunk_ids.empty()) {
    Metrics& metrics = result.metrics;
    const Ranking ranking = ranking_of(result, k);
    if (!metrics.precision_at_k) metrics.precision_at_k = ranking.precision;
    if (!metrics.recall_at_k) metrics.recall_at_k = ranking.recall;
    if (!metrics.reciprocal_rank) metrics.reciprocal_rank = ranking.reciprocal_rank;
  }
  Latency& latency = result.latency;
  if (!latency.total_ms && (latency.retrieval_ms || latency.generation_ms)) {
    latency.total_ms = latency.retrieval_ms.value_or(0.0) + latency.generation_ms.value_or(0.0);
  }
}

Result<ResultsHeader> read_results(std::string_view document, const ReadOptions& options, const std::function<Result<void>(StoredResult&&)>& use,
                                   const std::function<void(const ResultsHeader&)>& head, std::size_t offset) {
  const std::size_t start = offset != 0 ? offset : document.starts_with("\xef\xbb\xbf") ? 3 : 0;
  Cursor at(document, start);
  ResultsHeader header;
  header.k = options.k;
  Reading reading(document, options, use);
  switch (at.kind()) {
    case Kind::array:
      if (head) head(header);
      if (auto done = reading.array(at.offset(), header.k, true); !done) return tl::unexpected(std::move(done.error()));
      return header;
    case Kind::object: break;
    default:
      at.wrong("results: an array, JSON Lines, or an object with \"results\"");
      return tl::unexpected(at.error());
  }
  if (offset == 0 && is_json_lines(document, at.offset())) {
    if (head) head(header);
    if (auto done = reading.lines(start, header.k); !done) return tl::unexpected(std::move(done.error()));
    return header;
  }
  const Envelope found = envelope(at, options.k, offset == 0);
  if (at.failed()) return tl::unexpected(at.error());
  if (!found.results) return fail(ErrorCode::invalid_json, "holds no results", "results");
  if (head) head(found.header);
  if (auto done = reading.array(*found.results, found.header.k, false); !done) return tl::unexpected(std::move(done.error()));
  return found.header;
}

}  // namespace polygraph::diagnosis
