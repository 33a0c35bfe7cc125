// `polygraph golden check`: unanswerable questions that the corpus answers after all.
#include <fmt/format.h>

#include <algorithm>
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
  double threshold = 0;
  bool json = false;
};

struct Finding {
  std::string item, chunk;
  std::optional<double> logit;  ///< of the cross-encoder, where no model was asked
};

/// The pooled chunk that the cross-encoder takes most for an answer.
Result<std::optional<Finding>> most_likely(const index::Index& index, const golden::Item& item, const Models::Available& models) {
  retrieval::Config config;
  config.use_reranker = true;
  retrieval::Retrieval retrieval(index, item.question, config);
  if (auto done = perform(retrieval, models); !done) return tl::unexpected(done.error());
  if (!retrieval.stages().rerank.starts_with("used")) return fail(ErrorCode::model_unavailable, retrieval.stages().rerank);
  std::optional<Finding> best;
  for (const auto& candidate : retrieval.ranked()) {
    if (candidate.rerank_score && (!best || *candidate.rerank_score > *best->logit)) best = Finding{item.id, index.chunk_id(candidate.chunk), candidate.rerank_score};
  }
  return best;
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
  if (*model != nullptr && options.out.empty()) return report({ErrorCode::invalid_argument, "is missing: the set without the items that are dropped", "--out"});
  Models models(context.settings);
  Models::Available available;
  if (auto found = models.available(index)) available = std::move(*found);
  else return report(found.error(), file);
  if (*model == nullptr) {
    if (available.worker == nullptr) {
      return report({ErrorCode::model_unavailable, "there is neither a --provider nor the cross-encoder to ask: " + available.why_missing, "--provider"});
    }
    say(fmt::format("note: no --provider: chunks that the cross-encoder gives a logit over {} are named, and nothing is dropped", options.threshold));
  }
  std::optional<WorkFile> work;
  if (*model != nullptr) {
    auto file_of_work = WorkFile::open(options.out, {{"stage", "check"}, {"golden_digest", golden::digest(*set)}, {"index_digest", index.digest()}, {"dense", available.worker != nullptr},
                                                     {"provider", (*model)->provider()}, {"model", (*model)->model()},
                                                     {"prompt", proxy::golden_prompt_version(proxy::GoldenTask::label)}});
    if (!file_of_work) return report(file_of_work.error());
    work = std::move(*file_of_work);
  }

  watch_interrupts();
  std::vector<Finding> findings;
  std::size_t checked = 0, failed = 0;
  for (auto& item : set->items) {
    if (item.type != golden::ItemType::unanswerable || item.rejected) continue;
    if (interrupted()) {
      say("what was asked is kept; the same command goes on from here");
      return ExitCode::interrupted;
    }
    if (*model == nullptr) {
      auto best = most_likely(index, item, available);
      if (!best) return report(best.error());
      ++checked;
      if (*best && *(*best)->logit > options.threshold) findings.push_back(**best);
      continue;
    }
    const Json* known = work->find(item.id);
    auto labels = known == nullptr ? std::optional<golden::Labels>() : labels_of(*known);
    if (item.pool_ids.empty()) {
      auto found = found_for(index, item.question, available);
      if (!found) return report(found.error());
      item.pool_ids = golden::pool_ids(index, item, *found);
    }
    if (!labels) {
      auto asked = label_pool(**model, index, item, item.pool_ids);
      if (!asked && !asked.error().item_only) {
        say("what was asked is kept; the same command goes on from here");
        return report(asked.error().error);
      }
      if (!asked) {
        ++failed;
        say(fmt::format("not checked: item \"{}\": {}", printable(item.id), printable(asked.error().error.message)));
        continue;
      }
      labels = std::move(*asked);
      if (auto done = work->append(item.id, {{"labels", labels_json(*labels)}}); !done) return report(done.error());
    }
    ++checked;
    if (auto chunk = golden::answering_chunk(item.pool_ids, *labels); !chunk.empty()) findings.push_back({item.id, std::move(chunk), std::nullopt});
    else golden::add_note(item, fmt::format("no pooled passage answers it, says {} ({})", (*model)->model(), proxy::golden_prompt_version(proxy::GoldenTask::label)));
  }

  const bool drops = *model != nullptr;
  for (const auto& finding : findings) {
    say(fmt::format("{}: item \"{}\": {} answers it{}", drops ? "dropped" : "look at", printable(finding.item), printable(finding.chunk),
                    finding.logit ? fmt::format(" by the cross-encoder (logit {:.2f})", *finding.logit) : ""));
  }
  if (drops) {
    std::erase_if(set->items, [&](const auto& item) { return std::any_of(findings.begin(), findings.end(), [&](const auto& finding) { return finding.item == item.id; }); });
    if (set->items.empty()) return report({ErrorCode::not_found, "every item would be dropped; nothing is written"}, options.dataset);
  }
  if (!options.out.empty()) {
    if (auto done = write_whole(options.out, text_in_its_form(*set)); !done) return report(done.error(), options.out);
    if (work && failed == 0) work->remove();
  }
  if (options.json) {
    Json list = Json::array();
    for (const auto& finding : findings) list.push_back({{"item", finding.item}, {"chunk", finding.chunk}, {"logit", finding.logit ? Json(*finding.logit) : Json(nullptr)}, {"dropped", drops}});
    print_json({{"checked", checked}, {"failed", failed}, {"findings", std::move(list)}, {"items", set->items.size()}});
  } else {
    say(fmt::format("{} unanswerable items checked, {} {}, {} failed", checked, findings.size(), drops ? "dropped" : "to look at", failed));
  }
  return failed == 0 ? ExitCode::done : ExitCode::model_or_network;
}

}  // namespace

void add_golden_check(CLI::App& golden, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = golden.add_subcommand("check", "Drop unanswerable items that a pooled passage answers after all");
  command->add_option("--dataset", options->dataset, "Golden set")->type_name("FILE")->required();
  command->add_option("--index", options->index, "Index over its corpus (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--out", options->out, "The set without them; OUT.work.jsonl beside it holds what is done")->type_name("FILE");
  add_model_options(*command, options->model, true);
  command->add_option("--threshold", options->threshold, "Logit of the cross-encoder from which a chunk is named, without a provider")->capture_default_str();
  command->add_flag("--json", options->json, "What was found, as one JSON object on stdout");
  command->footer("Example:\n  polygraph golden check --dataset pooled.jsonl --provider groq --out checked.jsonl");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
