// The bootstrap of many columns at once. Per resample there is one vector of counts, how often each item was drawn, and each
// column's sum is its product with the column; 10,000 such products of 10,000 items are what the time goes to. They are products of
// 16-bit integers, which every vector unit adds up pairwise (SSE2's pmaddwd, WebAssembly's i32x4.dot_i16x8).
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "wasm/metrics/interval.hpp"
#include "wasm/metrics/random.hpp"

namespace polygraph::metrics {
namespace {

constexpr int piece_bits = 15;
constexpr std::int32_t scale = 1 << 29;  // so that both pieces of a code, and 1 as a code, fit 16 bits with sign
constexpr std::size_t block = 8;         // resamples whose counts are kept while the columns go by; fours of them
// Per run of so many items a sum of products stays far below 2^31: that holds while they are drawn less than 65,536 times in all,
// and they are drawn as often as there are items, give or take a few standard deviations of at most 128. A single count is as safe.
constexpr std::size_t run_length = 16'384;

/// Items that are scored together in some columns.
struct Mask {
  std::vector<std::int16_t> scored;  // 0 or 1
  std::uint64_t count = 0;
  bool all = false;
};

/// A column as whole numbers: value = low + range * code / scale, code = upper * 2^15 + lower.
struct Coded {
  std::size_t mask = 0;
  double low = 0, range = 0;
  std::vector<std::int16_t> upper, lower;  // lower is empty where it is 0 throughout (booleans, say)
  std::vector<std::int64_t> sums;          // of codes, one a resample

  std::int64_t code(std::size_t item) const noexcept { return (std::int64_t{upper[item]} << piece_bits) + (lower.empty() ? 0 : lower[item]); }
};

/// `sums[r]` gets the product of `counts[r]` and the codes of a column. Four resamples at a time, so that each piece is loaded once for them.
template <bool two_pieces>
[[gnu::always_inline]] inline void products(const std::array<const std::int16_t*, 4>& counts, const std::int16_t* upper, const std::int16_t* lower, std::size_t n,
                                            std::array<std::int64_t, 4>& sums) noexcept {
  const std::int16_t *const c0 = counts[0], *const c1 = counts[1], *const c2 = counts[2], *const c3 = counts[3];
  std::array<std::int64_t, 4> upper_sums{}, lower_sums{};
  for (std::size_t begin = 0; begin < n; begin += run_length) {
    const std::size_t end = std::min(n, begin + run_length);
    std::int32_t u0 = 0, u1 = 0, u2 = 0, u3 = 0, l0 = 0, l1 = 0, l2 = 0, l3 = 0;
    for (std::size_t i = begin; i < end; ++i) {
      u0 += std::int32_t{c0[i]} * upper[i];
      u1 += std::int32_t{c1[i]} * upper[i];
      u2 += std::int32_t{c2[i]} * upper[i];
      u3 += std::int32_t{c3[i]} * upper[i];
      if constexpr (two_pieces) {
        l0 += std::int32_t{c0[i]} * lower[i];
        l1 += std::int32_t{c1[i]} * lower[i];
        l2 += std::int32_t{c2[i]} * lower[i];
        l3 += std::int32_t{c3[i]} * lower[i];
      }
    }
    upper_sums = {upper_sums[0] + u0, upper_sums[1] + u1, upper_sums[2] + u2, upper_sums[3] + u3};
    if constexpr (two_pieces) lower_sums = {lower_sums[0] + l0, lower_sums[1] + l1, lower_sums[2] + l2, lower_sums[3] + l3};
  }
  for (std::size_t r = 0; r < sums.size(); ++r) sums[r] = two_pieces ? upper_sums[r] * (1 << piece_bits) + lower_sums[r] : upper_sums[r];
}

using Products = void (*)(const std::array<const std::int16_t*, 4>&, const std::int16_t*, const std::int16_t*, std::size_t, std::array<std::int64_t, 4>&) noexcept;

template <bool two_pieces>
void products_plain(const std::array<const std::int16_t*, 4>& counts, const std::int16_t* upper, const std::int16_t* lower, std::size_t n,
                    std::array<std::int64_t, 4>& sums) noexcept {
  products<two_pieces>(counts, upper, lower, n, sums);
}

#if defined(__x86_64__) && !defined(__EMSCRIPTEN__)
/// Whole numbers: the wider unit gives the same sums.
template <bool two_pieces>
[[gnu::target("avx2")]] void products_wide(const std::array<const std::int16_t*, 4>& counts, const std::int16_t* upper, const std::int16_t* lower, std::size_t n,
                                           std::array<std::int64_t, 4>& sums) noexcept {
  products<two_pieces>(counts, upper, lower, n, sums);
}
template <bool two_pieces>
Products chosen_products() noexcept {
  return __builtin_cpu_supports("avx2") ? products_wide<two_pieces> : products_plain<two_pieces>;
}
#else
template <bool two_pieces>
Products chosen_products() noexcept {
  return products_plain<two_pieces>;
}
#endif

/// One resample: a stream of items of which the first `items` are drawn at once, further ones as they are asked for.
class Stream {
 public:
  void begin(std::uint64_t seed, std::size_t items) {
    items_ = items;
    excess_ = static_cast<std::uint32_t>((std::uint64_t{1} << 32) % items);
    half_left_ = false;
    drawn_.resize(items);
    counts_.assign(items, 0);
    Random random(seed);
    std::uint32_t* const drawn = drawn_.data();
    std::int16_t* const counts = counts_.data();
    for (std::size_t filled = 0; filled < items;) {
      const std::uint64_t number = random.next();
      const std::uint64_t lower = (number & 0xffffffffU) * items, upper = (number >> 32) * items;
      if (static_cast<std::uint32_t>(lower) >= excess_) {
        drawn[filled++] = static_cast<std::uint32_t>(lower >> 32);
        ++counts[lower >> 32];
      }
      if (static_cast<std::uint32_t>(upper) < excess_) continue;
      if (filled < items) {
        drawn[filled++] = static_cast<std::uint32_t>(upper >> 32);
        ++counts[upper >> 32];
      } else {
        kept_ = static_cast<std::uint32_t>(upper >> 32);
        half_left_ = true;
      }
    }
    random_ = random;
  }

