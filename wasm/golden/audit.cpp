#include "wasm/golden/audit.hpp"

#include <map>
#include <optional>
#include <set>

#include "wasm/golden/remap.hpp"
#include "wasm/index/page_id.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph::golden {
namespace {

/// Distinct terms, each with the word that it was first met as.
using Words = std::map<std::string, std::string>;

Words content_words(std::string_view text, text::Analysis analysis) {
  Words out;
  for (auto& term : text::terms(text, analysis)) {
    if (term.whole) out.emplace(std::move(term.text), text.substr(term.begin, term.end - term.begin));
  }
  return out;
}

/// The words of `a` whose terms `b` has too.
std::vector<std::string> common(const Words& a, const Words& b) {
  std::vector<std::string> out;
  for (const auto& [term, word] : a) {
    if (b.contains(term)) out.push_back(word);
  }
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string page_id(std::string_view reference) { return index::page_id_of_reference(reference); }

/// Ids of the pages that an item rests on.
std::set<std::string> pages_of(const Item& item) {
  std::set<std::string> out;
  for (const auto& id : item.relevant_chunk_ids) out.insert(page_id(page_of(id)));
  for (const auto& page : item.relevant_pages) out.insert(page_id(page));
  if (!item.source_chunk_id.empty()) out.insert(page_id(page_of(item.source_chunk_id)));
  return out;
}

std::optional<std::string> title_of(const index::Index& index, std::string_view page) {
  const auto found = index.find_document(page);
  if (!found) return std::nullopt;
  return std::string(index.document(*found).title);
}

std::optional<std::string> source_heading(const index::Index& index, const Item& item) {
  const std::string& chunk_id = item.source_chunk_id.empty() && !item.relevant_chunk_ids.empty() ? item.relevant_chunk_ids.front() : item.source_chunk_id;
  if (!chunk_id.empty()) {
    const auto found = index.find_chunk(chunk_id);
    if (!found) return std::nullopt;
    const auto chunk = index.chunk(*found);
    constexpr std::string_view separator = " > ";
    const auto last = chunk.heading_path.rfind(separator);
    if (!chunk.heading_path.empty()) return std::string(last == std::string_view::npos ? chunk.heading_path : chunk.heading_path.substr(last + separator.size()));
    return std::string(index.document(chunk.document).title);
  }
  return item.relevant_pages.empty() ? std::nullopt : title_of(index, page_id(item.relevant_pages.front()));
}

}  // namespace

Audit audit(const Set& set, const index::Index& index, const Set* development, const AuditLimits& limits) {
  Audit out;
  const auto analysis = index.metadata().analysis;
  std::map<std::string, std::string> development_pages;  // page and one of its items
  if (development != nullptr) {
    for (const auto& item : development->items) {
      for (auto& page : pages_of(item)) development_pages.emplace(page, item.id);
    }
  }
  Set counted = set;
  std::erase_if(counted.items, [](const Item& item) { return item.rejected; });
  for (const auto& item : counted.items) {
    const auto find = [&](const char* rule, const char* field, std::string message) {
      out.findings.push_back({rule, {item.id, item.line, field, std::move(message)}});
    };
    ++out.items;
    if (item.type == ItemType::answerable) ++out.answerable;
    if (item.type == ItemType::vague) ++out.vague;
    if (item.type == ItemType::unanswerable) ++out.unanswerable;
    const std::size_t needed = item.relevant_chunk_ids.empty() ? item.relevant_pages.size() : item.relevant_chunk_ids.size();
    if (item.type == ItemType::answerable && needed >= 2) ++out.two_chunks;

    const auto question = content_words(item.question, analysis);
    if (const auto heading = source_heading(index, item)) {
      const auto shared = common(question, content_words(*heading, analysis));
      if (2 * shared.size() > question.size()) {
        find("heading", "question", std::to_string(shared.size()) + " of " + std::to_string(question.size()) + " content words (" + joined(shared) +
                                        ") stand in its source heading \"" + *heading + "\"");
      }
    }
    if (item.type == ItemType::vague) {
      const auto pages = item.source_chunk_id.empty() ? pages_of(item) : std::set<std::string>{page_id(page_of(item.source_chunk_id))};
      for (const auto& page : pages) {
        const auto title = title_of(index, page);
        const auto shared = title ? common(question, content_words(*title, analysis)) : std::vector<std::string>{};
        if (!shared.empty()) find("title", "question", "a vague question names " + joined(shared) + " of its page's title \"" + *title + "\"");
      }
    }
    for (const auto& page : pages_of(item)) {
      const auto found = development_pages.find(page);
      if (found != development_pages.end()) find("disjoint", "relevant_chunk_ids", "page \"" + page + "\" is one of development item \"" + found->second + "\"");
    }
  }
  const auto least = [&](std::size_t have, std::size_t wanted, const char* what) {
    if (have < wanted) {
      out.findings.push_back({"count", {"", 0, "", std::string("has ") + std::to_string(have) + " " + what + "; at least " + std::to_string(wanted) + " are needed"}});
    }
  };
  least(out.items, limits.items, "items");
  least(out.answerable, limits.answerable, "answerable items");
  least(out.vague, limits.vague, "vague items");
  least(out.unanswerable, limits.unanswerable, "unanswerable items");
  if (4 * out.two_chunks < out.answerable) {
    out.findings.push_back({"two_chunks", {"", 0, "relevant_chunk_ids", std::to_string(out.two_chunks) + " of " + std::to_string(out.answerable) +
                                                                              " answerable items need two chunks or more; a quarter must"}});
  }
  Checked checked;
  checked.set = std::move(counted);
  check_against(index, checked);
  for (auto& warning : checked.warnings) {
    const bool gone = warning.message.starts_with("the index has no");
    out.findings.push_back({gone ? "index" : "digest", std::move(warning)});
  }
  return out;
}

}  // namespace polygraph::golden
