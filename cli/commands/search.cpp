#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/commands/lines.hpp"
#include "cli/host.hpp"
#include "cli/index_store.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::cli {
namespace {

struct Options {
  std::string index, preset = "tuned", mode, trec;
  std::vector<std::string> queries, set;
  std::uint32_t top = 10;
  bool rerank = false, no_rerank = false, json = false;
};

struct Query {
  std::string id, text;
  bool named = false;
};

/// A line `id<TAB>query` names its query; otherwise its number does.
Query parse_query(std::string_view line, std::uint64_t number) {
  if (const auto tab = line.find('\t'); tab != std::string_view::npos && tab > 0) {
    return {std::string(line.substr(0, tab)), std::string(line.substr(tab + 1)), true};
  }
  return {std::to_string(number), std::string(line)};
}

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

/// An id as a column of a TREC file, which blanks separate: they are percent-encoded (RFC 3986), and the percent sign, so
/// that no two ids become one.
std::string trec_column(std::string_view id) {
  std::string out;
  for (const char c : id) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '%') out += fmt::format("%{:02X}", static_cast<unsigned>(c));
    else out += c;
  }
  return out;
}

std::string excerpt(std::string_view text, std::size_t code_points) {
  std::string out;
  bool space = false;
  for (std::size_t i = 0, n = 0; i < text.size() && n < code_points;) {
    const auto point = text::decode(text, i);
    const bool blank = point.value <= 0x20;
    if (!blank) {
      if (space && !out.empty()) out += ' ';
      out.append(text.substr(i, point.length));
      ++n;
    }
    space = blank;
    i += point.length;
  }
  return out;
}

class Search {
 public:
  Search(const index::Index& index, const Options& options, agent::Config config, const Models::Available& models)
      : index_(index), options_(options), config_(std::move(config)), models_(models) {}

  Result<void> run(const Query& query) const {
    if (const auto bad = text::first_invalid(query.text)) {
      return fail(ErrorCode::invalid_text, fmt::format("query {} is not UTF-8 at byte {}", query.id, *bad), "query");
    }
    if (blank(query.text)) return fail(ErrorCode::invalid_argument, fmt::format("query {} is empty", query.id), "query");
    if (query.text.size() > agent::max_question_bytes) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("query {} has {} bytes; at most {} are taken", query.id, query.text.size(), agent::max_question_bytes), "query");
    }
    const auto start = std::chrono::steady_clock::now();
    auto retrieval_config = config_.retrieval;
    retrieval_config.list_length = std::max(retrieval_config.list_length, options_.top);
    retrieval::Retrieval retrieval(index_, query.text, retrieval_config);
    if (auto done = perform(retrieval, models_); !done) return done;
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::vector<retrieval::Candidate> kept = retrieval.ranked();
    if (kept.size() > options_.top) kept.resize(options_.top);
    if (!options_.trec.empty()) {
      write_trec(query, kept);
    } else if (options_.json) {
      write_json(query, retrieval, kept, ms);
    } else {
      write_text(query, kept, ms);
    }
    return {};
  }

 private:
  void write_trec(const Query& query, const std::vector<retrieval::Candidate>& kept) const {
    // trec_eval orders by score and breaks ties by id, so the score written is one that falls strictly with the rank.
    for (const auto& c : kept) {
      print(fmt::format("{} Q0 {} {} {} {}\n", trec_column(query.id), trec_column(index_.chunk_id(c.chunk)), c.rank, kept.size() + 1 - c.rank,
                        trec_column(options_.trec)));
    }
  }

  void write_json(const Query& query, const retrieval::Retrieval& retrieval, const std::vector<retrieval::Candidate>& kept, double ms) const {
    nlohmann::ordered_json line = nlohmann::ordered_json::object();
    if (query.named) line["id"] = query.id;
    line["query"] = query.text;
    line["results"] = nlohmann::ordered_json::array();
    for (const auto& c : kept) {
      const auto chunk = index_.chunk(c.chunk);
      line["results"].push_back({{"id", index_.chunk_id(c.chunk)},
                                 {"score", retrieval.order_score(c)},
                                 {"rank", c.rank},
                                 {"title", index_.document(chunk.document).title},
                                 {"url", index_.chunk_url(c.chunk)},
                                 {"text", chunk.text}});
    }
    line["ms"] = ms;
    print_json(line);
  }

  void write_text(const Query& query, const std::vector<retrieval::Candidate>& kept, double ms) const {
    const Palette colours = palette(1);
    if (options_.queries.size() != 1) {
      print(fmt::format("{}{}{}{}\n", colours.bold, query.named ? printable(query.id) + "  " : "", printable(query.text), colours.reset));
    }
    if (kept.empty()) print("  nothing found\n");
    for (const auto& c : kept) {
      const auto chunk = index_.chunk(c.chunk);
      print(fmt::format("{:>3}  {}{}{}{}  {}{}{}\n", c.rank, colours.bold, printable(index_.document(chunk.document).title), colours.reset,
                        chunk.heading_path.empty() ? "" : printable(fmt::format(" > {}", chunk.heading_path)), colours.accent,
                        printable(index_.chunk_id(c.chunk)), colours.reset));
      print(fmt::format("     {}{}{}\n", colours.dim, printable(excerpt(chunk.text, 160)), colours.reset));
    }
    print(fmt::format("{}{} results in {:.1f} ms{}\n", colours.dim, kept.size(), ms, colours.reset));
  }

  const index::Index& index_;
  const Options& options_;
  agent::Config config_;
  const Models::Available& models_;
};

