// The boundary of the evaluation module: golden sets, metrics, diagnosis, comparison and reports as functions from texts to one
// JSON text. A text is a JavaScript string or, unchanged, the bytes of a file. Every function answers {"ok": …} or
// {"error": {"code", "message", "field", "line"}} and never throws.
#include <emscripten/bind.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/bindings/reply.hpp"
#include "wasm/comparison/comparison.hpp"
#include "wasm/diagnosis/document.hpp"
#include "wasm/golden/conversion.hpp"
#include "wasm/golden/golden_set.hpp"
#include "wasm/golden/trec.hpp"
#include "wasm/json/brackets.hpp"
#include "wasm/json/cursor.hpp"
#include "wasm/metrics/trec.hpp"
#include "wasm/report/agent_result.hpp"
#include "wasm/report/comparison_text.hpp"
#include "wasm/report/diagnosis_text.hpp"
#include "wasm/report/evaluation.hpp"
#include "wasm/report/paired_tests.hpp"
#include "wasm/report/run_text.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::bindings {
namespace {

/// The value; discarded where `text` is no JSON, or nested deeper than anything that walks it can stand.
Json read_json(std::string_view text) {
  return json::deeper_than(text, json::max_depth) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

/// What a function was asked for, as a JSON object; each setting is checked where it is read.
class Options {
 public:
  static Result<Options> parse(const std::string& text) {
    Json json = text.empty() ? Json::object() : read_json(text);
    if (!json.is_object()) return fail(ErrorCode::invalid_argument, "the options are no JSON object", "options");
    return Options(std::move(json));
  }

  std::uint32_t count(const char* name, std::uint32_t otherwise, std::uint32_t most) {
    const auto found = json_.find(name);
    if (found == json_.end()) return otherwise;
    if (found->is_number_unsigned() && *found >= 1 && *found <= most) return found->get<std::uint32_t>();
    refuse(name, *found, "a whole number from 1 to " + std::to_string(most));
    return otherwise;
  }
  double number(const char* name, double otherwise, double most) {
    const auto found = json_.find(name);
    if (found == json_.end()) return otherwise;
    if (found->is_number() && *found >= 0 && *found <= most) return found->get<double>();
    refuse(name, *found, "a number from 0 to " + json::to_text(most));
    return otherwise;
  }
  bool flag(const char* name, bool otherwise) {
    const auto found = json_.find(name);
    if (found == json_.end()) return otherwise;
    if (found->is_boolean()) return found->get<bool>();
    refuse(name, *found, "true or false");
    return otherwise;
  }
  std::string text(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end()) return {};
    if (found->is_string()) return found->get<std::string>();
    refuse(name, *found, "a text");
    return {};
  }
  std::optional<Json> object(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end()) return std::nullopt;
    if (found->is_object()) return *found;
    refuse(name, *found, "an object");
    return std::nullopt;
  }
  std::vector<std::size_t> depths(const char* name, std::vector<std::size_t> otherwise) {
    const auto found = json_.find(name);
    if (found == json_.end()) return otherwise;
    std::vector<std::size_t> out;
    if (found->is_array() && !found->empty()) {
      for (const Json& each : *found) {
        if (each.is_number_unsigned() && each >= 1 && each <= diagnosis::max_k) out.push_back(each.get<std::size_t>());
      }
    }
    if (out.empty() || out.size() != found->size()) {
      refuse(name, *found, "a list of whole numbers from 1 to " + std::to_string(diagnosis::max_k));
      return otherwise;
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  /// The first setting that was refused.
  const std::optional<Error>& error() const noexcept { return error_; }

 private:
  explicit Options(Json json) : json_(std::move(json)) {}
  void refuse(const char* name, const Json& value, const std::string& wanted) {
    if (!error_) error_ = Error{ErrorCode::invalid_argument, "should be " + wanted + ", not " + dump(value), name};
  }
  Json json_;
  std::optional<Error> error_;
};

/// A document that was read: results, a report, a diagnosis, or a run with all its metrics.
struct Opened {
  std::optional<report::EvaluatedRun> run;
  std::optional<diagnosis::Document> other;
  const diagnosis::Document& document() const { return run ? run->document : *other; }
};

Result<Opened> open(std::string_view text, std::uint32_t k, const diagnosis::Rules& rules) {
  Opened opened;
  if (report::is_run(text)) {
    auto run = report::evaluate_run(text);
    if (!run) return tl::unexpected(std::move(run.error()));
    opened.run = std::move(*run);
  } else {
    auto document = diagnosis::read_document(text, {k, {}}, rules);
    if (!document) return tl::unexpected(std::move(document.error()));
    opened.other = std::move(*document);
  }
  return opened;
}

diagnosis::Rules rules_of(Options& options) {
  diagnosis::Rules rules;
  rules.good_rank = options.count("good_rank", rules.good_rank, diagnosis::max_k);
  rules.slow_retrieval_ms = options.number("slow_ms", rules.slow_retrieval_ms, 1e9);
  return rules;
}
std::uint32_t k_of(Options& options) { return options.count("k", diagnosis::default_k, diagnosis::max_k); }

/// {"ok": the document that `write` writes}
template <class Write>
std::string written(Write&& write) {
  std::string out = "{\"ok\":";
  {
    json::Writer writer([&](std::string_view piece) { out += piece; });
    write(writer);
  }
  return out += '}';
}

/// Parses the options, runs `work` with them, and gives what it answers or the error.
template <class Work>
std::string with_options(const std::string& text, Work&& work) {
  return guarded([&]() -> std::string {
    auto options = Options::parse(text);
    return options ? work(*options) : failure(options.error());
  });
}

/// An error that says which of several documents it is about, in front of the field.
std::string failure_of(Error error, std::string_view which) {
  error.field = std::string(which) + (error.field.empty() ? "" : "." + error.field);
  return failure(error);
}

// ---- golden sets

/// Both files of a collection, or the one text of any other form.
Result<golden::Checked> read_set(const std::string& text, const std::string& qrels, const std::string& form, std::size_t* unjudged = nullptr) {
  if (form.empty()) return golden::read(text);
  if (form != "trec" && form != "beir") return fail(ErrorCode::invalid_argument, "\"" + form + "\" is no form of a collection: trec or beir", "form");
  auto collection = form == "beir" ? golden::read_beir(text, qrels) : golden::read_trec(text, qrels);
  if (!collection) return tl::unexpected(collection.error());
  if (unjudged != nullptr) *unjudged = collection->unjudged.size();
  return std::move(collection->checked);
}

std::string validate(const std::string& text, const std::string& qrels, const std::string& form) {
  return guarded([&]() -> std::string {
    auto checked = read_set(text, qrels, form);
    return checked ? ok_text(golden::report_json(*checked)) : failure(checked.error());
  });
}

/// {"name", "version", "form", "digest", "items": […]} of a valid set.
std::string read_dataset(const std::string& text, const std::string& qrels, const std::string& form) {
  return guarded([&]() -> std::string {
    auto checked = read_set(text, qrels, form);
    if (!checked) return failure(checked.error());
    auto set = golden::valid_set(std::move(*checked));
    if (!set) return failure(set.error());
    return written([&](json::Writer& writer) {
      writer.begin_object();
      writer.field("name", set->name);
      writer.field("version", set->version);
      writer.field("form", golden::name(set->form));
      writer.field("digest", golden::digest(*set));
      writer.key("items").begin_array();
      for (const auto& item : set->items) {
        std::string line = golden::write_item(item);
        while (line.ends_with('\n')) line.pop_back();
        writer.raw(line);
      }
      writer.end_array();
      writer.end_object();
    });
  });
}

/// {"form", "items", "written", "files": [{"name", "text"}], "left_out": [{"item", "field", "message"}]}. Options: to, name, version.
std::string convert(const std::string& text, const std::string& qrels, const std::string& form, const std::string& options_json) {
  return with_options(options_json, [&](Options& options) -> std::string {
    const std::string to = options.text("to"), name = options.text("name"), version = options.text("version");
    if (options.error()) return failure(*options.error());
    auto checked = read_set(text, qrels, form);
    if (!checked) return failure(checked.error());
    auto set = golden::valid_set(std::move(*checked));
    if (!set) return failure(set.error());
    if (!name.empty()) set->name = name;
    if (!version.empty()) set->version = version;
    auto converted = golden::convert(std::move(*set), to);
    if (!converted) return failure(converted.error());
    Json files = Json::array(), left_out = Json::array();
    for (const auto& file : converted->files) files.push_back({{"name", file.name}, {"text", file.text}});
    for (const auto& each : converted->left_out) {
      left_out.push_back({{"item", each.item}, {"field", each.field.empty() ? Json() : Json(each.field)}, {"message", each.message}});
    }
    return ok({{"form", to}, {"items", converted->items}, {"written", converted->written}, {"files", std::move(files)}, {"left_out", std::move(left_out)}});
  });
}

// ---- retrieval metrics

/// Options: k, a list of depths.
std::string metrics_of(const std::string& qrels_text, const std::string& run_text, const std::string& options_json) {
  return with_options(options_json, [&](Options& options) -> std::string {
    const auto k = options.depths("k", {1, 3, 5, 10});
    if (options.error()) return failure(*options.error());
    const auto qrels = metrics::parse_qrels(qrels_text);
    if (!qrels) return failure_of(qrels.error(), "qrels");
    const auto run = metrics::parse_run(run_text);
    if (!run) return failure_of(run.error(), "run");
    return ok_text(metrics::to_json(metrics::evaluate(*qrels, *run, k)));
  });
}

// ---- reports

/// Options: k, good_rank, slow_ms; results: false leaves the single results out.
std::string build_report(const std::string& text, const std::string& options_json) {
  return with_options(options_json, [&](Options& options) -> std::string {
    const auto rules = rules_of(options);
    const auto k = k_of(options);
    const bool results = options.flag("results", true);
    if (options.error()) return failure(*options.error());
    const auto opened = open(text, k, rules);
    if (!opened) return failure(opened.error());
    return written([&](json::Writer& writer) {
      if (opened->run) return report::write_evaluation(writer, *opened->run, results);
      if (results) return diagnosis::write_report(writer, *opened->other);
      writer.begin_object();
      writer.field("kind", "evaluation");
      writer.key("schema").count(1);
      diagnosis::write_fields(writer, opened->other->report);
      writer.end_object();
    });
  });
}

std::string diagnose(const std::string& text, const std::string& options_json) {
  return with_options(options_json, [&](Options& options) -> std::string {
    const auto rules = rules_of(options);
    const auto k = k_of(options);
    const bool markdown = options.flag("markdown", false);
    if (options.error()) return failure(*options.error());
    const auto opened = open(text, k, rules);
    if (!opened) return failure(opened.error());
    if (markdown) return ok(report::diagnosis_markdown(opened->document().report));
    return written([&](json::Writer& writer) { diagnosis::write_diagnosis(writer, opened->document()); });
  });
}

/// Options: those of build_report, quality_tolerance, latency_tolerance_ms.
std::string compare(const std::string& a_text, const std::string& b_text, const std::string& options_json) {
  return with_options(options_json, [&](Options& options) -> std::string {
    const auto rules = rules_of(options);
    const auto k = k_of(options);
    comparison::Options how;
    how.quality_tolerance = options.number("quality_tolerance", how.quality_tolerance, 1);
    how.latency_tolerance_ms = options.number("latency_tolerance_ms", how.latency_tolerance_ms, 1e9);
    how.test = report::paired_tests;
    const bool markdown = options.flag("markdown", false);
    if (options.error()) return failure(*options.error());
    const auto a = open(a_text, k, rules);
    if (!a) return failure_of(a.error(), "a");
    const auto b = open(b_text, k, rules);
    if (!b) return failure_of(b.error(), "b");
    const auto compared = comparison::compare(a->document(), b->document(), how);
    if (!compared) return failure(compared.error());
    if (markdown) return ok(report::comparison_markdown(*compared));
    return written([&](json::Writer& writer) { comparison::write_comparison(writer, *compared); });
  });
}

// ---- runs

/// Several runs in one document, every pair compared. `texts`: an array of runs.
std::string matrix(const emscripten::val& texts) {
  return guarded([&]() -> std::string {
    const auto runs_text = emscripten::vecFromJSArray<std::string>(texts);
    std::vector<report::EvaluatedRun> runs;
    for (std::size_t i = 0; i < runs_text.size(); ++i) {
      auto run = report::evaluate_run(runs_text[i]);
      if (!run) return failure_of(run.error(), "runs[" + std::to_string(i) + "]");
      runs.push_back(std::move(*run));
    }
    if (runs.size() < 2) return failure({ErrorCode::invalid_argument, "a matrix has two runs or more", "runs"});
    std::string out = "{\"ok\":";
    std::optional<Error> error;
    {
      json::Writer writer([&](std::string_view piece) { out += piece; });
      if (auto done = report::write_matrix(writer, runs); !done) error = done.error();
    }
    return error ? failure(*error) : out + '}';
  });
}

/// The first line of a run, with its end. Options: identity (an object), items, created_at.
std::string run_head(const std::string& options_json) {
  return with_options(options_json, [&](Options& options) -> std::string {
    const auto identity = options.object("identity");
    const auto items = options.count("items", 0, 1'000'000'000);
    const auto created_at = options.text("created_at");
    if (options.error()) return failure(*options.error());
    if (!identity || items == 0) return failure({ErrorCode::invalid_argument, "a run has an identity and items", identity ? "items" : "identity"});
    return ok(report::header_line(report::run_header(identity->dump(), items, created_at)));
  });
}

/// A line of a run, with its end: one golden item and the trace that an agent's run on it left, or a result. `texts`: an object of the
/// retrieved chunks' texts by id. Options: trace (true: `result` is a trace), k, repeat, finished_at. `judgement`: JSON, or empty.
std::string run_line(const std::string& golden_text, const std::string& result_text, const std::string& texts, const std::string& judgement,
                     const std::string& options_json) {
  return with_options(options_json, [&](Options& options) -> std::string {
    const auto k = k_of(options);
    const auto repeat = options.count("repeat", 1, 1'000'000);
    const auto finished_at = options.text("finished_at");
    const bool is_trace = options.flag("trace", false);
    if (options.error()) return failure(*options.error());
    auto set = golden::parse(golden_text);
    if (!set) return failure_of(set.error(), "golden");
    if (set->items.size() != 1) return failure({ErrorCode::invalid_json, "should hold one golden item", "golden"});
    const auto& item = set->items.front();
    diagnosis::QueryResult result;
    if (is_trace) {
      auto run = trace::parse(result_text);
      if (!run) return failure_of(run.error(), "trace");
      if (run->status == agent::Status::running) return failure({ErrorCode::invalid_argument, "the run is not finished", "trace"});
      const auto chunk_texts = texts.empty() ? Json::object() : read_json(texts);
      if (!chunk_texts.is_object()) return failure({ErrorCode::invalid_json, "should be an object of texts by chunk id", "texts"});
      result = report::result_of(*run, result_text, item, k, [&](const agent::Retrieved& retrieved, std::size_t place) {
        const auto found = chunk_texts.find(retrieved.candidate_ids[place]);
        return found != chunk_texts.end() && found->is_string() ? found->get<std::string>() : std::string();
      });
    } else {
      auto read = diagnosis::parse_query_result(result_text, k);
      if (!read) return failure_of(read.error(), "result");
      result = std::move(*read);
      if (result.query_id != item.id) {
        return failure({ErrorCode::mismatch, "the result is of \"" + result.query_id + "\", the item is \"" + item.id + "\"", "result.query_id"});
      }
    }
    std::string golden = golden::write_item(item);
    while (golden.ends_with('\n')) golden.pop_back();
    std::string judged;
    if (!judgement.empty()) {
      const auto json = read_json(judgement);
      if (!json.is_object() && !json.is_null()) return failure({ErrorCode::invalid_json, "should be an object or null", "judgement"});
      judged = dump(json);
    }
    return ok(report::line_text({item.id, repeat}, golden, diagnosis::to_json(result, k), judged, finished_at));
  });
}

std::string version() { return ok(POLYGRAPH_VERSION); }

}  // namespace
}  // namespace polygraph::bindings

EMSCRIPTEN_BINDINGS(polygraph_evaluation) {
  using namespace polygraph::bindings;
  emscripten::function("validate", &validate);
  emscripten::function("readDataset", &read_dataset);
  emscripten::function("convert", &convert);
  emscripten::function("metrics", &metrics_of);
  emscripten::function("buildReport", &build_report);
  emscripten::function("diagnose", &diagnose);
  emscripten::function("compare", &compare);
  emscripten::function("matrix", &matrix);
  emscripten::function("runHead", &run_head);
  emscripten::function("runLine", &run_line);
  emscripten::function("version", &version);
}
