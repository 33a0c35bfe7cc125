// `polygraph golden audit`: whether a golden set keeps the rules for one that results are published on.
#include "wasm/golden/audit.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/golden/subcommands.hpp"
#include "cli/dataset.hpp"
#include "cli/index_store.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string dataset, development, index;
  golden::AuditLimits limits;
  bool json = false;
};

ExitCode run(Context& context, const Options& options) {
  std::string file, development_file, index_file;
  auto set = read_valid_dataset(options.dataset, "", file);
  if (!set) return report(set.error(), file);
  Result<golden::Set> development = golden::Set{};
  if (!options.development.empty()) {
    development = read_valid_dataset(options.development, "", development_file);
    if (!development) return report(development.error(), development_file);
  }
  auto opened = open_index(context.settings, options.index, index_file);
  if (!opened) return report(opened.error(), index_file);
  const auto audit = golden::audit(*set, (*opened)->index, options.development.empty() ? nullptr : &*development, options.limits);
  const bool kept = audit.findings.empty();
  if (options.json) {
    Json findings = Json::array();
    for (const auto& [rule, problem] : audit.findings) {
      findings.push_back({{"rule", rule}, {"item", problem.item.empty() ? Json(nullptr) : Json(problem.item)},
                          {"line", problem.line == 0 ? Json(nullptr) : Json(problem.line)}, {"message", problem.message}});
    }
    print_json({{"valid", kept},
                {"index_digest", (*opened)->index.digest()},
                {"golden_digest", golden::digest(*set)},
                {"counts", {{"items", audit.items}, {"answerable", audit.answerable}, {"vague", audit.vague}, {"unanswerable", audit.unanswerable}, {"two_chunks", audit.two_chunks}}},
                {"findings", std::move(findings)}});
  } else {
    for (const auto& [rule, problem] : audit.findings) {
      golden::Problem named = problem;
      named.field = rule;
      print(problem_text(file, named) + "\n");
    }
    print(fmt::format("{}: {} items ({} answerable, {} of them over two chunks or more; {} vague; {} unanswerable): {}\n", printable(file), audit.items,
                      audit.answerable, audit.two_chunks, audit.vague, audit.unanswerable, kept ? "every rule is kept" : fmt::format("{} findings", audit.findings.size())));
  }
  return kept ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace

void add_golden_audit(CLI::App& golden, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = golden.add_subcommand("audit", "Check that a golden set is fit for publishing results on it");
  command->add_option("--dataset", options->dataset, "Golden set")->type_name("FILE")->required();
  command->add_option("--index", options->index, "Index over its corpus (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--development", options->development, "The set that the program was tuned on: no page may be in both")->type_name("FILE");
  command->add_option("--items", options->limits.items, "Least number of items");
  command->add_option("--answerable", options->limits.answerable, "Least number of answerable items");
  command->add_option("--vague", options->limits.vague, "Least number of vague items");
  command->add_option("--unanswerable", options->limits.unanswerable, "Least number of unanswerable items");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->footer(
      "Rules: at most half of a question's content words stand in its source heading; a vague question names nothing of its page's\n"
      "title; a quarter of the answerable ones have two gold chunks or more; gold is in the index, with the text that was judged.\n"
      "Exit status: 0 where all are kept, 1 otherwise.\n\n"
      "Example:\n  polygraph golden audit --dataset assets/golden/docker.jsonl --development dev.jsonl --answerable 40 --vague 10 --unanswerable 20");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
