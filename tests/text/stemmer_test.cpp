#include "wasm/text/stemmer.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <libstemmer.h>
#include <zlib.h>

namespace polygraph::text {
namespace {

/// Runs of letters and apostrophes of `text`, lower-cased.
void add_words(std::set<std::string>& words, std::string_view text) {
  std::string word;
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || c == '\'') {
      word += c;
    } else if (c >= 'A' && c <= 'Z') {
      word += static_cast<char>(c + 32);
    } else {
      if (!word.empty()) words.insert(word);
      word.clear();
    }
  }
  if (!word.empty()) words.insert(word);
}

void add_file(std::set<std::string>& words, const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return;
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (int n; (n = gzread(file.get(), buffer.data(), buffer.size())) > 0;) text.append(buffer.data(), static_cast<std::size_t>(n));
  add_words(words, text);
}

/// Word lists and documentation of this machine, as far as it has them.
std::set<std::string> found_words() {
  std::set<std::string> words;
  std::error_code ignored;
  for (const char* folder : {"/usr/share/dict", "/usr/share/doc/docker-doc"}) {
    for (auto entry = std::filesystem::recursive_directory_iterator(folder, ignored); entry != std::filesystem::recursive_directory_iterator();
         entry.increment(ignored)) {
      if (entry->is_regular_file(ignored)) add_file(words, entry->path());
    }
  }
  if (const char* vocabulary = std::getenv("POLYGRAPH_VOCAB")) add_file(words, vocabulary);
  return words;
}

constexpr std::string_view roots =
    "a b y ay yes sky boy by gener commun arsen generous communism arsenic past univers inter exceed proceed succeed innings outings canning "
    "herring earring skis skies dying lying tying idly gently ugly early only singly news howe atlas cosmos bias andes hop hope bed shed shred "
    "tie cry say luxury hess fizz fall sens relat condit rational valenc digit conform radic differ vile analog vietnam predicat operat feudal "
    "decis hope callous formal sensit sensib triplic form electr goodn reviv allow infer airlin gyroscop adjust defens irrit replac depend "
    "adopt homolog activ effect bowdler prob rate ceas control roll contain docker imag network volum swarm regist compos build kub yaml "
    "y'all o'clock 'tis agreed feed bleed need toy enjoy play employ youth yyy eye wax box show x xx hw";
constexpr std::string_view suffixes =
    "s es ed ing ly ness ful ational tional ization ation ator alism iveness fulness ousness aliti iviti biliti ogi ology li ative icate iciti "
    "ical ement ment ent ance ence able ible ant ism ate iti ous ive ize ion sion tion al er ic e l ll y ies ied eed eedly ingly edly 's ' 's' yed "
    "ying entli lessly less ogist ally fully izer enci anci abli bli alli ss us sses at bl iz ate ated ating";

class Reference {
 public:
  Reference() : stemmer_(sb_stemmer_new("english", "UTF_8"), sb_stemmer_delete) {}
  std::string stem(const std::string& word) const {
    const auto* out = sb_stemmer_stem(stemmer_.get(), reinterpret_cast<const sb_symbol*>(word.data()), static_cast<int>(word.size()));
    return {reinterpret_cast<const char*>(out), static_cast<std::size_t>(sb_stemmer_length(stemmer_.get()))};
  }

 private:
  std::unique_ptr<sb_stemmer, void (*)(sb_stemmer*)> stemmer_;
};

TEST(StemEnglish, AgreesWithLibstemmerOnWordsWithEverySuffix) {
  const Reference reference;
  const std::set<std::string> words = found_words();
  std::set<std::string> endings;
  add_words(endings, suffixes);
  std::size_t compared = 0;
  const auto compare = [&](const std::string& word) {
    ++compared;
    ASSERT_EQ(stem_english(word), reference.stem(word)) << word;
  };
  // Every root takes every ending; every found word takes every eighth, another eighth than its neighbour.
  std::set<std::string> all_roots;
  add_words(all_roots, roots);
  for (const std::string& root : all_roots) {
    ASSERT_NO_FATAL_FAILURE(compare(root));
    for (const std::string& ending : endings) ASSERT_NO_FATAL_FAILURE(compare(root + ending));
  }
  std::size_t turn = 0;
  for (const std::string& word : words) {
    ASSERT_NO_FATAL_FAILURE(compare(word));
    for (const std::string& ending : endings) {
      if (++turn % 8 == 0) {
        ASSERT_NO_FATAL_FAILURE(compare(word + ending));
      }
    }
    ++turn;
  }
  RecordProperty("words", static_cast<int>(compared));
}

TEST(StemEnglish, AgreesWithLibstemmerOnInventedWords) {
  const Reference reference;
  std::set<std::string> ending_set;
  add_words(ending_set, suffixes);
  const std::vector<std::string> endings(ending_set.begin(), ending_set.end());
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  constexpr std::string_view letters = "aaeeiioouyybcdfghklmnprstvwxz'";
  for (int i = 0; i < 150000; ++i) {
    std::string word;
    for (std::size_t n = 1 + random() % 7; n > 0; --n) word += letters[random() % letters.size()];
    for (std::size_t n = random() % 3; n > 0; --n) word += endings[random() % endings.size()];
    ASSERT_EQ(stem_english(word), reference.stem(word)) << word << ", seed " << seed;
  }
}

TEST(StemEnglish, LeavesWordsOfOtherAlphabetsAndIdentifiersAlone) {
  for (const std::string_view word : {"cafés", "v1beta1", "daemon.json", "ÜBERS", "Running", "", "a", "ing"}) {
    EXPECT_EQ(stem_english(word), word);
  }
}

}  // namespace
}  // namespace polygraph::text
