// `polygraph gate`: holds a run to thresholds and to a baseline, for a CI.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/mapped_file.hpp"
#include "cli/runs/tables.hpp"
#include "cli/whole_file.hpp"
#include "wasm/report/gate.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::Check;

struct Options {
  std::string results, thresholds, baseline, junit, md, make, out;
  double margin = 0.10;
  bool json = false;
};

report::Figures figures_of(const report::EvaluatedRun& run) {
  report::Figures figures;
  for (const auto& [metric, value] : run.summary.metrics) figures.emplace_back(metric, value.value);
  return figures;
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

std::string junit(const std::vector<Check>& checks, const std::string& run) {
  const auto failed = std::count_if(checks.begin(), checks.end(), [](const Check& each) { return !each.passed; });
  std::string out = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{0}\" failures=\"{1}\">\n<testsuite name=\"polygraph gate\" tests=\"{0}\" failures=\"{1}\">\n",
                                checks.size(), failed);
  for (const Check& each : checks) {
    out += fmt::format("<testcase classname=\"gate.{}\" name=\"{}\"", xml(run), xml(each.metric));
    out += each.passed ? "/>\n" : fmt::format("><failure message=\"{0}\">{0}</failure></testcase>\n", xml(each.message));
  }
  return out + "</testsuite>\n</testsuites>\n";
}

std::string markdown(const std::vector<Check>& checks, const std::string& run, bool passed) {
  std::string out = fmt::format("**Gate {}**: {}\n\n| | metric | value | threshold |\n|---|---|---:|---:|\n", passed ? "passed" : "failed", run);
  for (const Check& each : checks) {
    const auto number = [](const std::optional<double>& value) { return value ? fmt::format("{:.4g}", *value) : std::string("—"); };
    out += fmt::format("| {} | {} | {} | {} |\n", each.passed ? "ok" : "**failed**", each.metric, number(each.value), number(each.threshold));
  }
  for (const Check& each : checks) {
    if (!each.passed) out += "\n- " + each.message;
  }
  return out + '\n';
}

/// What got worse against the baseline, at p < 0.05 after Holm's correction over all metrics.
std::vector<Check> against(const report::EvaluatedRun& baseline, const report::EvaluatedRun& run) {
  constexpr double significant = 0.05;
  std::vector<Check> checks;
  const auto compared = report::compare(baseline, run);
  for (const auto& [metric, test] : compared.metrics) {
    if (!test.delta || !test.p_holm) continue;
    const bool worse = !report::is_news(metric) && (report::more_is_better(metric) ? *test.delta < 0 : *test.delta > 0);
    Check check;
    check.metric = metric + " against the baseline";
    check.rule = Check::Rule::no_worse;
    check.value = test.delta;
    check.p = test.p_holm;
    check.passed = !(worse && *test.p_holm < significant);
    check.message = fmt::format("{} got {} against the baseline, by {:.4g} over {} items (p = {:.4f} after Holm's correction)", metric, worse ? "worse" : "no worse", *test.delta,
                                test.n, *test.p_holm);
    checks.push_back(std::move(check));
  }
  if (checks.empty()) {
    Check none;
    none.metric = "baseline";
    none.rule = Check::Rule::no_worse;
    none.message = "the run and its baseline share no item that can be compared";
    checks.push_back(std::move(none));
  }
  return checks;
}

ExitCode make(const Options& options) {
  auto run = load_run(options.make);
  if (!run) return report(run.error(), options.make);
  const auto& loaded = (*run)->run;
  if (!loaded.complete()) {
    return report({ErrorCode::mismatch, fmt::format("is incomplete ({} of {} items): thresholds are made from a whole run", loaded.done, loaded.facts.items), "--make-thresholds"}, options.make);
  }
  const std::string text = report::to_json(report::make_thresholds(figures_of(loaded), options.margin, loaded.facts.subset, loaded.facts.golden_source));
  if (options.out.empty()) {
    print(text);
  } else {
    if (auto written = write_whole(options.out, text); !written) return report(written.error(), options.out);
    say("written: " + options.out);
  }
  return ExitCode::done;
}

