// `polygraph parity`: whether the browser finds what the command line finds, and what rounding the vectors costs.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/chromium.hpp"
#include "cli/commands/commands.hpp"
#include "cli/first_retrieval.hpp"
#include "cli/runs/setup.hpp"
#include "wasm/index/page_id.hpp"
#include "wasm/metrics/interval.hpp"
#include "wasm/metrics/ranking.hpp"
#include "wasm/metrics/statistics.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t k = 4;
/// Rankings are compared down to where metrics are given.
constexpr std::size_t depth = 10;
constexpr std::uint64_t seed = 1;
/// Figures are compared at nine decimals, so that no order of summation decides.
constexpr double same = 5e-10;
constexpr std::size_t listed = 20;
constexpr int name_width = 26, value_width = 24;

struct Options {
  RunOptions run;
  std::string config = "tuned";
  bool no_float32 = false;
};

enum Side : std::size_t { native, chromium, float32, sides };
constexpr std::array<std::string_view, sides> side_names = {"native, int8", "Chromium, int8", "native, float32"};
constexpr std::array<std::string_view, sides> side_keys = {"native_int8", "chromium_int8", "native_float32"};

/// Over chunks and, for items that name them, over pages.
struct Metric {
  std::string name;
  bool pages;
  double (*measure)(const metrics::GradedList&, std::size_t) noexcept;
  std::array<std::vector<double>, sides> values = {};  ///< one an item that has gold
};

struct Figure {
  double mean = 0;
  metrics::Interval interval;
};

std::optional<Figure> figure(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return Figure{sum / static_cast<double>(values.size()), metrics::bootstrap_mean(values, seed)};
}

/// A ranking that is another than the native one over int8 vectors.
struct Difference {
  std::string item;
  Side side;
  std::size_t rank;  ///< the first that differs, from 1
  std::vector<std::string> ours, theirs;
};

std::vector<std::string> head(const std::vector<std::string>& ids, std::size_t length) {
  return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), length))};
}

class Parity {
 public:
  Parity() {
    for (const bool pages : {false, true}) {
      metrics_.push_back({fmt::format("recall{}@{}", pages ? "_pages" : "", k), pages, metrics::recall_at});
      metrics_.push_back({fmt::format("mrr{}@{}", pages ? "_pages" : "", k), pages, metrics::reciprocal_rank_at});
    }
  }

  void add(const golden::Item& item, Side side, const std::vector<std::string>& ranked) {
    ++items_[side];
    std::vector<std::string> pages, gold_pages;
    for (const auto& id : ranked) pages.push_back(id.substr(0, id.rfind('#')));
    for (const auto& page : item.relevant_pages) gold_pages.push_back(index::page_id_of_reference(page));
    for (Metric& metric : metrics_) {
      const auto list = metrics::grade(metric.pages ? pages : ranked, metric.pages ? gold_pages : item.relevant_chunk_ids);
      if (!list.relevant.empty()) metric.values[side].push_back(metric.measure(list, k));
    }
    if (side == native) {
      native_ = head(ranked, depth);
      return;
    }
    auto theirs = head(ranked, depth);
    if (theirs == native_) return;
    const auto first = std::mismatch(native_.begin(), native_.end(), theirs.begin(), theirs.end()).first;
    differences_.push_back({item.id, side, static_cast<std::size_t>(first - native_.begin()) + 1, native_, std::move(theirs)});
  }

  const std::vector<Metric>& metrics() const { return metrics_; }
  const std::vector<Difference>& differences() const { return differences_; }
  std::uint64_t items(Side side) const { return items_[side]; }
  std::size_t differing(Side side) const {
    return static_cast<std::size_t>(std::count_if(differences_.begin(), differences_.end(), [&](const Difference& each) { return each.side == side; }));
  }
  /// The metrics of Chromium that are not the native ones.
  std::vector<std::string> unequal() const {
    std::vector<std::string> names;
    for (const Metric& metric : metrics_) {
      const auto ours = figure(metric.values[native]), theirs = figure(metric.values[chromium]);
      if (ours && theirs && std::fabs(ours->mean - theirs->mean) > same) names.push_back(metric.name);
    }
    return names;
  }

