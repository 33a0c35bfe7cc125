#include "wasm/report/paired_tests.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "wasm/metrics/statistics.hpp"

namespace polygraph::report {

std::vector<comparison::PairedTest> paired_tests(const std::vector<comparison::PairedSample>& samples) {
  // Every metric has its own items, those that both sides have a value for: columns over the longest, the rest unscored.
  std::size_t items = 0;
  for (const auto& sample : samples) items = std::max(items, sample.a.size());
  struct Columns {
    std::vector<double> a, b;
    std::vector<std::uint8_t> scored;
  };
  std::vector<Columns> columns;
  for (const auto& sample : samples) {
    Columns column{sample.a, sample.b, std::vector<std::uint8_t>(sample.a.size(), 1)};
    column.a.resize(items);
    column.b.resize(items);
    column.scored.resize(items);
    columns.push_back(std::move(column));
  }
  metrics::Family family;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    family.push_back({{columns[i].a, columns[i].scored}, {columns[i].b, columns[i].scored}, samples[i].boolean});
  }
  const auto tested = metrics::compare(items, std::span(&family, 1), seed).front();
  std::vector<comparison::PairedTest> out;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const metrics::Comparison& test = tested[i];
    if (!test.delta || !test.p || !test.p_holm) continue;
    comparison::PairedTest one;
    one.metric = samples[i].metric;
    one.delta = *test.delta;
    if (test.interval) {
      one.low = test.interval->low;
      one.high = test.interval->high;
    }
    one.p = *test.p;
    one.p_holm = *test.p_holm;
    one.n = test.n;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace polygraph::report
