#include <algorithm>

#include "wasm/golden/item_json.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph::golden {
namespace {

// Two questions are nearly the same from this share of their terms on (Jaccard): 4 of 5.
constexpr std::size_t share_above = 4, share_below = 5;

using TermNos = std::vector<std::uint32_t>;

std::size_t shared(const TermNos& a, const TermNos& b) {
  std::size_t count = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a[i] == b[k]) ++count, ++i, ++k;
    else if (a[i] < b[k]) ++i;
    else ++k;
  }
  return count;
}

}  // namespace

void find_near_duplicates(const Set& set, std::vector<Problem>& warnings) {
  // Terms are numbered from the rarest, and every question's are sorted so: two questions that share enough must share one of
  // the first few (the prefix filter of Chaudhuri, Ganti and Kaushik, 2006).
  std::vector<std::vector<std::string>> words(set.items.size());
  std::map<std::string, std::uint32_t> frequency;
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    if (set.items[i].rejected) continue;
    words[i] = text::distinct(text::terms(set.items[i].question, text::Analysis::english));
    // "What is it?" is nothing but stop words.
    if (words[i].empty() && !blank(set.items[i].question)) words[i].push_back("\n" + std::string(trimmed(set.items[i].question)));
    for (const auto& word : words[i]) ++frequency[word];
  }
  std::vector<std::pair<std::uint32_t, std::string>> order;
  for (const auto& [word, count] : frequency) order.emplace_back(count, word);
  std::sort(order.begin(), order.end());
  std::map<std::string, std::uint32_t> number;
  for (std::size_t i = 0; i < order.size(); ++i) number.emplace(order[i].second, static_cast<std::uint32_t>(i));

  std::vector<TermNos> terms(set.items.size());
  std::vector<std::vector<std::size_t>> holders(order.size());  // items that have the term in their prefix
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    for (const auto& word : words[i]) terms[i].push_back(number.at(word));
    std::sort(terms[i].begin(), terms[i].end());
    const std::size_t needed = (share_above * terms[i].size() + share_below - 1) / share_below;
    std::vector<std::size_t> candidates;
    for (std::size_t k = 0; k + needed < terms[i].size() + 1 && k < terms[i].size(); ++k) {
      auto& list = holders[terms[i][k]];
      candidates.insert(candidates.end(), list.begin(), list.end());
      list.push_back(i);
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    for (const std::size_t other : candidates) {
      const std::size_t common = shared(terms[i], terms[other]);
      if (share_below * common < share_above * (terms[i].size() + terms[other].size() - common)) continue;
      const Item &item = set.items[i], &earlier = set.items[other];
      warnings.push_back({item.id, item.line, set.form == Form::samples ? "query" : "question",
                          "asks nearly the same as \"" + earlier.id + "\"" + (earlier.line == 0 ? "" : " on line " + std::to_string(earlier.line))});
      break;  // one is enough to find the others
    }
  }
}

}  // namespace polygraph::golden