  std::uint32_t operator[](std::size_t place) {
    while (place >= drawn_.size()) extend();
    return drawn_[place];
  }
  const std::int16_t* counts() const noexcept { return counts_.data(); }

 private:
  void extend() {
    if (half_left_) {
      drawn_.push_back(kept_);
      half_left_ = false;
      return;
    }
    const std::uint64_t number = random_.next();
    for (const std::uint64_t half : {number & 0xffffffffU, number >> 32}) {
      const std::uint64_t product = half * items_;
      if (static_cast<std::uint32_t>(product) >= excess_) drawn_.push_back(static_cast<std::uint32_t>(product >> 32));
    }
  }

  Random random_{0};
  std::size_t items_ = 0;
  std::uint32_t excess_ = 0;  // 2^32 mod items
  std::uint32_t kept_ = 0;    // an upper half that belongs behind the first `items`
  bool half_left_ = false;
  std::vector<std::uint32_t> drawn_;
  std::vector<std::int16_t> counts_;
};

/// What turns the sum over a stream's first `items` items into the sum over its first n scored ones.
struct Correction {
  std::vector<std::uint32_t> items;
  bool add = false;
};

/// `scored` of the first `items` are.
void correct(Stream& stream, const Mask& mask, std::size_t items, std::uint64_t scored, Correction& correction) {
  correction.items.clear();
  correction.add = scored < mask.count;
  for (std::size_t place = items; scored < mask.count; ++place) {
    const std::uint32_t item = stream[place];
    if (mask.scored[item] == 0) continue;
    correction.items.push_back(item);
    ++scored;
  }
  for (std::size_t place = items; scored > mask.count;) {
    const std::uint32_t item = stream[--place];
    if (mask.scored[item] == 0) continue;
    correction.items.push_back(item);
    --scored;
  }
}

Coded coded(const Column& column, std::size_t mask, const Mask& scored) {
  Coded out;
  out.mask = mask;
  const std::size_t items = column.values.size();
  bool any = false;
  double high = 0;
  for (std::size_t i = 0; i < items; ++i) {
    if (!scored.all && scored.scored[i] == 0) continue;
    out.low = any ? std::min(out.low, column.values[i]) : column.values[i];
    high = any ? std::max(high, column.values[i]) : column.values[i];
    any = true;
  }
  out.range = high - out.low;
  if (!any || out.range <= 0) return out;
  out.upper.resize(items);
  out.lower.resize(items);
  std::int16_t used = 0;
  for (std::size_t i = 0; i < items; ++i) {
    if (!scored.all && scored.scored[i] == 0) continue;
    const auto code = static_cast<std::int32_t>(std::floor((column.values[i] - out.low) / out.range * scale + 0.5));
    out.upper[i] = static_cast<std::int16_t>(code >> piece_bits);
    out.lower[i] = static_cast<std::int16_t>(code & ((1 << piece_bits) - 1));
    used |= out.lower[i];
  }
  if (used == 0) out.lower.clear();
  return out;
}

/// percentile() of numbers that are only sorted as far as it needs.
double percentile_of(std::vector<std::int64_t>& sums, double p) {
  const double position = p * static_cast<double>(sums.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(position);
  std::nth_element(sums.begin(), sums.begin() + below, sums.end());
  const auto low = static_cast<double>(sums[static_cast<std::size_t>(below)]);
  if (below + 1 == static_cast<std::ptrdiff_t>(sums.size())) return low;
  const auto high = static_cast<double>(*std::min_element(sums.begin() + below + 1, sums.end()));
  return low + (position - static_cast<double>(below)) * (high - low);
}

}  // namespace

std::vector<std::optional<Interval>> bootstrap_means(std::size_t items, std::span<const Column> columns, std::uint64_t seed, std::uint32_t resamples) {
  std::vector<std::optional<Interval>> out(columns.size());
  if (items == 0 || resamples == 0) return out;
  std::vector<Mask> masks;
  std::map<std::vector<std::int16_t>, std::size_t> known;
  std::vector<Coded> work;
  std::vector<std::size_t> column_of;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::vector<std::int16_t> scored(items, 1);
    if (!columns[c].scored.empty()) std::transform(columns[c].scored.begin(), columns[c].scored.end(), scored.begin(), [](std::uint8_t each) { return each == 0 ? 0 : 1; });
    const auto [found, fresh] = known.try_emplace(std::move(scored), masks.size());
    if (fresh) {
      const auto count = static_cast<std::uint64_t>(std::count(found->first.begin(), found->first.end(), 1));
      masks.push_back({found->first, count, count == items});
    }
    const Mask& mask = masks[found->second];
    if (mask.count == 0) continue;
    Coded column = coded(columns[c], found->second, mask);
    if (column.range <= 0) {
      out[c] = Interval{column.low, column.low};
      continue;
    }
    column.sums.resize(resamples);
    work.push_back(std::move(column));
    column_of.push_back(c);
  }
  if (work.empty()) return out;
  std::vector<bool> needed(masks.size());
  for (const Coded& column : work) needed[column.mask] = true;

