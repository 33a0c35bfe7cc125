// `polygraph gaps`: what the documentation lacks, from the questions that it did not answer.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/stored_document.hpp"
#include "cli/gaps/refusals.hpp"
#include "cli/host.hpp"
#include "cli/index_store.hpp"
#include "cli/kept_results.hpp"
#include "cli/mapped_file.hpp"
#include "cli/runs/html.hpp"
#include "cli/runs/tables.hpp"
#include "wasm/gaps/gaps.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::vector<std::string> files, logs;
  std::string index, out, markdown, html;
  double threshold = 0;
  std::uint32_t top = 20;
  bool json = false, lexical = false;
};

Result<void> read_file(const std::string& name, Refusals& refusals) {
  std::error_code ignored;
  if (name != "-" && std::filesystem::is_regular_file(name, ignored)) {
    auto mapped = MappedFile::open(name);
    if (!mapped) return tl::unexpected(mapped.error());
    return refusals.read({reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()});
  }
  if (name == "-") say_waiting("traces, runs or a question log");
  auto text = read_text(name);
  if (!text) return tl::unexpected(text.error());
  return refusals.read(*text);
}

/// The questions as vectors, and their groups.
class Grouping {
 public:
  /// By meaning where there is a worker, otherwise by words.
  Result<void> group(const std::vector<gaps::Question>& questions, const index::Index* index, models::ModelWorker* worker, double threshold) {
    by_meaning_ = worker != nullptr;
    ProgressLine progress("gaps: grouping");
    const auto told = [&](std::size_t done, std::size_t total) { progress.update(done, total, "questions"); };
    if (by_meaning_) {
      const text::WordPiece tokenizer(*index->vocabulary());
      std::vector<std::vector<text::TokenId>> texts;
      // Without the prefix for queries: questions are compared with questions.
      for (const auto& question : questions) texts.push_back(tokenizer.encode(question.text, std::max(2U, index->metadata().embedder.max_tokens)).ids);
      ProgressLine embedding("gaps: embedding");
      auto embedded = worker->embed(texts, [&](std::size_t done, std::size_t total) { embedding.update(done, total, "questions"); });
      embedding.finish();
      if (!embedded) return tl::unexpected(embedded.error());
      dense_ = std::move(*embedded);
      groups_ = gaps::average_link(std::span<const std::vector<float>>(dense_), threshold, told);
    } else {
      gaps::WordVectors vectors(index);
      for (const auto& question : questions) sparse_.push_back(vectors.of(question.text));
      groups_ = gaps::average_link(std::span<const gaps::SparseVector>(sparse_), threshold, told);
    }
    return {};
  }
  const gaps::Groups& groups() const { return groups_; }
  double likeness(std::uint32_t a, std::uint32_t b) const { return by_meaning_ ? gaps::dot(dense_[a], dense_[b]) : gaps::dot(sparse_[a], sparse_[b]); }

 private:
  bool by_meaning_ = false;
  std::vector<std::vector<float>> dense_;
  std::vector<gaps::SparseVector> sparse_;
  gaps::Groups groups_;
};

/// How near the index comes to the label, and the closest pages where the records named none.
Result<void> look_up(const index::Index& index, const Models::Available& models, gaps::Gap& gap) {
  constexpr std::uint32_t passages = 10;
  constexpr std::size_t pages = 3;
  retrieval::Config config;
  config.mode = models.worker == nullptr ? retrieval::Mode::bm25 : retrieval::Mode::hybrid;
  config.list_length = passages;
  const std::string question = gap.label.substr(0, agent::max_question_bytes);
  retrieval::Retrieval retrieval(index, question, config);
  if (auto done = perform(retrieval, models); !done) return done;
  std::vector<index::ChunkNo> found;
  for (const auto& candidate : retrieval.ranked()) found.push_back(candidate.chunk);
  if (const auto dense = retrieval.dense_summary()) gap.nearness = {dense->max, gaps::Measure::meaning};
  else gap.nearness = {gaps::covered(index, question, found), gaps::Measure::words};
  gap.kind = gap.nearness->value >= gaps::near_from(gap.nearness->measure) ? gaps::Kind::near_miss : gaps::Kind::out_of_scope;
  if (!gap.closest.empty()) return {};
  std::vector<index::DocumentNo> seen;
  for (const auto chunk : found) {
    const auto number = index.chunk(chunk).document;
    if (std::find(seen.begin(), seen.end(), number) != seen.end() || seen.size() == pages) continue;
    seen.push_back(number);
    const auto page = index.document(number);
    gap.closest.push_back({{std::string(page.title.empty() ? page.id : page.title), std::string(page.url)}, gap.count});
  }
  return {};
}

Result<void> write_out(const std::string& file, const std::string& text) {
  if (file.empty()) return {};
  auto written = write_atomically(file, [&](const json::Sink& sink) { sink(text); });
  if (!written) return fail(ErrorCode::io, written.error().message, file);
  return {};
}

