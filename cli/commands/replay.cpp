#include <fmt/format.h>
#include <deque>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/host.hpp"
#include "cli/index_store.hpp"
#include "cli/mapped_file.hpp"
#include "cli/wasm_engine.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string trace = "-", index, engine = "native";
  std::vector<std::string> set;
  std::uint32_t fork_step = 0;
  bool json = false;
};

/// How one trace fared, in the terms of both engines.
struct Outcome {
  bool identical = false;
  std::string difference;
  std::uint32_t step = 0, effect = 0;
};

Result<Outcome> replay_native(const index::Index& index, std::string_view trace) {
  auto replay = trace::replay(index, trace);
  if (!replay) return tl::unexpected(replay.error());
  return Outcome{replay->identical, replay->difference, replay->step, replay->effect};
}

Result<Outcome> replay_wasm(const Settings& settings, const OpenIndex& index, std::string_view trace) {
  auto reply = run_wasm_replay(settings, index.path, trace);
  if (!reply) return tl::unexpected(reply.error());
  const auto document = nlohmann::json::parse(*reply, nullptr, false);
  if (!document.is_object() || !document.contains("identical")) {
    return fail(ErrorCode::internal, "the WebAssembly engine's answer is no replay; build it again with `./polygraph build`", "--engine");
  }
  return Outcome{document.value("identical", false), document.value("difference", ""), document.value("step", 0U), document.value("effect", 0U)};
}

Result<agent::Run> fork(Context& context, const Options& options, const index::Index& index, std::string_view document) {
  auto recorded = trace::parse(document);
  if (!recorded) return tl::unexpected(recorded.error());
  agent::Config config = recorded->config;
  for (const std::string& assignment : options.set) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos) return fail(ErrorCode::invalid_argument, fmt::format("expected NAME=VALUE, got \"{}\"", assignment), "--set");
    if (auto done = agent::set(config, assignment.substr(0, equals), assignment.substr(equals + 1)); !done) return tl::unexpected(done.error());
  }
  auto forked = trace::Fork::create(index, document, options.fork_step, config);
  if (!forked) return tl::unexpected(forked.error());
  Models models(context.settings);
  std::optional<Models::Available> available;
  std::unique_ptr<Llm> llm;
  std::deque<agent::Effect> open;
  for (auto& effect : forked->start()) open.push_back(std::move(effect));
  while (!open.empty()) {
    const agent::Effect effect = std::move(open.front());
    open.pop_front();
    // The trace answers most effects, so the models are started by the first that it can't.
    if (!available && effect.kind() != agent::EffectKind::time) {
      auto found = models.available(index);
      if (!found) return tl::unexpected(found.error());
      available = std::move(*found);
      if (available->worker == nullptr) say("note: going on with lexical search alone: " + printable(available->why_missing));
    }
    auto host = available.value_or(Models::Available{});
    if (!llm && effect.kind() == agent::EffectKind::complete && config.provider == agent::Provider::openai_compatible) {
      auto created = Llm::create(context.settings, index);
      if (!created) return tl::unexpected(created.error());
      llm = std::move(*created);
    }
    host.llm = llm.get();
    auto more = forked->resume(effect.id, perform(effect, host));
    if (!more) return tl::unexpected(more.error());
    for (auto& next : *more) open.push_back(std::move(next));
  }
  say(fmt::format("{} of the effects were served from the trace", forked->served()));
  return forked->agent().run();
}