  Random seeds(seed);
  std::array<Stream, block> streams;
  // Behind the last resample of a block the first of the four stands again, to no purpose.
  const auto four_counts = [&streams](std::size_t begin, std::size_t four) {
    std::array<const std::int16_t*, 4> counts{};
    for (std::size_t r = 0; r < counts.size(); ++r) counts[r] = streams[begin + (r < four ? r : 0)].counts();
    return counts;
  };
  std::vector<std::array<Correction, block>> corrections(masks.size());
  const Products one_piece = chosen_products<false>(), two_pieces = chosen_products<true>();
  for (std::uint32_t first = 0; first < resamples; first += block) {
    const std::size_t length = std::min<std::size_t>(block, resamples - first);
    for (std::size_t r = 0; r < length; ++r) streams[r].begin(seeds.next(), items);
    for (std::size_t begin = 0; begin < length; begin += 4) {
      const std::size_t four = std::min<std::size_t>(4, length - begin);
      const auto counts = four_counts(begin, four);
      std::array<std::int64_t, 4> sums{};
      for (std::size_t m = 0; m < masks.size(); ++m) {
        if (!needed[m] || masks[m].all) continue;
        one_piece(counts, masks[m].scored.data(), nullptr, items, sums);
        for (std::size_t r = 0; r < four; ++r) correct(streams[begin + r], masks[m], items, static_cast<std::uint64_t>(sums[r]), corrections[m][begin + r]);
      }
    }
    for (Coded& column : work) {
      for (std::size_t begin = 0; begin < length; begin += 4) {
        const std::size_t four = std::min<std::size_t>(4, length - begin);
        const auto counts = four_counts(begin, four);
        std::array<std::int64_t, 4> sums{};
        if (column.lower.empty()) {
          one_piece(counts, column.upper.data(), nullptr, items, sums);
          for (std::int64_t& sum : sums) sum *= 1 << piece_bits;
        } else {
          two_pieces(counts, column.upper.data(), column.lower.data(), items, sums);
        }
        for (std::size_t r = 0; r < four; ++r) {
          const Correction& correction = corrections[column.mask][begin + r];
          std::int64_t change = 0;
          for (const std::uint32_t item : correction.items) change += column.code(item);
          column.sums[first + begin + r] = correction.add ? sums[r] + change : sums[r] - change;
        }
      }
    }
  }
  for (std::size_t w = 0; w < work.size(); ++w) {
    Coded& column = work[w];
    const double whole = static_cast<double>(masks[column.mask].count) * scale;
    const double low = percentile_of(column.sums, 0.025), high = percentile_of(column.sums, 0.975);
    out[column_of[w]] = Interval{column.low + column.range * (low / whole), column.low + column.range * (high / whole)};
  }
  return out;
}

Interval bootstrap_mean(std::span<const double> values, std::uint64_t seed, std::uint32_t resamples) {
  const Column column{values};
  return bootstrap_means(values.size(), {&column, 1}, seed, resamples).front().value_or(Interval{});
}

}  // namespace polygraph::metrics
