#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/kept_results.hpp"
#include "cli/mapped_file.hpp"
#include "wasm/diagnosis/report.hpp"
#include "wasm/report/layout.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string kind;
  std::uint32_t keep = 20, last = 20;
  bool json = false;
};

const std::vector<Kept> every_kind = {Kept::evaluations, Kept::comparisons, Kept::diagnoses};

std::vector<Kept> kinds(const Options& options) {
  std::vector<Kept> out;
  for (const Kept kind : every_kind) {
    if (options.kind.empty() || options.kind == name(kind)) out.push_back(kind);
  }
  return out;
}

/// `2026-12-01T05:05:51Z` from `20261201_050551_0a1b2c`.
std::string time_of(const std::filesystem::path& file) {
  const std::string s = file.stem().string();
  return fmt::format("{}-{}-{}T{}:{}:{}Z", s.substr(0, 4), s.substr(4, 2), s.substr(6, 2), s.substr(9, 2), s.substr(11, 2), s.substr(13, 2));
}

/// The figures of a kept evaluation as they stand in it; its results are passed over.
Result<diagnosis::EvaluationReport> figures_of(const std::filesystem::path& file) {
  auto mapped = MappedFile::open(file);
  if (!mapped) return tl::unexpected(std::move(mapped.error()));
  json::Cursor at(std::string_view(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()));
  auto stored = diagnosis::read_report(at);
  if (!stored) return tl::unexpected(std::move(stored.error()));
  return std::move(stored->report);
}

ExitCode list(const Context& context, const Options& options) {
  const KeptResults kept(context.settings);
  Json all = Json::object();
  for (const Kept kind : kinds(options)) {
    const auto files = kept.history(kind);
    Json& entries = all[std::string(name(kind))] = Json::array();
    if (!options.json && !files.empty()) print(fmt::format("{}\n", name(kind)));
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string called = i == 0 ? "HEAD" : fmt::format("HEAD~{}", i);
      entries.push_back({{"name", called}, {"time", time_of(files[i])}, {"file", files[i].string()}});
      if (!options.json) print(fmt::format("  {:<8}  {}  {}\n", called, time_of(files[i]), printable(files[i].filename().string())));
    }
  }
  if (options.json) {
    print_json(all);
  } else if (std::all_of(all.begin(), all.end(), [](const Json& entries) { return entries.empty(); })) {
    print(fmt::format("nothing is kept in {}\n", printable(kept.folder().string())));
  }
  return ExitCode::done;
}

ExitCode prune(const Context& context, const Options& options) {
  const KeptResults kept(context.settings);
  Json gone = Json::object();
  for (const Kept kind : kinds(options)) {
    const auto count = kept.prune(kind, options.keep);
    if (!count) return report(count.error());
    gone[std::string(name(kind))] = *count;
    if (!options.json) print(fmt::format("{}: {} deleted, the newest {} kept\n", name(kind), *count, options.keep));
  }
  if (options.json) print_json(gone);
  return ExitCode::done;
}

struct Metric {
  std::string_view name;
  std::optional<double> (*of)(const diagnosis::EvaluationReport&);
  int decimals;
};

using Report = diagnosis::EvaluationReport;
const std::vector<Metric> metrics = {
    {"recall", [](const Report& r) { return r.retrieval.scored_queries > 0 ? std::optional(r.retrieval.mean_recall_at_k) : std::nullopt; }, 3},
    {"mrr", [](const Report& r) { return r.retrieval.scored_queries > 0 ? std::optional(r.retrieval.mrr) : std::nullopt; }, 3},
    {"correctness", [](const Report& r) { return r.semantic.answer_correctness_rate; }, 3},
    {"groundedness", [](const Report& r) { return r.semantic.groundedness_rate; }, 3},
    {"mean_ms", [](const Report& r) { return r.latency.count > 0 ? std::optional(r.latency.mean_ms) : std::nullopt; }, 1},
    {"health", [](const Report& r) { return r.health.defined ? std::optional(r.health.score) : std::nullopt; }, 1},
};

/// A column of values, oldest first, as bars of eight heights; rates and health from 0 to their most, times from 0 to the longest.
std::string bars(const std::vector<std::optional<double>>& values, double most) {
  constexpr std::string_view heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  for (const auto& value : values) {
    if (!value) {
      out += "·";
      continue;
    }
    const double share = most > 0 ? std::clamp(*value / most, 0.0, 1.0) : 0;
    out += heights[std::min<std::size_t>(7, static_cast<std::size_t>(share * 8))];
  }
  return out;
}

