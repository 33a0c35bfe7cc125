#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/host.hpp"
#include "cli/index_store.hpp"
#include "cli/mapped_file.hpp"
#include "cli/model_manifest.hpp"
#include "index/builder.hpp"
#include "index/corpus.hpp"
#include "proxy/models/model_store.hpp"

namespace polygraph::cli {
namespace {

struct BuildArguments {
  std::string corpus, out, previous, base_url, title, licence, language;
  bool lexical = false, json = false;
};

index::ModelIdentity identity(const models::Model& model) {
  index::ModelIdentity identity;
  identity.name = model.name;
  identity.sha256 = model.file("model.onnx") == nullptr ? "" : model.file("model.onnx")->sha256;
  identity.dimensions = model.dimensions;
  identity.query_prefix = model.query_prefix;
  identity.max_tokens = model.max_tokens;
  return identity;
}

nlohmann::ordered_json to_json(const corpus::BuildReport& report, const std::string& file, std::size_t bytes, const std::string& digest) {
  return {{"file", file},
          {"bytes", bytes},
          {"digest", digest},
          {"documents", report.documents},
          {"chunks", report.chunks},
          {"chunks_truncated", report.chunks_truncated},
          {"mean_tokens", report.mean_tokens},
          {"embedded", report.embedded},
          {"from_cache", report.from_cache},
          {"from_previous", report.from_previous},
          {"shortcodes_resolved", report.counts.shortcodes_resolved},
          {"shortcodes_unresolved", report.counts.shortcodes_unresolved},
          {"skipped", report.skipped},
          {"passed_over", report.passed_over},
          {"warnings", report.warnings},
          {"ms", report.ms}};
}

void list_some(std::string_view heading, const std::vector<std::string>& lines) {
  constexpr std::size_t shown = 20;
  if (lines.empty()) return;
  say(fmt::format("{}: {}", heading, lines.size()));
  for (std::size_t i = 0; i < lines.size() && i < shown; ++i) say("  " + printable(lines[i]));
  if (lines.size() > shown) say(fmt::format("  and {} more (--json lists all)", lines.size() - shown));
}

/// Models, vocabulary and worker for a build with vectors.
Result<corpus::Embedder> prepare_models(Context& context, Models& models, corpus::BuildOptions& build) {
  auto manifest = model_manifest();
  if (!manifest) return tl::unexpected(manifest.error());
  const auto* embedder = manifest->find("embedder");
  const auto* reranker = manifest->find("reranker");
  const auto* vocabulary = embedder == nullptr ? nullptr : embedder->file("vocab.txt");
  if (reranker == nullptr || vocabulary == nullptr) return fail(ErrorCode::internal, "the manifest lacks the embedder, its vocabulary or the reranker");
  build.embedder = identity(*embedder);
  build.reranker = identity(*reranker);
  auto worker = models.worker();
  if (!worker) return tl::unexpected(worker.error());
  auto words = read_text(models::ModelStore(context.settings.home()).path(*embedder, *vocabulary).string());
  if (!words) return tl::unexpected(words.error());
  build.vocabulary = std::move(*words);
  return [worker = *worker](std::span<const std::vector<text::TokenId>> texts) { return worker->embed(texts); };
}

ExitCode build(Context& context, BuildArguments& arguments) {
  watch_interrupts();
  if (arguments.corpus.empty()) return report({ErrorCode::invalid_argument, "is required; known corpora: " + corpus::known_corpora(), "--corpus"});
  if (arguments.out.empty()) return report({ErrorCode::invalid_argument, "is required: the index file to write", "--out"});

  // What can be known to fail at the end must not cost a build first. Writing replaces a file, which would take a device away.
  const std::filesystem::path out = arguments.out;
  std::error_code error;
  if (out.has_parent_path()) std::filesystem::create_directories(out.parent_path(), error);
  if (error) return report({ErrorCode::io, fmt::format("can't make the folder {}: {}", out.parent_path().string(), error.message())}, "--out");
  if (std::filesystem::exists(out, error) && !std::filesystem::is_regular_file(out, error)) {
    return report({ErrorCode::invalid_argument, fmt::format("{} is there and no file; name one to write", arguments.out)}, "--out");
  }

  corpus::CorpusOptions corpus_options;
  corpus_options.base_url = arguments.base_url;
  corpus_options.title = arguments.title;
  corpus_options.licence = arguments.licence;
  corpus_options.language = arguments.language;
  auto opened = corpus::open_corpus(arguments.corpus, corpus_options);
  if (!opened) return report(opened.error(), "--corpus " + arguments.corpus);

  corpus::BuildOptions options;
  options.cache = context.settings.home() / "vectors";
  options.language = arguments.language;
  options.cancelled = [] { return interrupted(); };
  // An index that is built again keeps the vectors of what did not change, also where the cache is another machine's.
  std::optional<MappedFile> previous_file;
  std::optional<index::Index> previous;
  const std::string& previous_path = arguments.previous.empty() ? arguments.out : arguments.previous;
  if (!arguments.previous.empty() || (!arguments.lexical && std::filesystem::exists(out, error))) {
    auto file = MappedFile::open(previous_path);
    auto index = file ? index::Index::open(file->bytes()) : tl::unexpected(file.error());
    if (index) {
      previous = std::move(*index);
      previous_file = std::move(*file);
      options.previous = &*previous;
    } else if (!arguments.previous.empty()) {
      return report(index.error(), "--previous " + arguments.previous);
    }
  }
  Models models(context.settings);
  corpus::Embedder embedder;
  if (!arguments.lexical) {
    auto prepared = prepare_models(context, models, options);
    if (!prepared) {
      if (prepared.error().code == ErrorCode::model_unavailable) say("note: --lexical builds an index without vectors, which needs no models");
      return report(prepared.error());
    }
    embedder = std::move(*prepared);
  }
  ProgressLine line("embedding " + opened->name);
  options.progress = [&](const corpus::Progress& progress) { line.update(progress.done, progress.total, "passages"); };
  auto built = corpus::build(*opened, options, embedder);
  line.finish();
  if (!built) {
    if (interrupted()) {
      say("interrupted; what was embedded is kept, and the next build goes on from there");
      return ExitCode::interrupted;
    }
    return report(built.error());
  }
  if (auto written = corpus::write_file(out, built->bytes); !written) return report(written.error());

  auto index = index::Index::open(built->bytes);
  if (!index) return report(index.error(), arguments.out);
  remember(context.settings, index->digest(), out);
  const auto& result = built->report;
  list_some("pages skipped", result.skipped);
  list_some("files passed over, which are no pages of their own", result.passed_over);
  list_some("warnings", result.warnings);
  if (arguments.json) {
    print_json(to_json(result, arguments.out, built->bytes.size(), index->digest()), 2);
  } else {
    say(fmt::format("{}: {} pages, {} passages ({} embedded, {} from the cache, {} from the index before, {} longer than the embedder's input), {:.2f} MB, {:.1f} s", printable(arguments.out),
                    result.documents, result.chunks, result.embedded, result.from_cache, result.from_previous, result.chunks_truncated,
                    static_cast<double>(built->bytes.size()) / 1e6, result.ms / 1000));
  }
  return ExitCode::done;
}

ExitCode info(const std::string& path, bool json) {
  auto file = MappedFile::open(path);
  if (!file) return report(file.error(), path);
  auto index = index::Index::open(file->bytes());
  if (!index) return report(index.error(), path);
  const auto& metadata = index->metadata();
  const auto extent = index::extent(file->bytes());
  nlohmann::ordered_json document = {{"file", path},
                                     {"bytes", file->bytes().size()},
                                     {"lexical_bytes", extent ? extent->lexical : 0},
                                     {"digest", index->digest()},
                                     {"documents", index->documents()},
                                     {"chunks", index->chunks()},
                                     {"terms", index->terms()},
                                     {"vectors", index->has_vectors()},
                                     {"metadata", nlohmann::ordered_json::parse(index::to_json(metadata))}};
  if (json) {
    print_json(document, 2);
    return ExitCode::done;
  }
  const auto row = [](std::string_view name, const std::string& value) {
    if (!value.empty()) print(fmt::format("{:<12} {}\n", name, printable(value)));
  };
  row("digest", index->digest());
  row("corpus", fmt::format("{} ({})", metadata.title, metadata.corpus));
  row("revision", metadata.revision);
  row("licence", metadata.licence);
  row("source", metadata.source_url);
  row("language", metadata.language);
  row("contents", fmt::format("{} pages, {} passages, {} terms, {}", index->documents(), index->chunks(), index->terms(),
                              index->has_vectors() ? fmt::format("vectors of {} dimensions", index->dimensions()) : std::string("no vectors")));
  row("size", fmt::format("{} bytes, the lexical part {}", file->bytes().size(), extent ? extent->lexical : 0));
  row("embedder", metadata.embedder.name);
  row("reranker", metadata.reranker.name);
  row("chunker", metadata.chunker);
  row("truncated", fmt::format("{} passages are longer than the embedder's input", metadata.chunks_truncated));
  for (const auto& skipped : metadata.skipped) row("skipped", skipped);
  return ExitCode::done;
}

ExitCode check(Context& context, const std::string& path, bool json) {
  auto file = MappedFile::open(path);
  if (!file) return report(file.error(), path);
  std::optional<Error> problem;
  std::string digest;
  if (auto index = index::Index::open(file->bytes()); !index) {
    problem = index.error();
  } else {
    digest = index->digest();
    auto manifest = model_manifest();
    const auto compare = [&](const char* role, const index::ModelIdentity& used) {
      const auto* model = manifest ? manifest->find(role) : nullptr;
      if (problem || used.sha256.empty() || model == nullptr || model->file("model.onnx")->sha256 == used.sha256) return;
      problem = Error{ErrorCode::mismatch,
                      fmt::format("was built for the {} {} with SHA-256 {}, but this program's has {}; rebuild the index", role, used.name, used.sha256,
                                  model->file("model.onnx")->sha256),
                      "metadata"};
    };
    compare("embedder", index->metadata().embedder);
    compare("reranker", index->metadata().reranker);
    remember(context.settings, digest, path);
  }
  if (json) {
    nlohmann::ordered_json verdict = {{"file", path}, {"valid", !problem}, {"digest", digest}};
    if (problem) verdict["error"] = {{"code", name(problem->code)}, {"section", problem->field}, {"message", problem->message}};
    print_json(verdict, 2);
  } else if (problem) {
    report(*problem, path);
  } else {
    print(fmt::format("{}: sound ({})\n", printable(path), digest));
  }
  return problem ? ExitCode::check_failed : ExitCode::done;
}

}  // namespace

void add_index(CLI::App& program, Context& context) {
  auto arguments = std::make_shared<BuildArguments>();
  auto* command = program.add_subcommand("index", "Build an index from a corpus; `info` and `check` look at one");
  command->require_subcommand(0, 1);
  command->add_option("--corpus", arguments->corpus, corpus::known_corpora());
  command->add_option("--out", arguments->out, "Index file to write")->type_name("FILE");
  command->add_option("--previous", arguments->previous, "An earlier index: its unchanged passages are not embedded again (default: the file that --out replaces)")->type_name("FILE");
  command->add_option("--base-url", arguments->base_url, "Goes before every page's URL")->type_name("URL");
  command->add_option("--title", arguments->title, "What people call the corpus");
  command->add_option("--licence", arguments->licence, "SPDX identifier of the corpus's licence");
  command->add_option("--language", arguments->language, "en: English stems and stop words; any other: none. Of a site with several, only this one is read (default: the site's own, else en)");
  command->add_flag("--lexical", arguments->lexical, "No vectors, so no models are needed")->excludes("--previous");
  command->add_flag("--json", arguments->json, "The report as JSON on stdout");
  command->footer(
      "Examples:\n  polygraph index --corpus docker-doc --out docs.polygraph\n"
      "  polygraph index --corpus dir:docs --base-url https://docs.example.org/ --out docs.polygraph\n"
      "  polygraph index --corpus html:site --base-url https://docs.example.org/ --out docs.polygraph\n"
      "  polygraph index info docs.polygraph");

  struct Look {
    std::string file;
    bool json = false;
  };
  const auto look = [&](const std::string& name, const char* about, const char* statuses, auto action) {
    auto options = std::make_shared<Look>();
    auto* sub = command->add_subcommand(name, about);
    sub->add_option("FILE", options->file, "Index file")->required();
    sub->add_flag("--json", options->json, "JSON on stdout");
    sub->footer("Example:\n  polygraph index " + name + " docs.polygraph" + statuses);
    sub->callback([&context, options, action] { context.status = action(options->file, options->json); });
  };
  look("info", "What an index holds", "", [](const std::string& file, bool json) { return info(file, json); });
  look("check", "Whether every section is sound and belongs to this program's models", "\n\nExit status 1: it is not; the section is named.",
       [&context](const std::string& file, bool json) { return check(context, file, json); });
  command->callback([&context, command, arguments] {
    if (command->get_subcommands().empty()) context.status = build(context, *arguments);
  });
}

}  // namespace polygraph::cli
