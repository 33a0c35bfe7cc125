// Measures of one ranked list against graded judgements, as trec_eval computes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace polygraph::metrics {

/// A ranked list as its grades. A grade of 1 and above is relevant; 0, a negative grade and "not judged" are not, and have no gain.
struct GradedList {
  std::vector<std::int64_t> grades;    ///< of the ranked documents, best first
  std::vector<std::int64_t> relevant;  ///< the grades of all relevant documents of the query, falling

  bool operator==(const GradedList&) const = default;
};

/// `ranked` against `judgements` (id and grade; an id stands once). An id that repeats in `ranked` counts at its first place and
/// is not relevant at any further one, so that no measure passes 1; the further places keep their ranks.
GradedList grade(std::span<const std::string> ranked, std::span<const std::pair<std::string, std::int64_t>> judgements);
/// The same where every gold id has the grade 1; a gold id that repeats counts once.
GradedList grade(std::span<const std::string> ranked, std::span<const std::string> gold);

/// Every measure is 0 for a query without a relevant document; whether that means 0 or undefined is the caller's to say
/// (`list.relevant.empty()`). `k` is positive.
double recall_at(const GradedList& list, std::size_t k) noexcept;
double precision_at(const GradedList& list, std::size_t k) noexcept;  ///< divides by k, also where fewer were retrieved
/// Divides by min(k, retrieved); 0 when nothing was retrieved. `precision_at_K` of reports.
double precision_of_retrieved(const GradedList& list, std::size_t k) noexcept;
double hit_rate_at(const GradedList& list, std::size_t k) noexcept;
/// One over the rank of the first relevant document, 0 when there is none among the first k.
double reciprocal_rank_at(const GradedList& list, std::size_t k) noexcept;
double reciprocal_rank(const GradedList& list) noexcept;
double average_precision(const GradedList& list) noexcept;
/// Gain is the grade, discount log2(rank + 1); over the ideal order of all relevant documents, cut at k as well (Järvelin and
/// Kekäläinen 2002).
double ndcg_at(const GradedList& list, std::size_t k) noexcept;

/// log2 with plain arithmetic only, so that native and WebAssembly agree to the last bit (those of C libraries differ there).
/// Within 4e-16 of the true value, relatively, for 1 ≤ x ≤ 2^53; exact for powers of two.
double log2_of(std::uint64_t x) noexcept;

}  // namespace polygraph::metrics
