#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/stored_document.hpp"
#include "cli/runs/probe.hpp"
#include "cli/runs/setup.hpp"
#include "cli/runs/tables.hpp"
#include "wasm/report/diagnosis_text.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string file, out, markdown, chunks, config, pipeline;
  std::uint32_t k = diagnosis::default_k;
  diagnosis::Rules rules;
  RunOptions asking;  ///< of a probe
  bool json = false, no_keep = false, probe = false;
};

/// What a run says of its subject and judge, where the command line does not: the probe asks those again.
Result<void> ask_as_the_run_did(const std::string& identity, Settings& settings, Options& options) {
  const auto run = nlohmann::json::parse(identity, nullptr, false);
  const auto text = [](const nlohmann::json& of, const char* field) {
    return of.is_object() && of.contains(field) && of[field].is_string() ? of[field].get<std::string>() : std::string();
  };
  const auto part = [&](const char* field) { return run.is_object() && run.contains(field) ? run[field] : nlohmann::json(); };
  const nlohmann::json subject = part("subject"), judge = part("judge");
  if (options.pipeline.empty() && options.config.empty()) {
    if (text(subject, "kind") == "pipeline") {
      options.pipeline = text(subject, "pipeline");
      if (options.asking.refusal_pattern.empty()) options.asking.refusal_pattern = text(subject, "refusal_pattern");
    } else {
      options.config = text(subject, "name");
      if (subject.is_object() && subject.contains("config") && subject["config"].is_object()) {
        for (const auto& [name, value] : subject["config"].items()) {
          // All endpoints are one to the agent; which of them was asked stands in the settings.
          if (!value.is_string() || (name == "PROVIDER" && is_llm_provider(settings.get(name).value))) continue;
          if (auto set = settings.set(name + "=" + value.get<std::string>()); !set) return set;
        }
      }
    }
  }
  if (options.asking.judge.empty()) {
    options.asking.judge = text(judge, "provider");
    if (options.asking.judge != "offline" && options.asking.judge_model.empty()) options.asking.judge_model = text(judge, "model");
  }
  return {};
}

/// Who is asked again, opened. `status` says why it could not be.
struct Probing {
  std::unique_ptr<Bench> bench;
  std::unique_ptr<Subject> subject;
  ProbeOptions options;
  ExitCode status = ExitCode::done;
};

Probing open_probe(Context& context, const StoredDocument& opened, const std::string& file, Options& options) {
  const auto failed = [](const Error& error, std::string_view of = {}) { return Probing{nullptr, nullptr, {}, report(error, of)}; };
  if (!opened.document().evaluation) return failed({ErrorCode::invalid_json, "holds no results of single queries, and a probe asks them again", "results"}, file);
  if (!opened.run_identity().empty()) {
    if (auto known = ask_as_the_run_did(opened.run_identity(), context.settings, options); !known) return failed(known.error(), file);
  }
  if (options.pipeline.empty() == options.config.empty()) {
    return failed({ErrorCode::invalid_argument, options.pipeline.empty() ? "whose generation is asked again? Give --pipeline P or --config NAME (a run says it itself)"
                                                                         : "give --pipeline or --config, not both", "--probe"});
  }
  if (options.asking.judge.empty()) {
    return failed({ErrorCode::invalid_argument, "a probe needs a judge of its answers: give --judge PROVIDER, or --judge offline without a key", "--probe"});
  }
  if (!options.pipeline.empty()) options.asking.pipelines = {options.pipeline};
  if (!options.config.empty()) options.asking.configs = {options.config};
  Probing out;
  if (!options.chunks.empty()) {
    auto texts = read_chunk_texts(options.chunks);
    if (!texts) return failed(texts.error(), options.chunks);
    out.options.texts = std::move(*texts);
  }
  std::string about;
  auto bench = set_up_without_items(context, options.asking, about);
  if (!bench) return failed(bench.error(), about);
  out.bench = std::move(*bench);
  if (out.bench->opened) out.options.index = &out.bench->opened->index;
  out.options.limit = options.asking.limit;
  auto subject = open_subject(context, options.asking, subjects_of(options.asking).front(), *out.bench);
  if (!subject) return failed(subject.error());
  out.subject = std::move(*subject);
  return out;
}

/// One JSON document of several that are written side by side. Given a writer of results, it stops there until that is done.
using Output = std::function<void(const diagnosis::WriteResults&)>;

/// Opens one output within the other, so that all of them stand at their results at once and each result is read once.
void write_side_by_side(const StoredDocument& stored, std::span<const Output> outputs, std::vector<json::Writer*>& open) {
  if (outputs.empty()) return stored.write_results(open);
  bool inner = false;
  outputs.front()([&](json::Writer& writer) {
    inner = true;
    open.push_back(&writer);
    write_side_by_side(stored, outputs.subspan(1), open);
  });
  // What could not be opened keeps nobody else from being written.
  if (!inner && outputs.size() > 1) write_side_by_side(stored, outputs.subspan(1), open);
}

