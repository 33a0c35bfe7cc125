#include "index/beir.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "index/page_id.hpp"
#include "wasm/text/digest.hpp"
#include "wasm/text/sentences.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::corpus {
namespace {

using nlohmann::json;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

/// Paragraphs of plain text: what empty lines separate.
std::vector<Block> paragraphs(std::string_view text) {
  std::vector<Block> out;
  std::string current;
  const auto flush = [&] {
    if (current.empty()) return;
    Block block;
    block.text = std::move(current);
    current.clear();
    for (const text::Unit& unit : text::units(block.text)) {
      if (unit.begin > 0) block.cuts.push_back({unit.begin, finest_rank});
    }
    out.push_back(std::move(block));
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    if (line.empty()) {
      flush();
      continue;
    }
    if (!current.empty()) current += ' ';
    current += line;
  }
  flush();
  return out;
}

/// A string field; empty when it is missing or null. False when it is something else.
bool take_string(const json& object, const char* name, std::string& out) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return true;
  if (!found->is_string()) return false;
  out = found->get<std::string>();
  return true;
}

}  // namespace

Result<Corpus> read_beir(const std::filesystem::path& folder, const CorpusOptions& options) {
  const std::filesystem::path file = folder / "corpus.jsonl";
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(ErrorCode::not_found, file.string() + " cannot be opened: " + std::strerror(errno) + "; beir:DIR needs a folder with corpus.jsonl");

  Corpus corpus;
  std::string name = folder.filename().string();
  if (name.empty() || name == "." || name == "..") {
    std::error_code ignored;
    name = std::filesystem::weakly_canonical(folder, ignored).filename().string();
    if (name.empty()) name = std::filesystem::weakly_canonical(folder, ignored).parent_path().filename().string();
  }
  corpus.name = "beir:" + name;
  corpus.title = options.title.empty() ? name : options.title;
  corpus.licence = options.licence;

  std::set<std::string, std::less<>> ids;
  std::string line, digests;
  for (std::uint64_t number = 1; std::getline(in, line); ++number) {
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    digests += text::digest(line);
    if (trimmed(line).empty()) continue;
    ++corpus.counts.files;
    const auto skip = [&](const std::string& why) {
      corpus.skipped.push_back("corpus.jsonl line " + std::to_string(number) + ": " + why);
      ++corpus.counts.skipped;
    };
    if (text::first_invalid(line)) {
      skip("is not UTF-8");
      continue;
    }
    const json document = json::parse(line, nullptr, false);
    if (!document.is_object()) {
      skip("is not a JSON object");
      continue;
    }
    Page page;
    std::string body;
    if (!take_string(document, "_id", page.id) || page.id.empty()) {
      skip("its \"_id\" must be a string that is not empty");
      continue;
    }
    if (!take_string(document, "title", page.title)) {
      skip("its \"title\" must be a string");
      continue;
    }
    if (!take_string(document, "text", body)) {
      skip("its \"text\" must be a string");
      continue;
    }
    const auto metadata = document.find("metadata");
    std::string url;
    if (metadata != document.end() && metadata->is_object()) take_string(*metadata, "url", url);
    if (url.starts_with("https://") || url.starts_with("http://")) {
      page.url = std::move(url);
    } else if (!options.base_url.empty()) {
      page.url = options.base_url + url_path(page.id);
    }
    page.title = std::string(trimmed(page.title));
    page.source = "corpus.jsonl line " + std::to_string(number);
    Section section;
    section.blocks = paragraphs(body);
    if (section.blocks.empty()) section.blocks = paragraphs(page.title);
    if (section.blocks.empty()) {
      skip("document " + page.id + " has neither text nor title");
      continue;
    }
    if (!ids.insert(page.id).second) {
      skip("document " + page.id + " stands there already");
      continue;
    }
    page.sections.push_back(std::move(section));
    corpus.pages.push_back(std::move(page));
  }
  if (in.bad()) return fail(ErrorCode::io, file.string() + " cannot be read to its end");
  if (corpus.pages.empty()) {
    return fail(ErrorCode::not_found, file.string() + " holds no document" +
                                          (corpus.skipped.empty() ? std::string() : "; " + corpus.skipped.front()));
  }
  corpus.revision = text::digest(digests);
  return corpus;
}

}  // namespace polygraph::corpus
