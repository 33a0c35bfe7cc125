// `./polygraph bench quality`: retrieval and refusal of each configuration over a golden set, with counts and 95 %
// intervals. Runs the whole agent with the real models; a pair that an earlier configuration scored is not scored again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "cli/console.hpp"
#include "cli/host.hpp"
#include "cli/index_store.hpp"
#include "cli/mapped_file.hpp"
#include "index/page_id.hpp"
#include "wasm/agent/agent.hpp"
#include "wasm/golden/golden_set.hpp"
#include "wasm/metrics/interval.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t bootstrap_seed = 20240501;

/// Answers effects from what was computed before. Pairs are kept one by one: configurations score different sets.
class CachingHost {
 public:
  explicit CachingHost(models::ModelWorker& worker) : worker_(&worker) {}

  agent::EffectResult perform(const agent::Effect& effect) {
    if (const auto* request = std::get_if<agent::ScoreRequest>(&effect.request)) return score(*request);
    if (effect.kind() != agent::EffectKind::embed) return cli::perform(effect, {worker_, {}});
    const auto [entry, fresh] = embeddings_.try_emplace(effect.digest);
    if (fresh) entry->second = cli::perform(effect, {worker_, {}});
    return entry->second;
  }

 private:
  agent::EffectResult score(const agent::ScoreRequest& request) {
    std::vector<agent::TokenPair> missing;
    for (const auto& pair : request.pairs) {
      if (!logits_.contains(key(pair))) missing.push_back(pair);
    }
    agent::EffectResult result;
    if (!missing.empty()) {
      auto scores = worker_->score(missing, 0);
      if (!scores) {
        result.value = scores.error();
        return result;
      }
      for (std::size_t i = 0; i < missing.size(); ++i) logits_.emplace(key(missing[i]), scores->logits[i]);
    }
    agent::Logits logits;
    for (const auto& pair : request.pairs) logits.values.push_back(logits_.at(key(pair)));
    result.value = std::move(logits);
    result.model = worker_->reranker().name;
    return result;
  }

  static std::string key(const agent::TokenPair& pair) {
    std::string bytes(reinterpret_cast<const char*>(pair.token_ids.data()), pair.token_ids.size() * sizeof(pair.token_ids[0]));
    return bytes + std::to_string(pair.split);
  }

  models::ModelWorker* worker_;
  std::unordered_map<std::string, agent::EffectResult> embeddings_;
  std::unordered_map<std::string, float> logits_;
};

/// A rate over items, or a mean, with its count and interval.
struct Figure {
  std::vector<double> values;
  bool rate = true;

  double value() const {
    double sum = 0;
    for (const double v : values) sum += v;
    return sum / static_cast<double>(values.size());
  }
  metrics::Interval interval() const {
    if (!rate) return metrics::bootstrap_mean(values, bootstrap_seed);
    const auto successes = static_cast<std::uint64_t>(std::count(values.begin(), values.end(), 1.0));
    return metrics::wilson(successes, values.size());
  }
  std::string text() const {
    if (values.empty()) return "—";
    const auto range = interval();
    return fmt::format("{:.3f} [{:.3f}, {:.3f}]", value(), range.low, range.high);
  }
  Json json() const {
    if (values.empty()) return {{"value", nullptr}, {"n", 0}};
    const auto range = interval();
    return {{"value", value()}, {"n", values.size()}, {"low", range.low}, {"high", range.high}};
  }
};

/// What the loop did to the questions of one type.
struct Loop {
  std::size_t questions = 0;
  std::size_t at_once = 0;          ///< answered after the first grade
  std::size_t after_rewrite = 0;    ///< refused by the first grade, answered later
  std::size_t with_doubt = 0;       ///< of the answered: with the visible doubt
};

struct Row {
  std::string name;
  Figure hit4, mrr4{{}, false}, hit10, answered, refused, answered_vague;
  Figure reference_recall{{}, false};
  Figure reference_found;
  Figure answer_bytes{{}, false};
  std::map<golden::ItemType, Loop> loops;
  std::size_t failed = 0;
};

/// Share of the distinct content terms of a reference answer that an answer holds. No judgement of the answer: a proxy
/// that tells quotes which hold the asked-for numbers, options and names from quotes that only repeat the question.
double term_recall(const index::Index& index, const std::string& reference, const std::string& answer) {
  std::set<std::string> held, wanted;
  for (const auto& term : text::terms(answer, index.metadata().analysis)) held.insert(term.text);
  for (const auto& term : text::terms(reference, index.metadata().analysis)) wanted.insert(term.text);
  if (wanted.empty()) return 1;
  const auto found = std::count_if(wanted.begin(), wanted.end(), [&](const std::string& term) { return held.contains(term); });
  return static_cast<double>(found) / static_cast<double>(wanted.size());
}

