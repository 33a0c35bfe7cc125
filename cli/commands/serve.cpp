#include "proxy/http/serve.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/host.hpp"
#include "cli/index_store.hpp"
#include "cli/installation.hpp"
#include "cli/secret.hpp"
#include "proxy/http/log.hpp"
#include "proxy/service/service.hpp"
#include "proxy/telemetry/exporter.hpp"

extern char** environ;

namespace polygraph::cli {
namespace {

constexpr const char* groq_url = "https://api.groq.com/openai/v1";

struct Options {
  std::string site, index, state, recordings, store, upstream = groq_url, host = "127.0.0.1";
  std::uint16_t port = 8080, metrics_port = 0;
  unsigned threads = 1;
  std::vector<std::string> set;
  bool check_config = false, announce = false;
};

/// Everything behind the API, for as long as the server runs.
struct Api {
  std::unique_ptr<OpenIndex> index;
  std::shared_ptr<SharedModels> models;
  std::shared_ptr<proxy::Service> service;
};

std::string settings_help(const std::vector<http::ExtraSetting>& extra) {
  std::string out = "Settings: PROXY_NAME in the environment, or --set NAME=VALUE, which wins.\n";
  const auto line = [&](const std::string& name, const std::string& fallback, const std::string& meaning) {
    out += fmt::format("  {:<22} {:<20} {}\n", name, fallback, meaning);
  };
  for (const auto& setting : http::server_settings()) line(setting.name, setting.fallback, setting.meaning);
  for (const auto& setting : extra) line(setting.name, setting.fallback, setting.meaning);
  return out;
}

/// A setting of the environment that is none is likely misspelt, and the limit that was meant is not in force.
void name_unknown_settings(const std::vector<http::ExtraSetting>& extra) {
  constexpr std::string_view prefix = "PROXY_";
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable(*each);
    if (!variable.starts_with(prefix)) continue;
    const auto name = variable.substr(prefix.size(), variable.find('=') - prefix.size());
    const auto own = http::server_settings();
    const bool known = std::any_of(own.begin(), own.end(), [&](const auto& setting) { return setting.name == name; }) ||
                       std::any_of(extra.begin(), extra.end(), [&](const auto& setting) { return setting.name == name; });
    if (!known) say(fmt::format("note: PROXY_{} in the environment is no setting of this program", printable(name)));
  }
}

/// Fails with what is wrong; `place` is set to where.
Result<Api> make_api(Context& context, const Options& options, const proxy::ServiceSettings& settings, std::string& place) {
  Api api;
  auto opened = open_index(context.settings, options.index, place);
  if (!opened) return tl::unexpected(opened.error());
  api.index = std::move(*opened);

  proxy::ServiceOptions service;
  service.index = &api.index->index;
  service.settings = settings;
  service.upstream.url = options.upstream;
  service.upstream.max_reply_bytes = settings.upstream_max_bytes;
  place.clear();
  auto key = secret(context.settings, "GROQ_API_KEY");
  // A key that can't be had is wrong use, as one that can't be one is, wherever it was to come from.
  if (!key) return fail(ErrorCode::invalid_argument, key.error().message, key.error().field);
  service.upstream.key = key->value;

  const auto state = options.state.empty() ? context.settings.home() / "state" : std::filesystem::path(options.state);
  auto store = options.store.empty() ? proxy::open_sqlite_store(state) : proxy::open_redis_store(options.store);
  place = options.store.empty() ? state.string() : "--store";
  if (!store) return tl::unexpected(store.error());
  // Redis is only connected to when it is used: what is away from the start is a mistake, and said at once.
  if (auto works = (*store)->check(); !works) return tl::unexpected(works.error());
  service.store = std::move(*store);

  const auto recordings = options.recordings.empty() ? distribution(context.settings).parent_path() / "assets" / "recordings" : std::filesystem::path(options.recordings);
  place = recordings.string();
  std::error_code ignored;
  if (!options.recordings.empty() || std::filesystem::is_directory(recordings, ignored)) {
    auto loaded = proxy::Recordings::load(recordings);
    if (!loaded) return tl::unexpected(loaded.error());
    for (const auto& warning : loaded->warnings()) say(fmt::format("note: {}: {}", printable(warning.field), printable(warning.message)));
    service.recordings = std::move(*loaded);
  }

  // The models' worker is started by the first question that needs it: most servers are never asked one.
  api.models = std::make_shared<SharedModels>(context.settings, api.index->index);
  service.perform = [models = api.models](const agent::Effect& effect) {
    const bool model = effect.kind() == agent::EffectKind::embed || effect.kind() == agent::EffectKind::score;
    return perform(effect, model ? models->available() : Models::Available{});
  };
  // As its log, what leaves a server repeats nobody's words unless that is switched on.
  context.traces.with_words(settings.log_questions);
  if (auto exporter = context.traces.of(context.settings)) service.on_trace = [exporter](const std::string& trace) { exporter->add(trace); };
  auto made = proxy::Service::create(std::move(service));
  if (!made) {
    Error error = made.error();
    if (error.field == "key") error.field = key->variable;
    else if (error.field == "QUESTION_LOG") place = settings.question_log;
    else place = "--upstream";
    return tl::unexpected(std::move(error));
  }
  api.service = std::move(*made);
  if (key->value.empty() && options.upstream == groq_url) {
    say("note: no GROQ_API_KEY: questions are answered in the browser and by recorded runs; set it to answer live");
  }
  return api;
}

ExitCode run(Context& context, const Options& options) {
  http::ServeOptions serve;
  serve.site = options.site.empty() ? distribution(context.settings) / "site" : std::filesystem::path(options.site);
  serve.host = options.host;
  serve.port = options.port;
  serve.metrics_port = options.metrics_port;
  serve.threads = options.threads;
  proxy::ServiceSettings service_settings;
  auto settings = http::read_settings(
      [&](const std::string& name) -> std::optional<std::string> {
        auto setting = context.settings.get(name);
        // The models' names are the agent's settings too, and are taken under either name.
        constexpr std::string_view prefix = "PROXY_";
        if (setting.source == "default" && name.ends_with("_MODEL")) setting = context.settings.get(name.substr(prefix.size()));
        return setting.source == "default" ? std::nullopt : std::optional(setting.value);
      },
      options.set, proxy::extra_settings(service_settings));
  if (!settings) return report(settings.error());
  name_unknown_settings(proxy::extra_settings(service_settings));
  serve.settings = *settings;

  // Without an index there is nothing to answer from: the site alone is served.
  Api api;
  if (!options.index.empty()) {
    std::string place;
    auto made = make_api(context, options, service_settings, place);
    if (!made) {
      report(made.error(), place);
      return made.error().code == ErrorCode::invalid_argument ? ExitCode::wrong_use : ExitCode::unreadable;
    }
    api = std::move(*made);
    auto service = std::exchange(api.service, nullptr);
    serve.add_routes = [service](const http::Parts& parts) { service->add_routes(parts); };
    serve.not_ready = [service] { return service->not_ready(); };
    serve.more_metrics = [service] { return service->metrics(); };
  }
  if (options.check_config) {
    if (auto sound = http::Server::check(serve); !sound) return report(sound.error());
    say("the configuration is sound");
    return ExitCode::done;
  }
  // Handed over whole: what the routes hold works on the server's threads and timers, and must not outlive them here.
  auto served = http::serve(std::move(serve), [&](const http::Server& server) {
    if (options.announce) {
      const Palette colours = palette(STDERR_FILENO);
      say(fmt::format("{}Polygraph answers at {}{}/{} — Ctrl-C stops it", colours.bold, colours.accent, server.url(), colours.reset));
    } else {
      print_json({{"listening", server.url()}, {"metrics", server.metrics_url()}, {"pid", ::getpid()}});
    }
  });
  return served ? ExitCode::done : report(served.error());
}

}  // namespace

