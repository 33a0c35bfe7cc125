#include "wasm/metrics/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "wasm/metrics/random.hpp"

namespace polygraph::metrics {
namespace {

constexpr double tolerance = 1e-12;  // of a mean
constexpr std::size_t chunk = 64;    // signs in one random number

double exact_sign_flip(std::span<const double> differences, double extreme) {
  const std::uint64_t vectors = std::uint64_t{1} << differences.size();
  std::uint64_t as_extreme = 0;
  for (std::uint64_t signs = 0; signs < vectors; ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) sum += (signs >> i & 1) != 0 ? differences[i] : -differences[i];
    if (std::abs(sum) >= extreme) ++as_extreme;
  }
  return static_cast<double>(as_extreme) / static_cast<double>(vectors);
}

/// Set bits, without the instruction that not every processor of the baseline has; compilers make vector code of it.
std::uint32_t set_bits(std::uint64_t x) noexcept {
  x -= x >> 1 & 0x5555555555555555;
  x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  x += x >> 8;
  x += x >> 16;
  x += x >> 32;
  return static_cast<std::uint32_t>(x & 0x7f);
}

/// Adds the signed sums of one chunk of equal sizes: only how many signs are plus matters.
void add_equal(double size, std::size_t count, Random& random, std::span<double> sums) {
  const std::uint64_t mask = count == chunk ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  std::array<double, chunk + 1> sum_of;
  for (std::size_t plus = 0; plus <= count; ++plus) sum_of[plus] = size * (2 * static_cast<double>(plus) - static_cast<double>(count));
  for (double& sum : sums) sum += sum_of[set_bits(random.next() & mask)];
}

/// Adds the signed sums of one chunk of any sizes, eight signs at a time from tables of their 256 sums.
void add_different(std::span<const double> sizes, Random& random, std::span<double> sums) {
  std::array<std::array<double, 256>, 8> tables;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (std::size_t signs = 0; signs < 256; ++signs) {
      double sum = 0;
      for (std::size_t bit = 0; bit < 8 && t * 8 + bit < sizes.size(); ++bit) {
        const double size = sizes[t * 8 + bit];
        sum += (signs >> bit & 1) != 0 ? size : -size;
      }
      tables[t][signs] = sum;
    }
  }
  for (double& sum : sums) {
    const std::uint64_t signs = random.next();
    double even = 0, odd = 0;
    for (std::size_t t = 0; t < tables.size(); t += 2) {
      even += tables[t][signs >> (8 * t) & 0xff];
      odd += tables[t + 1][signs >> (8 * t + 8) & 0xff];
    }
    sum += even + odd;
  }
}

}  // namespace

std::optional<double> sign_flip(std::span<const double> differences, std::uint64_t seed, std::uint32_t vectors) {
  const std::size_t n = differences.size();
  if (n == 0) return std::nullopt;
  const double observed = std::accumulate(differences.begin(), differences.end(), 0.0);
  const double extreme = std::abs(observed) - tolerance * static_cast<double>(n);
  if (n < 32 && (std::uint64_t{1} << n) <= vectors) return exact_sign_flip(differences, extreme);

  std::vector<double> sizes;
  sizes.reserve(n);
  for (const double difference : differences) {
    if (difference != 0) sizes.push_back(std::abs(difference));
  }
  if (sizes.empty()) return 1.0;
  std::sort(sizes.begin(), sizes.end());
  Random random(seed);
  std::vector<double> sums(vectors);
  for (std::size_t begin = 0; begin < sizes.size(); begin += chunk) {
    const auto part = std::span<const double>(sizes).subspan(begin, std::min(chunk, sizes.size() - begin));
    if (part.front() == part.back()) {
      add_equal(part.front(), part.size(), random, sums);
    } else {
      add_different(part, random, sums);
    }
  }
  const auto as_extreme = std::count_if(sums.begin(), sums.end(), [extreme](double sum) { return std::abs(sum) >= extreme; });
  return (static_cast<double>(as_extreme) + 1) / (static_cast<double>(vectors) + 1);
}

double mcnemar(std::uint64_t only_a, std::uint64_t only_b) {
  const std::uint64_t n = only_a + only_b, fewer = std::min(only_a, only_b);
  if (2 * fewer == n) return 1.0;
  // Binomial coefficients relative to the middle one, outwards: neither they nor their sum can overflow, and what underflows is too small
  // to matter.
  const std::uint64_t middle = n / 2;
  double weight = 1, tail = 0, lower_half = 0;
  for (std::uint64_t i = middle;; --i) {
    if (i <= fewer) tail += weight;
    if (2 * i < n) lower_half += weight;
    if (i == 0 || weight == 0) break;
    weight *= static_cast<double>(i) / static_cast<double>(n - i + 1);
  }
  const double all = 2 * lower_half + (n % 2 == 0 ? 1.0 : 0.0);
  return std::min(1.0, 2 * tail / all);
}

std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i]) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return *p[a] != *p[b] ? *p[a] < *p[b] : a < b; });
  std::vector<std::optional<double>> out(p.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, std::min(1.0, *p[order[rank]] * static_cast<double>(order.size() - rank)));
    out[order[rank]] = largest;
  }
  return out;
}

std::vector<std::vector<Comparison>> compare(std::size_t items, std::span<const Family> families, std::uint64_t seed) {
  std::vector<std::vector<Comparison>> out;
  std::vector<std::vector<double>> differences;
  std::vector<std::vector<std::uint8_t>> scored;
  for (const Family& family : families) {
    auto& comparisons = out.emplace_back(family.size());
    std::vector<std::optional<double>> p(family.size());
    for (std::size_t m = 0; m < family.size(); ++m) {
      const auto& [a, b, boolean] = family[m];
      auto& difference = differences.emplace_back(items);
      auto& in_both = scored.emplace_back(items);
      std::vector<double> shared;
      std::uint64_t only_a = 0, only_b = 0;
      double sum = 0;
      for (std::size_t i = 0; i < items; ++i) {
        if ((!a.scored.empty() && a.scored[i] == 0) || (!b.scored.empty() && b.scored[i] == 0)) continue;
        difference[i] = b.values[i] - a.values[i];
        in_both[i] = 1;
        shared.push_back(difference[i]);
        sum += difference[i];
        if (difference[i] < 0) ++only_a;
        if (difference[i] > 0) ++only_b;
      }
      comparisons[m].n = shared.size();
      if (shared.empty()) continue;
      comparisons[m].delta = sum / static_cast<double>(shared.size());
      p[m] = comparisons[m].p = boolean ? mcnemar(only_a, only_b) : sign_flip(shared, seed);
    }
    const auto corrected = holm(p);
    for (std::size_t m = 0; m < family.size(); ++m) comparisons[m].p_holm = corrected[m];
  }
  std::vector<Column> columns;
  for (std::size_t c = 0; c < differences.size(); ++c) columns.push_back({differences[c], scored[c]});
  const auto intervals = bootstrap_means(items, columns, seed);
  std::size_t next = 0;
  for (auto& comparisons : out) {
    for (Comparison& comparison : comparisons) comparison.interval = intervals[next++];
  }
  return out;
}

}  // namespace polygraph::metrics