 private:
  std::vector<Metric> metrics_;
  std::vector<Difference> differences_;
  std::vector<std::string> native_;
  std::array<std::uint64_t, sides> items_ = {};
};

/// How far apart two runtimes are that should give the same numbers.
struct Spread {
  double vectors = 0, logits = 0;  ///< largest difference of a component, of a pair's logit
  void add(const FirstRetrieval& ours, const agent::Step& theirs) {
    for (const auto& [effect, result] : theirs.effects) {
      const auto* embedding = std::get_if<agent::Embedding>(&result.value);
      if (embedding == nullptr || embedding->vector.size() != ours.vector.size()) continue;
      for (std::size_t i = 0; i < ours.vector.size(); ++i) vectors = std::max(vectors, std::fabs(static_cast<double>(ours.vector[i]) - static_cast<double>(embedding->vector[i])));
    }
    std::map<index::ChunkNo, double> scored;
    for (const auto& [chunk, logit] : ours.logits) scored[chunk] = static_cast<double>(logit);
    for (std::size_t i = 0; i < ours.candidates.size(); ++i) {
      const auto& list = std::get<agent::Retrieved>(theirs.data);
      const auto at = std::find(list.candidate_ids.begin(), list.candidate_ids.end(), ours.ids[i]);
      const auto found = scored.find(ours.candidates[i].chunk);
      if (at == list.candidate_ids.end() || found == scored.end()) continue;
      if (const auto& score = list.candidates[static_cast<std::size_t>(at - list.candidate_ids.begin())].rerank_score) logits = std::max(logits, std::fabs(*score - found->second));
    }
  }
};

struct Outcome {
  Parity parity;
  Spread spread;
  Chromium chromium;
  std::uint64_t replayed = 0;  ///< traces of Chromium that the native engine makes again, bit for bit, from their own vectors and logits
  bool with_float32 = false;
};

Result<Outcome> measure(const Settings& settings, const OpenIndex& opened, const golden::Set& set, const agent::Config& config, const Models::Available& models, bool with_float32) {
  const index::Index& index = opened.index;
  const bool dense = config.retrieval.mode != retrieval::Mode::bm25 && index.has_vectors();
  Outcome out;
  std::optional<FloatVectors> passages;
  if (with_float32 && dense) {
    auto vectors = float_vectors(settings, index, *models.worker);
    if (!vectors) return tl::unexpected(vectors.error());
    passages = std::move(*vectors);
  }
  out.with_float32 = passages.has_value();
  std::vector<std::string> questions;
  for (const golden::Item& item : set.items) questions.push_back(item.question);
  ProgressLine line("parity");
  std::size_t number = 0;
  auto finished = retrieve_in_chromium(settings, opened.path, config, models.worker != nullptr, questions, [&](std::string_view text) -> Result<bool> {
    const golden::Item& item = set.items[number++];
    const auto wrong = [&](const Error& error) { return fail(error.code, "item \"" + item.id + "\": " + error.message, error.field); };
    auto trace = trace::parse(text);
    if (!trace) return wrong(trace.error());
    const auto* theirs = trace->steps.empty() ? nullptr : std::get_if<agent::Retrieved>(&trace->steps.front().data);
    if (theirs == nullptr) return wrong({ErrorCode::internal, "Chromium's trace holds no retrieval" + (trace->error ? ": " + trace->error->message : std::string()), "chromium"});
    for (const auto& [effect, result] : trace->steps.front().effects) {
      if (const auto* error = std::get_if<Error>(&result.value)) return wrong({ErrorCode::model_unavailable, "in Chromium: " + error->message, "chromium"});
    }
    if (const auto replay = trace::replay(index, text); replay && replay->identical) ++out.replayed;
    auto ours = retrieve_first(index, item.question, config.retrieval, models);
    if (!ours) return wrong(ours.error());
    out.parity.add(item, native, ours->ids);
    out.parity.add(item, chromium, theirs->candidate_ids);
    out.spread.add(*ours, trace->steps.front());
    if (passages) {
      auto unrounded = retrieve_first(index, item.question, config.retrieval, models, *ours, *passages);
      if (!unrounded) return wrong(unrounded.error());
      out.parity.add(item, float32, unrounded->ids);
    }
    line.update(number, questions.size(), "questions");
    return !interrupted();
  });
  line.finish();
  if (!finished) return tl::unexpected(finished.error());
  out.chromium = std::move(*finished);
  return out;
}

