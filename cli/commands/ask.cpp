#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/lines.hpp"
#include "cli/host.hpp"
#include "cli/index_store.hpp"
#include "proxy/telemetry/exporter.hpp"
#include "wasm/agent/agent.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string index, preset = "tuned", question, provider;
  CallerChoices calls;
  std::vector<std::string> set;
  bool json = false, with_text = false;
};

std::string plural(std::size_t count, std::string_view noun) { return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s"); }

/// One line a step, on stderr, as the steps are finished.
class StepLog {
 public:
  void operator()(const agent::Run& run) {
    std::size_t complete = run.steps.size();
    if (run.status == agent::Status::running && complete > 0) {
      // The last step is at work, and the one before it has its duration once the last has read the time.
      const bool began = !run.steps.back().effects.empty();
      complete -= std::min<std::size_t>(complete, began ? 1 : 2);
    }
    for (; written_ < complete; ++written_) write(run.steps[written_]);
  }

 private:
  void write(const agent::Step& step) const {
    const Palette colours = palette(STDERR_FILENO);
    say(fmt::format("{}{:>7.0f} ms  {:<14}{}{}", colours.dim, step.ms, agent::name(step.node()), printable(std::visit(*this, step.data)), colours.reset));
  }

 public:
  std::string operator()(const agent::Retrieved& data) const {
    return fmt::format("{} for \"{}\"", plural(data.candidates.size(), "candidate"), data.query);
  }
  std::string operator()(const agent::Graded& data) const {
    return fmt::format("{}: {}", data.relevant ? (data.unsure ? "relevant, not sure" : "relevant") : "not relevant", data.reason);
  }
  std::string operator()(const agent::Rewritten& data) const {
    return data.repeated ? fmt::format("no new query was found for \"{}\"", data.from) : fmt::format("\"{}\"", data.to);
  }
  std::string operator()(const agent::Generated& data) const {
    return data.declined ? std::string("declined") : fmt::format("{} cited", plural(data.cited_ids.size(), "passage"));
  }
  std::string operator()(const agent::Refused& data) const { return data.reason; }

 private:
  std::size_t written_ = 0;
};

void write_answer(const agent::Run& run) {
  const Palette colours = palette(STDOUT_FILENO);
  print(printable(run.answer) + "\n");
  if (!run.citations.empty()) print("\n");
  std::vector<std::string> seen;
  for (const auto& citation : run.citations) {
    if (std::find(seen.begin(), seen.end(), citation.chunk_id) != seen.end()) continue;
    seen.push_back(citation.chunk_id);
    print(fmt::format("{}[{}]{} {}{}\n", colours.accent, printable(citation.chunk_id), colours.reset, printable(citation.title),
                      citation.url.empty() ? "" : "  " + printable(citation.url)));
  }
}

ExitCode run(Context& context, const Options& options) {
  if (!options.provider.empty()) {
    if (auto done = context.settings.set("PROVIDER=" + options.provider); !done) return report(done.error());
  }
  for (const auto& assignment : options.set) {
    if (auto done = context.settings.set(assignment); !done) return report(done.error());
  }
  auto config = context.settings.agent_config(options.preset);
  if (!config) return report(config.error());
  std::string file;
  auto opened = open_index(context.settings, options.index, file);
  if (!opened) return report(opened.error(), file);
  const index::Index& index = (*opened)->index;

  std::unique_ptr<Llm> llm;
  if (config->provider == agent::Provider::openai_compatible) {
    auto created = Llm::create(context.settings, index, options.calls);
    if (!created) return report(created.error());
    llm = std::move(*created);
  }

  Models models(context.settings);
  Models::Available available;
  agent::Options agent_options;
  if (config->retrieval.mode != retrieval::Mode::bm25 || config->retrieval.use_reranker) {
    auto found = models.available(index);
    if (!found) return report(found.error(), file);
    available = std::move(*found);
    if (available.worker == nullptr) {
      agent_options.embedder_missing = agent_options.reranker_missing = available.why_missing;
      say("note: answering from lexical search alone: " + printable(available.why_missing));
    }
  }

  available.llm = llm.get();

  ExitCode status = ExitCode::done;
  const auto ask = [&](std::string_view question) -> Result<void> {
    auto agent = agent::Agent::create(index, std::string(question), *config, agent_options);
    if (!agent) return tl::unexpected(agent.error());
    StepLog log;
    if (auto done = perform(*agent, available, options.json ? OnProgress{} : std::ref(log)); !done) return done;
    const agent::Run& record = agent->run();
    if (const auto& exporter = context.traces.of(context.settings)) exporter->add(trace::to_json(record));
    if (options.json) {
      trace::WriteOptions write;
      write.with_text = options.with_text;
      write.index = &index;
      print(trace::to_json(record, write) + "\n");
    } else if (record.status != agent::Status::failed) {
      write_answer(record);
    }
    if (record.status == agent::Status::failed) {
      const auto error = record.error.value_or(Error{ErrorCode::internal, "the run failed without a reason"});
      report(error);
      status = error.code == ErrorCode::quota_spent ? ExitCode::quota_spent : ExitCode::model_or_network;
    }
    return {};
  };

  if (!options.question.empty() && options.question != "-") {
    if (auto done = ask(options.question); !done) return report(done.error());
    return status;
  }
  say_waiting("questions, one a line,");
  auto asked = each_line(std::cin, ask);
  if (!asked) return report(asked.error(), "stdin");
  if (*asked == 0) return report({ErrorCode::invalid_argument, "holds no question; give one as an argument, or one a line"}, "stdin");
  return status;
}

}  // namespace

void add_ask(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("ask", "Answer a question with citations, or refuse");
  auto* question = command->add_option("QUESTION", options->question, "The question; without it, or with -, one per line is read from stdin");
  command->add_option("--index", options->index, "Index file (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--provider", options->provider, "Who completes its tasks: extractive, groq, openai, openai-compatible, anthropic, gemini or ollama")->type_name("P");
  command->add_option("--store", options->calls.store, "Limits, cache and ledger in this Redis (default: POLYGRAPH_STORE, else SQLite)")->type_name("URL");
  command->add_flag("!--no-cache", options->calls.use_cache, "Ask anew where an answer is kept");
  command->add_flag("--wait", options->calls.wait, "Wait for the next day where a day's quota is spent");
  command->add_option("--config", options->preset, "baseline, hybrid, hybrid_rerank, full or tuned")->capture_default_str();
  command->add_option("--set", options->set, "NAME=VALUE, may be repeated")->type_name("NAME=VALUE")->allow_extra_args(false);
  auto* json = command->add_flag("--json", options->json, "Print the trace, one line per question");
  command->add_flag("--with-text", options->with_text, "Put the passages into the trace")->needs(json);
  command->footer(
      "Examples:\n  polygraph ask \"How do I limit a container's memory?\"\n"
      "  polygraph ask --json \"What is a dangling image?\" > trace.json\n  polygraph ask --set TOP_K=6 --json < questions.txt\n"
      "  GROQ_API_KEY_FILE=~/groq.key polygraph ask --provider groq \"How do I remove unused data?\"\n"
      "  polygraph ask --set PROVIDER=openai-compatible --set OPENAI_BASE_URL=http://127.0.0.1:11434/v1 --set GENERATOR_MODEL=gemma3 \"…\"");
  command->callback([&context, options, question] {
    if (question->count() > 0 && options->question.find_first_not_of(" \t\r\n") == std::string::npos) {
      context.status = report({ErrorCode::invalid_argument, "the question is empty", "QUESTION"});
      return;
    }
    context.status = run(context, *options);
  });
}

}  // namespace polygraph::cli
