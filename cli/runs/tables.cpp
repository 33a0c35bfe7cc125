#include "cli/runs/tables.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/installation.hpp"
#include "cli/runs/html.hpp"
#include "cli/runs/run_file.hpp"
#include "cli/runs/setup.hpp"
#include "cli/whole_file.hpp"
#include "wasm/report/table.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

report::RunFacts facts_of(const RunHeader& header) {
  const Json identity = Json::parse(header.identity);
  report::RunFacts facts;
  const auto text = [](const Json& json, const char* field) { return json.is_object() && json.contains(field) && json[field].is_string() ? json[field].get<std::string>() : std::string(); };
  const Json subject = identity.value("subject", Json::object()), golden = identity.value("golden", Json::object()), judge = identity.value("judge", Json());
  facts.name = text(subject, "name");
  facts.k = identity.value("k", diagnosis::default_k);
  facts.top_k = facts.k;
  if (subject.contains("config")) {
    facts.config = subject["config"].dump();
    const std::string top_k = text(subject["config"], "TOP_K");
    if (!top_k.empty()) facts.top_k = static_cast<std::size_t>(std::stoul(top_k));
  }
  facts.index_digest = text(identity, "index_digest");
  facts.golden_name = text(golden, "name");
  facts.golden_digest = text(golden, "digest");
  facts.golden_source = text(golden, "source");
  facts.subset = text(golden, "subset");
  if (judge.is_object()) facts.judge = judge.dump();
  facts.offline_judge = text(judge, "provider") == "offline";
  facts.items = header.items;
  return facts;
}

std::string results_section(std::span<const report::EvaluatedRun> runs, bool all) {
  return report::markdown_table(runs, {.all = all}) + '\n' + report::notes(runs) + '\n' + report::tests_table(runs);
}

}  // namespace

Result<std::unique_ptr<LoadedRun>> load_run(const fs::path& file) {
  auto mapped = MappedFile::open(file);
  if (!mapped) return tl::unexpected(mapped.error());
  const std::string_view text(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
  // The header comes first: what the lines mean depends on it.
  auto header = read_run(text.substr(0, std::min(text.size(), text.find('\n') + 1)), [](const RunLine&) -> Result<void> { return {}; });
  if (!header) return tl::unexpected(header.error());
  report::RunEvaluator evaluator(facts_of(*header));
  std::uint64_t line = 1;
  auto read = read_run(
      text,
      [&](const RunLine& one) -> Result<void> {
        ++line;
        auto added = evaluator.add(one.golden, one.result, one.judgement, one.item.repeat);
        if (!added) return fail(added.error().code, "the item \"" + one.item.id + "\": " + added.error().message, added.error().field, line);
        return {};
      },
      [&](std::size_t passed) { mapped->release(passed); });
  if (!read) return tl::unexpected(read.error());
  mapped->release();
  return std::make_unique<LoadedRun>(LoadedRun{std::move(*mapped), evaluator.finish()});
}

Result<std::vector<fs::path>> latest_runs(const Settings& settings) {
  const fs::path folder = runs_folder(settings), list = folder / "latest-matrix.json";
  auto text = read_text(list.string());
  if (!text) return fail(ErrorCode::not_found, "there is no matrix yet (" + list.string() + "): name the runs, or make them with `polygraph matrix`", "RUN");
  const auto json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || !json.contains("runs") || !json["runs"].is_array()) return fail(ErrorCode::invalid_json, list.string() + " is no list of runs", "runs");
  std::vector<fs::path> files;
  for (const auto& each : json["runs"]) {
    if (each.is_string()) files.push_back(folder / each.get<std::string>());
  }
  return files;
}

ExitCode show_runs(Context& context, const std::vector<fs::path>& files, const ShowOptions& options) {
  std::vector<std::unique_ptr<LoadedRun>> loaded;
  std::vector<report::EvaluatedRun> runs;
  for (const fs::path& file : files) {
    auto run = load_run(file);
    if (!run) return report(run.error(), file.string());
    runs.push_back(std::move((*run)->run));
    loaded.push_back(std::move(*run));
  }
  const auto release = [&] {
    for (const auto& run : loaded) run->file.release();
  };
  if (options.json) {
    for (const auto& run : runs) {
      {
        json::Writer writer([](std::string_view piece) { print(piece); });
        report::write_evaluation(writer, run, true, release);
      }
      print("\n");
    }
  } else {
    print(report::text_table(runs, {.all = options.all}) + '\n' + report::notes(runs) + '\n' + report::tests_table(runs));
  }
  if (!options.md.empty()) {
    std::string text = "# Results\n\n" + results_section(runs, true) + '\n';
    for (const auto& run : runs) {
      const std::string cases = report::failure_cases(run);
      if (!cases.empty()) text += "## Failures of " + run.facts.name + "\n\n" + cases;
    }
    if (auto written = write_whole(options.md, text); !written) return report(written.error(), options.md);
    say("written: " + options.md);
  }
  if (!options.readme.empty()) {
    auto text = read_text(options.readme);
    if (!text) return report(text.error(), options.readme);
    auto changed = report::with_section(*text, results_section(runs, options.all));
    if (!changed) return report(changed.error(), options.readme);
    if (*changed != *text) {
      if (auto written = write_whole(options.readme, *changed); !written) return report(written.error(), options.readme);
    }
    say("written: " + options.readme);
  }
  if (!options.html.empty()) {
    const auto document = [&](json::Writer& writer) {
      if (runs.size() == 1) {
        report::write_evaluation(writer, runs.front(), true, release);
      } else {
        (void)report::write_matrix(writer, runs, release);
      }
    };
    if (auto written = write_report_page(context.settings, document, options.html); !written) return report(written.error(), options.html);
    say("written: " + options.html);
  }
  return ExitCode::done;
}

}  // namespace polygraph::cli