/// The JSON documents that are wanted: --out, what is kept, stdout. Fails where --out can't be written.
Result<void> write_documents(const StoredDocument& stored, const KeptResults& kept, const Options& options, const std::string& markdown) {
  const diagnosis::Document& document = stored.document();
  Result<void> written;
  std::exception_ptr output_failed;
  std::vector<Output> outputs;
  if (!options.out.empty()) {
    outputs.emplace_back([&](const diagnosis::WriteResults& results) {
      written = write_atomically(options.out, [&](const json::Sink& sink) {
        {
          json::Writer writer(sink, 2);
          diagnosis::write_diagnosis(writer, document, results);
        }
        sink("\n");
      });
    });
  }
  if (!options.no_keep) {
    outputs.emplace_back([&](const diagnosis::WriteResults& results) {
      kept.keep(Kept::diagnoses, [&](json::Writer& writer) { diagnosis::write_report(writer, document, results); }, markdown);
    });
  }
  if (options.json) {
    outputs.emplace_back([&](const diagnosis::WriteResults& results) {
      // A full disk behind stdout is reported when the files are done.
      const auto put = [&](std::string_view piece) {
        if (output_failed) return;
        try {
          print(piece);
        } catch (const OutputFailed&) {
          output_failed = std::current_exception();
        }
      };
      {
        json::Writer writer(put);
        diagnosis::write_diagnosis(writer, document, results);
      }
      put("\n");
    });
  }
  if (document.evaluation) {
    std::vector<json::Writer*> open;
    write_side_by_side(stored, outputs, open);
  } else {
    for (const Output& output : outputs) output({});
  }
  if (output_failed) std::rethrow_exception(output_failed);
  return written;
}

ExitCode run(Context& context, Options options) {
  const KeptResults kept(context.settings);
  const std::string file = file_of(options.file, kept);
  auto opened = StoredDocument::open(options.file, kept, {options.k, {}}, options.rules);
  if (!opened) return report(opened.error(), file);
  diagnosis::Document& document = (*opened)->document();
  ExitCode status = ExitCode::done;

  std::optional<Probe> probed;
  std::string probe_json;
  if (options.probe) {
    const Probing probing = open_probe(context, **opened, file, options);
    if (!probing.subject) return probing.status;
    watch_interrupts();
    ProgressLine line("probe");
    auto done = probe(*document.evaluation, *probing.subject, *probing.bench->judge, probing.options, [&](std::uint64_t asked, std::uint64_t all) {
      line.update(asked, all, "queries");
      return !interrupted();
    });
    line.finish();
    if (!done) return report(done.error(), file);
    probed = std::move(*done);
    if (probed->report.stopped) status = report(*probed->report.stopped, probing.subject->name());
    if (interrupted()) status = ExitCode::interrupted;
    if (status != ExitCode::done) say(fmt::format("the probe ended early: {} asked, {} not reached; what follows is what it found", probed->report.queries.size(), probed->report.left));
    document.evaluation = std::move(probed->evaluation);
    document.report = document.evaluation->report();
    probe_json = to_json(probed->report);
    std::erase_if(document.others, [](const auto& field) { return field.first == "probe"; });
    document.others.emplace_back("probe", probe_json);
  }

  const std::string markdown = report::diagnosis_markdown(document.report) + (probed ? probe_markdown(probed->report) : "");
  if (!options.markdown.empty()) {
    const auto written = write_atomically(options.markdown, [&](const json::Sink& sink) { sink(markdown); });
    if (!written) return report({ErrorCode::io, written.error().message}, options.markdown);
  }
  if (!options.json) {
    print(report::diagnosis_text(document.report, ink(STDOUT_FILENO)));
    if (probed) print(probe_text(probed->report, ink(STDOUT_FILENO)));
  }
  if (auto written = write_documents(**opened, kept, options, markdown); !written) return report({ErrorCode::io, written.error().message}, options.out);
  return status;
}

}  // namespace

void add_diagnose(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("diagnose", "Say what went wrong, from stored results or a stored report");
  command->add_option("FILE", options->file, "Results (an array, JSON Lines, or an object with `results`), an evaluation report of Polygraph or RAGDiag, a "
                      "printed diagnosis, - for stdin, or a kept result: latest, HEAD~1, diagnoses/HEAD")->required();
  command->add_option("--k", options->k, "K of results that name none")->check(CLI::Range(std::uint32_t{1}, diagnosis::max_k))->capture_default_str();
  command->add_option("--good-rank", options->rules.good_rank, "The last rank at which the first expected chunk stands well")
      ->check(CLI::Range(std::uint32_t{1}, diagnosis::max_k))->capture_default_str();
  command->add_option("--slow-ms", options->rules.slow_retrieval_ms, "A retrieval over it is an outlier, in ms")
      ->check(CLI::Range(0.0, 1e9))->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object");
  command->add_option("--out", options->out, "Write that object to a file")->type_name("FILE");
  command->add_option("--md", options->markdown, "Write the diagnosis as Markdown to a file")->type_name("FILE");
  command->add_flag("--no-keep", options->no_keep, "Leave nothing in .polygraph/diagnoses");
  auto* probe = command->add_flag("--probe", options->probe, "Asks again where an answer was wrong: generation over the gold chunks alone. Right then, the fault "
                                  "lies in retrieval, otherwise in generation. Who is asked and who judges, a run says itself");
  command->add_option("--pipeline", options->pipeline, "Whose generation a probe asks; see `run --help`")->type_name("P")->needs(probe);
  command->add_option("--config", options->config, "The same of an agent's configuration")->type_name("NAME")->needs(probe);
  command->add_option("--chunks", options->chunks, "Texts of gold chunks that neither results nor index hold: JSON Lines of {id, text}")->type_name("FILE")->needs(probe);
  command->add_option("--limit", options->asking.limit, "A probe asks at most N queries")->type_name("N")->needs(probe);
  for (auto* option : add_asking_options(*command, options->asking)) option->needs(probe);
  command->footer("Examples:\n  polygraph diagnose results.jsonl\n  polygraph diagnose --json ragdiag-report.json > diagnosis.json\n"
                  "  polygraph diagnose --probe --pipeline mine.py --judge groq --chunks chunks.jsonl results.jsonl");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
