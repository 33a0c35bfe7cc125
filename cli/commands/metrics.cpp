#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/mapped_file.hpp"
#include "wasm/metrics/trec.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string qrels, run;
  std::vector<std::size_t> k = {1, 3, 5, 10};
  bool json = false;
};

/// Measures as rows and k as columns; those without k in a line of their own.
std::string table(const metrics::TrecEvaluation& evaluation) {
  std::string out = fmt::format("{:<10}", "");
  for (const std::size_t k : evaluation.k) out += fmt::format(" {:>8}", fmt::format("@{}", k));
  std::string row;
  for (const auto& [name, value] : evaluation.mean) {
    const std::string measure = name.substr(0, name.find('@'));
    if (measure.size() == name.size() || measure != row) out += fmt::format("\n{:<10}", measure);
    row = measure.size() == name.size() ? "" : measure;
    out += fmt::format(" {:>8.4f}", value);
  }
  const auto& counts = evaluation.counts;
  out += fmt::format("\nover {} {}", counts.queries, counts.queries == 1 ? "query" : "queries");
  if (counts.not_in_run > 0) out += fmt::format("; {} not in the run: 0", counts.not_in_run);
  if (counts.no_relevant > 0) out += fmt::format("; {} without a relevant document: 0", counts.no_relevant);
  if (!evaluation.only_in_run.empty()) out += fmt::format("; {} only in the run, left out", evaluation.only_in_run.size());
  return out + "\n";
}

ExitCode run(const Options& options) {
  if (options.qrels == "-" && options.run == "-") return report({ErrorCode::invalid_argument, "only one of the files can be stdin", "--run"});
  const auto qrels_text = read_text(options.qrels);
  if (!qrels_text) return report(qrels_text.error(), options.qrels);
  const auto qrels = metrics::parse_qrels(*qrels_text);
  if (!qrels) return report(qrels.error(), options.qrels == "-" ? "stdin" : options.qrels);
  const auto run_text = read_text(options.run);
  if (!run_text) return report(run_text.error(), options.run);
  const auto ranked = metrics::parse_run(*run_text);
  if (!ranked) return report(ranked.error(), options.run == "-" ? "stdin" : options.run);

  std::vector<std::size_t> k = options.k;
  std::sort(k.begin(), k.end());
  k.erase(std::unique(k.begin(), k.end()), k.end());
  const auto evaluation = metrics::evaluate(*qrels, *ranked, k);
  if (options.json) {
    print(metrics::to_json(evaluation) + "\n");
    return ExitCode::done;
  }
  print(table(evaluation));
  for (const std::string& query : evaluation.only_in_run) say("note: query " + printable(query) + " has no judgement and was left out");
  return ExitCode::done;
}

}  // namespace

void add_metrics(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("metrics", "Retrieval metrics of a TREC run against qrels, as trec_eval gives them");
  command->add_option("--qrels", options->qrels, "Judgements, lines `query 0 document grade`; - is stdin")->type_name("FILE")->required();
  command->add_option("--run", options->run, "Ranked lists, lines `query Q0 document rank score tag`; - is stdin")->type_name("FILE")->required();
  command->add_option("--k", options->k, "Depths, separated by commas")->delimiter(',')->check(CLI::Range(1, 1'000'000))->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object on stdout, every query in it");
  command->footer(
      "Examples:\n  polygraph search --trec mine --top 100 - < queries.tsv > run.trec\n"
      "  polygraph metrics --qrels qrels.trec --run run.trec --k 1,5,10\n\n"
      "Documents rank by score, then by id, both falling; the ranks in the file are not looked at. Means are over every query of the\n"
      "qrels: one that the run lacks, or that has no relevant document, scores 0.");
  command->callback([&context, options] { context.status = run(*options); });
}

}  // namespace polygraph::cli
