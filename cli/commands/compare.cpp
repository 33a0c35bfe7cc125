#include <fmt/format.h>
#include <unistd.h>

#include <future>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/stored_document.hpp"
#include "cli/runs/setup.hpp"
#include "cli/runs/tables.hpp"
#include "wasm/comparison/comparison.hpp"
#include "wasm/report/comparison_text.hpp"
#include "wasm/report/paired_tests.hpp"

namespace polygraph::cli {
namespace {

/// One side as it is named on the command line.
struct SideOptions {
  std::string report, results;
};

struct Options {
  SideOptions a, b;
  std::string pipeline_a, pipeline_b;
  RunOptions runs;
  std::string out, markdown;
  diagnosis::Rules rules;
  comparison::Options comparison;
  bool no_keep = false, fail_on_regression = false;
};

/// Runs both pipelines over the golden set; each run is kept, and continued where it was stopped.
ExitCode run_pipelines(Context& context, Options& options) {
  options.runs.pipelines = {options.pipeline_a, options.pipeline_b};
  std::string file;
  auto bench = set_up(context, options.runs, file);
  if (!bench) return report(bench.error(), file);
  watch_interrupts();
  std::string* const sides[] = {&options.a.report, &options.b.report};
  for (std::size_t side = 0; side < 2; ++side) {
    auto subject = open_subject(context, options.runs, {true, options.runs.pipelines[side]}, **bench);
    if (!subject) return report(subject.error());
    const RunDone done = run_subject(context, options.runs, **subject, **bench, {});
    if (done.status != ExitCode::done) return done.status;
    *sides[side] = done.file.string();
  }
  return ExitCode::done;
}

/// Why a side could not be read, and the file that it is about.
struct SideFailure {
  Error error;
  std::string file = {};
};
using OpenedSide = tl::expected<std::unique_ptr<StoredDocument>, SideFailure>;

OpenedSide open_side(const SideOptions& side, const char* letter, const KeptResults& kept, const Options& options) {
  const auto opened = [&](const std::string& name, std::uint32_t k) -> OpenedSide {
    auto document = StoredDocument::open(name, kept, {k, {}}, options.rules);
    if (!document) return tl::unexpected(SideFailure{std::move(document.error()), file_of(name, kept)});
    return std::move(*document);
  };
  if (side.report.empty() && side.results.empty()) {
    return tl::unexpected(SideFailure{{ErrorCode::invalid_argument, fmt::format("side {0} is missing; give --report-{0} FILE or --results-{0} FILE", letter)}});
  }
  if (side.results.empty() || side.report.empty()) return opened(side.report.empty() ? side.results : side.report, options.runs.k);
  // Results beside a report: the report's names and K, everything else from the results.
  const OpenedSide head = opened(side.report, options.runs.k);
  if (!head) return tl::unexpected(head.error());
  const diagnosis::EvaluationReport& report_read = (*head)->document().report;
  OpenedSide body = opened(side.results, report_read.retrieval.k);
  if (!body) return body;
  diagnosis::Document& document = (*body)->document();
  if (!document.evaluation) {
    return tl::unexpected(SideFailure{{ErrorCode::invalid_json, "holds no results of single queries", "results"}, file_of(side.results, kept)});
  }
  if (document.report.retrieval.k != report_read.retrieval.k) {
    return tl::unexpected(SideFailure{{ErrorCode::mismatch, fmt::format("has K = {}, its report K = {}", document.report.retrieval.k, report_read.retrieval.k), "k"},
                                      file_of(side.results, kept)});
  }
  diagnosis::ResultsHeader& header = document.evaluation->header();
  if (!report_read.dataset_name.empty()) header.dataset_name = document.report.dataset_name = report_read.dataset_name;
  if (!report_read.dataset_version.empty()) header.dataset_version = document.report.dataset_version = report_read.dataset_version;
  if (report_read.pipeline_name) header.pipeline_name = document.report.pipeline_name = report_read.pipeline_name;
  return body;
}

ExitCode run(Context& context, Options options) {
  const KeptResults kept(context.settings);
  if (options.pipeline_a.empty() != options.pipeline_b.empty()) {
    return report({ErrorCode::invalid_argument, "a pipeline is compared with a pipeline: give --pipeline-a and --pipeline-b", options.pipeline_a.empty() ? "--pipeline-a" : "--pipeline-b"});
  }
  if (!options.pipeline_a.empty()) {
    if (const ExitCode status = run_pipelines(context, options); status != ExitCode::done) return status;
  }
  options.comparison.test = report::paired_tests;
  // Each side is read by a thread of its own; A's failure is said first.
  auto reading = std::async(std::launch::async, [&] { return open_side(options.b, "b", kept, options); });
  const OpenedSide a = open_side(options.a, "a", kept, options), b = reading.get();
  for (const OpenedSide* side : {&a, &b}) {
    if (!*side) return report(side->error().error, side->error().file);
  }
  const auto compared = comparison::compare((*a)->document(), (*b)->document(), options.comparison);
  if (!compared) {
    const std::string files = file_of(options.a.report.empty() ? options.a.results : options.a.report, kept) + ", " +
                              file_of(options.b.report.empty() ? options.b.results : options.b.report, kept);
    return report(compared.error(), files);
  }
  const std::string markdown = report::comparison_markdown(*compared);
  const auto document = [&](json::Writer& writer) { comparison::write_comparison(writer, *compared); };

  if (!options.out.empty()) {
    const auto written = write_atomically(options.out, [&](const json::Sink& sink) {
      {
        json::Writer writer(sink, 2);
        document(writer);
      }
      sink("\n");
    });
    if (!written) return report({ErrorCode::io, written.error().message}, options.out);
  }
  if (!options.markdown.empty()) {
    const auto written = write_atomically(options.markdown, [&](const json::Sink& sink) { sink(markdown); });
    if (!written) return report({ErrorCode::io, written.error().message}, options.markdown);
  }
  if (options.runs.json) {
    {
      json::Writer writer([](std::string_view piece) { print(piece); });
      document(writer);
    }
    print("\n");
  } else {
    print(report::comparison_text(*compared, ink(STDOUT_FILENO)));
  }
  if (!options.no_keep) kept.keep(Kept::comparisons, document, markdown);
  return options.fail_on_regression && is_regression(compared->regression.verdict) ? ExitCode::check_failed : ExitCode::done;
}

}  // namespace

void add_compare(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("compare", "Compare two pipelines: who wins, at what price, and whether B is a regression");
  const char* const what = "A report or results, or a kept result: latest, HEAD~1, diagnoses/HEAD";
  command->add_option("--report-a", options->a.report, what)->type_name("FILE");
  command->add_option("--report-b", options->b.report, what)->type_name("FILE");
  command->add_option("--results-a", options->a.results, "Results of single queries, where the report has none")->type_name("FILE");
  command->add_option("--results-b", options->b.results, "The same for B")->type_name("FILE");
  command->add_option("--pipeline-a", options->pipeline_a, "Runs a pipeline instead: a command (cmd:…), a .py or .mjs file, an http(s) URL, or dense, hybrid, hybrid_rerank")->type_name("P");
  command->add_option("--pipeline-b", options->pipeline_b, "The same for B")->type_name("P");
  command->add_option("--quality-tolerance", options->comparison.quality_tolerance, "A smaller difference of a quality metric is a tie")
      ->check(CLI::Range(0.0, 1.0))->capture_default_str();
  command->add_option("--latency-tolerance-ms", options->comparison.latency_tolerance_ms, "A smaller difference of mean retrieval is a tie")
      ->check(CLI::Range(0.0, 1e9))->capture_default_str();
  add_run_options(*command, options->runs);
  command->add_flag("--fail-on-regression", options->fail_on_regression, "Exit with 1 when B is a regression");
  command->add_option("--out", options->out, "Write that object to a file")->type_name("FILE");
  command->add_option("--md", options->markdown, "Write the comparison as Markdown to a file")->type_name("FILE");
  command->add_flag("--no-keep", options->no_keep, "Leave nothing in .polygraph/comparisons");
  command->footer("Examples:\n  polygraph compare --pipeline-a dense --pipeline-b hybrid\n  polygraph compare --report-a dense.json --report-b hybrid.jsonl\n"
      "  polygraph compare --report-a HEAD~1 --report-b latest --fail-on-regression");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