Json to_json(const Outcome& outcome, const std::string& config, const index::Index& index, const Items& items) {
  const Parity& parity = outcome.parity;
  Json json = {{"kind", "parity"}, {"schema", 1}, {"config", config}, {"index_digest", index.digest()},
               {"golden", {{"name", items.scope.golden_name}, {"digest", items.scope.golden_digest}, {"source", items.scope.golden_source},
                           {"subset", items.scope.subset.empty() ? Json() : Json(items.scope.subset)}}},
               {"items", parity.items(native)}, {"k", k}, {"depth", depth},
               {"chromium", {{"version", outcome.chromium.version}, {"threads", outcome.chromium.threads}}},
               {"equal", parity.unequal().empty()}, {"sides", Json::object()}, {"replayed", outcome.replayed},
               {"largest_difference", {{"vector", outcome.spread.vectors}, {"logit", outcome.spread.logits}}}, {"differences", Json::array()}};
  for (const Side side : {native, chromium, float32}) {
    if (side == float32 && !outcome.with_float32) continue;
    Json figures = Json::object();
    for (const Metric& metric : parity.metrics()) {
      const auto value = figure(metric.values[side]);
      if (!value && metric.pages) continue;
      figures[metric.name] = value ? Json{{"value", value->mean}, {"low", value->interval.low}, {"high", value->interval.high}, {"n", metric.values[side].size()}}
                                   : Json{{"value", nullptr}, {"low", nullptr}, {"high", nullptr}, {"n", 0}};
    }
    json["sides"][std::string(side_keys[side])] = {{"metrics", std::move(figures)}, {"rankings_that_differ", side == native ? Json() : Json(parity.differing(side))}};
  }
  for (const Difference& each : parity.differences()) {
    json["differences"].push_back({{"item", each.item}, {"side", side_keys[each.side]}, {"rank", each.rank}, {"native_int8", each.ours}, {std::string(side_keys[each.side]), each.theirs}});
  }
  return json;
}

void print_text(const Outcome& outcome, const std::string& config, const Items& items) {
  const Parity& parity = outcome.parity;
  const auto total = parity.items(native);
  print(fmt::format("First retrieval of {} over {} items of {} ({})\nChromium {}, {} thread{}\n\n", config, total, items.scope.golden_name, items.scope.golden_source,
                    outcome.chromium.version, outcome.chromium.threads, outcome.chromium.threads == 1 ? "" : "s"));
  std::string table = fmt::format("{:<{}}", "", name_width);
  for (const Side side : {native, chromium, float32}) {
    if (side != float32 || outcome.with_float32) table += fmt::format("{:>{}}", side_names[side], value_width);
  }
  table += '\n';
  for (const Metric& metric : parity.metrics()) {
    if (metric.pages && metric.values[native].empty()) continue;
    table += fmt::format("{:<{}}", fmt::format("{} (n = {})", metric.name, metric.values[native].size()), name_width);
    std::string below = fmt::format("{:<{}}", "", name_width);
    for (const Side side : {native, chromium, float32}) {
      if (side == float32 && !outcome.with_float32) continue;
      const auto value = figure(metric.values[side]);
      // "—" is one column wide and three bytes long.
      table += value ? fmt::format("{:>{}.4f}", value->mean, value_width) : std::string(value_width - 1, ' ') + "—";
      if (value) below += fmt::format("{:>{}}", fmt::format("[{:.4f}, {:.4f}]", value->interval.low, value->interval.high), value_width);
    }
    table += '\n' + below + '\n';
  }
  print(table + '\n');
  print(fmt::format("Chromium: {} of {} rankings are the native ones down to rank {}; its vectors are within {:.2g} of the native ones, its logits within {:.2g}; "
                    "{} of {} of its traces replay natively, bit for bit.\n",
                    total - parity.differing(chromium), total, depth, outcome.spread.vectors, outcome.spread.logits, outcome.replayed, total));
  if (outcome.with_float32) {
    std::string words;
    for (const Metric& metric : parity.metrics()) {
      if (metric.values[native].empty()) continue;
      std::vector<double> differences;
      for (std::size_t i = 0; i < metric.values[native].size(); ++i) differences.push_back(metric.values[float32][i] - metric.values[native][i]);
      double sum = 0;
      for (const double each : differences) sum += each;
      words += fmt::format("{}{} {:+.4f} (p = {:.2f})", words.empty() ? "" : ", ", metric.name, sum / static_cast<double>(differences.size()), metrics::sign_flip(differences, seed).value_or(1));
    }
    print(fmt::format("float32: {} of {} rankings are those over int8 vectors; against int8: {}.\n", total - parity.differing(float32), total, words.empty() ? "no item has gold" : words));
  }
  const auto& differences = parity.differences();
  for (std::size_t i = 0; i < std::min(differences.size(), listed); ++i) {
    const auto at = [&](const std::vector<std::string>& ids) { return differences[i].rank <= ids.size() ? printable(ids[differences[i].rank - 1]) : std::string("nothing"); };
    print(fmt::format("  {}: {} differs from rank {} on: {}, natively {}\n", printable(differences[i].item), side_names[differences[i].side], differences[i].rank, at(differences[i].theirs), at(differences[i].ours)));
  }
  if (differences.size() > listed) print(fmt::format("  and {} more; --json names all\n", differences.size() - listed));
  const auto unequal = parity.unequal();
  std::string names;
  for (const auto& name : unequal) names += (names.empty() ? "" : ", ") + name;
  print(unequal.empty() ? "equal: every metric of Chromium is the native one\n" : "DIFFERS: " + names + "\n");
}

