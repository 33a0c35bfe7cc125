// `polygraph golden extend`: labels for what a run retrieved and nobody judged.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/golden/making_model.hpp"
#include "cli/commands/golden/pooling.hpp"
#include "cli/commands/golden/subcommands.hpp"
#include "cli/commands/golden/work_file.hpp"
#include "cli/dataset.hpp"
#include "cli/index_store.hpp"
#include "cli/runs/run_file.hpp"
#include "cli/whole_file.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;
using Retrieved = std::map<std::string, std::vector<std::string>>;  // chunk ids by item, each once, of all repeats

struct Options {
  std::string dataset, run, index, out;
  MakingModelOptions model;
  std::size_t k = 5;
  bool json = false;
};

Result<Retrieved> retrieved_by(const std::string& run, std::size_t k) {
  Retrieved out;
  auto header = read_run(std::filesystem::path(run), [&](const RunLine& line) -> Result<void> {
    const Json result = Json::parse(line.result, nullptr, false);
    const auto chunks = result.is_object() ? result.find("retrieved_chunks") : result.end();
    if (!result.is_object() || chunks == result.end() || !chunks->is_array()) return {};  // a failed item has none
    auto& ids = out[line.item.id];
    for (std::size_t i = 0; i < chunks->size() && i < k; ++i) {
      const Json& chunk = (*chunks)[i];
      if (!chunk.is_object() || !chunk.contains("id") || !chunk["id"].is_string()) continue;
      if (auto id = chunk["id"].get<std::string>(); std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(std::move(id));
    }
    return {};
  });
  if (!header) return tl::unexpected(header.error());
  return out;
}

bool judged(const golden::Item& item, const std::string& id) {
  return std::find(item.pool_ids.begin(), item.pool_ids.end(), id) != item.pool_ids.end() ||
         std::find(item.relevant_chunk_ids.begin(), item.relevant_chunk_ids.end(), id) != item.relevant_chunk_ids.end();
}

/// The mean share of what was retrieved that somebody judged, and over how many items.
std::pair<std::optional<double>, std::size_t> judged_at_k(const golden::Set& set, const Retrieved& retrieved) {
  double sum = 0;
  std::size_t items = 0;
  for (const auto& item : set.items) {
    const auto found = retrieved.find(item.id);
    if (found == retrieved.end() || found->second.empty()) continue;
    const auto known = std::count_if(found->second.begin(), found->second.end(), [&](const auto& id) { return judged(item, id); });
    sum += static_cast<double>(known) / static_cast<double>(found->second.size());
    ++items;
  }
  return {items == 0 ? std::nullopt : std::optional(sum / static_cast<double>(items)), items};
}

/// The item with these labels beside those that it has.
void add_labels(golden::Item& item, const index::Index& index, const std::vector<std::string>& ids, const golden::Labels& labels) {
  for (const auto& id : item.relevant_chunk_ids) {
    if (std::find(item.pool_ids.begin(), item.pool_ids.end(), id) == item.pool_ids.end()) item.pool_ids.push_back(id);
  }
  for (const auto& id : ids) {
    const auto label = labels.find(id);
    const auto chunk = index.find_chunk(id);
    if (label == labels.end() || !chunk) continue;
    item.pool_ids.push_back(id);
    if (item.type == golden::ItemType::unanswerable || label->second == golden::Answers::none) continue;
    item.relevant_chunk_ids.push_back(id);
    item.chunk_digests[id] = golden::chunk_digest(index.chunk(*chunk).text);
  }
}

ExitCode run(Context& context, const Options& options) {
  std::string file;
  auto set = read_valid_dataset(options.dataset, "", file);
  if (!set) return report(set.error(), file);
  auto retrieved = retrieved_by(options.run, options.k);
  if (!retrieved) return report(retrieved.error(), options.run);
  auto opened = open_index(context.settings, options.index, file);
  if (!opened) return report(opened.error(), file);
  const index::Index& index = (*opened)->index;
  auto model = MakingModel::create(context.settings, options.model, "JUDGE_MODEL", true);
  if (!model) return report(model.error());
  if (*model != nullptr && options.out.empty()) return report({ErrorCode::invalid_argument, "is missing: the set with the new labels", "--out"});
  if (*model == nullptr) say("note: no --provider: what nobody judged is counted, and not labelled");
  const auto before = judged_at_k(*set, *retrieved);
  std::optional<WorkFile> work;
  if (*model != nullptr) {
    auto opened_work = WorkFile::open(options.out, {{"stage", "extend"}, {"golden_digest", golden::digest(*set)}, {"index_digest", index.digest()}, {"k", options.k},
                                                    {"provider", (*model)->provider()}, {"model", (*model)->model()},
                                                    {"prompt", proxy::golden_prompt_version(proxy::GoldenTask::label)}});
    if (!opened_work) return report(opened_work.error());
    work = std::move(*opened_work);
  }

  watch_interrupts();
  std::size_t unjudged = 0, labelled = 0, relevant = 0, failed = 0;
  for (auto& item : set->items) {
    const auto found = retrieved->find(item.id);
    if (found == retrieved->end() || item.rejected) continue;
    std::vector<std::string> open;
    for (const auto& id : found->second) {
      if (judged(item, id)) continue;
      ++unjudged;
      if (index.find_chunk(id)) open.push_back(id);
      else say(fmt::format("note: item \"{}\": the index has no chunk {}", printable(item.id), printable(id)));
    }
    if (open.empty() || *model == nullptr) continue;
    if (interrupted()) {
      say("what was asked is kept; the same command goes on from here");
      return ExitCode::interrupted;
    }
    const Json* known = work->find(item.id);
    auto labels = known == nullptr ? std::optional<golden::Labels>() : labels_of(*known);
    const auto covers = [&] { return std::all_of(open.begin(), open.end(), [&](const auto& id) { return labels->contains(id); }); };
    if (!labels || !covers()) {
      auto asked = label_pool(**model, index, item, open);
      if (!asked && !asked.error().item_only) {
        say("what was asked is kept; the same command goes on from here");
        return report(asked.error().error);
      }
      if (!asked) {
        ++failed;
        say(fmt::format("not labelled: item \"{}\": {}", printable(item.id), printable(asked.error().error.message)));
        continue;
      }
      labels = std::move(*asked);
      if (auto done = work->append(item.id, {{"labels", labels_json(*labels)}}); !done) return report(done.error());
    }
    const std::size_t gold = item.relevant_chunk_ids.size();
    add_labels(item, index, open, *labels);
    labelled += open.size();
    relevant += item.relevant_chunk_ids.size() - gold;
    if (item.type == golden::ItemType::unanswerable) {
      if (const auto chunk = golden::answering_chunk(open, *labels); !chunk.empty()) {
        say(fmt::format("look at: item \"{}\": {} answers it, though it is unanswerable", printable(item.id), printable(chunk)));
      }
    }
    golden::add_note(item, fmt::format("extended by {} ({})", (*model)->model(), proxy::golden_prompt_version(proxy::GoldenTask::label)));
  }
  const auto after = judged_at_k(*set, *retrieved);
  if (*model != nullptr) {
    if (auto done = write_whole(options.out, text_in_its_form(*set)); !done) return report(done.error(), options.out);
    if (failed == 0) work->remove();
  }
  const auto share = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  if (options.json) {
    print_json({{"k", options.k}, {"items", before.second}, {"judged_before", share(before.first)}, {"judged_after", share(after.first)}, {"unjudged", unjudged},
                {"labelled", labelled}, {"relevant", relevant}, {"failed", failed}});
  } else {
    const auto words = [](const std::optional<double>& value) { return value ? fmt::format("{:.1f} %", 100 * *value) : std::string("—"); };
    print(fmt::format("judged@{}: {} before, {} now, over {} items; {} passages unjudged, {} labelled, {} of them relevant, {} items failed\n", options.k, words(before.first),
                      words(after.first), before.second, unjudged, labelled, relevant, failed));
  }
  return failed == 0 ? ExitCode::done : ExitCode::model_or_network;
}

}  // namespace

void add_golden_extend(CLI::App& golden, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = golden.add_subcommand("extend", "Label what a run retrieved and nobody judged");
  command->add_option("--dataset", options->dataset, "Golden set")->type_name("FILE")->required();
  command->add_option("--run", options->run, "Results of `polygraph run` over the set")->type_name("FILE")->required();
  command->add_option("--index", options->index, "Index over its corpus (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--k", options->k, "How many of the retrieved passages of an item")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--out", options->out, "The set with the new labels; OUT.work.jsonl beside it holds what is done")->type_name("FILE");
  add_model_options(*command, options->model, true);
  command->add_flag("--json", options->json, "Counts as one JSON object on stdout");
  command->footer("Example:\n  polygraph golden extend --dataset questions.jsonl --run results/tuned.jsonl --provider groq --out extended.jsonl");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
