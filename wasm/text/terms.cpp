#include "wasm/text/terms.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <unordered_set>
#include <utility>

#include "wasm/text/stemmer.hpp"
#include "wasm/text/unicode/properties.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::text {
namespace {

constexpr std::array<std::string_view, 87> stop_words = {
    "a",    "about", "am",   "an",   "and",   "any",   "are",  "as",    "at",    "be",    "been",  "but",   "by",    "can",
    "could", "did",  "do",   "does", "for",   "from",  "get",  "go",    "going", "got",   "had",   "has",   "have",  "how",
    "i",    "if",    "im",   "in",   "into",  "is",    "it",   "its",   "ive",   "just",  "me",    "my",    "need",  "no",
    "not",  "of",    "on",   "or",   "our",   "please", "shall", "should", "so", "some",  "tell",  "than",  "that",  "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "to",    "too",   "up",    "us",    "use",   "used",
    "using", "want", "was",  "we",   "were",  "what",  "when", "where", "which", "while", "who",   "why",   "will",  "with",
    "would", "you",  "your"};

enum class Kind : std::uint8_t {
  separator,
  lower,      ///< a letter that is no capital, of any script
  capital,
  digit,
  connector,  ///< `_ . - /`: inside an identifier it joins, at either end it separates
  cjk,        ///< written without spaces: Han, kana, Hangul, Bopomofo
  apostrophe,
  ignored,    ///< neither counts nor separates: stripped accents, soft hyphens, joiners
};

constexpr bool is_word(Kind kind) noexcept {
  return kind == Kind::lower || kind == Kind::capital || kind == Kind::digit;
}

constexpr Kind ascii_kind(char32_t c) noexcept {
  if (c >= 'a' && c <= 'z') return Kind::lower;
  if (c >= 'A' && c <= 'Z') return Kind::capital;
  if (c >= '0' && c <= '9') return Kind::digit;
  if (c == '_' || c == '.' || c == '-' || c == '/') return Kind::connector;
  return c == '\'' ? Kind::apostrophe : Kind::separator;
}

constexpr bool between(char32_t c, char32_t first, char32_t last) noexcept { return c >= first && c <= last; }

constexpr bool is_cjk(char32_t c) noexcept {
  return c == U'々' || c == U'〇' || between(c, 0x3041, 0x309F) || (between(c, 0x30A1, 0x30FF) && c != U'・') ||
         between(c, 0x3105, 0x312F) || between(c, 0x31A0, 0x31BF) || between(c, 0x31F0, 0x31FF) ||
         between(c, 0xAC00, 0xD7A3) || between(c, 0xFF66, 0xFF9F);
}

/// Accents are stripped, so that "cafe" finds "café". Vowel signs and viramas of the Indic scripts and of Thai, Lao and
/// Tibetan are nonspacing marks too, but carry the word: those have class 0 or 9, or one of 84 to 132.
bool carries_the_word(char32_t mark) noexcept {
  const std::uint8_t combining = unicode::combining_class(mark);
  return (combining == 0 || combining == 9 || between(combining, 84, 132)) &&
         (between(mark, 0x0900, 0x1C7F) || between(mark, 0xA800, 0xABFF) || between(mark, 0x11000, 0x11FFF));
}

Kind kind_beyond_ascii(char32_t c) noexcept {
  switch (c) {
    case 0x2018: case 0x2019: case 0x02BC: case 0xFF07: return Kind::apostrophe;
    case 0x2010: case 0x2011: return Kind::connector;  // hyphens
    case 0x00AD: case 0x200C: case 0x200D: case 0x2060: case 0xFEFF: return Kind::ignored;
    default: break;
  }
  if (is_cjk(c)) return Kind::cjk;
  const std::uint8_t properties = unicode::properties(c);
  if (properties & unicode::ideograph) return Kind::cjk;
  if (properties & unicode::mark) return carries_the_word(c) ? Kind::lower : Kind::ignored;
  if (properties & unicode::digit) return Kind::digit;
  if (properties & unicode::letter) return unicode::is_capital(c) ? Kind::capital : Kind::lower;
  return Kind::separator;
}

/// Full-width forms of ASCII become ASCII.
constexpr char32_t narrow(char32_t c) noexcept {
  return between(c, 0xFF10, 0xFF19) || between(c, 0xFF21, 0xFF3A) || between(c, 0xFF41, 0xFF5A) ? c - 0xFEE0 : c;
}

class Scanner {
 public:
  Scanner(std::string_view text, Analysis analysis) : text_(text), english_(analysis == Analysis::english) {}

