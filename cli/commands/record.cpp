#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands/record.hpp"
#include "cli/host.hpp"
#include "cli/index_store.hpp"
#include "cli/installation.hpp"
#include "cli/whole_file.hpp"
#include "proxy/recordings/recordings.hpp"
#include "proxy/telemetry/exporter.hpp"
#include "wasm/agent/agent.hpp"
#include "wasm/agent/extractive/grader.hpp"
#include "wasm/text/digest.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;

/// The questions of all groups, in order, each once.
Result<std::vector<std::string>> read_examples(const std::string& file) {
  auto text = read_text(file, std::size_t{1} << 20);
  if (!text) return tl::unexpected(text.error());
  const auto document = nlohmann::json::parse(*text, nullptr, false);
  if (document.is_discarded()) return fail(ErrorCode::invalid_json, "is not JSON");
  const auto wrong = [](std::string field, std::string_view expected) {
    return fail(ErrorCode::invalid_json, fmt::format("is missing or of another type; {} was expected", expected), std::move(field));
  };
  if (!document.is_object() || !document.contains("groups") || !document["groups"].is_array()) return wrong("groups", "an array");
  std::vector<std::string> questions;
  std::set<std::string> seen;
  for (std::size_t g = 0; g < document["groups"].size(); ++g) {
    const auto& group = document["groups"][g];
    const std::string field = fmt::format("groups[{}].questions", g);
    if (!group.is_object() || !group.contains("questions") || !group["questions"].is_array()) return wrong(field, "an array of strings");
    for (std::size_t q = 0; q < group["questions"].size(); ++q) {
      const auto& question = group["questions"][q];
      const std::string at = fmt::format("{}[{}]", field, q);
      if (!question.is_string()) return wrong(at, "a string");
      auto words = question.get<std::string>();
      const std::string key = proxy::question_key(words);
      if (key.empty()) return fail(ErrorCode::invalid_json, "is empty", at);
      if (seen.insert(key).second) questions.push_back(std::move(words));
    }
  }
  if (questions.empty()) return fail(ErrorCode::invalid_json, "holds no question", "groups");
  return questions;
}

/// Letters and digits of the question, and enough of its digest where they don't tell it from another.
std::string id_of(std::string_view question) {
  constexpr std::size_t most = 64, digest_digits = 8, digest_prefix = 7;  // "xxh128:"
  std::string id;
  bool exact = true;
  for (const char c : proxy::question_key(question)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    exact = exact && static_cast<unsigned char>(c) < 0x80;
    if (plain) id += c;
    else if (c != '\'' && !id.empty() && id.back() != '-') id += '-';
  }
  while (id.ends_with('-')) id.pop_back();
  if (exact && !id.empty() && id.size() <= most) return id;
  id.resize(std::min(id.size(), most - digest_digits - 1));
  while (id.ends_with('-')) id.pop_back();
  return (id.empty() ? "" : id + '-') + text::digest(proxy::question_key(question)).substr(digest_prefix, digest_digits);
}

/// What stands in a recording's `models`: who was to complete each task, whether or not the run came to it.
proxy::TaskModels models_of(const Llm* llm) {
  if (llm != nullptr) return llm->models();
  return {"extractive", agent::extractive::grader_name(), "extractive"};
}

std::string made_by(std::string_view provider, const proxy::TaskModels& models) {
  return fmt::format("polygraph record {}, provider {}, generator {}, grader {}, rewriter {}", POLYGRAPH_VERSION, provider, models.generator, models.grader,
                     models.rewriter);
}