ExitCode run(Context& context, const Options& options) {
  Refusals refusals;
  auto files = options.files;
  files.insert(files.end(), options.logs.begin(), options.logs.end());
  if (files.empty()) return report({ErrorCode::invalid_argument, "name traces, run files or, with --log, a question log"}, "gaps");
  for (const auto& file : files) {
    if (auto read = read_file(file, refusals); !read) return report(read.error(), file == "-" ? "stdin" : file);
  }
  refusals.finish();

  // Without an index there is nothing to look a question up in, and no vocabulary to embed it with.
  std::string place;
  std::unique_ptr<OpenIndex> opened;
  std::error_code ignored;
  if (!options.index.empty() || std::filesystem::exists(default_index(context.settings), ignored)) {
    auto open = open_index(context.settings, options.index, place);
    if (!open) return report(open.error(), place);
    opened = std::move(*open);
  }
  const index::Index* index = opened ? &opened->index : nullptr;

  gaps::Report out;
  out.asked = refusals.asked;
  out.failed = refusals.failed;
  out.refused = refusals.refused.size();
  const auto questions = gaps::distinct_questions(refusals.refused);
  out.distinct = questions.size();

  Models models(context.settings);
  Models::Available available{.why_missing = options.lexical ? "--lexical was given" : "there is no index"};
  if (index != nullptr && !options.lexical && !questions.empty()) {
    auto found = models.available(*index);
    if (!found) return report(found.error(), place);
    available = std::move(*found);
  }
  if (available.worker == nullptr && !questions.empty()) {
    out.grouped_by = gaps::Measure::words;
    out.threshold = gaps::like_by_words;
    out.why_words = available.why_missing;
    say("note: grouped by words: " + printable(available.why_missing));
  }
  if (options.threshold > 0) out.threshold = options.threshold;

  Grouping grouping;
  if (auto done = grouping.group(questions, index, available.worker, out.threshold); !done) return report(done.error());
  out.gaps = gaps::gaps_of(refusals.refused, questions, grouping.groups(), [&](std::uint32_t a, std::uint32_t b) { return grouping.likeness(a, b); });
  if (index != nullptr) {
    out.index_digest = index->digest();
    out.corpus = index->metadata().title.empty() ? index->metadata().corpus : index->metadata().title;
    ProgressLine progress("gaps: looking up");
    std::size_t done = 0;
    for (auto& gap : out.gaps) {
      if (auto looked = look_up(*index, available, gap); !looked) return report(looked.error(), place);
      progress.update(++done, out.gaps.size(), "gaps");
    }
  }

  std::string document;
  {
    json::Writer writer([&](std::string_view piece) { document += piece; }, 2);
    gaps::write(writer, out);
  }
  document += "\n";
  for (const auto& [file, text] : {std::pair(options.out, document), std::pair(options.markdown, gaps::to_markdown(out))}) {
    if (auto written = write_out(file, text); !written) return report({ErrorCode::io, written.error().message}, file);
  }
  if (!options.html.empty()) {
    auto written = write_report_page(context.settings, [&](json::Writer& writer) { gaps::write(writer, out); }, options.html);
    if (!written) return report(written.error(), options.html);
  }
  if (options.json) {
    {
      json::Writer writer([](std::string_view piece) { print(piece); });
      gaps::write(writer, out);
    }
    print("\n");
  } else {
    print(gaps::to_text(out, options.top, ink(STDOUT_FILENO)));
  }
  return ExitCode::done;
}

}  // namespace

void add_gaps(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("gaps", "Say what the documentation lacks: refused questions, grouped by meaning");
  command->add_option("TRACES", options->files, "Traces (of ask --json), files of `run` or recorded runs; - for stdin");
  command->add_option("--log", options->logs, "The server's question log (serve --set QUESTION_LOG=FILE); may be repeated")->type_name("FILE")->allow_extra_args(false);
  command->add_option("--index", options->index, "The index to look the gaps up in (default: the one that set-up built, where it is)")->type_name("FILE");
  command->add_option("--threshold", options->threshold, fmt::format("How alike questions of one group are, on average (default: {:.2f} by meaning, {:.2f} by words)", gaps::like_by_meaning, gaps::like_by_words))
      ->check(CLI::Range(0.01, 1.0));
  command->add_flag("--lexical", options->lexical, "Group by words, without models");
  command->add_option("--top", options->top, "How many gaps are printed")->check(CLI::Range(1, 100000))->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object");
  command->add_option("--out", options->out, "Write that object to a file")->type_name("FILE");
  command->add_option("--md", options->markdown, "Write the report as Markdown to a file")->type_name("FILE");
  command->add_option("--html", options->html, "Write a page of its own, with a filter, that opens without a network")->type_name("FILE");
  command->footer("Examples:\n  polygraph ask --json < questions.txt > traces.jsonl; polygraph gaps traces.jsonl\n"
                  "  polygraph gaps --log questions.log --index docs.polygraph --md gaps.md --html gaps.html");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
