// `polygraph golden pool`: the passages of each question that are to be judged, and a model's labels of them.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/golden/making_model.hpp"
#include "cli/commands/golden/pooling.hpp"
#include "cli/commands/golden/subcommands.hpp"
#include "cli/commands/golden/work_file.hpp"
#include "cli/dataset.hpp"
#include "cli/index_store.hpp"
#include "cli/whole_file.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string dataset, index, out;
  MakingModelOptions model;
  bool json = false;
};

Json identity_of(const golden::Set& set, const index::Index& index, bool dense, const MakingModel* model) {
  return {{"stage", "pool"},
          {"golden_digest", golden::digest(set)},
          {"index_digest", index.digest()},
          {"dense", dense},
          {"provider", model == nullptr ? Json(nullptr) : Json(model->provider())},
          {"model", model == nullptr ? Json(nullptr) : Json(model->model())},
          {"prompt", model == nullptr ? Json(nullptr) : Json(proxy::golden_prompt_version(proxy::GoldenTask::label))}};
}

struct Counts {
  std::size_t pooled = 0, labelled = 0, without_gold = 0, failed = 0;
};

/// The pool of one item, from the work file or made now.
Result<std::vector<std::string>> pool_of(const golden::Item& item, const index::Index& index, const Models::Available& models, const Json* known) {
  if (known != nullptr && known->contains("pool_ids") && (*known)["pool_ids"].is_array()) {
    std::vector<std::string> pool;
    for (const auto& id : (*known)["pool_ids"]) {
      if (id.is_string()) pool.push_back(id.get<std::string>());
    }
    return pool;
  }
  auto found = found_for(index, item.question, models);
  if (!found) return tl::unexpected(found.error());
  return golden::pool_ids(index, item, *found);
}

ExitCode run(Context& context, const Options& options) {
  std::string file;
  auto set = read_valid_dataset(options.dataset, "", file);
  if (!set) return report(set.error(), file);
  auto opened = open_index(context.settings, options.index, file);
  if (!opened) return report(opened.error(), file);
  const index::Index& index = (*opened)->index;
  auto model = MakingModel::create(context.settings, options.model, "JUDGE_MODEL", true);
  if (!model) return report(model.error());
  if (*model != nullptr) {
    const std::string drafted = "drafted by " + (*model)->model() + " ";
    for (const auto& item : set->items) {
      if (item.notes.find(drafted) == std::string::npos) continue;
      return report({ErrorCode::invalid_argument, fmt::format("\"{}\" drafted item \"{}\"; a different model labels it", (*model)->model(), item.id), "--model"});
    }
  }
  Models models(context.settings);
  Models::Available available;
  if (auto found = models.available(index)) available = std::move(*found);
  else return report(found.error(), file);
  if (available.worker == nullptr) say("note: pools of lexical search alone: " + printable(available.why_missing));
  if (*model == nullptr) say("note: no --provider: passages are pooled, and nobody labels them");
  auto work = WorkFile::open(options.out, identity_of(*set, index, available.worker != nullptr, model->get()));
  if (!work) return report(work.error());

  watch_interrupts();
  Counts counts;
  std::size_t number = 0;
  ProgressLine progress("pool");
  for (auto& item : set->items) {
    progress.update(number++, set->items.size(), "items");
    if (interrupted()) {
      progress.finish();
      say(fmt::format("{} of {} items are done; the same command goes on from here", work->done(), set->items.size()));
      return ExitCode::interrupted;
    }
    const Json* known = work->find(item.id);
    auto pool = pool_of(item, index, available, known);
    if (!pool) return report(pool.error());
    std::optional<golden::Labels> labels;
    const bool to_label = *model != nullptr && item.type != golden::ItemType::unanswerable;  // `check` asks about those
    if (known != nullptr) labels = labels_of(*known);
    if (to_label && !labels) {
      auto asked = label_pool(**model, index, item, *pool);
      if (asked) {
        labels = std::move(*asked);
      } else if (!asked.error().item_only) {
        progress.finish();
        say(fmt::format("{} of {} items are done; the same command goes on from here", work->done(), set->items.size()));
        return report(asked.error().error);
      } else {
        ++counts.failed;
        say(fmt::format("not labelled: item \"{}\": {}", printable(item.id), printable(asked.error().error.message)));
      }
    }
    if (known == nullptr && (!to_label || labels)) {
      if (auto done = work->append(item.id, {{"pool_ids", *pool}, {"labels", labels ? labels_json(*labels) : Json(nullptr)}}); !done) return report(done.error());
    }
    ++counts.pooled;
    item.pool_ids = *pool;
    if (!labels) continue;
    ++counts.labelled;
    if (auto with_gold = golden::labelled(index, item, *pool, *labels)) {
      item = std::move(*with_gold);
      golden::add_note(item, fmt::format("gold labelled by {} ({})", (*model)->model(), proxy::golden_prompt_version(proxy::GoldenTask::label)));
    } else {
      ++counts.without_gold;
      say(fmt::format("no gold: item \"{}\": no passage of its pool was labelled as answering it; it keeps what it had", printable(item.id)));
    }
  }
  progress.finish();
  if (auto done = write_whole(options.out, text_in_its_form(*set)); !done) return report(done.error(), options.out);
  if (counts.failed == 0) work->remove();
  if (options.json) {
    print_json({{"items", set->items.size()}, {"pooled", counts.pooled}, {"labelled", counts.labelled}, {"without_gold", counts.without_gold}, {"failed", counts.failed},
                {"dense", available.worker != nullptr}, {"out", options.out}});
  } else {
    say(fmt::format("{} items pooled, {} labelled ({} without gold), {} failed; written to {}", counts.pooled, counts.labelled, counts.without_gold, counts.failed,
                    printable(options.out)));
  }
  return counts.failed == 0 ? ExitCode::done : ExitCode::model_or_network;
}

}  // namespace

void add_golden_pool(CLI::App& golden, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = golden.add_subcommand("pool", "Pool the passages that are to be judged for each question, and have a model label them");
  command->add_option("--dataset", options->dataset, "Golden set")->type_name("FILE")->required();
  command->add_option("--index", options->index, "Index over its corpus (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--out", options->out, "The set with pools, and with the labelled passages as gold; OUT.work.jsonl beside it holds what is done")->type_name("FILE")->required();
  add_model_options(*command, options->model, true);
  command->add_flag("--json", options->json, "Counts as one JSON object on stdout");
  command->footer("A pool is the top 5 of dense and the top 5 of lexical search, with gold and source. Unanswerable items get no labels here:\n"
                  "`golden check` asks about them.\n\n"
                  "Example:\n  polygraph golden pool --dataset drafts.jsonl --provider groq --out pooled.jsonl");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
