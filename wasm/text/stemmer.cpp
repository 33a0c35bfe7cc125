#include "wasm/text/stemmer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace polygraph::text {
namespace {

/// One word on its way through the steps of the algorithm. A `y` that acts as a consonant is written `Y` meanwhile.
class Stem {
 public:
  explicit Stem(std::string_view word) : word_(word) {}

  std::string run() && {
    if (!word_.empty() && word_.front() == '\'') word_.erase(0, 1);
    mark_consonant_y();
    mark_regions();
    step_0();
    step_1a();
    if (!is_final_after_1a()) {
      step_1b();
      step_1c();
      step_2();
      step_3();
      step_4();
      step_5();
    }
    std::replace(word_.begin(), word_.end(), 'Y', 'y');
    return std::move(word_);
  }

 private:
  struct Rule {
    std::string_view suffix, replacement;
  };

  static bool is_vowel(char c) noexcept { return std::string_view("aeiouy").find(c) != std::string_view::npos; }
  static bool is_double(char a, char b) noexcept {
    return a == b && std::string_view("bdfgmnprt").find(a) != std::string_view::npos;
  }
  static bool may_precede_li(char c) noexcept { return std::string_view("cdeghkmnrt").find(c) != std::string_view::npos; }

  std::size_t size() const noexcept { return word_.size(); }
  bool ends(std::string_view suffix) const noexcept { return std::string_view(word_).ends_with(suffix); }
  bool in_r1(std::string_view suffix) const noexcept { return size() - suffix.size() >= r1_; }
  bool in_r2(std::string_view suffix) const noexcept { return size() - suffix.size() >= r2_; }
  void drop(std::size_t count) { word_.resize(size() - count); }
  void replace(std::string_view suffix, std::string_view replacement) {
    drop(suffix.size());
    word_ += replacement;
  }
  /// The character `back` places before the end of the word without its last `suffix` characters; 0 where there is none.
  char before(std::size_t suffix, std::size_t back = 1) const noexcept {
    return size() >= suffix + back ? word_[size() - suffix - back] : '\0';
  }
  bool has_vowel(std::size_t end) const noexcept {
    return std::any_of(word_.begin(), word_.begin() + static_cast<std::ptrdiff_t>(end), is_vowel);
  }

  void mark_consonant_y() {
    for (std::size_t i = 0; i < size(); ++i) {
      if (word_[i] == 'y' && (i == 0 || is_vowel(word_[i - 1]))) word_[i] = 'Y';
    }
  }

  /// End of the first consonant that follows a vowel, from `from` on.
  std::size_t region(std::size_t from) const noexcept {
    while (from < size() && !is_vowel(word_[from])) ++from;
    while (from < size() && is_vowel(word_[from])) ++from;
    return std::min(from + 1, size());
  }

  void mark_regions() {
    r1_ = region(0);
    for (const std::string_view prefix : {"gener", "commun", "arsen"}) {
      if (std::string_view(word_).starts_with(prefix)) r1_ = prefix.size();
    }
    r2_ = region(r1_);
  }

  /// Whether the first `end` characters end in a short syllable.
  bool short_syllable(std::size_t end) const noexcept {
    if (end == 2) return is_vowel(word_[0]) && !is_vowel(word_[1]);
    if (end < 3) return false;
    const char last = word_[end - 1];
    return !is_vowel(last) && last != 'w' && last != 'x' && last != 'Y' && is_vowel(word_[end - 2]) &&
           !is_vowel(word_[end - 3]);
  }

  void step_0() {
    for (const std::string_view suffix : {"'s'", "'s", "'"}) {
      if (ends(suffix)) return drop(suffix.size());
    }
  }

  void step_1a() {
    if (ends("sses")) return drop(2);
    if (ends("ied") || ends("ies")) return drop(size() > 4 ? 2 : 1);
    if (ends("us") || ends("ss")) return;
    if (ends("s") && size() >= 2 && has_vowel(size() - 2)) drop(1);
  }

  bool is_final_after_1a() const noexcept {
    constexpr std::array<std::string_view, 8> words = {"inning",  "outing",  "canning", "herring",
                                                       "earring", "proceed", "exceed",  "succeed"};
    return std::find(words.begin(), words.end(), word_) != words.end();
  }