void add_serve(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("serve", "Serve the built site and the API");
  command->add_option("--site", options->site, "Folder of the built site (default: the one that set-up built)")->type_name("DIR");
  command->add_option("--index", options->index, "Index file that the API takes passages from; without one only the site is served")->type_name("FILE");
  command->add_option("--state", options->state, "Folder of ledger and response cache (default: state in POLYGRAPH_DIR)")->type_name("DIR");
  command->add_option("--store", options->store, "Keep them in Redis instead, shared by several instances: redis://HOST:PORT/DB")->type_name("URL");
  command->add_option("--recordings", options->recordings, "Folder of recorded runs (default: those that come with the program)")->type_name("DIR");
  command->add_option("--upstream", options->upstream, "OpenAI-compatible endpoint; https, or http to this machine")->type_name("URL")->capture_default_str();
  command->add_option("--host", options->host, "Address to listen on")->capture_default_str();
  command->add_option("--port", options->port, "Port to listen on; 0 takes a free one")->capture_default_str();
  command->add_option("--metrics-port", options->metrics_port, "Port for /metrics on 127.0.0.1; 0 takes a free one")->capture_default_str();
  command->add_option("--threads", options->threads, "Threads that serve connections")->check(CLI::Range(1, 64))->capture_default_str();
  command->add_option("--set", options->set, "NAME=VALUE, a setting of the list below; may be repeated")->type_name("NAME=VALUE")->allow_extra_args(false);
  command->add_flag("--check-config", options->check_config, "Check settings, site, index, state, recordings and host, then end; no port is taken");
  command->add_flag("--announce", options->announce, "Once it answers, say so to a person on stderr instead of the line on stdout");
  proxy::ServiceSettings defaults;
  command->footer("The key of --upstream is GROQ_API_KEY, or the content of the file GROQ_API_KEY_FILE. Without one, questions are\n"
                  "answered by recorded runs and in the browser.\n\n" + settings_help(proxy::extra_settings(defaults)) +
                  "\nExamples:\n  polygraph serve --site dist/site --index docs.polygraph --port 8080\n"
                  "  polygraph serve --index docs.polygraph --store redis://127.0.0.1:6379/0 --set REQUESTS_PER_DAY=500\n"
                  "  polygraph serve --site dist/site --index docs.polygraph --check-config\n\n"
                  "Once it answers, stdout gets one line: {\"listening\": URL, \"metrics\": URL, \"pid\": N}. SIGTERM ends it when running\n"
                  "answers have ended.");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
