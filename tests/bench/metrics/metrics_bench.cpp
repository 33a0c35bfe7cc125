// Times the engine's metrics over made-up results, for metrics.mjs beside the peers of peers.py.
//
//   metrics_bench FOLDER [ITEMS]
//
// writes into FOLDER what a peer needs to compute the same figures (qrels.txt, run0.txt …, columns.json), and prints as JSON how long
// each part took here and what came out.
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wasm/metrics/interval.hpp"
#include "wasm/metrics/random.hpp"
#include "wasm/metrics/ranking.hpp"
#include "wasm/metrics/statistics.hpp"

namespace {

namespace metrics = polygraph::metrics;
using nlohmann::json;

constexpr std::size_t configurations = 4, depth = 20, k = 5;
constexpr std::uint64_t seed = 1;

struct Metric {
  std::string name;
  bool boolean = false;
  std::vector<double> values = {};
  std::vector<std::uint8_t> scored = {};
};

/// Time of the processor, so that what else the machine does is not counted.
double now_ms() { return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
double uniform(metrics::Random& random) { return static_cast<double>(random.below(1'000'000'007)) / 1'000'000'007; }

metrics::Column column(const Metric& metric) { return {metric.values, metric.scored}; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: metrics_bench FOLDER [ITEMS]\n";
    return 2;
  }
  const std::string folder = argv[1];
  const std::size_t items = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10'000;

  // Every item has one to three gold chunks with grades; a better configuration ranks them higher.
  metrics::Random random(7);
  std::vector<std::vector<std::pair<std::string, std::int64_t>>> gold(items);
  for (auto& each : gold) {
    for (std::size_t g = 0; g <= random.below(3); ++g) each.emplace_back("gold#" + std::to_string(g), 1 + random.below(3));
  }
  std::vector<std::vector<std::vector<std::string>>> ranked(configurations, std::vector<std::vector<std::string>>(items));
  for (std::size_t c = 0; c < configurations; ++c) {
    for (std::size_t i = 0; i < items; ++i) {
      auto& list = ranked[c][i];
      for (std::size_t r = 0; r < depth; ++r) list.push_back("other#" + std::to_string(r));
      for (const auto& [id, grade] : gold[i]) {
        const auto place = random.below(depth + 6 - c);
        if (place < depth) list[place] = id;
      }
    }
  }
  std::vector<std::vector<Metric>> all(configurations);
  for (std::size_t c = 0; c < configurations; ++c) {
    all[c] = {{"recall"}, {"precision"}, {"hit_rate", true}, {"mrr"}, {"ndcg"}, {"map"}, {"faithfulness"}, {"answer_relevancy"}, {"correctness"}, {"groundedness", true},
              {"correct_refusal", true}, {"latency"}};
    for (Metric& metric : all[c]) {
      metric.values.assign(items, 0);
      metric.scored.assign(items, 1);
    }
    const double better = 0.01 * static_cast<double>(c);
    for (std::size_t i = 0; i < items; ++i) {
      const bool unanswerable = i % 4 == 0, refused = random.below(10) < (unanswerable ? 8U : 1U);
      all[c][6].values[i] = static_cast<double>(3 + random.below(3)) / 5;
      all[c][7].values[i] = 0.6 + better + 0.3 * uniform(random);
      all[c][8].values[i] = 0.3 + better + 0.6 * uniform(random);
      all[c][9].values[i] = random.below(10) < 8;
      all[c][10].values[i] = refused;
      all[c][11].values[i] = 200 + 1000 * uniform(random) * uniform(random);
      for (std::size_t m = 6; m <= 9; ++m) all[c][m].scored[i] = !refused;
      all[c][10].scored[i] = unanswerable;
    }
  }

  double start = now_ms();
  for (std::size_t c = 0; c < configurations; ++c) {
    for (std::size_t i = 0; i < items; ++i) {
      const auto list = metrics::grade(ranked[c][i], gold[i]);
      all[c][0].values[i] = metrics::recall_at(list, k);
      all[c][1].values[i] = metrics::precision_at(list, k);
      all[c][2].values[i] = metrics::hit_rate_at(list, k);
      all[c][3].values[i] = metrics::reciprocal_rank(list);
      all[c][4].values[i] = metrics::ndcg_at(list, k);
      all[c][5].values[i] = metrics::average_precision(list);
    }
  }
  const double retrieval_ms = now_ms() - start;

  const auto intervals_of = [&](std::size_t begin, std::size_t end) {
    std::vector<metrics::Column> columns;
    for (std::size_t c = begin; c < end; ++c) {
      for (const Metric& metric : all[c]) {
        if (!metric.boolean) columns.push_back(column(metric));
      }
    }
    return metrics::bootstrap_means(items, columns, seed);
  };
  const auto family = [&](std::size_t a, std::size_t b) {
    metrics::Family pairs;
    for (std::size_t m = 0; m < all[a].size(); ++m) pairs.push_back({column(all[a][m]), column(all[b][m]), all[a][m].boolean});
    return pairs;
  };
  start = now_ms();
  const auto one = intervals_of(0, 1);
  const double one_configuration_ms = now_ms() - start;
  start = now_ms();
  intervals_of(0, configurations);
  const double intervals_ms = now_ms() - start;
  start = now_ms();
  const std::vector<metrics::Family> first_pair{family(0, 1)};
  const auto pair = metrics::compare(items, first_pair, seed).front();
  const double one_pair_ms = now_ms() - start;
  std::vector<metrics::Family> families;
  for (std::size_t a = 0; a < configurations; ++a) {
    for (std::size_t b = a + 1; b < configurations; ++b) families.push_back(family(a, b));
  }
  start = now_ms();
  metrics::compare(items, families, seed);
  const double pairs_ms = now_ms() - start;

  json figures = json::object();
  std::size_t interval = 0;
  for (std::size_t m = 0; m < all[0].size(); ++m) {
    const Metric& metric = all[0][m];
    double sum = 0;
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < items; ++i) {
      if (metric.scored[i] == 0) continue;
      sum += metric.values[i];
      ++n;
    }
    const auto ends = metric.boolean ? metrics::wilson(static_cast<std::uint64_t>(sum), n) : one[interval++].value();
    figures[metric.name] = {{"mean", sum / static_cast<double>(n)}, {"low", ends.low}, {"high", ends.high}, {"p", pair[m].p.value()}};
  }

  std::ofstream qrels(folder + "/qrels.txt");
  for (std::size_t i = 0; i < items; ++i) {
    for (const auto& [id, grade] : gold[i]) qrels << 'q' << i << " 0 " << id << ' ' << grade << '\n';
  }
  json columns = json::array();
  for (std::size_t c = 0; c < configurations; ++c) {
    std::ofstream run(folder + "/run" + std::to_string(c) + ".txt");
    for (std::size_t i = 0; i < items; ++i) {
      for (std::size_t r = 0; r < depth; ++r) run << 'q' << i << " Q0 " << ranked[c][i][r] << ' ' << r + 1 << ' ' << depth - r << " t\n";
    }
    if (c > 1) continue;
    for (const Metric& metric : all[c]) columns.push_back({{"configuration", c}, {"name", metric.name}, {"boolean", metric.boolean}, {"values", metric.values}, {"scored", metric.scored}});
  }
  std::ofstream(folder + "/columns.json") << columns;
  std::cout << json{{"items", items}, {"configurations", configurations}, {"retrieval_ms", retrieval_ms}, {"intervals_ms", intervals_ms}, {"pairs_ms", pairs_ms},
                    {"one_configuration_ms", one_configuration_ms}, {"one_pair_ms", one_pair_ms}, {"figures", figures}}
            << '\n';
  return 0;
}