ExitCode run(Context& context, Options& options) {
  for (const auto& assignment : options.set) {
    if (auto done = context.settings.set(assignment); !done) return report(done.error());
  }
  auto config = context.settings.agent_config(options.preset);
  if (!config) return report(config.error());
  if (!options.mode.empty()) {
    if (auto done = agent::set(*config, "RETRIEVAL_MODE", options.mode); !done) return report(done.error(), "--mode");
  }
  if (options.rerank) config->retrieval.use_reranker = true;
  if (options.no_rerank) config->retrieval.use_reranker = false;

  std::string file;
  auto opened = open_index(context.settings, options.index, file);
  if (!opened) return report(opened.error(), file);
  const index::Index& index = (*opened)->index;

  Models models(context.settings);
  Models::Available available;
  if (config->retrieval.mode != retrieval::Mode::bm25 || config->retrieval.use_reranker) {
    auto found = models.available(index);
    if (!found) return report(found.error(), file);
    available = std::move(*found);
    if (available.worker == nullptr) say("note: lexical search only: " + printable(available.why_missing));
  }

  const Search search(index, options, *config, available);
  std::uint64_t number = 0;
  const auto one = [&](std::string_view line) -> Result<void> { return search.run(parse_query(line, ++number)); };
  if (options.queries.size() == 1 && options.queries.front() == "-") options.queries.clear();
  for (const auto& query : options.queries) {
    if (auto done = search.run({std::to_string(++number), query}); !done) return report(done.error());
  }
  if (!options.queries.empty()) return ExitCode::done;
  say_waiting("queries, one a line,");
  const auto searched = each_line(std::cin, one);
  if (!searched) return report(searched.error(), "stdin");
  if (*searched == 0) return report({ErrorCode::invalid_argument, "holds no query; give one as an argument, or one a line"}, "stdin");
  return ExitCode::done;
}

}  // namespace

void add_search(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("search", "Rank passages for queries (arguments, or one a line on stdin)");
  command->add_option("QUERY", options->queries, "Queries; without any, or with -, one per line is read from stdin (`id<TAB>query` names it)");
  command->add_option("--index", options->index, "Index file (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--config", options->preset, "baseline, hybrid, hybrid_rerank, full or tuned")->capture_default_str();
  command->add_option("--set", options->set, "NAME=VALUE, may be repeated")->type_name("NAME=VALUE")->allow_extra_args(false);
  command->add_option("--mode", options->mode, "dense, bm25 or hybrid");
  auto* rerank = command->add_flag("--rerank", options->rerank, "Rerank with the cross-encoder");
  command->add_flag("--no-rerank", options->no_rerank, "Do not rerank")->excludes(rerank);
  command->add_option("--top", options->top, "How many passages")->check(CLI::Range(1, 1000))->capture_default_str();
  auto* json = command->add_flag("--json", options->json, "One JSON object per query");
  command->add_option("--trec", options->trec, "Write a TREC run with this tag")->type_name("TAG")->excludes(json);
  command->footer("Examples:\n  polygraph search --mode bm25 \"docker-compose.yml\"\n  polygraph search --json < queries.txt\n"
      "  polygraph search --trec mine --top 100 - < queries.tsv > run.trec");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