  std::vector<Term> scan() {
    for (std::size_t at = 0; at < text_.size();) {
      const Read read = read_at(at);
      if (read.kind == Kind::apostrophe && english_) {
        at = apostrophe(at, read.end);
        continue;
      }
      at = read.end;
      switch (read.kind) {
        case Kind::lower:
        case Kind::capital:
        case Kind::digit:
        case Kind::connector:
          finish_cjk();
          add(read);
          break;
        case Kind::cjk:
          finish_run();
          cjk_.push_back({read.begin, read.end});
          break;
        case Kind::ignored:
          if (!run_.empty()) run_.back().end = read.end;
          break;
        case Kind::apostrophe:
        case Kind::separator:
          finish_run();
          finish_cjk();
          break;
      }
    }
    finish_run();
    finish_cjk();
    return std::move(terms_);
  }

 private:
  struct Read {
    char32_t code_point;
    Kind kind;
    std::size_t begin, end;
  };

  struct Character {
    std::size_t at;  ///< of its first byte in folded_
    std::size_t begin, end;
    Kind kind;
  };

  /// Characters [first, last) of the run.
  struct Slice {
    std::size_t first, last;
  };

  Read read_at(std::size_t at) const noexcept {
    const auto byte = static_cast<std::uint8_t>(text_[at]);
    if (byte < 0x80) return {byte, ascii_kind(byte), at, at + 1};
    const CodePoint point = decode(text_, at);
    const char32_t c = narrow(point.value);
    return {c, c < 0x80 ? ascii_kind(c) : kind_beyond_ascii(c), at, at + point.length};
  }

  bool is_word_at(std::size_t at) const noexcept {
    return at < text_.size() && (text_[at] == '_' || is_word(read_at(at).kind));
  }

  /// `'s` vanishes and `n't` becomes ` not` where a word ends after them; any other apostrophe separates.
  std::size_t apostrophe(std::size_t begin, std::size_t end) {
    const char next = end < text_.size() ? text_[end] : '\0';
    if ((next == 's' || next == 'S') && !is_word_at(end + 1)) return end + 1;
    const bool negation = (next == 't' || next == 'T') && !is_word_at(end + 1) && !run_.empty() &&
                          run_.back().end == begin && folded_.ends_with('n');
    if (negation) {
      const Character n = run_.back();
      run_.pop_back();
      folded_.pop_back();
      finish_run();
      // "not" is written in three places: n, the apostrophe, t.
      push(U'n', {n.begin, n.end}, Kind::lower);
      push(U'o', {begin, end}, Kind::lower);
      push(U't', {end, end + 1}, Kind::lower);
      return end + 1;
    }
    finish_run();
    finish_cjk();
    return end;
  }

  void add(const Read& read) {
    const auto [c, kind, begin, end] = read;
    if (c < 0x80) {
      push(kind == Kind::capital ? c + ('a' - 'A') : c, {begin, end}, kind);
    } else if (kind == Kind::connector) {
      push(U'-', {begin, end}, kind);
    } else if (unicode::properties(c) & unicode::mark) {
      push(c, {begin, end}, kind);
    } else {
      const unicode::Folded folded = unicode::fold(c);
      for (std::uint8_t i = 0; i < folded.count; ++i) push(folded.code_points[i], {begin, end}, kind);
    }
  }

  void push(char32_t folded, Slice source, Kind kind) {
    if (kind == Kind::connector && run_.empty()) return;  // `--rm`: leading dashes do not hide the word
    run_.push_back({folded_.size(), source.first, source.last, kind});
    if (folded < 0x80) {
      folded_ += static_cast<char>(folded);
    } else {
      append(folded_, folded);
    }
  }

  void finish_run() {
    std::size_t size = run_.size();
    while (size > 0 && run_[size - 1].kind == Kind::connector) --size;
    if (size > 0) {
      emit_run({0, size});
      opened_ = true;
    }
    run_.clear();
    folded_.clear();
  }

  void emit_run(Slice run) {
    if (english_ && is_stop_word(folded(run))) return;
    emit(run, true);
    bool connected = false, joinable = true;
    for (std::size_t i = run.first; i < run.last; ++i) {
      const Kind kind = run_[i].kind;
      const bool joins = kind == Kind::connector && (folded_[run_[i].at] == '-' || folded_[run_[i].at] == '_');
      connected = connected || kind == Kind::connector;
      joinable = joinable && (joins || kind == Kind::lower || kind == Kind::capital);
    }
    if (connected && joinable) emit_joined(run);
    for (std::size_t first = run.first; first < run.last;) {
      if (run_[first].kind == Kind::connector) {
        ++first;
        continue;
      }
      std::size_t last = first;
      while (last < run.last && run_[last].kind != Kind::connector) ++last;
      if (connected) emit({first, last}, false);
      emit_camel_parts({first, last});
      first = last;
    }
  }

