#include "cli/dataset.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "cli/console.hpp"
#include "cli/mapped_file.hpp"
#include "wasm/golden/table.hpp"
#include "wasm/golden/trec.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;

/// The qrels file of a split, or of the only one.
Result<fs::path> qrels_of(const fs::path& folder, const std::string& split) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".tsv") names.push_back(entry->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  std::string wanted = split;
  if (wanted.empty()) wanted = names.size() == 1 ? names.front() : "test";
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return folder / (wanted + ".tsv");
  std::string known;
  for (const auto& name : names) known += (known.empty() ? "" : ", ") + name;
  return fail(ErrorCode::not_found, fmt::format("has no {}.tsv; {}", wanted, known.empty() ? "it holds no qrels" : "there are " + known));
}

Result<Dataset> read_collection(const fs::path& folder, const std::string& split, std::string& file_of_error) {
  const bool beir = fs::exists(folder / "queries.jsonl");
  if (!beir && !fs::exists(folder / "queries.tsv")) {
    return fail(ErrorCode::not_found, "the folder holds neither queries.jsonl (BEIR) nor queries.tsv (TREC)");
  }
  const fs::path queries_file = folder / (beir ? "queries.jsonl" : "queries.tsv");
  fs::path qrels_file = folder / "qrels.txt";
  if (beir) {
    file_of_error = (folder / "qrels").string();
    auto found = qrels_of(folder / "qrels", split);
    if (!found) return tl::unexpected(found.error());
    qrels_file = *found;
  }
  file_of_error = queries_file.string();
  auto queries = read_text(queries_file.string());
  if (!queries) return tl::unexpected(queries.error());
  file_of_error = qrels_file.string();
  auto qrels = read_text(qrels_file.string());
  if (!qrels) return tl::unexpected(qrels.error());
  file_of_error = folder.string();
  auto collection = beir ? golden::read_beir(*queries, *qrels) : golden::read_trec(*queries, *qrels);
  if (!collection) return tl::unexpected(collection.error());
  return Dataset{std::move(collection->checked), std::move(collection->unjudged)};
}

}  // namespace

Result<Dataset> read_dataset(const std::string& path, const std::string& split, std::string& file_of_error) {
  file_of_error = path == "-" ? "stdin" : path;
  std::error_code ignored;
  if (path != "-" && fs::is_directory(path, ignored)) return read_collection(path, split, file_of_error);
  auto text = read_text(path);
  if (!text) return tl::unexpected(text.error());
  auto checked = golden::read(*text);
  if (!checked) return tl::unexpected(checked.error());
  return Dataset{std::move(*checked), {}};
}

std::string problem_text(std::string_view file, const golden::Problem& problem) {
  std::string out(file);
  if (problem.line != 0) out += fmt::format(":{}", problem.line);
  if (!problem.item.empty()) out += fmt::format(": item \"{}\"", problem.item);
  if (!problem.field.empty()) out += ": " + problem.field;
  out += ": " + problem.message;
  std::replace(out.begin(), out.end(), '\n', ' ');
  return printable(out);
}

Result<golden::Set> read_valid_dataset(const std::string& path, const std::string& split, std::string& file_of_error) {
  auto dataset = read_dataset(path, split, file_of_error);
  if (!dataset) return tl::unexpected(dataset.error());
  if (!dataset->unjudged.empty()) say(fmt::format("note: {} queries without a judgement are left out", dataset->unjudged.size()));
  auto& checked = dataset->checked;
  // The first is the failure itself, which the caller reports.
  for (std::size_t i = 1; i < checked.errors.size(); ++i) say("error: " + problem_text(file_of_error, checked.errors[i]));
  return golden::valid_set(std::move(checked));
}

std::string text_in_its_form(const golden::Set& set) {
  switch (set.form) {
    case golden::Form::samples: return golden::write_samples(set);
    case golden::Form::table: return golden::write_table(set).text;
    case golden::Form::items:
    case golden::Form::trec:
    case golden::Form::beir: break;
  }
  return golden::write_items(set);
}

}  // namespace polygraph::cli
