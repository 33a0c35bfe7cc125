// `polygraph golden convert`: a golden set from one form into another. What the other form can't hold is named.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/golden/subcommands.hpp"
#include "cli/dataset.hpp"
#include "cli/whole_file.hpp"
#include "cli/index_store.hpp"
#include "wasm/golden/conversion.hpp"
#include "wasm/golden/trec.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Options {
  std::string dataset, out, to, index, split, name, version;
  bool json = false;
};

/// The form that a file's name speaks of; empty for none.
std::string form_of(const fs::path& file) {
  const std::string extension = file.extension().string();
  if (extension == ".jsonl" || extension == ".ndjson") return "items";
  if (extension == ".json") return "samples";
  if (extension == ".csv" || extension == ".tsv") return extension.substr(1);
  return {};
}

struct File {
  fs::path path;
  std::string text;
};

/// A collection's corpus: every chunk of the index.
std::string corpus_of(const index::Index& index) {
  std::string out;
  for (index::ChunkNo c = 0; c < index.chunks(); ++c) {
    const auto chunk = index.chunk(c);
    out += golden::beir_document(index.chunk_id(c), index.document(chunk.document).title, chunk.text);
  }
  return out;
}

ExitCode run(Context& context, const Options& options) {
  const std::string to = options.to.empty() ? form_of(options.out) : options.to;
  if (to.empty()) {
    return report({ErrorCode::invalid_argument, "\"" + options.out + "\" names no form; give --to items, samples, ragdiag, trec, beir, csv or tsv", "--to"});
  }
  if (!options.index.empty() && to != "beir") return report({ErrorCode::invalid_argument, "is only for --to beir, whose corpus it gives", "--index"});
  if (options.out == "-" && (to == "trec" || to == "beir")) return report({ErrorCode::invalid_argument, to + " is a folder of files, not a stream", "--out"});
  if (options.out == "-" && options.json) return report({ErrorCode::invalid_argument, "both want stdout", "--json and --out -"});

  std::string file;
  auto set = read_valid_dataset(options.dataset, options.split, file);
  if (!set) return report(set.error(), file);
  if (!options.name.empty()) set->name = options.name;
  if (!options.version.empty()) set->version = options.version;

  if (to == "ragdiag" && set->name.empty() && options.dataset != "-") set->name = fs::path(options.dataset).stem().string();
  auto converted = golden::convert(std::move(*set), to);
  if (!converted) return report(converted.error(), file);
  if (converted->ragdiag_refuses > 0) {
    say(fmt::format("note: RAGDiag would refuse {} of {} samples; --to ragdiag leaves them out and names them", converted->ragdiag_refuses, converted->items));
  }
  std::vector<File> files;
  for (auto& each : converted->files) files.push_back({each.name.empty() ? fs::path(options.out) : fs::path(options.out) / each.name, std::move(each.text)});
  if (to == "beir" && options.index.empty()) say("note: corpus.jsonl is not written; --index gives the chunks for it");
  if (!options.index.empty()) {
    std::string index_file;
    auto opened = open_index(context.settings, options.index, index_file);
    if (!opened) return report(opened.error(), index_file);
    files.push_back({fs::path(options.out) / "corpus.jsonl", corpus_of((*opened)->index)});
  }

  for (const auto& each : converted->left_out) say("left out: " + problem_text(file, each));
  if (converted->written == 0) return report({ErrorCode::invalid_json, "holds no item that " + to + " can hold; nothing is written"}, file);
  for (const auto& each : files) {
    std::error_code error;
    if (to == "trec" || to == "beir") fs::create_directories(each.path.parent_path(), error);
    if (error) return report({ErrorCode::io, "can't be made: " + error.message()}, each.path.parent_path().string());
    if (auto done = write_whole(each.path, each.text); !done) return report(done.error(), each.path.string());
  }
  if (options.json) {
    Json list = Json::array(), paths = Json::array();
    for (const auto& each : converted->left_out) {
      list.push_back({{"item", each.item}, {"field", each.field.empty() ? Json(nullptr) : Json(each.field)}, {"message", each.message}});
    }
    for (const auto& each : files) paths.push_back(each.path.string());
    print_json({{"form", to}, {"items", converted->items}, {"written", converted->written}, {"files", std::move(paths)}, {"left_out", std::move(list)}});
  } else {
    say(fmt::format("{} of {} items written to {}", converted->written, converted->items, options.out == "-" ? "stdout" : printable(options.out)));
  }
  return ExitCode::done;
}

}  // namespace

void add_golden_convert(CLI::App& golden, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = golden.add_subcommand("convert", "Convert a golden set between its forms; what doesn't fit is named");
  command->add_option("--dataset", options->dataset, "JSON Lines, JSON samples, CSV or TSV (- for stdin), or a folder in BEIR's or TREC's layout")
      ->type_name("FILE")->required();
  command->add_option("--out", options->out, "File to write (- for stdout); a folder for trec and beir")->type_name("FILE")->required();
  command->add_option("--to", options->to, "items, samples (both lossless), ragdiag (samples without those that RAGDiag refuses), trec, beir, csv or tsv; default: by the name of --out")
      ->type_name("FORM")->check(CLI::IsMember({"items", "samples", "ragdiag", "trec", "beir", "csv", "tsv"}));
  command->add_option("--index", options->index, "Index whose chunks become corpus.jsonl (beir)")->type_name("FILE");
  command->add_option("--split", options->split, "Which qrels of a BEIR folder to read (default: test)")->type_name("NAME");
  command->add_option("--name", options->name, "Name of the set, instead of its own")->type_name("NAME");
  command->add_option("--set-version", options->version, "Version of the set, instead of its own")->type_name("VERSION");
  command->add_flag("--json", options->json, "What was written and left out, as one JSON object on stdout");
  command->footer("Examples:\n  polygraph golden convert --dataset questions.jsonl --out questions.json\n"
                  "  polygraph golden convert --dataset beir/scifact --out scifact.jsonl");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