  /// "multi-stage" also counts as "multistage", however the reader writes it.
  void emit_joined(Slice run) {
    std::string text;
    for (std::size_t i = run.first; i < run.last; ++i) {
      if (run_[i].kind != Kind::connector) text += folded({i, i + 1});
    }
    Term term;
    term.text = english_ ? stem_english(text) : text;
    term.begin = static_cast<std::uint32_t>(run_[run.first].begin);
    term.end = static_cast<std::uint32_t>(run_[run.last - 1].end);
    term.whole = false;
    terms_.push_back(std::move(term));
  }

  /// Whether a part of a CamelCase word begins at `i`: dockerHub, JSONParser and Base64Encoder, but not IDs.
  bool camel_boundary(Slice word, std::size_t i) const noexcept {
    const auto kind = [&](std::size_t at) { return at < word.last ? run_[at].kind : Kind::separator; };
    if (i <= word.first || kind(i) != Kind::capital) return false;
    return kind(i - 1) == Kind::lower || (kind(i + 1) == Kind::lower && kind(i + 2) == Kind::lower);
  }

  void emit_camel_parts(Slice word) {
    std::size_t first = word.first;
    for (std::size_t i = word.first + 1; i <= word.last; ++i) {
      if (i == word.last ? first == word.first : !camel_boundary(word, i)) continue;
      if (i - first > 1) emit({first, i}, false);  // single letters say nothing
      first = i;
    }
  }

  std::string_view folded(Slice slice) const noexcept {
    const std::size_t begin = run_[slice.first].at;
    const std::size_t end = slice.last < run_.size() ? run_[slice.last].at : folded_.size();
    return std::string_view(folded_).substr(begin, end - begin);
  }

  void emit(Slice slice, bool whole) {
    const std::string_view text = folded(slice);
    if (english_ && is_stop_word(text)) return;
    Term term;
    term.begin = static_cast<std::uint32_t>(run_[slice.first].begin);
    term.end = static_cast<std::uint32_t>(run_[slice.last - 1].end);
    term.whole = whole;
    bool alphabetic = true;
    for (std::size_t i = slice.first; i < slice.last; ++i) {
      const Kind kind = run_[i].kind;
      term.capital = term.capital || (kind == Kind::capital && (opened_ || i > 0));
      term.identifier = term.identifier || kind == Kind::digit || kind == Kind::connector || camel_boundary(slice, i);
      alphabetic = alphabetic && (kind == Kind::lower || kind == Kind::capital);
    }
    term.text = english_ && alphabetic ? stem_english(text) : std::string(text);
    terms_.push_back(std::move(term));
  }

  void finish_cjk() {
    if (cjk_.empty()) return;
    const std::size_t count = std::max<std::size_t>(cjk_.size() - 1, 1);
    for (std::size_t i = 0; i < count; ++i) {
      const Slice last = cjk_[std::min(i + 1, cjk_.size() - 1)];
      Term term;
      term.begin = static_cast<std::uint32_t>(cjk_[i].first);
      term.end = static_cast<std::uint32_t>(last.last);
      term.text = text_.substr(cjk_[i].first, last.last - cjk_[i].first);
      terms_.push_back(std::move(term));
    }
    cjk_.clear();
    opened_ = true;
  }

  std::string_view text_;
  bool english_;
  std::vector<Term> terms_;
  std::vector<Character> run_;  ///< the word or identifier being read
  std::string folded_;          ///< its text
  std::vector<Slice> cjk_;      ///< byte ranges of the CJK characters being read
  bool opened_ = false;         ///< whether the first word of the text is behind
};

}  // namespace

std::vector<Term> terms(std::string_view text, Analysis analysis) { return Scanner(text, analysis).scan(); }

std::vector<std::string> distinct(const std::vector<Term>& terms) {
  std::unordered_set<std::string_view> seen;
  std::vector<std::string> out;
  for (const Term& term : terms) {
    if (seen.insert(term.text).second) out.push_back(term.text);
  }
  return out;
}

bool is_stop_word(std::string_view folded) noexcept {
  static_assert(std::is_sorted(stop_words.begin(), stop_words.end()));
  return std::binary_search(stop_words.begin(), stop_words.end(), folded);
}

}  // namespace polygraph::text
