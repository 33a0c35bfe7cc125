#include "wasm/comparison/matrix.hpp"

#include <algorithm>

#include "wasm/diagnosis/ranking.hpp"

namespace polygraph::comparison {
namespace {

using diagnosis::at_nine;

/// Compares two values of which smaller is better; a missing one is worse than any. −1: the first is better.
int order(const std::optional<double>& x, const std::optional<double>& y) {
  if (!x || !y) return x ? -1 : y ? 1 : 0;
  const double a = at_nine(*x), b = at_nine(*y);
  return a < b ? -1 : a > b ? 1 : 0;
}

std::optional<double> negative(const std::optional<double>& value) { return value ? std::optional(-*value) : std::nullopt; }

int by_quality(const Standing& x, const Standing& y) { return order(negative(x.quality), negative(y.quality)); }

/// Whether `x` is at least as good as `y` in everything and better in one. What either lacks is not compared.
bool dominates(const Standing& x, const Standing& y) {
  bool better = false;
  const auto worse = [&](const std::optional<double>& a, const std::optional<double>& b) {
    if (!a || !b) return false;
    const int o = order(a, b);
    better = better || o < 0;
    return o > 0;
  };
  if (worse(negative(x.quality), negative(y.quality)) || worse(x.mean_ms, y.mean_ms) || worse(x.cost_usd, y.cost_usd)) return false;
  return better;
}

std::vector<Place> places_of(const std::vector<Contender>& contenders) {
  std::vector<Place> places;
  for (const Contender& contender : contenders) {
    const diagnosis::EvaluationReport& report = contender.document->report;
    Place& place = places.emplace_back();
    if (report.retrieval.scored_queries > 0) place.recall = report.retrieval.mean_recall_at_k;
    if (report.latency.count > 0) place.mean_ms = report.latency.mean_ms;
    place.cost_usd = contender.mean_cost_usd;
  }
  const auto on_front = [&](const Place& one, std::optional<double> Place::*price) {
    if (!one.recall || !(one.*price)) return false;
    return std::none_of(places.begin(), places.end(), [&](const Place& other) {
      if (!other.recall || !(other.*price)) return false;
      const int quality = order(negative(other.recall), negative(one.recall)), cost = order(other.*price, one.*price);
      return quality <= 0 && cost <= 0 && (quality < 0 || cost < 0);
    });
  };
  for (Place& place : places) {
    place.latency_front = on_front(place, &Place::mean_ms);
    place.cost_front = on_front(place, &Place::cost_usd);
  }
  return places;
}

}  // namespace

Result<Matrix> matrix(std::vector<Contender> contenders, const Options& options) {
  if (contenders.size() < 2) return fail(ErrorCode::invalid_argument, "needs two pipelines or more");
  Matrix out;
  out.contenders = std::move(contenders);
  out.places = places_of(out.contenders);
  std::vector<Standing> standings(out.contenders.size());
  for (std::size_t i = 0; i < standings.size(); ++i) {
    const diagnosis::EvaluationReport& report = out.contenders[i].document->report;
    standings[i].contender = i;
    standings[i].quality = diagnosis::quality(report);
    if (report.latency.count > 0) standings[i].mean_ms = report.latency.mean_ms;
    standings[i].cost_usd = out.contenders[i].mean_cost_usd;
  }
  for (std::size_t i = 0; i < standings.size(); ++i) {
    for (std::size_t j = i + 1; j < standings.size(); ++j) {
      auto compared = compare(*out.contenders[i].document, *out.contenders[j].document, options);
      if (!compared) {
        Error error = std::move(compared.error());
        error.message = "\"" + out.contenders[i].name + "\" (A) and \"" + out.contenders[j].name + "\" (B): " + error.message;
        return tl::unexpected(std::move(error));
      }
      switch (compared->overall) {
        case Winner::a:
          ++standings[i].wins;
          ++standings[j].losses;
          break;
        case Winner::b:
          ++standings[j].wins;
          ++standings[i].losses;
          break;
        case Winner::tie:
          ++standings[i].ties;
          ++standings[j].ties;
          break;
      }
      out.pairs.push_back({i, j, std::move(*compared)});
    }
  }
  for (Standing& one : standings) {
    one.on_front = std::none_of(standings.begin(), standings.end(), [&](const Standing& other) { return dominates(other, one); });
  }
  const auto points = [](const Standing& one) { return static_cast<std::int64_t>(one.wins) - static_cast<std::int64_t>(one.losses); };
  const auto compare_standings = [&](const Standing& x, const Standing& y) {
    if (points(x) != points(y)) return points(x) > points(y) ? -1 : 1;
    if (const int o = by_quality(x, y); o != 0) return o;
    if (const int o = order(x.mean_ms, y.mean_ms); o != 0) return o;
    return order(x.cost_usd, y.cost_usd);
  };
  std::stable_sort(standings.begin(), standings.end(), [&](const Standing& x, const Standing& y) { return compare_standings(x, y) < 0; });
  for (std::size_t i = 0; i < standings.size(); ++i) {
    const bool same = i > 0 && compare_standings(standings[i - 1], standings[i]) == 0;
    standings[i].rank = same ? standings[i - 1].rank : static_cast<std::uint32_t>(i + 1);
  }
  out.ranking = std::move(standings);
  return out;
}

void write_matrix(json::Writer& writer, const Matrix& matrix) {
  writer.begin_object();
  writer.field("kind", "matrix");
  writer.key("schema").count(1);
  writer.key("ranking").begin_array();
  for (const Standing& one : matrix.ranking) {
    writer.begin_object();
    writer.key("rank").count(one.rank);
    writer.field("pipeline", matrix.contenders[one.contender].name);
    writer.key("wins").count(one.wins);
    writer.key("losses").count(one.losses);
    writer.key("ties").count(one.ties);
    writer.field("quality", one.quality);
    writer.field("mean_retrieval_ms", one.mean_ms);
    writer.field("mean_cost_usd", one.cost_usd);
    writer.field("on_front", one.on_front);
    writer.end_object();
  }
  writer.end_array();
  writer.key("pairs").begin_array();
  for (const Pair& pair : matrix.pairs) {
    const Comparison& comparison = pair.comparison;
    writer.begin_object();
    writer.field("a", matrix.contenders[pair.a].name);
    writer.field("b", matrix.contenders[pair.b].name);
    writer.key("winner_side").begin_object();
    writer.field("quality", name(comparison.quality));
    writer.field("latency", name(comparison.latency));
    writer.field("overall", name(comparison.overall));
    writer.end_object();
    writer.field("trade_off", name(comparison.trade_off));
    writer.field("summary", comparison.summary);
    writer.field("verdict", name(comparison.regression.verdict));
    writer.field("recall_at_k", comparison.deltas.recall_at_k);
    writer.field("mrr", comparison.deltas.mrr);
    writer.field("answer_correctness", comparison.deltas.answer_correctness);
    writer.field("groundedness", comparison.deltas.groundedness);
    writer.field("mean_retrieval_ms", comparison.deltas.mean_retrieval_ms);
    writer.key("queries_improved").count(comparison.improved);
    writer.key("queries_regressed").count(comparison.regressed);
    writer.key("tests");
    write_tests(writer, comparison.tests);
    writer.key("warnings").begin_array();
    for (const auto& warning : comparison.warnings) writer.value(warning);
    writer.end_array();
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
}

}  // namespace polygraph::comparison
