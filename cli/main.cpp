// polygraph: questions over a documentation corpus, answered or refused, with a trace of every decision.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <sstream>

#include "cli/commands/commands.hpp"

namespace {

using namespace polygraph::cli;

/// A program that is started with stdin, stdout or stderr closed would get their numbers for the files it opens, and
/// write its messages into an index.
void hold_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) != -1) continue;
    // Opening takes the lowest free number, which is this one. A closed stdout stays unwritable, so that it is reported.
    if (::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

/// What was wrong with the arguments, in our words where the parser's don't name it.
std::string mistake(const CLI::App& program, const CLI::ParseError& error, int argc, char** argv) {
  if (program.get_subcommands().empty() && argc > 1 && argv[1][0] != '-') {
    std::string known;
    for (const auto* command : program.get_subcommands([](const CLI::App*) { return true; })) known += (known.empty() ? "" : ", ") + command->get_name();
    return "there is no command \"" + std::string(argv[1]) + "\"; there are " + known;
  }
  std::string command = program.get_name();
  for (const CLI::App* where = &program; !where->get_subcommands().empty();) {
    where = where->get_subcommands().front();
    command += " " + where->get_name();
  }
  // A misspelled option matters more than the one it leaves missing.
  const auto unknown = program.remaining(true);
  std::string words = unknown.empty() ? error.what() : "unexpected argument \"" + unknown.front() + "\"";
  while (words.ends_with('\n')) words.pop_back();
  return words + " (see `" + command + " --help`)";
}

int run(int argc, char** argv) {
  auto settings = Settings::load();
  if (!settings) return static_cast<int>(report(settings.error(), ".env"));
  Context context{std::move(*settings)};

  CLI::App program{"Questions over a documentation corpus: retrieved, graded, answered with citations or refused.", "polygraph"};
  program.set_version_flag("--version", POLYGRAPH_VERSION);
  program.require_subcommand(1);
  program.footer(
      "Example:\n  polygraph ask \"How do I limit a container's memory?\"\n\n"
      "Exit status: 0 done, 1 a check failed, 2 wrong use, 3 input can't be read, 4 quota spent, 5 model or network failure,\n"
      "130 interrupted.");
  for (const auto add : {add_ask, add_cache, add_calibrate, add_compare, add_config, add_diagnose, add_export, add_gaps, add_gate,
                         add_golden, add_history, add_index, add_matrix, add_mcp, add_merge, add_metrics, add_models,
                         add_parity, add_record, add_replay, add_report, add_run, add_search, add_serve, add_usage,
                         add_validate}) {
    add(program, context);
  }

  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return static_cast<int>(report({polygraph::ErrorCode::invalid_argument, mistake(program, error, argc, argv)}));
    std::ostringstream help, nothing;
    program.exit(error, help, nothing);
    print(help.str());
  }
  return static_cast<int>(context.status);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away shows as a failed write
  hold_standard_descriptors();
  try {
    return run(argc, argv);
  } catch (const OutputFailed& failure) {
    return static_cast<int>(report({polygraph::ErrorCode::io, std::string("can't write: ") + std::strerror(failure.reason)}, "stdout"));
  } catch (const std::exception& error) {
    say(std::string("error: unexpected failure: ") + error.what());
    return static_cast<int>(ExitCode::model_or_network);
  }
}
