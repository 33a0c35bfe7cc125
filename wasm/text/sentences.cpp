#include "wasm/text/sentences.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>

#include "wasm/text/unicode/properties.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::text {
namespace {

struct Range {
  std::size_t begin, end;
};

constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Abbreviations whose full stop does not end a sentence, without it, in lower case.
constexpr std::array<std::string_view, 27> never_last = {"a.k.a", "al",  "approx", "ca",   "cf",   "dr",   "e.g",  "eg",  "esp",
                                                         "excl",  "i.e", "ie",     "incl", "jr",   "mr",   "mrs",  "ms",  "mt",
                                                         "prof",  "resp", "sr",    "st",   "u.k",  "u.s",  "viz",  "vs",  "w.r.t"};
// Abbreviations only before a number ("Fig. 3"); elsewhere they are words or may end a sentence.
constexpr std::array<std::string_view, 13> before_number = {"ch", "eq", "fig", "max", "min", "no", "nr", "p", "pp", "ref", "sec", "tab", "vol"};

static_assert(std::is_sorted(never_last.begin(), never_last.end()));
static_assert(std::is_sorted(before_number.begin(), before_number.end()));

bool holds(std::span<const std::string_view> sorted, std::string_view word) noexcept {
  return std::binary_search(sorted.begin(), sorted.end(), word);
}

/// The length of the list marker that opens `line` ("- ", "12. "), with the blanks after it; 0 when there is none.
std::size_t list_marker(std::string_view line) noexcept {
  constexpr std::size_t most_digits = 9;  // CommonMark 0.31, section 5.2
  std::size_t at = 0;
  if (line.starts_with('-') || line.starts_with('*') || line.starts_with('+')) {
    at = 1;
  } else {
    while (at < line.size() && at <= most_digits && is_digit(line[at])) ++at;
    if (at == 0 || at > most_digits || at == line.size() || (line[at] != '.' && line[at] != ')')) return 0;
    ++at;
  }
  const std::size_t marker = at;
  while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
  return at > marker && at < line.size() ? at : 0;
}

bool is_heading(std::string_view line) noexcept {
  std::size_t level = 0;
  while (level < line.size() && line[level] == '#') ++level;
  return level >= 1 && level <= 6 && (level == line.size() || line[level] == ' ' || line[level] == '\t');
}

/// `---`, `***`, `___`, `===`: a rule or the underline of a heading says nothing that could be quoted.
bool is_rule(std::string_view line) noexcept {
  if (line.empty() || std::string_view("-*_=").find(line.front()) == std::string_view::npos) return false;
  std::size_t marks = 0;
  for (const char c : line) {
    if (c == line.front()) {
      ++marks;
    } else if (c != ' ' && c != '\t') {
      return false;
    }
  }
  return marks >= 3;
}

/// A fence line: its character and length; length 0 when `line` opens no fence.
struct Fence {
  char mark = '\0';
  std::size_t length = 0;
};
Fence opening_fence(std::string_view line) noexcept {
  if (!line.starts_with("```") && !line.starts_with("~~~")) return {};
  const std::size_t length = std::min(line.find_first_not_of(line.front()), line.size());
  // A backtick in the info string: a code span at the start of a line.
  if (line.front() == '`' && line.find('`', length) != std::string_view::npos) return {};
  return {line.front(), length};
}
bool closes(Fence fence, std::string_view line) noexcept {
  return line.size() >= fence.length && line.find_first_not_of(fence.mark) == std::string_view::npos;
}

class Cutter {
 public:
  explicit Cutter(std::string_view passage) : passage_(passage) {}

