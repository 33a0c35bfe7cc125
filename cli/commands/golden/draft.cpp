// `polygraph golden draft`: questions drafted from chunks of every section of a corpus.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/golden/making_model.hpp"
#include "cli/commands/golden/subcommands.hpp"
#include "cli/commands/golden/work_file.hpp"
#include "cli/index_store.hpp"
#include "cli/whole_file.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;
using golden::ItemType;

struct Options {
  std::string index, out;
  MakingModelOptions model;
  std::size_t answerable = 40, vague = 10, unanswerable = 20;
  std::uint64_t seed = 1;
  bool json = false;
};

struct Wanted {
  std::string id;
  ItemType type;
  index::ChunkNo chunk;
};

/// Each kind is spread over the sections, for the chunks take turns through them.
std::vector<Wanted> wanted(const index::Index& index, const Options& options) {
  const auto chunks = golden::sample_chunks(index, options.answerable + options.vague + options.unanswerable, options.seed);
  std::vector<Wanted> out;
  for (const auto& [type, count] : {std::pair(ItemType::answerable, options.answerable), {ItemType::vague, options.vague}, {ItemType::unanswerable, options.unanswerable}}) {
    for (std::size_t n = 1; n <= count && out.size() < chunks.size(); ++n) out.push_back({fmt::format("{}-{:03}", golden::name(type), n), type, chunks[out.size()]});
  }
  return out;
}

std::optional<golden::Drafted> draft_of(const Json* known) {
  if (known == nullptr) return std::nullopt;
  golden::Drafted draft;
  for (const auto& [key, field] : {std::pair("question", &draft.question), {"reference_answer", &draft.reference_answer}, {"evidence", &draft.evidence}}) {
    const auto value = known->find(key);
    if (value == known->end() || !value->is_string()) return std::nullopt;
    *field = value->get<std::string>();
  }
  return draft;
}

ExitCode run(Context& context, const Options& options) {
  std::string file;
  auto opened = open_index(context.settings, options.index, file);
  if (!opened) return report(opened.error(), file);
  const index::Index& index = (*opened)->index;
  auto model = MakingModel::create(context.settings, options.model, "GENERATOR_MODEL", false);
  if (!model) return report(model.error());
  const auto all = wanted(index, options);
  const std::size_t asked_for = options.answerable + options.vague + options.unanswerable;
  if (all.empty()) return report({ErrorCode::not_found, asked_for == 0 ? "nothing is asked for" : "holds no chunk with something to ask about"}, file);
  if (all.size() < asked_for) say(fmt::format("note: the index has {} chunks to draft from; {} items were asked for", all.size(), asked_for));
  if (*model == nullptr) say("note: no --provider: questions are made from headings and definitions, without a language model; they need a person's review");

  const std::string version = proxy::golden_prompt_version(proxy::GoldenTask::draft);
  auto work = WorkFile::open(options.out, {{"stage", "draft"}, {"index_digest", index.digest()}, {"seed", options.seed},
                                           {"counts", {options.answerable, options.vague, options.unanswerable}},
                                           {"provider", *model == nullptr ? Json(nullptr) : Json((*model)->provider())},
                                           {"model", *model == nullptr ? Json(nullptr) : Json((*model)->model())},
                                           {"prompt", *model == nullptr ? Json(nullptr) : Json(version)}});
  if (!work) return report(work.error());
  const std::string note = *model == nullptr ? "drafted from headings and definitions, without a language model" : fmt::format("drafted by {} ({})", (*model)->model(), version);

  watch_interrupts();
  golden::Set set;
  std::size_t failed = 0, number = 0;
  ProgressLine progress("draft");
  const auto goes_on = [&] {
    progress.finish();
    say(fmt::format("{} of {} items are done; the same command goes on from here", work->done(), all.size()));
  };
  for (const auto& [id, type, chunk] : all) {
    progress.update(number++, all.size(), "items");
    if (interrupted()) {
      goes_on();
      return ExitCode::interrupted;
    }
    auto draft = draft_of(work->find(id));
    if (!draft && *model == nullptr) draft = golden::plain_draft(index, chunk, type);
    if (!draft) {
      const auto view = index.chunk(chunk);
      auto asked = (*model)->draft(type, index.document(view.document).title, golden::heading_of(index, chunk), view.text);
      if (!asked && !asked.error().item_only) {
        goes_on();
        return report(asked.error().error);
      }
      if (!asked) {
        ++failed;
        say(fmt::format("not drafted: {} from {}: {}", id, printable(index.chunk_id(chunk)), printable(asked.error().error.message)));
        continue;
      }
      draft = std::move(*asked);
      if (auto done = work->append(id, {{"question", draft->question}, {"reference_answer", draft->reference_answer}, {"evidence", draft->evidence}}); !done) {
        return report(done.error());
      }
    }
    set.items.push_back(golden::drafted_item(index, chunk, type, id, *draft));
    golden::add_note(set.items.back(), note);
  }
  progress.finish();
  const auto checked = golden::check(set);
  for (const auto& warning : checked.warnings) say(fmt::format("note: {}: {}", printable(warning.item), printable(warning.message)));
  if (auto valid = golden::valid_set(checked); !valid) return report(valid.error(), options.out);
  if (auto done = write_whole(options.out, golden::write_items(set)); !done) return report(done.error(), options.out);
  if (failed == 0) work->remove();
  if (options.json) {
    print_json({{"items", set.items.size()}, {"failed", failed}, {"asked_for", asked_for}, {"model", *model == nullptr ? Json(nullptr) : Json((*model)->model())}, {"out", options.out}});
  } else {
    say(fmt::format("{} items drafted, {} failed; written to {}", set.items.size(), failed, printable(options.out)));
  }
  return failed == 0 ? ExitCode::done : ExitCode::model_or_network;
}

}  // namespace

void add_golden_draft(CLI::App& golden, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = golden.add_subcommand("draft", "Draft questions from chunks of every section of a corpus");
  command->add_option("--index", options->index, "Index over the corpus (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--out", options->out, "The drafted set; OUT.work.jsonl beside it holds what is done")->type_name("FILE")->required();
  add_model_options(*command, options->model, false);
  command->add_option("--answerable", options->answerable, "How many")->check(CLI::Range(0, 10000))->capture_default_str();
  command->add_option("--vague", options->vague, "How many deliberately vague ones")->check(CLI::Range(0, 10000))->capture_default_str();
  command->add_option("--unanswerable", options->unanswerable, "How many plausible ones without an answer")->check(CLI::Range(0, 10000))->capture_default_str();
  command->add_option("--seed", options->seed, "Of the choice of chunks")->capture_default_str();
  command->add_flag("--json", options->json, "Counts as one JSON object on stdout");
  command->footer("Without a provider, questions are made from headings and definitions.\n\n"
                  "Example:\n  polygraph golden draft --provider groq --answerable 40 --vague 10 --unanswerable 20 --out drafts.jsonl");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