/// From this recall on an answer counts as holding its reference.
constexpr double recall_that_holds = 0.6;

/// Rank of the first chunk of a gold page among the first `k` of `pages` (one page a chunk); 0 when there is none.
std::size_t first_gold(const std::vector<std::string>& pages, const std::set<std::string>& gold, std::size_t k) {
  for (std::size_t i = 0; i < pages.size() && i < k; ++i) {
    if (gold.contains(pages[i])) return i + 1;
  }
  return 0;
}

std::string page_of(const std::string& chunk_id) { return chunk_id.substr(0, chunk_id.rfind('#')); }

/// The pages of the ranked list as it would be handed on: under the configuration's cap.
std::vector<std::string> capped_pages(const agent::Retrieved& retrieved, std::uint32_t cap) {
  std::vector<std::string> pages;
  std::map<std::string, std::uint32_t> taken;
  for (const auto& id : retrieved.candidate_ids) {
    const std::string page = page_of(id);
    if (cap == 0 || ++taken[page] <= cap) pages.push_back(page);
  }
  return pages;
}

Result<Row> evaluate(const index::Index& index, const std::vector<golden::Item>& items, const std::string& preset, CachingHost& host,
                     Json* per_item) {
  Row row;
  row.name = preset;
  auto config = agent::preset(preset);
  if (!config) return tl::unexpected(config.error());
  cli::ProgressLine progress(preset);
  std::size_t done = 0;
  for (const auto& item : items) {
    auto agent = agent::Agent::create(index, item.question, *config);
    if (!agent) return tl::unexpected(agent.error());
    std::deque<agent::Effect> open;
    for (auto& effect : agent->start()) open.push_back(std::move(effect));
    while (!open.empty()) {
      const agent::Effect effect = std::move(open.front());
      open.pop_front();
      auto more = agent->resume(effect.id, host.perform(effect));
      if (!more) return tl::unexpected(more.error());
      for (auto& next : *more) open.push_back(std::move(next));
    }
    const agent::Run& run = agent->run();
    progress.update(++done, items.size(), "questions");
    if (run.status == agent::Status::failed) {
      ++row.failed;
      continue;
    }
    const auto& first = std::get<agent::Retrieved>(run.steps.front().data);
    std::set<std::string> gold;
    for (const auto& page : item.relevant_pages) gold.insert(corpus::page_id_of_reference(page));
    const auto pages = capped_pages(first, config->retrieval.page_cap);
    const std::size_t rank4 = first_gold(pages, gold, 4);
    const double answered = run.status == agent::Status::answered ? 1 : 0;
    if (item.type == golden::ItemType::answerable) {
      row.hit4.values.push_back(rank4 > 0 ? 1 : 0);
      row.mrr4.values.push_back(rank4 > 0 ? 1.0 / static_cast<double>(rank4) : 0);
      row.hit10.values.push_back(first_gold(pages, gold, 10) > 0 ? 1 : 0);
      row.answered.values.push_back(answered);
    } else if (item.type == golden::ItemType::vague) {
      row.answered_vague.values.push_back(answered);
    } else {
      row.refused.values.push_back(1 - answered);
    }
    std::vector<const agent::Graded*> grades;
    const agent::Generated* generated = nullptr;
    for (const auto& step : run.steps) {
      if (const auto* graded = std::get_if<agent::Graded>(&step.data)) grades.push_back(graded);
      if (const auto* data = std::get_if<agent::Generated>(&step.data)) generated = data;
    }
    Loop& loop = row.loops[item.type];
    ++loop.questions;
    if (answered == 1) {
      ++(grades.size() > 1 ? loop.after_rewrite : loop.at_once);
      if (!grades.empty() && grades.back()->unsure) ++loop.with_doubt;
      if (item.type == golden::ItemType::answerable && !item.reference_answer.empty()) {
        const double recall = term_recall(index, item.reference_answer, run.answer);
        row.reference_recall.values.push_back(recall);
        row.reference_found.values.push_back(recall >= recall_that_holds ? 1 : 0);
        row.answer_bytes.values.push_back(static_cast<double>(run.answer.size()));
      }
    }
    if (per_item != nullptr) {
      Json entry = {{"config", preset}, {"id", item.id}, {"type", golden::name(item.type)}, {"kind", item.kind}, {"question", item.question},
                    {"reference", item.reference_answer}, {"status", agent::name(run.status)}, {"rank", rank4}, {"steps", run.steps.size()},
                    {"retrieved", first.retrieved_ids}, {"candidates", first.candidate_ids}, {"grades", Json::array()}, {"answer", run.answer}};
      for (const auto* graded : grades) entry["grades"].push_back({{"p", graded->probability.value_or(0)}, {"features", graded->features}, {"reason", graded->reason}});
      if (generated != nullptr) entry["context"] = generated->context_ids;
      per_item->push_back(std::move(entry));
    }
  }
  return row;
}

