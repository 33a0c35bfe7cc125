// `polygraph validate`: everything that is wrong with a golden set, at once.
#include <fmt/format.h>

#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/dataset.hpp"
#include "cli/index_store.hpp"
#include "wasm/golden/remap.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string dataset, index, split;
  bool json = false;
};

std::string counted(std::size_t count, std::string_view one) { return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s"); }

void print_findings(const std::string& file, const Dataset& dataset) {
  const auto& checked = dataset.checked;
  const Palette colours = palette(1);
  for (const auto& each : checked.errors) print(fmt::format("{}error:{} {}\n", colours.bad, colours.reset, problem_text(file, each)));
  for (const auto& each : checked.warnings) print(fmt::format("{}warning:{} {}\n", colours.accent, colours.reset, problem_text(file, each)));
  std::string types;
  for (const auto type : golden::item_types) {
    std::size_t count = 0;
    for (const auto& item : checked.set.items) count += item.type == type;
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, golden::name(type));
  }
  print(fmt::format("{}: {} ({}): {}{}{}, {}, {}\n", printable(file), counted(checked.set.items.size(), "item"), types, colours.bold,
                    checked.valid() ? "valid" : "not valid", colours.reset, counted(checked.errors.size(), "error"), counted(checked.warnings.size(), "warning")));
}

ExitCode run(Context& context, const Options& options) {
  std::string file;
  auto dataset = read_dataset(options.dataset, options.split, file);
  if (!dataset) return report(dataset.error(), file);
  if (!options.index.empty()) {
    std::string index_file;
    auto opened = open_index(context.settings, options.index, index_file);
    if (!opened) return report(opened.error(), index_file);
    golden::check_against((*opened)->index, dataset->checked);
  }
  if (!dataset->unjudged.empty()) say(fmt::format("note: {} without a judgement left out", counted(dataset->unjudged.size(), "query")));
  if (options.json) print(golden::report_json(dataset->checked) + "\n");
  else print_findings(file, *dataset);
  return dataset->checked.valid() ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace

void add_validate(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("validate", "Check a golden set and name every problem with item, line and field");
  command->add_option("--dataset", options->dataset, "JSON Lines, JSON samples, CSV or TSV (- for stdin), or a folder in BEIR's or TREC's layout")
      ->type_name("FILE")->required();
  command->add_option("--index", options->index, "Also name ids that this index lacks, and gold chunks whose text changed")->type_name("FILE");
  command->add_option("--split", options->split, "Which qrels of a BEIR folder (default: test)")->type_name("NAME");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->footer("Exit status: 0 without errors (warnings don't count), 1 with errors, 3 when the file can't be opened or isn't text.\n\n"
                  "Example:\n  polygraph validate --dataset questions.jsonl --index docs.polygraph");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