  std::vector<Unit> cut() {
    for (std::size_t at = 0; at < passage_.size();) {
      const std::size_t line_end = std::min(passage_.find('\n', at), passage_.size());
      const Range line = trim({at, line_end});
      at = std::min(line_end + 1, passage_.size());
      const std::string_view text = view(line);
      if (fence_.length > 0) {
        open_.end = std::max(open_.end, line.end);
        if (closes(fence_, text)) finish();
      } else if (text.empty()) {
        finish();
      } else if (const Fence fence = opening_fence(text); fence.length > 0) {
        begin(UnitKind::code, line);
        fence_ = fence;
      } else if (is_heading(text)) {
        begin(UnitKind::heading, line);
        finish();
      } else if (is_rule(text)) {
        finish();
      } else if (text.front() == '|') {
        begin(UnitKind::table_row, line);
        finish();
      } else if (const std::size_t marker = list_marker(text); marker > 0) {
        const Fence inside = opening_fence(text.substr(marker));
        if (inside.length > 0) {
          begin(UnitKind::code, {line.begin + marker, line.end});
          fence_ = inside;
        } else {
          begin(UnitKind::list_item, line);
        }
      } else if (is_open_) {
        open_.end = line.end;
      } else {
        begin(UnitKind::sentence, line);
      }
    }
    finish();
    return std::move(units_);
  }

 private:
  std::string_view view(Range range) const noexcept { return passage_.substr(range.begin, range.end - range.begin); }

  Range trim(Range range) const noexcept {
    while (range.begin < range.end && is_space(passage_[range.begin])) ++range.begin;
    while (range.end > range.begin && is_space(passage_[range.end - 1])) --range.end;
    return range;
  }

  void begin(UnitKind kind, Range range) {
    finish();
    is_open_ = true;
    kind_ = kind;
    open_ = range;
  }

  void finish() {
    fence_ = {};
    if (!is_open_) return;
    is_open_ = false;
    if (kind_ == UnitKind::sentence) {
      cut_sentences(open_);
    } else {
      emit(kind_, open_);
    }
  }

  void emit(UnitKind kind, Range range) {
    range = trim(range);
    if (range.begin == range.end) return;
    units_.push_back({kind, static_cast<std::uint32_t>(range.begin), static_cast<std::uint32_t>(range.end)});
  }

  /// Code spans of a paragraph in order. A run of backticks opens a span when a run of equal length follows.
  std::vector<Range> code_spans(Range paragraph) const {
    std::vector<Range> runs;
    for (std::size_t at = passage_.find('`', paragraph.begin); at < paragraph.end; at = passage_.find('`', at)) {
      const std::size_t end = std::min(passage_.find_first_not_of('`', at), paragraph.end);
      runs.push_back({at, end});
      at = end;
      if (at == paragraph.end) break;
    }
    std::vector<std::size_t> closing(runs.size(), runs.size());
    std::map<std::size_t, std::size_t> nearest;  // by length of the run
    for (std::size_t i = runs.size(); i-- > 0;) {
      const std::size_t length = runs[i].end - runs[i].begin;
      if (const auto found = nearest.find(length); found != nearest.end()) closing[i] = found->second;
      nearest[length] = i;
    }
    std::vector<Range> spans;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (closing[i] == runs.size()) continue;
      spans.push_back({runs[i].begin, runs[closing[i]].end});
      i = closing[i];
    }
    return spans;
  }

  void cut_sentences(Range paragraph) {
    const std::vector<Range> spans = code_spans(paragraph);
    auto span = spans.begin();
    std::size_t begin = paragraph.begin;
    for (std::size_t at = paragraph.begin; at < paragraph.end;) {
      if (span != spans.end() && at >= span->begin) {
        at = std::max(at, span->end);
        ++span;
        continue;
      }
      const Mark mark = mark_at({begin, paragraph.end}, at);
      at = mark.end;
      if (mark.ends_sentence) {
        emit(UnitKind::sentence, {begin, at});
        begin = at;
      }
    }
    emit(UnitKind::sentence, {begin, paragraph.end});
  }

  struct Mark {
    std::size_t end;  ///< where reading goes on
    bool ends_sentence;
  };

  /// What stands at `at`: marks that end a sentence with what closes after them, or anything else. `rest` is the
  /// paragraph from the sentence's begin.
  Mark mark_at(Range rest, std::size_t at) const noexcept {
    const CodePoint mark = decode(passage_, at);
    switch (mark.value) {
      case U'。': case U'！': case U'？': case U'｡':  // no blank follows these
        return {skip_closers(skip_marks(at, rest.end), rest.end), true};
      case U'.': case U'!': case U'?': case U'…': case U'।': case U'؟': case U'۔': break;
      default: return {at + mark.length, false};
    }
    const std::size_t marks_end = skip_marks(at, rest.end);
    const std::size_t end = skip_closers(marks_end, rest.end);
    if (end == rest.end) return {end, true};
    if (!is_space(passage_[end])) return {marks_end, false};
    std::size_t next = end;
    while (next < rest.end && is_space(passage_[next])) ++next;
    if (next == rest.end) return {end, true};
    const bool single = marks_end == at + 1;
    if (mark.value == U'.' && single && is_abbreviation(rest.begin, at, next)) return {end, false};
    // "docker run [OPTIONS] ... IMAGE": an ellipsis that stands free is a placeholder.
    if (mark.value != U'!' && mark.value != U'?' && !single && at > rest.begin && is_space(passage_[at - 1])) return {end, false};
    return {end, opens_sentence(next, rest.end)};
  }