ExitCode run(Context& context, const Options& options) {
  if (options.trace == "-") say_waiting("a trace");
  auto text = read_text(options.trace);
  const std::string name = options.trace == "-" ? "stdin" : options.trace;
  if (!text) return report(text.error(), name);

  // A document may span lines; several traces come one a line.
  std::vector<std::pair<std::uint64_t, std::string_view>> documents;
  if (nlohmann::json::accept(*text)) {
    documents.emplace_back(1, *text);
  } else {
    std::uint64_t number = 0;
    for (std::string_view rest = *text; !rest.empty();) {
      ++number;
      const auto end = rest.find('\n');
      const auto line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      if (line.find_first_not_of(" \t\r") != std::string_view::npos) documents.emplace_back(number, line);
    }
  }
  if (documents.empty()) return report({ErrorCode::invalid_json, "holds no trace"}, name);

  std::unique_ptr<OpenIndex> opened;
  ExitCode status = ExitCode::done;
  for (const auto& [line, document] : documents) {
    const auto place = [&](Error error) {
      if (documents.size() > 1 && error.line == 0) error.line = line;
      return report(error, name);
    };
    auto recorded = trace::parse(document);
    if (!recorded) return place(recorded.error());
    if (!options.index.empty()) {
      if (!opened) {
        std::string file;
        auto result = open_index(context.settings, options.index, file);
        if (!result) return report(result.error(), file);
        opened = std::move(*result);
      }
    } else if (!opened || opened->index.digest() != recorded->index_digest) {
      auto result = open_index_by_digest(context.settings, recorded->index_digest);
      if (!result) return place(result.error());
      opened = std::move(*result);
    }

    if (options.fork_step != 0) {
      auto forked = fork(context, options, opened->index, document);
      if (!forked) return place(forked.error());
      print(trace::to_json(*forked) + "\n");
      if (forked->status == agent::Status::failed) {
        status = place(forked->error.value_or(Error{ErrorCode::internal, "the run failed without a reason"}));
        if (status != ExitCode::quota_spent) status = ExitCode::model_or_network;
      }
      continue;
    }
    auto outcome = options.engine == "wasm" ? replay_wasm(context.settings, *opened, document) : replay_native(opened->index, document);
    if (!outcome) {
      // What the engine refuses here came from the trace, not from the command's user.
      if (outcome.error().code == ErrorCode::invalid_argument) outcome.error().code = ErrorCode::invalid_json;
      return place(outcome.error());
    }
    if (!outcome->identical) status = ExitCode::check_failed;
    if (options.json) {
      const nlohmann::ordered_json verdict = {{"id", recorded->id},       {"engine", options.engine},   {"identical", outcome->identical},
                                              {"step", outcome->step},    {"effect", outcome->effect},  {"difference", outcome->difference}};
      print_json(verdict);
    } else if (outcome->identical) {
      print(fmt::format("identical: {} ({} steps, {})\n", printable(recorded->id), recorded->steps.size(), options.engine));
    } else {
      print(fmt::format("diverged: {}: {}\n", printable(recorded->id), printable(outcome->difference)));
    }
  }
  return status;
}

}  // namespace

void add_replay(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("replay", "Run the engine over recorded traces, without models or network");
  command->add_option("TRACE", options->trace, "A trace, or traces one a line; - is stdin")->capture_default_str();
  command->add_option("--index", options->index, "Index file (default: found by the trace's digest)")->type_name("FILE");
  auto* engine = command->add_option("--engine", options->engine, "native, or wasm: the compiled module in Node.js")
                     ->check(CLI::IsMember({"native", "wasm"}))
                     ->capture_default_str();
  auto* fork = command->add_option("--fork", options->fork_step, "Continue from this step under other settings and print the new trace")
                   ->type_name("STEP")
                   ->check(CLI::Range(1, 1000))
                   ->excludes(engine);
  command->add_option("--set", options->set, "NAME=VALUE for --fork, may be repeated")->type_name("NAME=VALUE")->allow_extra_args(false)->needs(fork);
  command->add_flag("--json", options->json, "One JSON verdict per trace");
  command->footer(
      "Examples:\n  polygraph ask --json \"What is a dangling image?\" | polygraph replay -\n"
      "  polygraph replay trace.json --engine wasm\n  polygraph replay trace.json --fork 1 --set FUSION=rrf\n\n"
      "Exit status 1: a trace diverged; the first differing step and effect is named.");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
