// `polygraph merge`: the parts of one run, joined.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/runs/run_file.hpp"
#include "cli/runs/runner.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::vector<std::string> parts;
  std::string out;
  bool json = false;
};

ExitCode run(const Options& options) {
  std::string file;
  auto merged = merge_runs({options.parts.begin(), options.parts.end()}, options.out, utc_now(), file);
  if (!merged) return report(merged.error(), file);
  if (options.json) {
    print_json(nlohmann::ordered_json{{"run", options.out}, {"digest", merged->digest}, {"items", merged->items}});
  } else {
    print(options.out + '\n');
    say(fmt::format("{} parts, {} items", options.parts.size(), merged->items));
  }
  return ExitCode::done;
}

}  // namespace

void add_merge(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("merge", "Join the parts of a run that was made with --shard");
  command->add_option("FILE", options->parts, "All parts of one run")->required();
  command->add_option("--out", options->out, "The whole run")->type_name("FILE")->required();
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->footer("Example:\n  polygraph run --shard 1/2 --out a.jsonl & polygraph run --shard 2/2 --out b.jsonl; wait\n  polygraph merge a.jsonl b.jsonl --out whole.jsonl");
  command->callback([&context, options] { context.status = run(*options); });
}

}  // namespace polygraph::cli
