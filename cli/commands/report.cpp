// `polygraph report`: tables and pages of stored runs.
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/runs/tables.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::vector<std::string> runs;
  ShowOptions show;
};

ExitCode run(Context& context, const Options& options) {
  std::vector<std::filesystem::path> files(options.runs.begin(), options.runs.end());
  if (files.empty()) {
    auto latest = latest_runs(context.settings);
    if (!latest) return report(latest.error());
    files = std::move(*latest);
  }
  return show_runs(context, files, options.show);
}

}  // namespace

void add_report(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("report", "Show stored runs side by side: a table, Markdown, a page");
  command->add_option("RUN", options->runs, "Files of `run` (default: those of the latest `matrix`)");
  command->add_option("--md", options->show.md, "Writes the table and failure cases as Markdown")->type_name("FILE");
  command->add_option("--html", options->show.html, "Writes a page of its own, with plots, that opens without a network")->type_name("FILE");
  command->add_option("--readme", options->show.readme, "Replaces the section between <!-- polygraph:results --> and <!-- /polygraph:results -->")->type_name("FILE");
  command->add_option("--site", options->show.site, "Writes what the site shows of the runs: everything but the corpus's text, which the page has")->type_name("FILE");
  command->add_flag("--all", options->show.all, "Every metric at every cut-off");
  command->add_flag("--json", options->show.json, "The evaluations on stdout, one a line");
  command->footer("Examples:\n  polygraph report\n  polygraph report tuned.jsonl full.jsonl --md results.md --html results.html\n  polygraph report --readme README.md\n  polygraph report --site assets/evaluation/docker-doc.json");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
