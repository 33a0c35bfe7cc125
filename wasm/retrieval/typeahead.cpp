#include "wasm/retrieval/typeahead.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "wasm/retrieval/lexical.hpp"
#include "wasm/retrieval/promotion.hpp"
#include "wasm/retrieval/spelling.hpp"
#include "wasm/text/stemmer.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph::retrieval {
namespace {

using index::ChunkNo;
using index::TermNo;

/// How a corpus term matches a typed word. A match scores its kind plus a saturated frequency in (0, 1), so of two chunks
/// the one with the better kind always has more from that word.
enum class Match : std::uint8_t { typo = 0, prefix = 1, whole = 2 };

struct Option {
  TermNo term;
  Match match;
};

/// While the end of a word is missing, its stem may already be complete ("runni" for "run"): stems down to so many
/// letters shorter are tried when nothing longer fits.
constexpr std::size_t longest_suffix_typed = 4;
constexpr std::size_t shortest_stem = 3;

bool is_alphabetic(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

std::vector<Option> options_of(const index::Index& index, const std::string& word, bool unfinished) {
  const bool english = index.metadata().analysis == text::Analysis::english;
  const bool stop_word = english && text::is_stop_word(word);
  std::vector<Option> options;
  if (!stop_word) {
    const std::string counted = english && is_alphabetic(word) ? text::stem_english(word) : word;
    if (const auto no = index.find_term(counted)) options.push_back({*no, Match::whole});
    for (const auto no : joined_forms(index, counted)) options.push_back({no, Match::whole});
  }
  if (unfinished) {
    const auto [first, last] = index.terms_with_prefix(word);
    for (TermNo t = first; t < last; ++t) options.push_back({t, Match::prefix});
    if (options.empty() && english && is_alphabetic(word)) {
      const std::size_t shortest = word.size() > longest_suffix_typed ? word.size() - longest_suffix_typed : 0;
      for (std::size_t length = word.size() - 1; length >= std::max(shortest_stem, shortest); --length) {
        if (const auto no = index.find_term(std::string_view(word).substr(0, length))) options.push_back({*no, Match::prefix});
      }
    }
  }
  if (!stop_word) {
    for (const auto no : one_typo_away(index, word)) options.push_back({no, Match::typo});
  }
  return options;
}

/// One idf for a word, whatever matches it: that of the word itself, else of the commonest option of the best kind, so
/// that a rare completion does not outweigh the words that are complete.
double idf_of(const index::Index& index, const std::vector<Option>& options) {
  const auto best = std::max_element(options.begin(), options.end(), [](const Option& a, const Option& b) { return a.match < b.match; });
  double idf = index.idf(best->term);
  for (const Option& option : options) {
    if (option.match == best->match) idf = std::min(idf, index.idf(option.term));
  }
  return idf;
}

using Range = std::pair<std::uint32_t, std::uint32_t>;

/// The terms that a query matched, looked up word by word of a passage. Stemming every word of every passage at each
/// keypress would take most of a frame; a stem begins as its word does, so few words need it.
class Matched {
 public:
  Matched(const index::Index& index, const std::vector<TermNo>& terms)
      : index_(&index), terms_(&terms), english_(index.metadata().analysis == text::Analysis::english) {
    for (const TermNo no : terms) {
      if (const auto term = index.term(no); !term.empty()) first_[static_cast<unsigned char>(term.front())] = true;
    }
  }

  /// Whether `word`, as Analysis::plain counts it, is one of them.
  bool hold(std::string_view word) const {
    if (word.empty() || !first_[static_cast<unsigned char>(word.front())]) return false;
    std::optional<TermNo> no;
    if (english_ && is_alphabetic(word)) {
      if (text::is_stop_word(word)) return false;
      no = index_->find_term(text::stem_english(word));
    } else {
      no = index_->find_term(word);
    }
    return no && std::binary_search(terms_->begin(), terms_->end(), *no);
  }

 private:
  const index::Index* index_;
  const std::vector<TermNo>* terms_;
  bool english_;
  std::array<bool, 256> first_{};  ///< bytes that one of the terms begins with
};

std::vector<Range> marks_in(std::string_view passage, const Matched& matched, const std::optional<LiteralSearch>& literal) {
  std::vector<Range> found;
  for (const text::Term& term : text::terms(passage, text::Analysis::plain)) {
    if (matched.hold(term.text)) found.emplace_back(term.begin, term.end);
  }
  if (literal) {
    for (auto at = literal->find(passage); at != std::string_view::npos; at = literal->find(passage, at + literal->size())) {
      found.emplace_back(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + literal->size()));
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<Range> marks;
  for (const Range& range : found) {
    if (!marks.empty() && range.first <= marks.back().second) {
      marks.back().second = std::max(marks.back().second, range.second);
    } else {
      marks.push_back(range);
    }
  }
  return marks;
}

}  // namespace

std::vector<Hit> typeahead(const index::Index& index, std::string_view query, std::uint32_t limit) {
  constexpr double saturation = 1.2;  // k1 of BM25F
  const std::size_t chunks = index.chunks();
  const WeightedFrequency frequency(index);

  std::vector<double> scores(chunks, 0.0), best(chunks);
  std::vector<TermNo> matched;
  std::vector<std::string> seen;
  for (const text::Term& word : text::terms(query, text::Analysis::plain)) {
    if (std::find(seen.begin(), seen.end(), word.text) != seen.end()) continue;
    seen.push_back(word.text);
    const auto options = options_of(index, word.text, word.end == query.size());
    if (options.empty()) continue;
    std::fill(best.begin(), best.end(), 0.0);
    for (const Option& option : options) {
      matched.push_back(option.term);
      auto cursor = index.postings(option.term);
      while (const auto posting = cursor.next()) {
        const double tf = frequency(*posting);
        best[posting->chunk] = std::max(best[posting->chunk], static_cast<double>(option.match) + tf / (tf + saturation));
      }
    }
    const double idf = idf_of(index, options);
    for (std::size_t c = 0; c < chunks; ++c) scores[c] += idf * best[c];
  }
  std::sort(matched.begin(), matched.end());
  matched.erase(std::unique(matched.begin(), matched.end()), matched.end());

  const auto promoted = promotions(index, query);
  std::vector<ChunkNo> order;
  for (ChunkNo c = 0; c < chunks; ++c) {
    if (scores[c] > 0 || (!promoted.empty() && promoted[c] > Promotion::none)) order.push_back(c);
  }
  if (order.empty() && is_question(query)) {
    for (ChunkNo c = 0; c < chunks; ++c) order.push_back(c);
  }
  const auto better = [&](ChunkNo a, ChunkNo b) {
    if (!promoted.empty() && promoted[a] != promoted[b]) return promoted[a] > promoted[b];
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  const auto count = std::min<std::size_t>(limit, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), better);
  order.resize(count);

  std::optional<LiteralSearch> literal;
  if (const auto identifier = sole_identifier(query)) literal.emplace(*identifier);
  std::vector<Hit> hits;
  const Matched terms(index, matched);
  for (const ChunkNo c : order) hits.push_back({c, scores[c], marks_in(index.chunk(c).text, terms, literal)});
  return hits;
}

}  // namespace polygraph::retrieval