  std::size_t skip_marks(std::size_t at, std::size_t end) const noexcept {
    while (at < end) {
      const CodePoint point = decode(passage_, at);
      switch (point.value) {
        case U'.': case U'!': case U'?': case U'…': case U'。': case U'！': case U'？': case U'｡': case U'।': case U'؟': case U'۔':
          at += point.length;
          continue;
        default: return at;
      }
    }
    return at;
  }

  /// Quotes, brackets and emphasis that close after the mark belong to the sentence.
  std::size_t skip_closers(std::size_t at, std::size_t end) const noexcept {
    while (at < end) {
      const CodePoint point = decode(passage_, at);
      switch (point.value) {
        case U'"': case U'\'': case U')': case U']': case U'*': case U'_': case U'”': case U'’': case U'»': case U'」': case U'』': case U'）':
          at += point.length;
          continue;
        default: return at;
      }
    }
    return at;
  }

  /// A small letter goes on with the sentence ("etc. and so on"), unless the word is an identifier ("daemon.json is …").
  bool opens_sentence(std::size_t at, std::size_t end) const noexcept {
    while (at < end && std::string_view("\"'(*[").find(passage_[at]) != std::string_view::npos) ++at;
    if (at == end) return true;
    const CodePoint point = decode(passage_, at);
    if (point.value >= 0x80) return !has_case(point.value);
    if (passage_[at] < 'a' || passage_[at] > 'z') return true;
    constexpr std::size_t longest_identifier = 64;
    const std::size_t limit = std::min(end, at + longest_identifier);
    for (std::size_t i = at; i + 1 < limit && !is_space(passage_[i]); ++i) {
      if ((passage_[i] == '.' || passage_[i] == '_') && is_letter(passage_[i + 1])) return true;
    }
    return false;
  }

  /// Small letters of Latin, Greek, Cyrillic and Armenian; letters of scripts without case may open a sentence.
  static bool has_case(char32_t c) noexcept {
    return !unicode::is_capital(c) && (unicode::properties(c) & unicode::letter) != 0 &&
           ((c >= 0xC0 && c < 0x530) || (c >= 0x560 && c < 0x590) || (c >= 0x1E00 && c < 0x2000));
  }

  bool is_abbreviation(std::size_t begin, std::size_t stop, std::size_t next) const noexcept {
    constexpr std::size_t longest = 6;
    std::size_t first = stop;
    while (first > begin && stop - first <= longest && (is_letter(passage_[first - 1]) || passage_[first - 1] == '.')) --first;
    const std::size_t length = stop - first;
    if (length == 0 || length > longest) return false;
    const bool word_begins = first == begin || is_space(passage_[first - 1]) || std::string_view("([\"'*/").find(passage_[first - 1]) != std::string_view::npos;
    if (!word_begins) return false;
    if (length == 1 && passage_[first] >= 'A' && passage_[first] <= 'Z' && passage_[first] != 'I') return true;  // an initial
    std::array<char, longest> folded{};
    for (std::size_t i = 0; i < length; ++i) folded[i] = lower(passage_[first + i]);
    const std::string_view word(folded.data(), length);
    return holds(never_last, word) || (is_digit(passage_[next]) && holds(before_number, word));
  }

  std::string_view passage_;
  std::vector<Unit> units_;
  bool is_open_ = false;
  UnitKind kind_ = UnitKind::sentence;
  Range open_{0, 0};
  Fence fence_;
};

}  // namespace

std::vector<Unit> units(std::string_view passage) { return Cutter(passage).cut(); }

}  // namespace polygraph::text
