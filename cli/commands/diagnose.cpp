#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/stored_document.hpp"
#include "wasm/report/diagnosis_text.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string file, out, markdown;
  std::uint32_t k = diagnosis::default_k;
  diagnosis::Rules rules;
  bool json = false, no_keep = false;
};

ExitCode run(Context& context, const Options& options) {
  const KeptResults kept(context.settings);
  auto opened = StoredDocument::open(options.file, kept, {options.k, {}}, options.rules);
  if (!opened) return report(opened.error(), file_of(options.file, kept));
  const diagnosis::Document& document = (*opened)->document();
  const auto passed = (*opened)->passed();
  const std::string markdown = report::diagnosis_markdown(document.report);
  const auto evaluation = [&](json::Writer& writer) { diagnosis::write_report(writer, document, passed); };

  if (!options.out.empty()) {
    const auto written = write_atomically(options.out, [&](const json::Sink& sink) {
      {
        json::Writer writer(sink, 2);
        diagnosis::write_diagnosis(writer, document, passed);
      }
      sink("\n");
    });
    if (!written) return report({ErrorCode::io, written.error().message}, options.out);
  }
  if (!options.markdown.empty()) {
    const auto written = write_atomically(options.markdown, [&](const json::Sink& sink) { sink(markdown); });
    if (!written) return report({ErrorCode::io, written.error().message}, options.markdown);
  }
  if (options.json) {
    {
      json::Writer writer([](std::string_view piece) { print(piece); });
      diagnosis::write_diagnosis(writer, document, passed);
    }
    print("\n");
  } else {
    print(report::diagnosis_text(document.report, ink(STDOUT_FILENO)));
  }
  if (!options.no_keep) kept.keep(Kept::diagnoses, evaluation, markdown);
  return ExitCode::done;
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
  command->footer("Examples:\n  polygraph diagnose results.jsonl\n  polygraph diagnose --json ragdiag-report.json > diagnosis.json");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