ExitCode trend(const Context& context, const Options& options) {
  const KeptResults kept(context.settings);
  Kept kind = Kept::evaluations;
  if (options.kind == name(Kept::diagnoses) || (options.kind.empty() && kept.history(kind).empty())) kind = Kept::diagnoses;
  auto files = kept.history(kind);
  if (files.size() > options.last) files.resize(options.last);
  std::reverse(files.begin(), files.end());
  Json rows = Json::array();
  std::vector<std::vector<std::optional<double>>> columns(metrics.size());
  std::string table = "  " + report::left("time (UTC)", 18) + report::left("pipeline", 16) + report::right("n", 6) + report::right("recall", 7) +
                      report::right("MRR", 7) + report::right("corr", 6) + report::right("grnd", 6) + report::right("ms", 7) + report::right("hlth", 5) + "\n";
  for (const auto& file : files) {
    const auto figures = figures_of(file);
    if (!figures) return report(figures.error(), file.string());
    Json row = {{"time", time_of(file)}, {"file", file.string()}, {"dataset_name", figures->dataset_name}};
    row["pipeline_name"] = figures->pipeline_name ? Json(*figures->pipeline_name) : Json(nullptr);
    row["total_queries"] = figures->total_queries;
    std::vector<std::optional<double>> values;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      values.push_back(metrics[i].of(*figures));
      columns[i].push_back(values.back());
      row[std::string(metrics[i].name)] = values.back() ? Json(*values.back()) : Json(nullptr);
    }
    rows.push_back(std::move(row));
    const std::string time = time_of(file);
    table += "  " + report::left(time.substr(0, 10) + " " + time.substr(11, 5), 18) +
             report::left(report::shortened(report::one_line(figures->pipeline_name.value_or("")), 15), 16) + report::right(std::to_string(figures->total_queries), 6) +
             report::right(report::fixed(values[0], 3), 7) + report::right(report::fixed(values[1], 3), 7) + report::right(report::fixed(values[2], 2), 6) +
             report::right(report::fixed(values[3], 2), 6) + report::right(report::fixed(values[4], 1), 7) + report::right(report::fixed(values[5], 0), 5) + "\n";
  }
  if (options.json) {
    print_json(rows);
    return ExitCode::done;
  }
  if (files.empty()) {
    print(fmt::format("nothing is kept in {}\n", printable((kept.folder() / name(kind)).string())));
    return ExitCode::done;
  }
  print(table + "\n");
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    double most = metrics[i].name == "health" ? 100 : 1;
    if (metrics[i].name == "mean_ms") {
      most = 0;
      for (const auto& value : columns[i]) most = std::max(most, value.value_or(0.0));
    }
    print(fmt::format("  {:<14}{}  0 to {}\n", metrics[i].name, bars(columns[i], most), report::fixed(most, metrics[i].name == "mean_ms" ? 1 : 0)));
  }
  return ExitCode::done;
}

}  // namespace

void add_history(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("history", "Kept results: list them, their trend, prune them");
  command->require_subcommand(1);
  const auto common = [&](CLI::App* one, const std::vector<std::string>& kinds_allowed) {
    one->add_option("KIND", options->kind, "evaluations, comparisons or diagnoses (default: all)")->check(CLI::IsMember(kinds_allowed));
    one->add_flag("--json", options->json, "One JSON value");
  };
  auto* listing = command->add_subcommand("list", "What is kept, newest first, with the names that other commands take");
  common(listing, {"evaluations", "comparisons", "diagnoses"});
  listing->footer("Example:\n  polygraph history list evaluations");
  listing->callback([&context, options] { context.status = list(context, *options); });
  auto* pruning = command->add_subcommand("prune", "Delete all but the newest results");
  common(pruning, {"evaluations", "comparisons", "diagnoses"});
  pruning->add_option("--keep", options->keep, "How many stay of each kind")->check(CLI::Range(0, 1'000'000))->capture_default_str();
  pruning->footer("Example:\n  polygraph history prune --keep 10");
  pruning->callback([&context, options] { context.status = prune(context, *options); });
  auto* trending = command->add_subcommand("trend", "The figures of kept evaluations over time, as a table and a plot");
  common(trending, {"evaluations", "diagnoses"});
  trending->add_option("--last", options->last, "How many of the newest")->check(CLI::Range(1, 60))->capture_default_str();
  trending->footer("Example:\n  polygraph history trend --last 30");
  trending->callback([&context, options] { context.status = trend(context, *options); });
  command->footer("Example:\n  polygraph history trend");
}

}  // namespace polygraph::cli
