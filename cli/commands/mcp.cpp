// `polygraph mcp`: an index as a server of the Model Context Protocol over stdin and stdout.
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/host.hpp"
#include "cli/index_store.hpp"
#include "cli/mcp/documentation.hpp"
#include "cli/mcp/stdio.hpp"
#include "proxy/telemetry/exporter.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string index, preset = "tuned", provider;
  CallerChoices calls;
  std::vector<std::string> set;
};

/// SIGINT and SIGTERM go to nobody while it lives, but where a thread waits for them (mcp/stdio.hpp). Threads that are
/// started meanwhile keep it so.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &both, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// stdout for the protocol alone: whatever else is printed, by a library or by mistake, goes to stderr.
class OwnStdout {
 public:
  OwnStdout() : descriptor_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~OwnStdout() {
    ::dup2(descriptor_, STDOUT_FILENO);
    ::close(descriptor_);
  }
  OwnStdout(const OwnStdout&) = delete;
  OwnStdout& operator=(const OwnStdout&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

ExitCode serve(mcp::Server server) {
  const OwnStdout out;
  std::optional<SignalsBlocked> blocked(std::in_place);
  watch_interrupts();
  mcp::Lines lines(STDIN_FILENO, out.descriptor(), interrupted);
  mcp::Session session(std::move(server), [&](const std::string& line) { lines.write(line); });
  say_waiting("messages of a Model Context Protocol client, one a line,");
  auto ended = lines.read([&](std::string_view line) { session.receive(line); }, [&] { session.receive_too_long(mcp::most_line_bytes); });
  blocked.reset();  // a second Ctrl-C ends the program at once
  // Who closes stdin and still reads stdout gets the answers to what was asked.
  if (ended.end == mcp::Lines::End::closed) session.finish([&] { return interrupted() || lines.reader_gone(); });
  session.stop();
  if (interrupted()) return ExitCode::interrupted;
  if (const int failure = lines.write_failure(); failure != 0 && failure != EPIPE) throw OutputFailed{failure};
  if (ended.end == mcp::Lines::End::failed) return report({ErrorCode::io, std::string("can't read it: ") + std::strerror(ended.reason)}, "stdin");
  return ExitCode::done;
}

ExitCode run(Context& context, const Options& options) {
  if (!options.provider.empty()) {
    if (auto done = context.settings.set("PROVIDER=" + options.provider); !done) return report(done.error());
  }
  for (const auto& assignment : options.set) {
    if (auto done = context.settings.set(assignment); !done) return report(done.error());
  }
  mcp::Documentation documentation;
  auto config = context.settings.agent_config(options.preset);
  if (!config) return report(config.error());
  documentation.config = std::move(*config);
  std::string file;
  auto opened = open_index(context.settings, options.index, file);
  if (!opened) return report(opened.error(), file);
  documentation.index = &(*opened)->index;

  std::unique_ptr<Llm> llm;
  if (documentation.config.provider == agent::Provider::openai_compatible) {
    const SignalsBlocked from_its_threads;
    auto created = Llm::create(context.settings, (*opened)->index, options.calls);
    if (!created) return report(created.error());
    llm = std::move(*created);
  }
  documentation.llm = llm.get();
  SharedModels models(context.settings, (*opened)->index);
  documentation.models = &models;
  if (const auto& exporter = context.traces.of(context.settings)) {
    documentation.on_run = [exporter](const agent::Run& run) { exporter->add(trace::to_json(run)); };
  }
  return serve(mcp::server_of(std::move(documentation)));
}

}  // namespace

void add_mcp(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("mcp", "Offer an index to assistants, as a Model Context Protocol server over stdin and stdout");
  command->add_option("--index", options->index, "Index file (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--provider", options->provider, "Who completes the tasks of ask: extractive, groq, openai, openai-compatible, anthropic, gemini or ollama")->type_name("P");
  command->add_option("--store", options->calls.store, "Limits, cache and ledger in this Redis (default: POLYGRAPH_STORE, else SQLite)")->type_name("URL");
  command->add_option("--config", options->preset, "baseline, hybrid, hybrid_rerank, full or tuned")->capture_default_str();
  command->add_option("--set", options->set, "NAME=VALUE, may be repeated")->type_name("NAME=VALUE")->allow_extra_args(false);
  command->footer(
      "Tools: ask (an answer with numbered citations, or a refusal), search, read_passage. Resources: the pages.\n"
      "stdout carries the protocol and nothing else; it ends when stdin ends.\n\n"
      "Example, in an assistant's settings:\n"
      "  {\"mcpServers\": {\"docs\": {\"command\": \"/path/to/polygraph\", \"args\": [\"mcp\", \"--index\", \"/path/to/docs.polygraph\"]}}}");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
