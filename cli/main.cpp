// polygraph: questions over a documentation corpus, answered or refused, with a trace of every decision.
#include <unistd.h>

#include <csignal>
#include <exception>

#include "cli/commands/commands.hpp"

namespace {

int run(int argc, char** argv) {
  using namespace polygraph::cli;
  auto settings = Settings::load();
  if (!settings) return static_cast<int>(report(settings.error()));
  Context context{std::move(*settings)};

  CLI::App program{"Questions over a documentation corpus: retrieved, graded, answered with citations or refused.", "polygraph"};
  program.set_version_flag("--version", POLYGRAPH_VERSION);
  program.require_subcommand(1);
  program.footer(
      "Example:\n  polygraph ask \"How do I limit a container's memory?\"\n\n"
      "Exit status: 0 done, 1 a check failed, 2 wrong use, 3 input can't be read, 4 quota spent, 5 model or network failure,\n"
      "130 interrupted.");
  for (const auto add : {add_ask, add_search, add_index, add_replay, add_models, add_config, add_serve}) add(program, context);

  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = program.exit(error);  // prints help or the mistake
    return static_cast<int>(status == 0 ? ExitCode::done : ExitCode::wrong_use);
  }
  return static_cast<int>(context.status);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away shows as a failed write
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    polygraph::cli::say(std::string("error: unexpected failure: ") + error.what());
    return static_cast<int>(polygraph::cli::ExitCode::model_or_network);
  }
}
