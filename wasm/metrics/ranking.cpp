#include "wasm/metrics/ranking.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace polygraph::metrics {
namespace {

std::size_t relevant_in_first(const GradedList& list, std::size_t k) noexcept {
  const auto end = list.grades.begin() + static_cast<std::ptrdiff_t>(std::min(k, list.grades.size()));
  return static_cast<std::size_t>(std::count_if(list.grades.begin(), end, [](std::int64_t grade) { return grade > 0; }));
}

double ratio(std::size_t part, std::size_t whole) noexcept { return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole); }

double discounted_gain(std::span<const std::int64_t> grades, std::size_t k) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(k, grades.size()); ++i) {
    if (grades[i] > 0) sum += static_cast<double>(grades[i]) / log2_of(i + 2);
  }
  return sum;
}

/// `graded` sorted by id.
GradedList grade_sorted(std::span<const std::string> ranked, const std::vector<std::pair<std::string_view, std::int64_t>>& graded) {
  GradedList list;
  list.grades.reserve(ranked.size());
  std::vector<bool> met(graded.size());
  for (const std::string& id : ranked) {
    const auto found = std::lower_bound(graded.begin(), graded.end(), std::string_view(id), [](const auto& each, std::string_view wanted) { return each.first < wanted; });
    const auto at = static_cast<std::size_t>(found - graded.begin());
    const bool counts = found != graded.end() && found->first == id && !met[at];
    list.grades.push_back(counts ? found->second : 0);
    if (counts) met[at] = true;
  }
  for (const auto& [id, grade] : graded) {
    if (grade > 0) list.relevant.push_back(grade);
  }
  std::sort(list.relevant.begin(), list.relevant.end(), std::greater<>());
  return list;
}

}  // namespace

GradedList grade(std::span<const std::string> ranked, std::span<const std::pair<std::string, std::int64_t>> judgements) {
  std::vector<std::pair<std::string_view, std::int64_t>> graded(judgements.begin(), judgements.end());
  std::sort(graded.begin(), graded.end());
  return grade_sorted(ranked, graded);
}

GradedList grade(std::span<const std::string> ranked, std::span<const std::string> gold) {
  std::vector<std::pair<std::string_view, std::int64_t>> graded;
  graded.reserve(gold.size());
  for (const std::string& id : gold) graded.emplace_back(id, 1);
  std::sort(graded.begin(), graded.end());
  graded.erase(std::unique(graded.begin(), graded.end()), graded.end());
  return grade_sorted(ranked, graded);
}

double recall_at(const GradedList& list, std::size_t k) noexcept { return ratio(relevant_in_first(list, k), list.relevant.size()); }

double precision_at(const GradedList& list, std::size_t k) noexcept { return ratio(relevant_in_first(list, k), k); }

double precision_of_retrieved(const GradedList& list, std::size_t k) noexcept {
  return ratio(relevant_in_first(list, k), std::min(k, list.grades.size()));
}

double hit_rate_at(const GradedList& list, std::size_t k) noexcept { return relevant_in_first(list, k) > 0 ? 1 : 0; }

double reciprocal_rank_at(const GradedList& list, std::size_t k) noexcept {
  for (std::size_t i = 0; i < std::min(k, list.grades.size()); ++i) {
    if (list.grades[i] > 0) return 1.0 / static_cast<double>(i + 1);
  }
  return 0;
}

double reciprocal_rank(const GradedList& list) noexcept { return reciprocal_rank_at(list, list.grades.size()); }

double average_precision(const GradedList& list) noexcept {
  if (list.relevant.empty()) return 0;
  double sum = 0;
  std::size_t found = 0;
  for (std::size_t i = 0; i < list.grades.size(); ++i) {
    if (list.grades[i] > 0) sum += ratio(++found, i + 1);
  }
  return sum / static_cast<double>(list.relevant.size());
}

double ndcg_at(const GradedList& list, std::size_t k) noexcept {
  const double ideal = discounted_gain(list.relevant, k);
  return ideal > 0 ? discounted_gain(list.grades, k) / ideal : 0;
}

double log2_of(std::uint64_t x) noexcept {
  double mantissa = static_cast<double>(x);
  int exponent = 0;
  for (; mantissa >= 2; mantissa /= 2) ++exponent;  // exact: only the exponent of the number changes
  if (mantissa > 1.4142135623730951) {
    mantissa /= 2;
    ++exponent;
  }
  // ln m = 2 artanh((m - 1) / (m + 1)); the argument is at most 0.1716, so the first term left out, its 23rd power over 23, is below 1e-18.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double series = 0;
  for (int odd = 21; odd >= 3; odd -= 2) series = square * (series + 1.0 / odd);
  constexpr double two_over_ln2 = 2.8853900817779268;
  return exponent + two_over_ln2 * (s + s * series);
}

}  // namespace polygraph::metrics
