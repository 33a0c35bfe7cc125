#include "cli/runs/setup.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/dataset.hpp"
#include "cli/installation.hpp"
#include "cli/mapped_file.hpp"
#include "proxy/telemetry/exporter.hpp"
#include "wasm/golden/remap.hpp"
#include "wasm/golden/selection.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// `set.jsonl` -> `set.review.json`
fs::path review_beside(const fs::path& dataset) { return dataset.parent_path() / (dataset.stem().string() + ".review.json"); }

std::string joined(const std::vector<std::string>& ids, std::size_t most = 5) {
  std::string out;
  for (std::size_t i = 0; i < std::min(ids.size(), most); ++i) out += (i > 0 ? ", " : "") + ids[i];
  return ids.size() > most ? out + fmt::format(" and {} more", ids.size() - most) : out;
}

/// Without the log of a pipeline that may stand behind it.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Of the running program.
std::string program_digest() {
  const auto file = MappedFile::open("/proc/self/exe");
  return file ? text::digest({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()}) : std::string();
}

Result<golden::Set> sourced(golden::Set set, const RunOptions& options, std::string& source_name, std::string& file) {
  const fs::path beside = review_beside(options.dataset);
  std::error_code ignored;
  const bool reviewed = !options.review.empty() || (options.dataset != "-" && fs::exists(beside, ignored));
  auto source = options.golden_source.empty() ? Result<golden::Source>(reviewed ? golden::Source::ai_reviewed : golden::Source::all)
                                              : golden::parse_source(options.golden_source);
  if (!source) return tl::unexpected(source.error());
  source_name = golden::name(*source);
  if (*source != golden::Source::ai_reviewed && !options.review.empty()) {
    file.clear();
    return fail(ErrorCode::invalid_argument, fmt::format("a review decides about ai_reviewed, not about {}", source_name), "--review");
  }
  std::optional<golden::Review> review;
  if (*source == golden::Source::ai_reviewed) {
    file = options.review.empty() ? beside.string() : options.review;
    std::error_code absent;
    if (file != "-" && !fs::exists(file, absent)) {
      return fail(ErrorCode::not_found, "is not there, and ai_reviewed needs the review: --review names it, --golden-source all takes every item", "--review");
    }
    auto text = read_text(file);
    if (!text) return tl::unexpected(text.error());
    auto parsed = golden::parse_review(*text);
    if (!parsed) return tl::unexpected(parsed.error());
    review = std::move(*parsed);
  }
  auto selected = golden::select(set, *source, review ? &*review : nullptr);
  if (!selected) return tl::unexpected(selected.error());
  if (!selected->left_out.empty()) {
    say(fmt::format("{} of {} items do not count as {}: {}", selected->left_out.size(), set.items.size(), source_name, joined(selected->left_out)));
  }
  return std::move(selected->set);
}

/// What a test collection judges is a document: in an index over it, a page.
void take_documents_as_pages(const index::Index& index, golden::Set& set) {
  if (set.form != golden::Form::beir && set.form != golden::Form::trec) return;
  for (golden::Item& item : set.items) {
    std::erase_if(item.relevant_chunk_ids, [&](const std::string& id) {
      const bool document = !index.find_chunk(id) && index.find_document(id);
      if (document) {
        item.relevant_pages.push_back(id);
        item.relevance.erase(id);  // grades are of chunks
      }
      return document;
    });
  }
}

}  // namespace

std::vector<CLI::Option*> add_asking_options(CLI::App& command, RunOptions& options) {
  return {
      command.add_option("--index", options.index, "Index file (default: the one that set-up built)")->type_name("FILE"),
      command.add_option("--judge", options.judge, "Who judges the answers: offline, groq, openai, anthropic, gemini, ollama (default: nobody)")->type_name("PROVIDER"),
      command.add_option("--judge-model", options.judge_model, "The judge's model (default: the setting JUDGE_MODEL)")->type_name("M"),
      command.add_option("--set", options.set, "NAME=VALUE of the configuration, may be repeated")->type_name("NAME=VALUE")->allow_extra_args(false),
      command.add_option("--call-limit", options.call_limit_s, "Seconds that a call of a pipeline may take")->capture_default_str()->check(CLI::Range(0.001, 86400.0)),
      command.add_option("--refusal-pattern", options.refusal_pattern, "An answer of a pipeline that matches this is a refusal")->type_name("REGEX"),
      command.add_option("--python", options.python, "Interpreter of a .py pipeline")->capture_default_str(),
      command.add_option("--node", options.node, "Interpreter of a .mjs pipeline")->capture_default_str(),
      command.add_flag("--no-cache", options.no_cache, "Asks models anew even where the answer is kept"),
      command.add_flag("--wait", options.wait, "Waits when a quota is spent, instead of ending with status 4"),
  };
}

