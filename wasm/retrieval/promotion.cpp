#include "wasm/retrieval/promotion.hpp"

#include <algorithm>

namespace polygraph::retrieval {
namespace {

constexpr std::string_view white_space = " \t\r\n\v\f";

bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_word(char c) noexcept { return is_lower(c) || is_upper(c) || is_digit(c) || (static_cast<unsigned char>(c) & 0x80) != 0; }
char fold(char c) noexcept { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trim(std::string_view text, std::string_view dropped) noexcept {
  const auto first = text.find_first_not_of(dropped);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(dropped) - first + 1);
}

/// Whether the byte before or after an occurrence makes it a part of a longer identifier. A full stop does only when a
/// word goes on behind it, so an occurrence may end a sentence.
bool continues(std::string_view text, std::size_t begin, std::size_t end) noexcept {
  constexpr std::string_view joints = "_-/";
  const auto joins = [&](char c) { return is_word(c) || joints.find(c) != std::string_view::npos; };
  if (begin > 0 && is_word(text[begin])) {
    if (joins(text[begin - 1])) return true;
    if (text[begin - 1] == '.' && begin > 1 && is_word(text[begin - 2])) return true;
  }
  if (end < text.size()) {
    if (joins(text[end])) return true;
    if (text[end] == '.' && end + 1 < text.size() && is_word(text[end + 1])) return true;
  }
  return false;
}

Promotion literal_level(const LiteralSearch& search, std::string_view text) noexcept {
  auto level = Promotion::none;
  for (auto at = search.find(text); at != std::string_view::npos; at = search.find(text, at + 1)) {
    if (!continues(text, at, at + search.size())) return Promotion::literal;
    level = Promotion::literal_part;
  }
  return level;
}

std::string_view last_heading(std::string_view heading_path) noexcept {
  constexpr std::string_view between = " > ";
  const auto at = heading_path.rfind(between);
  return at == std::string_view::npos ? heading_path : heading_path.substr(at + between.size());
}

constexpr std::string_view closing = "?!.: \t";

std::string_view heading_form(std::string_view text) noexcept {
  const auto bare = trim(text, white_space);
  const auto last = bare.find_last_not_of(closing);
  return last == std::string_view::npos ? std::string_view{} : bare.substr(0, last + 1);
}

/// Whether the last heading of a path is the query, but for case, outer white space and closing punctuation. Its last
/// letter alone rules out most: every heading of the corpus is asked for every query.
bool is_last_heading(std::string_view heading_path, std::string_view folded_query) noexcept {
  std::size_t end = heading_path.size();
  while (end > 0 && closing.find(heading_path[end - 1]) != std::string_view::npos) --end;
  if (folded_query.empty() || end < folded_query.size() || fold(heading_path[end - 1]) != folded_query.back()) return false;
  const std::string_view heading = heading_form(last_heading(heading_path));
  return heading.size() == folded_query.size() &&
         std::equal(heading.begin(), heading.end(), folded_query.begin(), [](char x, char y) { return fold(x) == y; });
}

}  // namespace

std::optional<std::string_view> sole_identifier(std::string_view query) noexcept {
  auto bare = trim(query, " \t\r\n\v\f`'\"");
  while (!bare.empty() && (bare.back() == '?' || bare.back() == '!' || bare.back() == ',' || bare.back() == ';')) bare.remove_suffix(1);
  bare = trim(bare, "`'\"");
  if (bare.find_first_of(white_space) != std::string_view::npos) return std::nullopt;
  while (!bare.empty() && bare.back() == '.') bare.remove_suffix(1);
  if (std::none_of(bare.begin(), bare.end(), is_word)) return std::nullopt;
  if (bare.find_first_of("_.-/:=@0123456789") != std::string_view::npos) return bare;
  for (std::size_t i = 1; i < bare.size(); ++i) {
    if (is_lower(bare[i - 1]) && is_upper(bare[i])) return bare;
  }
  return std::nullopt;
}

LiteralSearch::LiteralSearch(std::string_view needle) : needle_(needle), shift_(256, needle.size()) {
  std::transform(needle_.begin(), needle_.end(), needle_.begin(), fold);
  for (std::size_t i = 0; i + 1 < needle_.size(); ++i) {
    const auto distance = needle_.size() - 1 - i;
    shift_[static_cast<unsigned char>(needle_[i])] = distance;
    if (is_lower(needle_[i])) shift_[static_cast<unsigned char>(needle_[i] - 'a' + 'A')] = distance;
  }
}

std::size_t LiteralSearch::find(std::string_view text, std::size_t from) const noexcept {
  const std::size_t last = needle_.size() - 1;
  for (std::size_t at = from; at + last < text.size(); at += shift_[static_cast<unsigned char>(text[at + last])]) {
    std::size_t i = last;
    while (fold(text[at + i]) == needle_[i]) {
      if (i == 0) return at;
      --i;
    }
  }
  return std::string_view::npos;
}

std::vector<Promotion> promotions(const index::Index& index, std::string_view query) {
  std::string wanted(heading_form(query));
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), fold);
  std::optional<LiteralSearch> search;
  if (const auto identifier = sole_identifier(query)) search.emplace(*identifier);

  std::vector<Promotion> levels(index.chunks(), Promotion::none);
  auto highest = Promotion::none;
  index::ChunkNo next = 0;
  for (index::DocumentNo d = 0; d < index.documents(); ++d) {
    const index::Document document = index.document(d);
    const bool is_title = is_last_heading(document.title, wanted);
    for (std::uint32_t i = 0; i < document.chunk_count; ++i, ++next) {
      const index::Chunk chunk = index.chunk(next);
      const bool is_heading = chunk.heading_path.empty() ? is_title : is_last_heading(chunk.heading_path, wanted);
      auto& level = levels[next];
      if (is_heading) {
        level = Promotion::heading;
      } else if (search) {
        level = literal_level(*search, chunk.text);
        if (level != Promotion::literal) level = std::max(level, literal_level(*search, chunk.heading_path));
      }
      highest = std::max(highest, level);
    }
  }
  if (highest == Promotion::none) levels.clear();
  return levels;
}

}  // namespace polygraph::retrieval
