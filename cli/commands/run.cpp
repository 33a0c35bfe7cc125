// `polygraph run`: one configuration or pipeline over a golden set, into a file that a killed run continues.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/runs/run_file.hpp"
#include "cli/runs/setup.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  RunOptions run;
  std::string config, pipeline, digest;
};

ExitCode print_digest(const std::string& file) {
  auto digest = digest_of_run(file);
  if (!digest) return report(digest.error(), file);
  print(*digest + '\n');
  return ExitCode::done;
}

ExitCode run(Context& context, Options options) {
  if (!options.digest.empty()) return print_digest(options.digest);
  if (!options.pipeline.empty()) options.run.pipelines = {options.pipeline};
  if (!options.config.empty() || options.pipeline.empty()) options.run.configs = {options.config.empty() ? "tuned" : options.config};
  std::string file;
  auto bench = set_up(context, options.run, file);
  if (!bench) return report(bench.error(), file);
  auto subject = open_subject(context, options.run, subjects_of(options.run).front(), **bench);
  if (!subject) return report(subject.error());
  watch_interrupts();
  const RunDone done = run_subject(context, options.run, **subject, **bench, options.run.out);
  if (done.file.empty()) return done.status;
  if (options.run.json) {
    print_json(Json{{"run", done.file.string()}, {"digest", done.digest}, {"items", done.progress.total}, {"done", done.progress.done},
                    {"failed", done.progress.failed}, {"judge_errors", done.progress.judge_errors}, {"complete", done.status == ExitCode::done}});
  } else if (done.status == ExitCode::done) {
    print(done.file.string() + '\n');
  }
  return done.status;
}

}  // namespace

void add_run(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("run", "Evaluate one configuration or pipeline over a golden set");
  auto* config = command->add_option("--config", options->config, "baseline, hybrid, hybrid_rerank, full or tuned (the default)")->type_name("NAME");
  command->add_option("--pipeline", options->pipeline, "A command (cmd:…), a .py or .mjs file, an http(s) URL, or a shipped pipeline: dense, hybrid, hybrid_rerank")
      ->type_name("P")
      ->excludes(config);
  add_run_options(*command, options->run);
  command->add_option("--out", options->run.out, "The run's file (default: named by what is run, in .polygraph/runs)")->type_name("FILE");
  command->add_option("--digest", options->digest, "Prints the digest of everything in a run that was not measured, and ends")->type_name("RUN");
  command->footer(
      "A run that was stopped is continued by the same command. Its file is printed at the end; `report`, `diagnose`, `compare` and\n"
      "`gate` read it.\n\n"
      "Examples:\n  polygraph run --config tuned\n  polygraph run --config full --judge offline --limit 20\n"
      "  polygraph run --pipeline my_pipeline.py --dataset golden.jsonl --judge anthropic --judge-model claude-sonnet-4-5 --judge-items 30\n"
      "  polygraph run --shard 1/4 --out part1.jsonl");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