ExitCode run(const Options& options) {
  if (!options.make.empty()) return make(options);
  if (options.results.empty()) return report({ErrorCode::invalid_argument, "which run? --results RUN", "--results"});
  if (options.thresholds.empty() && options.baseline.empty()) {
    return report({ErrorCode::invalid_argument, "held to what? --thresholds FILE, --baseline RUN or both; --make-thresholds RUN makes a file", "--thresholds"});
  }
  std::optional<report::Thresholds> thresholds;
  if (!options.thresholds.empty()) {
    auto text = read_text(options.thresholds);
    if (!text) return report(text.error(), options.thresholds);
    auto parsed = report::parse_thresholds(*text);
    if (!parsed) return report(parsed.error(), options.thresholds);
    thresholds = std::move(*parsed);
  }
  auto loaded = load_run(options.results);
  if (!loaded) return report(loaded.error(), options.results);
  const report::EvaluatedRun& of = (*loaded)->run;
  if (thresholds && thresholds->subset != of.facts.subset) {
    return report({ErrorCode::mismatch, fmt::format("its thresholds were made from the subset \"{}\", the run is over \"{}\"", thresholds->subset, of.facts.subset), "subset"}, options.thresholds);
  }
  std::vector<Check> checks;
  Check complete;
  complete.metric = "complete";
  complete.rule = Check::Rule::complete;
  complete.passed = of.complete();
  complete.message = fmt::format("the run holds {} of {} items", of.done, of.facts.items);
  checks.push_back(complete);
  if (thresholds) {
    for (auto& each : report::check(*thresholds, figures_of(of))) checks.push_back(std::move(each));
  }
  std::unique_ptr<LoadedRun> baseline;
  if (!options.baseline.empty()) {
    auto read = load_run(options.baseline);
    if (!read) return report(read.error(), options.baseline);
    baseline = std::move(*read);
    for (auto& each : against(baseline->run, of)) checks.push_back(std::move(each));
  }
  const bool passed = std::all_of(checks.begin(), checks.end(), [](const Check& each) { return each.passed; });
  const auto failed = std::count_if(checks.begin(), checks.end(), [](const Check& each) { return !each.passed; });
  if (!options.junit.empty()) {
    if (auto written = write_whole(options.junit, junit(checks, of.facts.name)); !written) return report(written.error(), options.junit);
  }
  if (!options.md.empty()) {
    if (auto written = write_whole(options.md, markdown(checks, of.facts.name, passed)); !written) return report(written.error(), options.md);
  }
  if (options.json) {
    Json out = {{"passed", passed}, {"run", of.facts.name}, {"checks", Json::array()}};
    for (const Check& each : checks) {
      const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
      out["checks"].push_back({{"metric", each.metric}, {"passed", each.passed}, {"value", number(each.value)}, {"threshold", number(each.threshold)}, {"p", number(each.p)}, {"message", each.message}});
    }
    print_json(out);
  } else {
    for (const Check& each : checks) print(fmt::format("{} {}\n", each.passed ? "ok  " : "FAIL", printable(each.message)));
    print(passed ? fmt::format("passed: {} checks of {}\n", checks.size(), of.facts.name) : fmt::format("FAILED: {} of {} checks of {}\n", failed, checks.size(), of.facts.name));
  }
  return passed ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace

void add_gate(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("gate", "Hold a run to thresholds and to a baseline, for a CI: exit 1 when it fails");
  command->add_option("--results", options->results, "The run's file")->type_name("RUN");
  command->add_option("--thresholds", options->thresholds, "{subset, source, margin, min: {metric: value}, max: {metric: value}}")->type_name("FILE");
  command->add_option("--baseline", options->baseline, "Also fails where a metric got worse than in this run, at p < 0.05 after Holm's correction")->type_name("RUN");
  command->add_option("--junit", options->junit, "Writes JUnit XML")->type_name("FILE");
  command->add_option("--md", options->md, "Writes a Markdown summary")->type_name("FILE");
  command->add_option("--make-thresholds", options->make, "Makes thresholds from this run less a margin")->type_name("RUN");
  command->add_option("--margin", options->margin, "Of --make-thresholds: off the observed rates, and relative for latency, tokens and cost")->capture_default_str()->check(CLI::Range(0.0, 1.0));
  command->add_option("--out", options->out, "Where --make-thresholds writes (default: stdout)")->type_name("FILE");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->footer(
      "A metric that is missing or undefined fails, and so does an incomplete run.\n\n"
      "Examples:\n  polygraph run --subset gate --out first.jsonl && polygraph gate --make-thresholds first.jsonl --out thresholds.json\n"
      "  polygraph run --subset gate --out now.jsonl && polygraph gate --results now.jsonl --thresholds thresholds.json --junit gate.xml\n"
      "  polygraph gate --results now.jsonl --baseline first.jsonl");
  command->callback([&context, options] { context.status = run(*options); });
}

}  // namespace polygraph::cli
