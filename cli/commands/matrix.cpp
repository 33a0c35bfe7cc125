// `polygraph matrix`: several configurations or pipelines over one golden set, side by side.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/runs/setup.hpp"
#include "cli/runs/tables.hpp"
#include "cli/whole_file.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;

ExitCode run(Context& context, RunOptions options) {
  if (options.configs.empty() && options.pipelines.empty()) {
    for (const std::string_view name : agent::preset_names()) options.configs.emplace_back(name);
  }
  std::string file;
  auto bench = set_up(context, options, file);
  if (!bench) return report(bench.error(), file);
  watch_interrupts();
  std::vector<std::filesystem::path> files;
  for (const SubjectOf& of : subjects_of(options)) {
    auto subject = open_subject(context, options, of, **bench);
    if (!subject) return report(subject.error(), of.pipeline ? of.name : "");
    const RunDone done = run_subject(context, options, **subject, **bench, {});
    if (done.status != ExitCode::done) return done.status;
    files.push_back(done.file);
  }
  // What `report` shows when no run is named.
  const auto latest = runs_folder(context.settings) / "latest-matrix.json";
  Json list = {{"kind", "run_list"}, {"schema", 1}, {"runs", Json::array()}};
  for (const auto& each : files) list["runs"].push_back(each.filename().string());
  if (auto written = write_whole(latest, list.dump(2) + '\n'); !written) say("note: " + latest.string() + ": " + written.error().message);
  return show_runs(context, files, {.json = options.json});
}

}  // namespace

void add_matrix(CLI::App& program, Context& context) {
  auto options = std::make_shared<RunOptions>();
  auto* command = program.add_subcommand("matrix", "Evaluate several configurations or pipelines over a golden set, side by side");
  command->add_option("--config", options->configs, "May be repeated (default: baseline, hybrid, hybrid_rerank, full and tuned)")->type_name("NAME")->allow_extra_args(false);
  command->add_option("--pipeline", options->pipelines, "May be repeated; see `run --help`")->type_name("P")->allow_extra_args(false);
  add_run_options(*command, *options);
  command->footer(
      "Examples:\n  polygraph matrix\n  polygraph matrix --config full --config tuned --judge offline\n"
      "  polygraph matrix --pipeline dense --pipeline hybrid --pipeline my_pipeline.py --dataset golden.jsonl");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
