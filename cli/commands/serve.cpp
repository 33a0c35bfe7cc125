#include "proxy/http/serve.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/index_store.hpp"
#include "cli/installation.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string site, index, host = "127.0.0.1";
  std::uint16_t port = 8080, metrics_port = 0;
  unsigned threads = 1;
  std::vector<std::string> set;
  bool check_config = false, announce = false;
};

ExitCode run(Context& context, const Options& options) {
  http::ServeOptions serve;
  serve.site = options.site.empty() ? distribution(context.settings) / "site" : std::filesystem::path(options.site);
  serve.host = options.host;
  serve.port = options.port;
  serve.metrics_port = options.metrics_port;
  serve.threads = options.threads;
  auto settings = http::read_settings(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto setting = context.settings.get(name);
        return setting.source == "default" ? std::nullopt : std::optional(setting.value);
      },
      options.set);
  if (!settings) return report(settings.error());
  serve.settings = *settings;

  // The routes to models take passages from this index; one that can't be opened must stop the server, not a request.
  std::unique_ptr<OpenIndex> opened;
  if (!options.index.empty()) {
    std::string file;
    auto result = open_index(context.settings, options.index, file);
    if (!result) return report(result.error(), file);
    opened = std::move(*result);
  }
  if (options.check_config) {
    if (auto sound = http::Server::check(serve); !sound) return report(sound.error());
    say("the configuration is sound");
    return ExitCode::done;
  }
  auto served = http::serve(serve, [&](const http::Server& server) {
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
  auto* command = program.add_subcommand("serve", "Serve the built site");
  command->add_option("--site", options->site, "Folder of the built site (default: the one that set-up built)")->type_name("DIR");
  command->add_option("--index", options->index, "Index file that routes take passages from")->type_name("FILE");
  command->add_option("--host", options->host, "Address to listen on")->capture_default_str();
  command->add_option("--port", options->port, "Port to listen on; 0 takes a free one")->capture_default_str();
  command->add_option("--metrics-port", options->metrics_port, "Port for /metrics on 127.0.0.1; 0 takes a free one")->capture_default_str();
  command->add_option("--threads", options->threads, "Threads that serve connections")->check(CLI::Range(1, 64))->capture_default_str();
  command->add_option("--set", options->set, "NAME=VALUE, the setting PROXY_NAME of the environment; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--check-config", options->check_config, "Check settings, site, index and host, then end; no port is taken");
  command->add_flag("--announce", options->announce, "Once it answers, say so to a person on stderr instead of the line on stdout");
  command->footer(
      "Examples:\n  polygraph serve --site dist/site --port 8080\n  polygraph serve --site dist/site --check-config\n\n"
      "Once it answers, stdout gets one line: {\"listening\": URL, \"metrics\": URL, \"pid\": N}. SIGTERM ends it when running\n"
      "answers have ended.");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