void print_table(const std::vector<Row>& rows) {
  cli::print(fmt::format("{:<14} {:<22} {:<22} {:<22} {:<22} {:<22} {}\n", "", "hit@4 (pages)", "MRR@4", "hit@10", "answered of answerable",
                         "refused of unanswerable", "answered of vague"));
  for (const auto& row : rows) {
    cli::print(fmt::format("{:<14} {:<22} {:<22} {:<22} {:<22} {:<22}  {}{}\n", row.name, row.hit4.text(), row.mrr4.text(), row.hit10.text(),
                           row.answered.text(), row.refused.text(), row.answered_vague.text(),
                           row.failed == 0 ? "" : fmt::format("  ({} failed)", row.failed)));
  }
  cli::print("\nAnswered at once / after a rewrite / of both with a visible doubt, of so many questions\n");
  for (const auto& row : rows) {
    cli::print(fmt::format("{:<14}", row.name));
    for (const auto& [type, loop] : row.loops) {
      cli::print(fmt::format(" {}: {} / {} / {} of {}  ", golden::name(type), loop.at_once, loop.after_rewrite, loop.with_doubt, loop.questions));
    }
    cli::print("\n");
  }
  cli::print(fmt::format("\nAnswers against their references: terms held / answers that hold {:.0f} % of them or more / bytes\n", recall_that_holds * 100));
  for (const auto& row : rows) {
    cli::print(fmt::format("{:<14} {:<22} {:<22} {}\n", row.name, row.reference_recall.text(), row.reference_found.text(), row.answer_bytes.text()));
  }
}

int run(int argc, char** argv) {
  CLI::App program{"Retrieval and refusal over a golden set", "quality"};
  std::string index_path, dataset;
  std::vector<std::string> presets;
  bool json = false, items_too = false;
  program.add_option("--index", index_path, "Index file")->required();
  program.add_option("--dataset", dataset, "Golden set, JSON Lines with relevant_pages")->required();
  program.add_option("--config", presets, "Configurations (default: all)");
  program.add_flag("--json", json, "JSON on stdout");
  program.add_flag("--items", items_too, "With --json: every item's outcome too");
  CLI11_PARSE(program, argc, argv);

  auto settings = cli::Settings::load();
  if (!settings) return static_cast<int>(cli::report(settings.error()));
  std::string file;
  auto opened = cli::open_index(*settings, index_path, file);
  if (!opened) return static_cast<int>(cli::report(opened.error(), file));
  auto text = cli::read_text(dataset);
  if (!text) return static_cast<int>(cli::report(text.error(), dataset));
  auto items = golden::parse(*text);
  if (!items) return static_cast<int>(cli::report(items.error(), dataset));
  cli::Models models(*settings);
  auto worker = models.worker((*opened)->index);
  if (!worker) return static_cast<int>(cli::report(worker.error(), file));
  if (presets.empty()) {
    for (const auto name : agent::preset_names()) presets.emplace_back(name);
  }

  CachingHost host(**worker);
  std::vector<Row> rows;
  Json per_item = Json::array();
  for (const auto& preset : presets) {
    auto row = evaluate((*opened)->index, items->items, preset, host, items_too ? &per_item : nullptr);
    if (!row) return static_cast<int>(cli::report(row.error()));
    rows.push_back(std::move(*row));
  }
  if (json) {
    Json document = {{"index_digest", (*opened)->index.digest()}, {"configurations", Json::array()}};
    for (const auto& row : rows) {
      document["configurations"].push_back({{"name", row.name},
                                            {"hit@4", row.hit4.json()},
                                            {"mrr@4", row.mrr4.json()},
                                            {"hit@10", row.hit10.json()},
                                            {"answered_of_answerable", row.answered.json()},
                                            {"refused_of_unanswerable", row.refused.json()},
                                            {"answered_of_vague", row.answered_vague.json()},
                                            {"reference_terms_held", row.reference_recall.json()},
                                            {"reference_held", row.reference_found.json()},
                                            {"answer_bytes", row.answer_bytes.json()},
                                            {"failed", row.failed}});
      auto& loops = document["configurations"].back()["loop"] = Json::object();
      for (const auto& [type, loop] : row.loops) {
        loops[std::string(golden::name(type))] = {{"questions", loop.questions}, {"answered_at_once", loop.at_once},
                                                   {"answered_after_rewrite", loop.after_rewrite}, {"answered_with_doubt", loop.with_doubt}};
      }
    }
    if (items_too) document["items"] = std::move(per_item);
    cli::print(document.dump(2) + "\n");
  } else {
    print_table(rows);
  }
  return 0;
}

}  // namespace
}  // namespace polygraph

int main(int argc, char** argv) { return polygraph::run(argc, argv); }
