#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "wasm/agent/config.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string preset = "tuned";
  std::vector<std::string> set;
  bool json = false;
};

struct Row {
  std::string name, value, source;
};

ExitCode run(Context& context, const Options& options) {
  for (const auto& assignment : options.set) {
    if (auto done = context.settings.set(assignment); !done) return report(done.error());
  }
  auto config = context.settings.agent_config(options.preset);
  if (!config) return report(config.error());
  std::vector<Row> rows;
  for (const std::string_view name : agent::option_names()) {
    const auto source = context.settings.get(std::string(name)).source;
    rows.push_back({std::string(name), agent::get(*config, name).value(), source == "default" ? options.preset : source});
  }
  for (const auto& known : known_settings()) {
    const auto setting = context.settings.get(std::string(known.name));
    const bool unset = setting.source == "default";
    rows.push_back({std::string(known.name), unset ? std::string(known.fallback) : (known.secret ? "(set)" : setting.value), setting.source});
  }
  if (options.json) {
    auto object = nlohmann::ordered_json::object();
    for (const auto& row : rows) object[row.name] = {{"value", row.value}, {"source", row.source}};
    print_json(object, 2);
  } else {
    for (const auto& row : rows) print(fmt::format("{:<34} {:<12} {}\n", row.name, row.source, row.value));
  }
  return ExitCode::done;
}

}  // namespace

void add_config(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("config", "Print every setting with its source");
  command->add_option("--config", options->preset, "baseline, hybrid, hybrid_rerank, full or tuned")->capture_default_str();
  command->add_option("--set", options->set, "NAME=VALUE, may be repeated")->type_name("NAME=VALUE")->allow_extra_args(false);
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->footer("Example:\n  TOP_K=6 polygraph config --config full");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
