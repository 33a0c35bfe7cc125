#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "proxy/store/store.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string state, store, day;
  bool json = false;
};

/// YYYY-MM-DD in digits; whether there is such a day, the ledger knows.
bool looks_like_day(const std::string& text) {
  constexpr std::string_view shape = "dddd-dd-dd";
  return text.size() == shape.size() && std::equal(text.begin(), text.end(), shape.begin(), [](char c, char kind) {
           return kind == 'd' ? c >= '0' && c <= '9' : c == kind;
         });
}

/// Opening makes what is missing, and reading a ledger must not: an empty one would look like a day without calls.
Result<std::unique_ptr<proxy::Store>> open(const Options& options, const std::filesystem::path& state) {
  if (!options.store.empty()) return proxy::open_redis_store(options.store);
  const auto file = state / "polygraph.sqlite";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return fail(ErrorCode::not_found, "there is no ledger " + file.string(), "--state");
  return proxy::open_sqlite_store(state);
}

std::string table(const std::vector<proxy::DayUsage>& days) {
  std::size_t width = std::string_view("model").size();
  for (const auto& line : days) width = std::max(width, printable(line.model).size());
  auto text = fmt::format("{:<10}  {:<{}}  {:>9} {:>12} {:>12} {:>9} {:>12}\n", "day", "model", width, "requests", "tokens in", "tokens out", "open",
                          "open tokens");
  for (const auto& line : days) {
    text += fmt::format("{:<10}  {:<{}}  {:>9} {:>12} {:>12} {:>9} {:>12}\n", line.day, printable(line.model), width, line.requests, line.tokens_in,
                        line.tokens_out, line.open_requests, line.open_tokens);
  }
  return text;
}

ExitCode run(Context& context, const Options& options) {
  if (!options.day.empty() && !looks_like_day(options.day)) {
    return report({ErrorCode::invalid_argument, "\"" + options.day + "\" is no day like 2026-11-30", "--day"});
  }
  const auto state = options.state.empty() ? context.settings.home() / "state" : std::filesystem::path(options.state);
  auto store = open(options, state);
  if (!store) return report(store.error());
  auto days = (*store)->usage();
  if (!days) {
    const ExitCode status = report(days.error());
    return options.store.empty() ? status : ExitCode::model_or_network;
  }
  if (!options.day.empty()) std::erase_if(*days, [&](const auto& line) { return line.day != options.day; });
  if (options.json) {
    auto lines = nlohmann::ordered_json::array();
    for (const auto& line : *days) {
      lines.push_back({{"day", line.day},
                       {"model", line.model},
                       {"requests", line.requests},
                       {"tokens_in", line.tokens_in},
                       {"tokens_out", line.tokens_out},
                       {"open_requests", line.open_requests},
                       {"open_tokens", line.open_tokens}});
    }
    print_json({{"days", std::move(lines)}});
  } else if (days->empty()) {
    say(options.day.empty() ? "no call was charged yet" : "no call was charged on " + options.day);
  } else {
    print(table(*days));
  }
  return ExitCode::done;
}

}  // namespace

void add_usage(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("usage", "What the server's calls to models were charged, by day and model");
  auto* state = command->add_option("--state", options->state, "The server's state folder (default: state in POLYGRAPH_DIR)")->type_name("DIR");
  command->add_option("--store", options->store, "The Redis of several servers, redis://HOST:PORT/DB")->type_name("URL")->excludes(state);
  command->add_option("--day", options->day, "One day (UTC) alone, as 2026-11-30")->type_name("DAY");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->footer(
      "Examples:\n  polygraph usage --state /var/lib/polygraph\n  polygraph usage --store redis://127.0.0.1:6379/0 --day 2026-11-30 --json\n\n"
      "Requests hold the open ones (running now, or left behind by a crash: they count in full), tokens do not.");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
