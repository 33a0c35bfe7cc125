#include "wasm/agent/citations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wasm/text/sentences.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::agent {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// `path/of/page#NNN`: no white space, three digits or more after the last `#`.
bool looks_like_id(std::string_view text) {
  const std::size_t hash = text.rfind('#');
  if (hash == std::string_view::npos || hash == 0 || text.size() - hash - 1 < 3) return false;
  for (const char c : text.substr(hash + 1)) {
    if (c < '0' || c > '9') return false;
  }
  return std::none_of(text.begin(), text.end(), [](char c) { return is_space(c) || c == '[' || c == ']'; });
}

constexpr std::string_view wide_open = "\xE3\x80\x90";   // 【
constexpr std::string_view wide_close = "\xE3\x80\x91";  // 】

struct Bracket {
  std::size_t begin = 0, end = 0;  ///< bytes of the draft, brackets included
  std::vector<std::string_view> ids;
};

/// The next bracket at or after `from` that holds nothing but chunk ids.
std::optional<Bracket> next_bracket(std::string_view draft, std::size_t from) {
  // Longer than any list of chunk ids worth citing; keeps a draft full of opening brackets linear.
  constexpr std::size_t longest = 2048;
  for (std::size_t at = from; at < draft.size(); ++at) {
    const bool wide = draft.substr(at, wide_open.size()) == wide_open;
    if (!wide && draft[at] != '[') continue;
    const std::string_view close = wide ? wide_close : std::string_view("]");
    const std::size_t inner = at + (wide ? wide_open.size() : 1);
    const std::size_t length = draft.substr(inner, longest).find(close);
    if (length == std::string_view::npos) continue;
    Bracket bracket{at, inner + length + close.size(), {}};
    std::string_view list = draft.substr(inner, length);
    bool sound = true;
    while (sound) {
      const std::size_t comma = list.find_first_of(",;");
      const std::string_view id = trimmed(list.substr(0, comma));
      sound = looks_like_id(id);
      if (sound) bracket.ids.push_back(id);
      if (comma == std::string_view::npos) break;
      list.remove_prefix(comma + 1);
    }
    if (sound) return bracket;
  }
  return std::nullopt;
}

void add_once(std::vector<std::string>& ids, std::string_view id) {
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.emplace_back(id);
}

}  // namespace

Citation citation_of(const index::Index& index, index::ChunkNo chunk) {
  Citation citation;
  citation.chunk_id = index.chunk_id(chunk);
  citation.title = index.document(index.chunk(chunk).document).title;
  citation.url = index.chunk_url(chunk);
  return citation;
}

CheckedAnswer check_citations(const index::Index& index, std::string_view draft, std::span<const std::string> context_ids) {
  CheckedAnswer checked;
  struct Span {
    std::size_t begin = 0, end = 0;  // bytes of checked.text
  };
  std::vector<Span> spans;
  Span last;
  std::size_t read = 0;           // bytes of the draft that were taken over
  std::size_t uncited_begin = 0;  // where the text since the last citation begins in checked.text
  while (const auto bracket = next_bracket(draft, read)) {
    checked.text += draft.substr(read, bracket->begin - read);
    read = bracket->end;

    const std::string_view before = trimmed(std::string_view(checked.text).substr(uncited_begin));
    // What only closes a sentence ("…" [a#001]. [b#002]) is no text of its own.
    const bool own_text = std::any_of(before.begin(), before.end(), [](char c) { return !is_space(c) && c != '.' && c != ',' && c != ';'; });
    if (own_text) {
      const std::size_t begin = static_cast<std::size_t>(before.data() - checked.text.data());
      last = {begin, begin + before.size()};
      if (const auto units = text::units(before); !units.empty()) last = {begin + units.back().begin, begin + units.back().end};
    }
    bool any = false;
    for (const std::string_view id : bracket->ids) {
      const bool in_context = std::find(context_ids.begin(), context_ids.end(), id) != context_ids.end();
      const auto chunk = in_context ? index.find_chunk(id) : std::nullopt;
      if (!chunk) {
        add_once(checked.dropped_ids, id);
        continue;
      }
      checked.text += any ? " [" : "[";
      checked.text += id;
      checked.text += ']';
      any = true;
      add_once(checked.cited_ids, id);
      checked.citations.push_back(citation_of(index, *chunk));
      spans.push_back(last);
    }
    if (any) {
      uncited_begin = checked.text.size();
    } else {
      // The space before a citation that was taken out goes with it.
      const bool space_follows = read == draft.size() || is_space(draft[read]) || draft[read] == '.' || draft[read] == ',';
      while (space_follows && checked.text.size() > uncited_begin && checked.text.back() == ' ') checked.text.pop_back();
    }
  }
  checked.text += draft.substr(read);
  while (!checked.text.empty() && is_space(checked.text.back())) checked.text.pop_back();

  // Byte spans to code points in one walk: spans repeat, but never run backwards.
  std::size_t at = 0;
  std::size_t points = 0;
  const auto points_at = [&](std::size_t byte) {
    points += text::code_points(std::string_view(checked.text).substr(at, byte - at));
    at = byte;
    return static_cast<std::uint32_t>(points);
  };
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i > 0 && spans[i].begin == spans[i - 1].begin) {
      checked.citations[i].begin = checked.citations[i - 1].begin;
      checked.citations[i].end = checked.citations[i - 1].end;
      continue;
    }
    checked.citations[i].begin = points_at(spans[i].begin);
    checked.citations[i].end = points_at(spans[i].end);
  }
  return checked;
}

}  // namespace polygraph::agent
