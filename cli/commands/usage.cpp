#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/provider.hpp"
#include "proxy/calls/known_limits.hpp"
#include "proxy/calls/store_thread.hpp"
#include "proxy/store/store.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string state, store, day;
  bool json = false, limits = false;
};

/// YYYY-MM-DD in digits; whether there is such a day, the ledger knows.
bool looks_like_day(const std::string& text) {
  constexpr std::string_view shape = "dddd-dd-dd";
  return text.size() == shape.size() && std::equal(text.begin(), text.end(), shape.begin(), [](char c, char kind) {
           return kind == 'd' ? c >= '0' && c <= '9' : c == kind;
         });
}

/// What is known of a model's limits, and what is left of them now.
struct Limits {
  proxy::ModelLimits limits;
  proxy::Remaining left;
};

Result<std::optional<Limits>> limits_of(proxy::Store& store, const std::string& model) {
  const auto now = proxy::wall_clock();
  auto named = store.cached(proxy::limits_key(model), now);
  if (!named) return tl::unexpected(named.error());
  if (!*named) return std::nullopt;
  const auto limits = proxy::read_limits(**named, proxy::no_limits);
  auto left = store.remaining(model, limits, now);
  if (!left) return tl::unexpected(left.error());
  return Limits{limits, *left};
}

/// Used now, of the limit: "–" where no limit is known.
std::string used(std::uint64_t limit, std::uint64_t left) {
  return proxy::is_limit(limit) ? fmt::format("{}/{}", limit - std::min(left, limit), limit) : std::string("\xe2\x80\x93");
}

nlohmann::ordered_json window(std::uint64_t limit, std::uint64_t left) {
  if (!proxy::is_limit(limit)) return nullptr;
  return {{"limit", limit}, {"remaining", left}};
}

std::string limits_table(const std::map<std::string, Limits>& known) {
  std::size_t width = std::string_view("now, used of its limit").size();
  for (const auto& [model, unused] : known) width = std::max(width, printable(model).size());
  auto text = fmt::format("\n{:<{}}  {:>14} {:>14} {:>16} {:>16}\n", "now, used of its limit", width, "requests/min", "requests/day", "tokens/min", "tokens/day");
  for (const auto& [model, of] : known) {
    text += fmt::format("{:<{}}  {:>14} {:>14} {:>16} {:>16}{}\n", printable(model), width, used(of.limits.requests_per_minute, of.left.requests_minute),
                        used(of.limits.requests_per_day, of.left.requests_day), used(of.limits.tokens_per_minute, of.left.tokens_minute),
                        used(of.limits.tokens_per_day, of.left.tokens_day), of.left.paused_until > 0 ? "  paused by its host" : "");
  }
  return text;
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
  // Opening makes what is missing, and reading a ledger must not: an empty one would look like a day without calls.
  auto store = open_store(context.settings, options.store, options.state, false);
  if (!store) return report(store.error());
  const bool redis = !options.store.empty() || (options.state.empty() && !context.settings.get("POLYGRAPH_STORE").value.empty());
  const auto failed = [&](const Error& error) {
    const ExitCode status = report(error);
    return redis ? ExitCode::model_or_network : status;
  };
  auto days = (*store)->usage();
  if (!days) return failed(days.error());
  if (!options.day.empty()) std::erase_if(*days, [&](const auto& line) { return line.day != options.day; });
  std::map<std::string, Limits> known;
  for (const auto& line : *days) {
    if (known.contains(line.model) || (options.json && !options.limits)) continue;
    auto limits = limits_of(**store, line.model);
    if (!limits) return failed(limits.error());
    if (*limits) known.emplace(line.model, **limits);
  }
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
    nlohmann::ordered_json object = {{"days", std::move(lines)}};
    if (options.limits) {
      auto& models = object["limits"] = nlohmann::ordered_json::object();
      for (const auto& [model, of] : known) {
        models[model] = {{"requests_per_minute", window(of.limits.requests_per_minute, of.left.requests_minute)},
                         {"requests_per_day", window(of.limits.requests_per_day, of.left.requests_day)},
                         {"tokens_per_minute", window(of.limits.tokens_per_minute, of.left.tokens_minute)},
                         {"tokens_per_day", window(of.limits.tokens_per_day, of.left.tokens_day)}};
      }
    }
    print_json(object);
  } else if (days->empty()) {
    say(options.day.empty() ? "no call was charged yet" : "no call was charged on " + options.day);
  } else {
    print(table(*days) + (known.empty() ? std::string() : limits_table(known)));
  }
  return ExitCode::done;
}

}  // namespace

void add_usage(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("usage", "What calls to models were charged, by day and model");
  auto* state = command->add_option("--state", options->state, "The state folder (default: state in POLYGRAPH_DIR)")->type_name("DIR");
  command->add_option("--store", options->store, "The Redis of several servers, redis://HOST:PORT/DB (default: POLYGRAPH_STORE)")->type_name("URL")->excludes(state);
  command->add_option("--day", options->day, "One day (UTC) alone, as 2026-11-30")->type_name("DAY");
  command->add_flag("--limits", options->limits, "With --json too: what is left now of the limits that each model's host named");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->footer(
      "Examples:\n  polygraph usage --state /var/lib/polygraph\n  polygraph usage --store redis://127.0.0.1:6379/0 --day 2026-11-30 --json\n\n"
      "Requests hold the open ones (running now, or left behind by a crash: they count in full), tokens do not.");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