/// Exit 1 and a line for each question without a recording of this index, and for each file that is none.
Result<ExitCode> check(const std::vector<std::string>& questions, const std::string& digest, const fs::path& folder, bool json) {
  auto recordings = proxy::Recordings::load(folder);
  if (!recordings) return tl::unexpected(recordings.error());
  nlohmann::ordered_json findings = {{"missing", nlohmann::ordered_json::array()}, {"stale", nlohmann::ordered_json::array()}, {"broken", nlohmann::ordered_json::array()}};
  for (const auto& question : questions) {
    const auto* recording = recordings->find_question(question, digest);
    if (recording == nullptr) {
      findings["missing"].push_back(question);
      say(fmt::format("missing: \"{}\"", printable(question)));
    } else if (recording->index_digest != digest) {
      findings["stale"].push_back(recording->id);
      say(fmt::format("stale: {}.json was recorded over index {}, this one is {}", recording->id, printable(recording->index_digest), digest));
    }
  }
  for (const auto& warning : recordings->warnings()) {
    findings["broken"].push_back(warning.field);
    say(fmt::format("broken: {}: {}", printable(warning.field), printable(warning.message)));
  }
  const bool sound = findings["missing"].empty() && findings["stale"].empty() && findings["broken"].empty();
  if (json) print_json(findings);
  else if (sound) print(fmt::format("{} example questions have a recording of this index\n", questions.size()));
  return sound ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace

ExitCode record_examples(Context& context, const RecordOptions& options) {
  if (!options.provider.empty()) {
    if (auto done = context.settings.set("PROVIDER=" + options.provider); !done) return report(done.error());
  }
  for (const auto& assignment : options.set) {
    if (auto done = context.settings.set(assignment); !done) return report(done.error());
  }
  auto config = context.settings.agent_config(options.preset);
  if (!config) return report(config.error());
  if (config->provider == agent::Provider::proxy) {
    return report({ErrorCode::invalid_argument, "PROVIDER=proxy is for the page; record with extractive or openai-compatible", "PROVIDER"});
  }
  const std::string examples = options.examples.empty() ? (assets(context.settings) / "page" / "examples.json").string() : options.examples;
  const fs::path folder = options.out.empty() ? assets(context.settings) / "recordings" : fs::path(options.out);
  auto questions = read_examples(examples);
  if (!questions) return report(questions.error(), examples);
  std::string file;
  auto opened = open_index(context.settings, options.index, file);
  if (!opened) return report(opened.error(), file);
  const index::Index& index = (*opened)->index;
  if (options.check) {
    auto status = check(*questions, index.digest(), folder, options.json);
    return status ? *status : report(status.error());
  }

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
      say("note: recording lexical search alone: " + printable(available.why_missing));
    }
  }
  available.llm = llm.get();
  const auto named = models_of(llm.get());
  const auto provider = llm ? llm->provider() : agent::get(*config, "PROVIDER").value_or("");

  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return report({ErrorCode::io, "can't be made: " + error.message()}, folder.string());
  watch_interrupts();
  std::size_t written = 0;
  const auto ended = [&](ExitCode status) {
    say(fmt::format("{} of {} recordings written to {}", written, questions->size(), folder.string()));
    return status;
  };
  for (const auto& question : *questions) {
    if (interrupted()) return ended(ExitCode::interrupted);
    auto agent = agent::Agent::create(index, question, *config, agent_options);
    if (!agent) return ended(report(agent.error(), examples));
    if (auto done = perform(*agent, available); !done) return ended(report(done.error()));
    const agent::Run& record = agent->run();
    if (const auto& exporter = context.traces.of(context.settings)) exporter->add(trace::to_json(record));
    if (record.status == agent::Status::failed) {
      // A failure is no answer to play later; what came before it is kept.
      const auto why = record.error.value_or(Error{ErrorCode::internal, "the run failed without a reason"});
      report(why);
      return ended(why.code == ErrorCode::quota_spent ? ExitCode::quota_spent : ExitCode::model_or_network);
    }
    const std::string id = id_of(question);
    const nlohmann::ordered_json recording = {{"kind", "recording"},
                                              {"schema", 1},
                                              {"id", id},
                                              {"question", question},
                                              {"aliases", nlohmann::ordered_json::array()},
                                              {"recorded_at", record.started_at},
                                              {"made_by", made_by(provider, named)},
                                              {"models", {{"generator", named.generator}, {"grader", named.grader}, {"rewriter", named.rewriter}}},
                                              {"index_digest", record.index_digest},
                                              {"trace", nlohmann::ordered_json::parse(trace::to_json(record))}};
    const fs::path target = folder / (id + ".json");
    if (auto done = write_whole(target, recording.dump() + "\n"); !done) return ended(report(done.error(), target.string()));
    ++written;
    if (options.quiet) continue;
    if (options.json) print_json({{"id", id}, {"question", question}, {"status", agent::name(record.status)}, {"file", target.string()}});
    else print(fmt::format("{:<9} {}\n", agent::name(record.status), printable(question)));
  }
  return ended(ExitCode::done);
}

void add_record(CLI::App& program, Context& context) {
  auto options = std::make_shared<RecordOptions>();
  auto* command = program.add_subcommand("record", "Record a run of every example question, to be played when nothing can be asked live");
  command->add_option("--provider", options->provider, "extractive, groq, openai, openai-compatible, anthropic, gemini or ollama (default: the setting PROVIDER)")->type_name("P");
  command->add_option("--store", options->calls.store, "Limits, cache and ledger in this Redis (default: POLYGRAPH_STORE, else SQLite)")->type_name("URL");
  command->add_flag("!--no-cache", options->calls.use_cache, "Ask anew where an answer is kept");
  command->add_flag("--wait", options->calls.wait, "Wait for the next day where a day's quota is spent");
  command->add_option("--examples", options->examples, "The example questions (default: assets/page/examples.json)")->type_name("FILE");
  command->add_option("--index", options->index, "Index file (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--out", options->out, "Folder of the recordings (default: assets/recordings)")->type_name("DIR");
  command->add_option("--config", options->preset, "baseline, hybrid, hybrid_rerank, full or tuned")->capture_default_str();
  command->add_option("--set", options->set, "NAME=VALUE, may be repeated")->type_name("NAME=VALUE")->allow_extra_args(false);
  command->add_flag("--check", options->check, "Run nothing: name recordings that are missing or of another index, and exit with 1 if there are any");
  command->add_flag("--json", options->json, "One JSON object per recording, or the findings of --check");
  command->footer(
      "Examples:\n  polygraph record\n  GROQ_API_KEY_FILE=~/groq.key polygraph record --provider groq\n"
      "  polygraph record --check --index docs.polygraph");
  command->callback([&context, options] { context.status = record_examples(context, *options); });
}

}  // namespace polygraph::cli
