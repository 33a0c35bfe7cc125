// A bound from above on what any of the tokenizers in use makes of a text.
//
// They are byte-pair encodings over bytes, so a token covers at least one byte: bytes are a bound. Two things tighten it
// where most of a prompt's text is. A common English word is one token together with the space before it. In a run of
// small letters two neighbouring tokens are never both single letters, unless that pair is one that some vocabulary lacks:
// all others would have been merged. A token that reaches over the end of a run is counted where it begins.
#include <algorithm>
#include <cstddef>

#include "proxy/tasks/common_words.hpp"
#include "proxy/tasks/tasks.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::proxy {
namespace {

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter_or_more(char c) { return is_small(c) || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80; }

/// Most tokens of a run of small letters, with the space before it where `after_space`. `open`: a token may begin in the
/// run and end behind it.
std::uint64_t most_of_run(std::string_view run, bool after_space, bool open) {
  // Most tokens of the letters so far: with a single letter (or the space) as the last token, or with a longer one.
  std::uint64_t single = 1, longer = 0;
  std::uint64_t closed_before = 0;  // the best without the last letter
  for (std::size_t i = after_space ? 0 : 1; i < run.size(); ++i) {
    const bool stays_apart = i > 0 && is_rare_pair(run[i - 1], run[i]);
    const std::uint64_t before = closed_before;
    closed_before = std::max(single, longer);
    const std::uint64_t next_single = (stays_apart ? closed_before : longer) + (longer > 0 || stays_apart ? 1 : 0);
    longer = before + 1;  // covers two letters; covering more never gives more tokens
    single = next_single;
  }
  const std::uint64_t whole = std::max(single, longer);
  return open ? std::max(whole, closed_before + 1) : whole;
}

/// Code points that normalisation to NFC, which some tokenizers begin with, makes longer: at most threefold.
bool grows(char32_t c) {
  return (c >= 0x340 && c <= 0x344) || c == 0x374 || c == 0x37E || c == 0x387 || (c >= 0x958 && c <= 0x95F) || (c >= 0x9DC && c <= 0x9DF) ||
         (c >= 0xA33 && c <= 0xA5E) || (c >= 0xB5C && c <= 0xB5D) || (c >= 0xF43 && c <= 0xFB9) || c == 0x2ADC || (c >= 0xFB1D && c <= 0xFB4E) ||
         (c >= 0x1D15E && c <= 0x1D164) || (c >= 0x1D1BB && c <= 0x1D1C0) || (c >= 0x2F800 && c <= 0x2FA1D);
}

}  // namespace

std::uint64_t most_tokens(std::string_view text) {
  std::uint64_t tokens = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ') {
      std::size_t end = std::min(text.find_first_not_of(' ', at), text.size());
      const bool leads = end < text.size() && is_small(text[end]);
      if (leads) --end;  // the last space belongs to the word
      // A run of spaces is one token up to 79 of them, and two where a word or line end takes the last.
      const std::uint64_t spaces = end - at;
      tokens += std::min<std::uint64_t>(spaces, 2 + spaces / 8);
      at = end;
      if (!leads) continue;
    }
    const bool after_space = text[at] == ' ';
    const std::size_t begin = at + (after_space ? 1 : 0);
    if (begin < text.size() && is_small(text[begin])) {
      std::size_t end = begin;
      while (end < text.size() && is_small(text[end])) ++end;
      const std::string_view run = text.substr(begin, end - begin);
      const bool followed = end < text.size() && (is_letter_or_more(text[end]) || text[end] == '\'');
      if (after_space && !followed && is_common_word(run)) {
        tokens += 1;
      } else {
        // 's, 'll and their like are cut from what follows them.
        const bool contraction = begin > 0 && text[begin - 1] == '\'';
        tokens += most_of_run(run, after_space, followed) + (contraction ? 1 : 0);
      }
      at = end;
      continue;
    }
    const text::CodePoint point = text::decode(text, at);
    constexpr std::uint64_t replacement_bytes = 3;  // ill-formed bytes go out as U+FFFD
    tokens += !point.valid ? replacement_bytes * point.length : (grows(point.value) ? 3U * point.length : point.length);
    at += point.length;
  }
  return tokens;
}

}  // namespace polygraph::proxy
