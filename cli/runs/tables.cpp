#include "cli/runs/tables.hpp"

#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/installation.hpp"
#include "cli/runs/html.hpp"
#include "cli/runs/run_file.hpp"
#include "cli/runs/setup.hpp"
#include "cli/runs/site_document.hpp"
#include "cli/whole_file.hpp"
#include "wasm/report/comparison_text.hpp"
#include "wasm/report/table.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string results_section(std::span<const report::EvaluatedRun> runs, bool all) {
  return report::markdown_table(runs, {.all = all}) + '\n' + report::notes(runs) + '\n' + report::tests_table(runs);
}

std::string matrix_json(const comparison::Matrix& matrix) {
  std::string out;
  {
    json::Writer writer([&](std::string_view piece) { out += piece; });
    comparison::write_matrix(writer, matrix);
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<LoadedRun>> load_run(const fs::path& file) {
  auto mapped = MappedFile::open(file);
  if (!mapped) return tl::unexpected(mapped.error());
  const std::string_view text(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
  // The header comes first: it says what was run over what.
  auto header = read_run(text.substr(0, std::min(text.size(), text.find('\n') + 1)), [](const RunLine&) -> Result<void> { return {}; });
  if (!header) return tl::unexpected(header.error());
  auto run = report::evaluate_run(text, [&](std::size_t passed) { mapped->release(passed); });
  if (!run) return tl::unexpected(run.error());
  mapped->release();
  return std::make_unique<LoadedRun>(LoadedRun{std::move(*mapped), std::move(*run), std::move(header->identity)});
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

report::Ink ink(int file_descriptor) {
  const Palette colours = palette(file_descriptor);
  return {colours.bold, colours.dim, colours.good, colours.bad, colours.reset};
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
  std::optional<comparison::Matrix> matrix;
  if (runs.size() > 1) {
    auto compared = report::matrix_of(runs);
    if (compared) {
      matrix = std::move(*compared);
    } else {
      say("note: no ranking: " + printable(compared.error().message));
    }
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
    if (matrix) print(matrix_json(*matrix) + '\n');
  } else {
    print(report::text_table(runs, {.all = options.all}) + '\n' + report::notes_text(runs) + (runs.size() > 1 ? "\n" : "") + report::tests_text(runs));
    if (matrix) print('\n' + report::matrix_text(*matrix, ink(STDOUT_FILENO)));
  }
  if (!options.md.empty()) {
    std::string text = "# Results\n\n" + results_section(runs, true) + '\n';
    if (matrix) text += "## Ranking\n\n" + report::matrix_markdown(*matrix) + '\n';
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
  if (!options.site.empty()) {
    auto document = site_document(files, runs);
    if (!document) return report(document.error());
    if (auto written = write_whole(options.site, *document); !written) return report(written.error(), options.site);
    say("written: " + options.site);
  }
  return ExitCode::done;
}

}  // namespace polygraph::cli
