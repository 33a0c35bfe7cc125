#include "wasm/agent/refusal.hpp"

#include <algorithm>
#include <string_view>

namespace polygraph::agent {
namespace {

/// Escapes what would end or start a Markdown link's text.
std::string link_text(std::string_view title) {
  std::string out;
  for (const char c : title) {
    if (c == '[' || c == ']' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '<') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::vector<Closest> closest_pages(const index::Index& index, std::span<const retrieval::Candidate> ranked) {
  std::vector<Closest> pages;
  std::vector<index::DocumentNo> seen;
  for (const retrieval::Candidate& candidate : ranked) {
    if (pages.size() == most_closest_pages) break;
    const index::DocumentNo number = index.chunk(candidate.chunk).document;
    if (std::find(seen.begin(), seen.end(), number) != seen.end()) continue;
    seen.push_back(number);
    const index::Document document = index.document(number);
    pages.push_back({std::string(document.title.empty() ? document.id : document.title), std::string(document.url)});
  }
  return pages;
}

std::string refusal_text(std::span<const Closest> closest) {
  std::string out = "I could not find this in the knowledge base.";
  if (closest.empty()) return out;
  out += " The closest pages:\n";
  for (const Closest& page : closest) {
    out += "\n- ";
    if (page.url.empty()) {
      out += link_text(page.title);
    } else {
      // Angle brackets hold any URL without line breaks or angle brackets (CommonMark 0.31, link destinations).
      out += "[" + link_text(page.title) + "](<";
      for (const char c : page.url) {
        if (c != '<' && c != '>' && c != '\n') out += c;
      }
      out += ">)";
    }
  }
  return out;
}

}  // namespace polygraph::agent
