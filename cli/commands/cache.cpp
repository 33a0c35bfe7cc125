#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/provider.hpp"

namespace polygraph::cli {
namespace {

constexpr double bytes_per_megabyte = 1e6;

struct Options {
  std::string state, store;
  double keep_mb = 0;
  bool json = false;
};

/// `keep`: shrink to so many bytes first; nothing: only look.
ExitCode run(Context& context, const Options& options, std::optional<std::uint64_t> keep) {
  auto store = open_store(context.settings, options.store, options.state, false);
  if (!store) return report(store.error());
  const bool redis = !options.store.empty() || (options.state.empty() && !context.settings.get("POLYGRAPH_STORE").value.empty());
  const auto failed = [&](const Error& error) {
    const ExitCode status = report(error);
    return redis ? ExitCode::model_or_network : status;
  };
  std::uint64_t dropped = 0;
  if (keep) {
    auto shrunk = (*store)->shrink_cache(*keep);
    if (!shrunk) return failed(shrunk.error());
    dropped = *shrunk;
  }
  auto size = (*store)->cache_size();
  if (!size) return failed(size.error());
  if (options.json) {
    nlohmann::ordered_json object = {{"entries", size->entries}, {"bytes", size->bytes}};
    if (keep) object["dropped"] = dropped;
    print_json(object);
    return ExitCode::done;
  }
  const double megabytes = static_cast<double>(size->bytes) / bytes_per_megabyte;
  print(keep ? fmt::format("{} entries dropped, {} left ({:.1f} MB)\n", dropped, size->entries, megabytes)
             : fmt::format("{} entries, {:.1f} MB\n", size->entries, megabytes));
  return ExitCode::done;
}

}  // namespace

void add_cache(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("cache", "The kept answers of models: info, prune, clear");
  auto* state = command->add_option("--state", options->state, "The state folder (default: state in POLYGRAPH_DIR)")->type_name("DIR");
  command->add_option("--store", options->store, "The Redis of several machines, redis://HOST:PORT/DB (default: POLYGRAPH_STORE)")->type_name("URL")->excludes(state);
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->require_subcommand(1);
  command->fallthrough();
  command->footer("Examples:\n  polygraph cache info\n  polygraph cache prune --keep 100\n  polygraph cache clear --json\n\nWhat was dropped is asked and paid for again.");
  command->add_subcommand("info", "How many answers are kept, and their size")->callback([&context, options] { context.status = run(context, *options, std::nullopt); });
  auto* prune = command->add_subcommand("prune", "Drop those used longest ago");
  prune->add_option("--keep", options->keep_mb, "How many megabytes may stay")->type_name("MB")->required()->check(CLI::NonNegativeNumber);
  prune->callback([&context, options] { context.status = run(context, *options, static_cast<std::uint64_t>(options->keep_mb * bytes_per_megabyte)); });
  command->add_subcommand("clear", "Drop all")->callback([&context, options] { context.status = run(context, *options, 0); });
}

}  // namespace polygraph::cli