void add_item_options(CLI::App& command, RunOptions& options) {
  command.add_option("--dataset", options.dataset, "Golden set (default: the one over the default corpus)")->type_name("FILE");
  command.add_option("--golden-source", options.golden_source, "ai_reviewed (default where a review stands beside the set), verified or all")->type_name("S");
  command.add_option("--review", options.review, "Review file of ai_reviewed (default: SET.review.json beside the set)")->type_name("FILE");
  command.add_option("--limit", options.limit, "Only the first N items")->type_name("N");
  command.add_option("--ids", options.ids, "Only the items named in this file, one a line")->type_name("FILE");
  command.add_option("--subset", options.subset, "`gate`: the fixed 20 items of the CI gate")->type_name("NAME")->check(CLI::IsMember({"gate"}));
  command.add_flag("--skip-unknown", options.skip_unknown, "Leaves out items whose gold the index lacks");
}

void add_run_options(CLI::App& command, RunOptions& options) {
  add_asking_options(command, options);
  add_item_options(command, options);
  command.add_option("--shard", options.shard, "Only part I of N: 2/5")->type_name("I/N");
  command.add_option("--k", options.k, "Retrieval metrics of a result are at this rank")->capture_default_str()->check(CLI::Range(1U, 1000U));
  command.add_option("--repeats", options.repeats, "Runs each item so often")->capture_default_str()->check(CLI::Range(1U, 1000U));
  auto* judge_items = command.add_option("--judge-items", options.judge_items, "The judge sees a fixed stratified subset of so many items (default: all)")->type_name("N");
  judge_items->needs(command.get_option("--judge"));
  command.add_option("--concurrency", options.concurrency, "Questions of a pipeline under way at once")->capture_default_str()->check(CLI::Range(1U, 256U));
  command.add_option("--warm-up", options.warm_up, "Asks a pipeline so many questions before, unmeasured")->capture_default_str();
  command.add_flag("--fresh", options.fresh, "Begins anew what is finished or half finished");
  command.add_flag("--json", options.json, "One JSON object a run on stdout");
}

fs::path default_dataset(const Settings& settings) { return assets(settings) / "golden" / "docker-doc.jsonl"; }

fs::path runs_folder(const Settings& settings) {
  const auto own = settings.get("POLYGRAPH_DIR");
  return (own.value.empty() ? fs::path(".polygraph") : fs::path(own.value)) / "runs";
}

Result<Items> read_items(const Settings& settings, const RunOptions& given, const index::Index* index, std::string& file) {
  RunOptions options = given;
  if (options.dataset.empty()) options.dataset = default_dataset(settings).string();
  file = options.dataset;
  auto set = read_valid_dataset(options.dataset, {}, file);
  if (!set) return tl::unexpected(set.error());

  Items items;
  items.dataset = options.dataset;
  items.scope.golden_name = set->name.empty() ? fs::path(options.dataset).stem().string() : set->name;
  auto counted = sourced(std::move(*set), options, items.scope.golden_source, file);
  if (!counted) return tl::unexpected(counted.error());
  items.set = std::move(*counted);
  file = options.dataset;
  items.scope.golden_digest = golden::digest(items.set);

  const auto narrowed = [&](std::string how) { items.scope.subset += (items.scope.subset.empty() ? "" : ", ") + std::move(how); };
  if (!options.ids.empty()) {
    file = options.ids;
    auto list = read_text(options.ids);
    if (!list) return tl::unexpected(list.error());
    auto ids = golden::parse_ids(*list);
    if (!ids) return tl::unexpected(ids.error());
    auto chosen = golden::with_ids(items.set, *ids);
    if (!chosen) return tl::unexpected(chosen.error());
    items.set = std::move(*chosen);
    narrowed(fmt::format("{} ids of {}", items.set.items.size(), fs::path(options.ids).filename().string()));
    file = options.dataset;
  }
  if (options.subset == "gate") {
    auto chosen = golden::with_ids(items.set, golden::gate_ids(items.set));
    if (!chosen) return tl::unexpected(chosen.error());
    items.set = std::move(*chosen);
    narrowed("gate");
  }
  if (options.limit > 0) {
    items.set = golden::first_items(items.set, options.limit);
    narrowed(fmt::format("the first {}", options.limit));
  }
  if (index != nullptr) {
    take_documents_as_pages(*index, items.set);
    std::vector<std::string> unknown;
    for (const golden::Problem& problem : golden::unknown_gold(*index, items.set)) {
      if (unknown.empty() || unknown.back() != problem.item) unknown.push_back(problem.item);
    }
    if (!unknown.empty()) {
      if (!options.skip_unknown) {
        return fail(ErrorCode::mismatch,
                    fmt::format("the gold of {} items is not in the index: {}; `golden remap` proposes new ids, --skip-unknown leaves them out", unknown.size(), joined(unknown)),
                    "relevant_chunk_ids");
      }
      std::erase_if(items.set.items, [&](const golden::Item& item) { return std::find(unknown.begin(), unknown.end(), item.id) != unknown.end(); });
      say(fmt::format("left out, their gold is not in the index: {}", joined(unknown, unknown.size())));
      narrowed(fmt::format("without {} of unknown gold", unknown.size()));
    }
  }
  // Before the shard is cut: the parts judge together what the whole would.
  if (options.judge_items > 0 && options.judge_items < items.set.items.size()) {
    const auto ids = golden::stratified_ids(items.set, options.judge_items);
    items.judged = {ids.begin(), ids.end()};
    items.scope.judge_items = options.judge_items;
  }
  if (!options.shard.empty()) {
    auto shard = golden::parse_shard(options.shard);
    if (!shard) return tl::unexpected(shard.error());
    if (shard->number > items.set.items.size()) {
      file.clear();
      return fail(ErrorCode::invalid_argument, fmt::format("{} holds none of {} items: cut them into fewer parts", options.shard, items.set.items.size()), "--shard");
    }
    items.set = golden::in_shard(items.set, *shard);
    items.scope.shard = Json{{"number", shard->number}, {"of", shard->of}}.dump();
  }
  if (items.set.items.empty()) return fail(ErrorCode::invalid_json, "no item is left to run");
  items.scope.k = options.k;
  items.scope.repeats = options.repeats;
  return items;
}

