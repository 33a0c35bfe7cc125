#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/model_manifest.hpp"
#include "cli/provider.hpp"
#include "proxy/models/model_fetch.hpp"
#include "proxy/models/model_store.hpp"

namespace polygraph::cli {
namespace {

constexpr double bytes_per_megabyte = 1e6;

ExitCode show(const std::vector<models::FileStatus>& files, bool json) {
  if (json) print_json(models::to_json(files), 2);
  else print(models::to_rows(files));
  const bool complete = std::all_of(files.begin(), files.end(), [](const auto& file) { return file.state == models::FileState::present; });
  return complete ? ExitCode::done : ExitCode::check_failed;
}

ExitCode fetch(const models::Manifest& manifest, const models::ModelStore& store, bool json) {
  watch_interrupts();
  models::FetchOptions options;
  std::unique_ptr<ProgressLine> line;
  std::string what;
  options.progress = [&](const models::FetchProgress& progress) {
    if (progress.what != what || !line) {
      line.reset();
      what = progress.what;
      line = std::make_unique<ProgressLine>("fetching " + what);
    }
    const auto megabytes = [](std::uint64_t bytes) { return static_cast<std::uint64_t>(static_cast<double>(bytes) / bytes_per_megabyte + 0.5); };
    line->update(megabytes(progress.bytes), megabytes(progress.total), "MB");
  };
  options.note = [&](const std::string& note) {
    line.reset();
    say(printable(note));
  };
  options.cancelled = [] { return interrupted(); };
  auto fetched = models::fetch(manifest, store, options);
  line.reset();
  if (!fetched) {
    const ExitCode status = report(fetched.error());
    if (interrupted()) return ExitCode::interrupted;
    return fetched.error().code == ErrorCode::io ? status : ExitCode::model_or_network;
  }
  say(fetched->empty() ? std::string("all model files are here") : fmt::format("{} files fetched and verified", fetched->size()));
  if (json) return show(store.list(manifest), true);
  return ExitCode::done;
}

/// What a provider's key can use.
ExitCode list_of(const Settings& settings, const std::string& name, bool json) {
  auto provider = provider_of(settings, name);
  if (!provider) return report(provider.error());
  watch_interrupts();
  auto caller = make_caller(settings, *provider);
  if (!caller) return report(caller.error());
  auto models = (*caller)->models();
  if (!models) {
    const ExitCode status = report(to_error(models.error(), *provider, provider->url_variable));
    return models.error().kind == proxy::FailureKind::interrupted ? ExitCode::interrupted : status;
  }
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& model : *models) {
      nlohmann::ordered_json each = {{"id", model.id}, {"context_tokens", nullptr}};
      if (model.context_tokens) each["context_tokens"] = *model.context_tokens;
      list.push_back(std::move(each));
    }
    print_json({{"provider", provider->name}, {"endpoint", provider->upstream.url}, {"models", std::move(list)}}, 2);
    return ExitCode::done;
  }
  for (const auto& model : *models) {
    print(model.context_tokens ? fmt::format("{:<48} {:>9} tokens\n", printable(model.id), *model.context_tokens) : printable(model.id) + "\n");
  }
  if (models->empty()) say("the endpoint lists no model");
  return ExitCode::done;
}

}  // namespace

void add_models(CLI::App& program, Context& context) {
  struct Options {
    std::string provider;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("models", "The models this program runs, and those of a provider: list, fetch, verify");
  command->add_flag("--json", options->json, "JSON on stdout");
  command->require_subcommand(0, 1);
  command->fallthrough();
  command->footer("Examples:\n  polygraph models\n  polygraph models fetch\n  GROQ_API_KEY_FILE=~/groq.key polygraph models list --provider groq\n\nExit status 1: a file is missing or is not what the manifest says.");

  using Action = ExitCode (*)(const models::Manifest&, const models::ModelStore&, bool);
  const auto bind = [&context, options](Action action) {
    return [&context, options, action] {
      auto manifest = model_manifest();
      context.status = manifest ? action(*manifest, models::ModelStore(context.settings.home()), options->json) : report(manifest.error());
    };
  };
  const Action list = [](const models::Manifest& manifest, const models::ModelStore& store, bool json) { return show(store.list(manifest), json); };
  auto* lister = command->add_subcommand("list", "Which model files are here, by size; with --provider what its key can use");
  lister->add_option("--provider", options->provider, "groq, openai, openai-compatible, anthropic, gemini or ollama")->type_name("P");
  lister->callback([&context, options, run = bind(list)] {
    if (options->provider.empty()) run();
    else context.status = list_of(context.settings, options->provider, options->json);
  });
  command->add_subcommand("fetch", "Download what is missing and verify it; continues where it stopped")->callback(bind(fetch));
  command->add_subcommand("verify", "Read every file and compare its SHA-256")
      ->callback(bind([](const models::Manifest& manifest, const models::ModelStore& store, bool json) { return show(store.verify(manifest), json); }));
  command->callback([command, run = bind(list)] {
    if (command->get_subcommands().empty()) run();
  });
}

}  // namespace polygraph::cli
