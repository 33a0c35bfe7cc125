// `polygraph golden remap`: where the gold chunks of a golden set are in another index.
#include "wasm/golden/remap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/golden/subcommands.hpp"
#include "cli/dataset.hpp"
#include "cli/whole_file.hpp"
#include "cli/index_store.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string dataset, index, old_index, out;
  bool json = false;
};

std::string move_text(const golden::Move& move) {
  const std::string what = fmt::format("item \"{}\": {}: {} {}", move.item, move.field, move.from, move.gone ? "is gone" : "has another text");
  if (move.to.empty()) return what + "; nothing fits";
  const std::string where = move.to == move.from ? "stays" : "-> " + move.to;
  switch (move.match) {
    case golden::Match::digest: return fmt::format("{}: {} (the same text)", what, where);
    case golden::Match::similar: return fmt::format("{}: {} ({:.0f} % of the terms are shared)", what, where, 100 * move.score);
    case golden::Match::reference: return fmt::format("{}: {} (holds {:.0f} % of reference and evidence)", what, where, 100 * move.score);
    case golden::Match::none: break;
  }
  return what;
}

ExitCode run(Context& context, const Options& options) {
  std::string file, index_file;
  auto set = read_valid_dataset(options.dataset, "", file);
  if (!set) return report(set.error(), file);
  auto opened = open_index(context.settings, options.index, index_file);
  if (!opened) return report(opened.error(), index_file);
  std::unique_ptr<OpenIndex> old;
  if (!options.old_index.empty()) {
    auto found = open_index(context.settings, options.old_index, index_file);
    if (!found) return report(found.error(), index_file);
    old = std::move(*found);
  }
  const index::Index& index = (*opened)->index;
  const auto moves = golden::propose_moves(index, *set, old == nullptr ? nullptr : &old->index);
  const auto lost = static_cast<std::size_t>(std::count_if(moves.begin(), moves.end(), [](const auto& move) { return move.to.empty(); }));
  if (options.json) {
    Json list = Json::array();
    for (const auto& move : moves) {
      list.push_back({{"item", move.item}, {"line", move.line == 0 ? Json(nullptr) : Json(move.line)}, {"field", move.field}, {"from", move.from},
                      {"to", move.to.empty() ? Json(nullptr) : Json(move.to)}, {"gone", move.gone}, {"match", golden::name(move.match)},
                      {"score", move.to.empty() ? Json(nullptr) : Json(move.score)}});
    }
    print_json({{"index_digest", index.digest()}, {"items", set->items.size()}, {"moves", std::move(list)}, {"unresolved", lost}});
  } else {
    for (const auto& move : moves) print(printable(move_text(move)) + "\n");
    print(fmt::format("{}: {} chunk ids need a look, {} of them found no new place\n", printable(file), moves.size(), lost));
  }
  if (options.out.empty()) {
    if (!moves.empty()) say("nothing is written; --out FILE writes the set with these ids");
    return ExitCode::done;
  }
  auto moved = golden::check(golden::remapped(index, *set, moves));
  if (auto valid = golden::valid_set(moved); !valid) return report(valid.error(), file);
  if (auto done = write_whole(options.out, text_in_its_form(moved.set)); !done) return report(done.error(), options.out);
  say("wrote " + options.out);
  return ExitCode::done;
}

}  // namespace

void add_golden_remap(CLI::App& golden, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = golden.add_subcommand("remap", "Propose new ids for gold chunks that moved or changed");
  command->add_option("--dataset", options->dataset, "Golden set")->type_name("FILE")->required();
  command->add_option("--index", options->index, "The index that the ids shall be of (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--old-index", options->old_index, "The index that they are of: then texts that changed are found by their terms")->type_name("FILE");
  command->add_option("--out", options->out, "Write the set with the proposed ids, and with the digest of each gold chunk")->type_name("FILE");
  command->add_flag("--json", options->json, "The proposals as one JSON object on stdout");
  command->footer("Example:\n  polygraph golden remap --dataset questions.jsonl --index new.polygraph --old-index old.polygraph --out moved.jsonl");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