std::vector<SubjectOf> subjects_of(const RunOptions& options) {
  std::vector<SubjectOf> subjects;
  for (const auto& name : options.configs) subjects.push_back({false, name});
  for (const auto& name : options.pipelines) subjects.push_back({true, name});
  return subjects;
}

namespace {

/// Settings and, where something needs it, the index.
Result<std::unique_ptr<Bench>> open_bench(Context& context, const RunOptions& options, std::string& file) {
  for (const auto& assignment : options.set) {
    if (auto done = context.settings.set(assignment); !done) return tl::unexpected(done.error());
  }
  auto bench = std::make_unique<Bench>();
  const bool needs_index = !options.configs.empty() || options.judge == "offline" || !options.index.empty();
  if (needs_index || !options.judge.empty()) {
    auto opened = open_index(context.settings, options.index, file);
    if (!opened && needs_index) return tl::unexpected(opened.error());
    if (opened) bench->opened = std::move(*opened);
  }
  return bench;
}

/// Models, language models and judge.
Result<void> start_models(Context& context, const RunOptions& options, Bench& bench) {
  bool models = !options.judge.empty() && bench.opened, llm = false;
  for (const auto& name : options.configs) {
    auto config = context.settings.agent_config(name);
    if (!config) return tl::unexpected(config.error());
    if (config->provider == agent::Provider::proxy) return fail(ErrorCode::invalid_argument, "PROVIDER=proxy is for the page", "PROVIDER");
    models = models || config->retrieval.mode != retrieval::Mode::bm25 || config->retrieval.use_reranker;
    llm = llm || config->provider == agent::Provider::openai_compatible;
  }
  if (models) {
    bench.models = std::make_unique<Models>(context.settings);
    auto available = bench.models->available(bench.opened->index);
    if (!available) return tl::unexpected(available.error());
    bench.available = std::move(*available);
  }
  if (llm) {
    auto created = Llm::create(context.settings, bench.opened->index);
    if (!created) return tl::unexpected(created.error());
    bench.llm = std::move(*created);
    bench.available.llm = bench.llm.get();
  }
  if (options.judge == "offline") {
    auto judge = offline_judge(bench.opened->index, bench.available);
    if (!judge) return tl::unexpected(judge.error());
    bench.judge = std::move(*judge);
  } else if (!options.judge.empty()) {
    auto judge = llm_judge(context.settings, {options.judge, options.judge_model, options.no_cache, options.wait},
                           bench.opened ? &bench.opened->index : nullptr, bench.available);
    if (!judge) return tl::unexpected(judge.error());
    bench.judge = std::move(*judge);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Bench>> set_up(Context& context, const RunOptions& options, std::string& file) {
  auto bench = open_bench(context, options, file);
  if (!bench) return bench;
  const index::Index* index = options.configs.empty() ? nullptr : &(*bench)->opened->index;
  auto items = read_items(context.settings, options, index, file);
  if (!items) return tl::unexpected(items.error());
  (*bench)->items = std::move(*items);
  if (index != nullptr) (*bench)->items.scope.index_digest = index->digest();
  file.clear();
  if (auto started = start_models(context, options, **bench); !started) return tl::unexpected(started.error());
  return bench;
}

Result<std::unique_ptr<Bench>> set_up_without_items(Context& context, const RunOptions& options, std::string& file) {
  auto bench = open_bench(context, options, file);
  if (!bench) return bench;
  file.clear();
  if (auto started = start_models(context, options, **bench); !started) return tl::unexpected(started.error());
  return bench;
}

Result<std::unique_ptr<Subject>> open_subject(Context& context, const RunOptions& options, const SubjectOf& of, Bench& bench) {
  if (of.pipeline) {
    pipelines::Options how;
    how.call_limit = std::chrono::milliseconds(static_cast<std::int64_t>(options.call_limit_s * 1000));
    how.python = options.python;
    how.node = options.node;
    how.shims = pipelines::shim_folder(distribution(context.settings));
    std::error_code ignored;
    how.program = fs::read_symlink("/proc/self/exe", ignored);
    auto opened = pipeline_subject({of.name, options.k, options.concurrency, options.warm_up, options.refusal_pattern}, std::move(how));
    // The line is that of the pipeline's file, which is the field.
    if (!opened && opened.error().line != 0) opened.error().field += fmt::format(":{}", std::exchange(opened.error().line, 0));
    return opened;
  }
  auto config = context.settings.agent_config(of.name);
  if (!config) return tl::unexpected(config.error());
  return agent_subject({of.name, *config, options.k}, bench.opened->index, bench.available);
}

RunDone run_subject(Context& context, const RunOptions& options, Subject& subject, Bench& bench, fs::path file) {
  RunDone done;
  RunHeader header = header_of(subject, bench.judge.get(), bench.items.scope, bench.items.set, utc_now());
  header.program = program_digest();
  done.digest = header.digest;
  if (file.empty()) {
    constexpr std::size_t prefix = 7, digits = 12;  // of "xxh128:" and its digits
    std::string name;
    for (const char c : subject.name()) name += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ? c : '-';
    file = runs_folder(context.settings) / fmt::format("{}-{}.jsonl", name.substr(0, 60), header.digest.substr(prefix, digits));
  }
  done.file = file;
  auto run = RunFile::open(file, header, options.fresh);
  if (!run) {
    done.status = report(run.error(), file.string());
    return done;
  }
  // What another build of the program answered is not what this one would.
  const bool other_build = run->program() != header.program;
  if (other_build && run->done() > 0) say(fmt::format("{}: {} was made by another build of this program: it begins anew", subject.name(), file.string()));
  if (!options.fresh && (other_build || (!subject.known_whole() && run->done() == header.items))) {
    {
      const RunFile closed = std::move(*run);  // its lock ends here
    }
    run = RunFile::open(file, header, true);
    if (!run) {
      done.status = report(run.error(), file.string());
      return done;
    }
  }
  ProgressLine line(subject.name());
  const auto before = run->done();
  auto finished = run_items(*run, subject, bench.judge.get(), bench.items.judged.empty() ? nullptr : &bench.items.judged, bench.items.set, bench.items.scope,
                            [&](const RunProgress& progress) {
                              line.update(progress.done, progress.total, "items");
                              return !interrupted();
                            },
                            [&](const std::string& trace) {
                              if (const auto& exporter = context.traces.of(context.settings)) exporter->add(trace);
                            });
  line.finish();
  if (!finished) {
    report(finished.error(), subject.name());
    say(fmt::format("{}: {} of {} items are kept in {}; the same command goes on", subject.name(), run->done(), header.items, file.string()));
    done.status = exit_code(finished.error().code);
    return done;
  }
  done.progress = *finished;
  if (finished->interrupted) {
    say(fmt::format("{}: interrupted; {} of {} items are kept in {}; the same command goes on", subject.name(), run->done(), header.items, file.string()));
    done.status = ExitCode::interrupted;
    return done;
  }
  std::string words = before == header.items ? "nothing to do: all" : "done:";
  words = fmt::format("{}: {} {} items in {}", subject.name(), words, header.items, file.string());
  if (finished->failed > 0) words += fmt::format("; {} failed, the first was {}", finished->failed, printable(first_line(finished->first_failure)));
  if (finished->judge_errors > 0) words += fmt::format("; {} with a judge error", finished->judge_errors);
  say(words);
  if (finished->failed == header.items) done.status = ExitCode::model_or_network;
  return done;
}

}  // namespace polygraph::cli