  void step_1b() {
    for (const std::string_view suffix : {"eedly", "eed"}) {
      if (!ends(suffix)) continue;
      if (in_r1(suffix)) replace(suffix, "ee");
      return;
    }
    for (const std::string_view suffix : {"ingly", "edly", "ing", "ed"}) {
      if (!ends(suffix)) continue;
      if (!has_vowel(size() - suffix.size())) return;
      drop(suffix.size());
      if (ends("at") || ends("bl") || ends("iz")) {
        word_ += 'e';
      } else if (size() >= 2 && is_double(before(0), before(0, 2))) {
        drop(1);
      } else if (r1_ >= size() && short_syllable(size())) {
        word_ += 'e';
      }
      return;
    }
  }

  void step_1c() {
    if (size() > 2 && (ends("y") || ends("Y")) && !is_vowel(before(1))) word_.back() = 'i';
  }

  void step_2() {
    // Longest suffix first where one ends another.
    constexpr std::array<Rule, 22> rules = {{{"ization", "ize"}, {"ational", "ate"}, {"fulness", "ful"},
                                             {"ousness", "ous"}, {"iveness", "ive"}, {"tional", "tion"},
                                             {"biliti", "ble"},  {"lessli", "less"}, {"entli", "ent"},
                                             {"ation", "ate"},   {"alism", "al"},    {"aliti", "al"},
                                             {"ousli", "ous"},   {"iviti", "ive"},   {"fulli", "ful"},
                                             {"enci", "ence"},   {"anci", "ance"},   {"abli", "able"},
                                             {"izer", "ize"},    {"ator", "ate"},    {"alli", "al"},
                                             {"bli", "ble"}}};
    for (const auto& [suffix, replacement] : rules) {
      if (!ends(suffix)) continue;
      if (in_r1(suffix)) replace(suffix, replacement);
      return;
    }
    if (ends("ogi")) {
      if (in_r1("ogi") && before(3) == 'l') drop(1);
    } else if (ends("li") && in_r1("li") && may_precede_li(before(2))) {
      drop(2);
    }
  }

  void step_3() {
    constexpr std::array<Rule, 8> rules = {{{"ational", "ate"}, {"tional", "tion"}, {"alize", "al"}, {"icate", "ic"},
                                            {"iciti", "ic"},    {"ical", "ic"},     {"ness", ""},    {"ful", ""}}};
    for (const auto& [suffix, replacement] : rules) {
      if (!ends(suffix)) continue;
      if (in_r1(suffix)) replace(suffix, replacement);
      return;
    }
    if (ends("ative") && in_r2("ative")) drop(5);
  }

  void step_4() {
    constexpr std::array<std::string_view, 17> suffixes = {"ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism",
                                                           "ate",   "iti",  "ous",  "ive",  "ize",  "al",   "er",  "ic"};
    for (const std::string_view suffix : suffixes) {
      if (!ends(suffix)) continue;
      if (in_r2(suffix)) drop(suffix.size());
      return;
    }
    if (ends("ion") && in_r2("ion") && (before(3) == 's' || before(3) == 't')) drop(3);
  }

  void step_5() {
    if (ends("e")) {
      if (in_r2("e") || (in_r1("e") && !short_syllable(size() - 1))) drop(1);
    } else if (ends("l") && in_r2("l") && before(1) == 'l') {
      drop(1);
    }
  }

  std::string word_;
  std::size_t r1_ = 0, r2_ = 0;  ///< where the regions R1 and R2 begin
};

struct Exception {
  std::string_view word, stem;
};
constexpr std::array<Exception, 18> exceptions = {{{"skis", "ski"},      {"skies", "sky"},   {"dying", "die"},   {"lying", "lie"},
                                                   {"tying", "tie"},     {"idly", "idl"},    {"gently", "gentl"}, {"ugly", "ugli"},
                                                   {"early", "earli"},   {"only", "onli"},   {"singly", "singl"}, {"sky", "sky"},
                                                   {"news", "news"},     {"howe", "howe"},   {"atlas", "atlas"}, {"cosmos", "cosmos"},
                                                   {"bias", "bias"},     {"andes", "andes"}}};
constexpr std::size_t longest_exception = 6;

}  // namespace

std::string stem_english(std::string_view word) {
  const auto stemmable = [](char c) { return (c >= 'a' && c <= 'z') || c == '\''; };
  if (word.size() <= 2 || !std::all_of(word.begin(), word.end(), stemmable)) return std::string(word);
  if (word.size() <= longest_exception) {
    for (const auto& [exception, stem] : exceptions) {
      if (word == exception) return std::string(stem);
    }
  }
  return Stem(word).run();
}

}  // namespace polygraph::text