ExitCode run(Context& context, const Options& options) {
  for (const auto& assignment : options.run.set) {
    if (auto done = context.settings.set(assignment); !done) return report(done.error());
  }
  auto config = context.settings.agent_config(options.config);
  if (!config) return report(config.error());
  std::string file;
  auto opened = open_index(context.settings, options.run.index, file);
  if (!opened) return report(opened.error(), file);
  auto items = read_items(context.settings, options.run, &(*opened)->index, file);
  if (!items) return report(items.error(), file);
  Models models(context.settings);
  Models::Available available;
  if (config->retrieval.mode != retrieval::Mode::bm25 || config->retrieval.use_reranker) {
    auto worker = models.worker((*opened)->index);
    if (!worker) return report(worker.error());
    available.worker = *worker;
  }
  watch_interrupts();
  auto outcome = measure(context.settings, **opened, items->set, *config, available, !options.no_float32);
  if (interrupted()) return ExitCode::interrupted;
  if (!outcome) return report(outcome.error());
  if (options.run.json) print_json(to_json(*outcome, options.config, (*opened)->index, *items));
  else print_text(*outcome, options.config, *items);
  return outcome->parity.unequal().empty() ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace

void add_parity(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("parity", "Hold the first retrieval in Chromium to the native one, and int8 vectors to float32");
  command->add_option("--config", options->config, "baseline, hybrid, hybrid_rerank, full or tuned")->capture_default_str();
  command->add_option("--index", options->run.index, "Index file (default: the one that set-up built)")->type_name("FILE");
  add_item_options(*command, options->run);
  command->add_option("--set", options->run.set, "NAME=VALUE of the configuration, may be repeated")->type_name("NAME=VALUE")->allow_extra_args(false);
  command->add_flag("--no-float32", options->no_float32, "Leaves float32 out: passages of an index that was not built here must be embedded for it");
  command->add_flag("--json", options->run.json, "One JSON object on stdout");
  command->footer(
      "Chromium runs what the site was built from: its engine, its models, its workers. float32: neither the passages' vectors nor the\n"
      "query's are rounded to int8, everything else stays. Exit status: 0 where Recall@4 and MRR@4 of Chromium are the native ones, 1\n"
      "where one differs, 5 where Chromium or a model can't be used.\n\n"
      "Examples:\n  polygraph parity\n  polygraph parity --config hybrid --limit 20\n  polygraph parity --index docs.polygraph --dataset golden.jsonl --json");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
