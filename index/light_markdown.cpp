#include "index/light_markdown.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <utf8proc.h>

#include "wasm/text/sentences.hpp"

namespace polygraph::corpus {
namespace {

/// Paragraphs longer than this are marked where their sentences end. The chunker cuts only what is longer.
constexpr std::size_t sentences_from = 1'000;

}  // namespace

std::string code_span(std::string_view code) {
  std::set<std::size_t> runs;
  std::size_t run = 0;
  for (const char c : code) {
    if (c != '`' && run > 0) runs.insert(run);
    run = c == '`' ? run + 1 : 0;
  }
  if (run > 0) runs.insert(run);
  std::size_t length = 1;
  while (runs.contains(length)) ++length;
  const std::string ticks(length, '`');
  const bool padded = code.starts_with('`') || code.ends_with('`');
  return ticks + (padded ? " " : "") + std::string(code) + (padded ? " " : "") + ticks;
}

void mark_sentences(Block& block) {
  if (block.text.size() < sentences_from) return;
  for (const text::Unit& unit : text::units(block.text)) {
    if (unit.begin > 0) block.cuts.push_back({unit.begin, finest_rank});
  }
}

bool same_words(std::string_view a, std::string_view b) {
  const auto folded = [](std::string_view text) {
    utf8proc_uint8_t* mapped = nullptr;
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                                     &mapped, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD));
    std::string out = length < 0 ? std::string(text) : std::string(reinterpret_cast<char*>(mapped), static_cast<std::size_t>(length));
    std::free(mapped);
    std::erase_if(out, [](char c) { return c == ' ' || c == '\t'; });
    return out;
  };
  return folded(a) == folded(b);
}

std::string capitalised(std::string_view label) {
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string out(label);
  if (out.empty() || (std::any_of(out.begin(), out.end(), upper) && std::any_of(out.begin(), out.end(), lower))) return out;
  for (char& c : out) {
    if (upper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  if (lower(out.front())) out.front() = static_cast<char>(out.front() - 'a' + 'A');
  return out;
}

}  // namespace polygraph::corpus
