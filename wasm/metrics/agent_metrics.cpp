#include "wasm/metrics/agent_metrics.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "wasm/metrics/ranking.hpp"

namespace polygraph::metrics {
namespace {

using agent::Node;
using agent::Status;

// Verdicts at a threshold look at nine decimals, so that no order of summation decides one.
constexpr double correct_from = 0.5 - 5e-10;

std::string_view page_of(std::string_view chunk_id) noexcept { return chunk_id.substr(0, chunk_id.rfind('#')); }

bool contains(const std::vector<std::string>& ids, std::string_view id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

/// Gold for the grader: a gold chunk, or any chunk of a gold page. On an unanswerable question nothing is.
bool gold(const EvaluatedItem& item, std::string_view chunk_id) {
  return item.type != QuestionType::unanswerable && (contains(item.relevant_chunk_ids, chunk_id) || contains(item.relevant_pages, page_of(chunk_id)));
}

bool has_gold(const EvaluatedItem& item) { return !item.relevant_chunk_ids.empty() || !item.relevant_pages.empty(); }

Measured scored(double value) { return {value, ItemState::scored}; }

template <class Data>
const Data* first_of(const agent::Run& run) {
  for (const agent::Step& step : run.steps) {
    if (const auto* data = std::get_if<Data>(&step.data)) return data;
  }
  return nullptr;
}

/// In the order of the definitions.
void append_retrieval(std::vector<Measured>& values, std::span<const std::size_t> ks, const std::vector<std::string>* ranked, const std::vector<std::string>& gold_ids) {
  const std::size_t count = 5 * ks.size() + 2;
  if (gold_ids.empty() || ranked == nullptr) {
    values.insert(values.end(), count, Measured{0, gold_ids.empty() ? ItemState::unscorable : ItemState::failed});
    return;
  }
  const GradedList list = grade(*ranked, gold_ids);
  for (const auto measure : {recall_at, precision_of_retrieved, hit_rate_at, reciprocal_rank_at, ndcg_at}) {
    for (const std::size_t k : ks) values.push_back(scored(measure(list, k)));
  }
  values.push_back(scored(reciprocal_rank(list)));
  values.push_back(scored(average_precision(list)));
}

bool was_judged(const EvaluatedItem& item, std::string_view id) { return contains(item.pool_ids, id) || contains(item.relevant_chunk_ids, id); }

/// judged@k of one item at each cut-off.
std::vector<Measured> judged_shares(const EvaluatedItem& item, std::span<const std::size_t> ks, const std::vector<std::string>* ranked) {
  std::vector<Measured> out;
  for (const std::size_t k : ks) {
    const std::size_t length = ranked == nullptr ? 0 : std::min(k, ranked->size());
    if (item.pool_ids.empty() || length == 0) {
      out.push_back({0, !item.pool_ids.empty() && ranked == nullptr ? ItemState::failed : ItemState::unscorable});
      continue;
    }
    const auto judged = std::count_if(ranked->begin(), ranked->begin() + static_cast<std::ptrdiff_t>(length), [&](const std::string& id) { return was_judged(item, id); });
    out.push_back(scored(static_cast<double>(judged) / static_cast<double>(length)));
  }
  return out;
}

void count(Confusion& confusion, bool predicted, bool actual) {
  ++(predicted ? (actual ? confusion.true_positive : confusion.false_positive) : (actual ? confusion.false_negative : confusion.true_negative));
}

void add(Confusion& sum, const Confusion& other) {
  sum.true_positive += other.true_positive;
  sum.false_positive += other.false_positive;
  sum.false_negative += other.false_negative;
  sum.true_negative += other.true_negative;
}

/// The grader's predictions. An item that should be answered but names no gold says nothing about them.
void measure_grader(const EvaluatedItem& item, const agent::Run& run, ItemMeasures& out) {
  if (item.type != QuestionType::unanswerable && !has_gold(item)) return;
  for (const agent::Step& step : run.steps) {
    const auto* graded = std::get_if<agent::Graded>(&step.data);
    if (graded == nullptr) continue;
    out.graded = true;
    bool any_gold = false;
    for (const std::string& id : graded->graded_ids) {
      const bool actual = gold(item, id);
      any_gold = any_gold || actual;
      count(out.grader_chunk, contains(graded->relevant_chunk_ids, id), actual);
    }
    count(out.grader_set, graded->relevant && !graded->relevant_chunk_ids.empty(), any_gold);
  }
}

/// A rewrite succeeds when the next retrieval holds a gold chunk and the grade after it passed.
void measure_rewrites(const EvaluatedItem& item, const agent::Run& run, ItemMeasures& out) {
  for (std::size_t s = 0; s < run.steps.size(); ++s) {
    if (run.steps[s].node() != Node::rewrite_query) continue;
    if (item.type == QuestionType::unanswerable) {
      ++out.rewrites_unanswerable;
      continue;
    }
    ++out.rewrites;
    if (!has_gold(item)) continue;
    ++out.rewrites_scorable;
    bool found = false, passed = false;
    for (std::size_t next = s + 1; next < run.steps.size() && run.steps[next].node() != Node::rewrite_query; ++next) {
      if (const auto* retrieved = std::get_if<agent::Retrieved>(&run.steps[next].data)) {
        found = std::any_of(retrieved->retrieved_ids.begin(), retrieved->retrieved_ids.end(), [&](const std::string& id) { return gold(item, id); });
      }
      if (const auto* graded = std::get_if<agent::Graded>(&run.steps[next].data)) passed = graded->relevant && !graded->relevant_chunk_ids.empty();
    }
    if (found && passed) ++out.rewrites_succeeded;
  }
}

void measure_usage(const agent::Run& run, ItemMeasures& out) {
  for (const agent::Step& step : run.steps) {
    out.step_ms.emplace_back(step.node(), step.ms);
    for (const auto& [effect, result] : step.effects) {
      const auto* request = std::get_if<agent::CompleteRequest>(&effect.request);
      if (request == nullptr) continue;
      RoleUsage& usage = out.usage[static_cast<std::size_t>(request->task)];
      ++usage.calls;
      if (result.cached) ++usage.cached;
      usage.tokens.in += result.tokens.in;
      usage.tokens.out += result.tokens.out;
      if (result.cost_usd) {
        usage.priced_usd += *result.cost_usd;
      } else if (!std::holds_alternative<Error>(result.value)) {  // for a call that failed nothing was charged
        ++usage.unpriced;
      }
    }
  }
}

void add_state(MetricValue& value, ItemState state) {
  switch (state) {
    case ItemState::scored: ++value.scored; break;
    case ItemState::unscorable: ++value.unscorable; break;
    case ItemState::judge_error: ++value.judge_error; break;
    case ItemState::failed: ++value.failed; break;
  }
}

/// A rate of `n` that are not items; the states in `value` are counted already.
void set_rate(MetricValue& value, std::uint64_t part, std::uint64_t n) {
  value.n = n;
  if (n == 0) return;
  value.value = static_cast<double>(part) / static_cast<double>(n);
  const Interval ends = wilson(part, n);
  value.low = ends.low;
  value.high = ends.high;
}

LatencySummary summary(std::vector<double> ms) {
  LatencySummary out;
  out.count = ms.size();
  if (ms.empty()) return out;
  std::sort(ms.begin(), ms.end());
  double sum = 0;
  for (const double each : ms) sum += each;
  out.mean = sum / static_cast<double>(ms.size());
  out.p50 = percentile(ms, 0.5);
  out.p95 = percentile(ms, 0.95);
  out.p99 = percentile(ms, 0.99);
  out.min = ms.front();
  out.max = ms.back();
  return out;
}

/// A metric that every run has: failed where the run did.
std::size_t steps_column(std::span<const MetricDefinition> definitions) {
  const auto found = std::find_if(definitions.begin(), definitions.end(), [](const MetricDefinition& each) { return each.name == "steps_mean"; });
  return static_cast<std::size_t>(found - definitions.begin());
}

/// The per-item values as columns.
struct Table {
  Table(std::span<const ItemMeasures> items, std::size_t columns) : values(columns), scored(columns) {
    for (std::size_t c = 0; c < columns; ++c) {
      values[c].resize(items.size());
      scored[c].resize(items.size());
      for (std::size_t i = 0; i < items.size(); ++i) {
        const Measured& each = items[i].values[c];
        values[c][i] = each.value;
        scored[c][i] = each.state == ItemState::scored ? 1 : 0;
      }
    }
  }
  /// For a side that failed on every item: what counts a failure as wrong would make it a loser without having run.
  void leave_out_if_never_ran(std::span<const ItemMeasures> items, std::size_t column_of_every_run) {
    const bool ran = std::any_of(items.begin(), items.end(), [&](const ItemMeasures& item) { return item.values[column_of_every_run].state != ItemState::failed; });
    if (ran) return;
    for (auto& each : scored) std::fill(each.begin(), each.end(), std::uint8_t{0});
  }
  Column column(std::size_t c) const { return {values[c], scored[c]}; }
  std::vector<double> of_scored(std::size_t c) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < values[c].size(); ++i) {
      if (scored[c][i] != 0) out.push_back(values[c][i]);
    }
    return out;
  }
  std::vector<std::vector<double>> values;
  std::vector<std::vector<std::uint8_t>> scored;
};

}  // namespace

std::vector<std::string> unjudged(const EvaluatedItem& item, std::span<const std::string> ranked, std::size_t k) {
  std::vector<std::string> ids;
  if (item.pool_ids.empty()) return ids;
  for (const std::string& id : ranked.first(std::min(k, ranked.size()))) {
    if (!was_judged(item, id)) ids.push_back(id);
  }
  return ids;
}

const MetricValue* AgentSummary::find(std::string_view name) const noexcept {
  for (const auto& [each, value] : metrics) {
    if (each == name) return &value;
  }
  return nullptr;
}

AgentMetrics::AgentMetrics(Options options) : options_(options), ks_{1, 3, 5, 10} {
  if (options.top_k > 0) ks_.push_back(options.top_k);
  std::sort(ks_.begin(), ks_.end());
  ks_.erase(std::unique(ks_.begin(), ks_.end()), ks_.end());
  for (const char* const suffix : {"", "_pages"}) {
    if (*suffix != '\0' && !options.pages) continue;
    for (const char* const name : {"recall", "precision", "hit_rate", "mrr", "ndcg"}) {
      for (const std::size_t k : ks_) definitions_.push_back({std::string(name) + suffix + "@" + std::to_string(k), std::string_view(name) == "hit_rate"});
    }
    for (const char* const name : {"mrr", "map"}) definitions_.push_back({std::string(name) + suffix, false});
  }
  for (const auto& [name, boolean] : {std::pair("correct_refusal_rate", true), {"false_refusal_rate", true}, {"steps_mean", false}, {"loop_rate", true},
                                      {"stalled_rate", true}, {"faithfulness", false}, {"answer_relevancy", false}, {"correctness", false},
                                      {"groundedness", true}, {"end_to_end_accuracy", true}, {"citation_precision", false}, {"citation_recall", false},
                                      {"latency_mean_ms", false}, {"tokens_mean", false}, {"cost_mean_usd", false}}) {
    definitions_.push_back({name, boolean});
  }
}

ItemMeasures AgentMetrics::measure(const EvaluatedItem& item, const agent::Run* run, const Judgements* asked) const {
  const Judgements judgements = asked == nullptr ? Judgements{} : *asked;
  ItemMeasures out;
  out.values.reserve(definitions_.size());
  const auto* first = run == nullptr ? nullptr : first_of<agent::Retrieved>(*run);
  append_retrieval(out.values, ks_, first == nullptr ? nullptr : &first->candidate_ids, item.relevant_chunk_ids);
  if (options_.pages) {
    std::vector<std::string> pages;
    if (first != nullptr) {
      for (const std::string& id : first->candidate_ids) pages.emplace_back(page_of(id));
    }
    append_retrieval(out.values, ks_, first == nullptr ? nullptr : &pages, item.relevant_pages);
  }

  out.judged = judged_shares(item, ks_, first == nullptr ? nullptr : &first->candidate_ids);

  const bool failed = run == nullptr || run->status == Status::failed || run->status == Status::running;
  const bool refused = !failed && run->status == Status::refused;
  const bool unanswerable = item.type == QuestionType::unanswerable;
  const auto of_run = [&](double value) { return failed ? Measured{0, ItemState::failed} : scored(value); };
  const auto judged = [&](const Measured& value) { return failed ? Measured{0, ItemState::failed} : refused ? Measured{} : value; };

  const Measured refusal = failed || item.refusal_known ? of_run(refused) : Measured{};
  out.values.push_back(unanswerable ? refusal : Measured{});
  out.values.push_back(unanswerable ? Measured{} : refusal);

  std::uint32_t rewrites = 0;
  bool stalled = false;
  if (run != nullptr) {
    out.reflects = run->config.use_reflection;
    measure_grader(item, *run, out);
    measure_rewrites(item, *run, out);
    measure_usage(*run, out);
    rewrites = out.rewrites + out.rewrites_unanswerable;
    for (const agent::Step& step : run->steps) {
      if (const auto* rewritten = std::get_if<agent::Rewritten>(&step.data)) stalled = stalled || rewritten->repeated;
    }
  }
  out.values.push_back(of_run(run == nullptr ? 0 : static_cast<double>(run->steps.size())));
  out.values.push_back(of_run(rewrites > 0 && rewrites == run->config.max_rewrites && !stalled));
  out.values.push_back(of_run(stalled));

  out.values.push_back(judged(judgements.faithfulness));
  out.values.push_back(judged(judgements.answer_relevancy));
  out.values.push_back(judged(judgements.correctness));
  out.values.push_back(judged(judgements.groundedness));
  if (unanswerable || asked == nullptr) {
    out.values.emplace_back();
  } else if (failed || refused) {
    out.values.push_back(scored(0));
  } else if (judgements.correctness.state == ItemState::scored) {
    out.values.push_back(scored(judgements.correctness.value >= correct_from));
  } else {
    out.values.push_back(judgements.correctness);
  }
  out.values.push_back(judged(judgements.citation_precision));
  out.values.push_back(judged(judgements.citation_recall));

  out.values.push_back(of_run(run == nullptr ? 0 : run->total_ms));
  std::uint64_t tokens = 0, unpriced = 0;
  double cost = 0;
  for (const RoleUsage& usage : out.usage) {
    tokens += usage.tokens.in + usage.tokens.out;
    unpriced += usage.unpriced;
    cost += usage.priced_usd;
  }
  out.values.push_back(of_run(static_cast<double>(tokens)));
  out.values.push_back(unpriced > 0 && !failed ? Measured{} : of_run(cost));
  return out;
}

AgentSummary AgentMetrics::aggregate(std::span<const ItemMeasures> items, std::uint64_t seed) const {
  AgentSummary out;
  const Table table(items, definitions_.size());
  std::vector<Column> columns;
  for (std::size_t c = 0; c < definitions_.size(); ++c) {
    if (!definitions_[c].boolean) columns.push_back(table.column(c));
  }
  const auto intervals = bootstrap_means(items.size(), columns, seed);

  MetricValue set, chunk, rewritten;  // counted per item: whether the grader, or a rewrite, is scored
  std::uint64_t rewrites = 0, rewrites_scorable = 0, succeeded = 0;
  bool reflects = false;
  std::array<std::vector<double>, nodes> node_ms;
  const std::size_t steps = steps_column(definitions_);
  for (const ItemMeasures& item : items) {
    add(out.grader_set, item.grader_set);
    add(out.grader_chunk, item.grader_chunk);
    const bool failed = item.values[steps].state == ItemState::failed;
    add_state(set, item.graded ? ItemState::scored : failed ? ItemState::failed : ItemState::unscorable);
    add_state(rewritten, item.rewrites_scorable > 0 ? ItemState::scored : failed ? ItemState::failed : ItemState::unscorable);
    rewrites += item.rewrites;
    rewrites_scorable += item.rewrites_scorable;
    succeeded += item.rewrites_succeeded;
    out.rewrites_unanswerable += item.rewrites_unanswerable;
    reflects = reflects || item.reflects;
    for (const auto& [node, ms] : item.step_ms) node_ms[static_cast<std::size_t>(node)].push_back(ms);
    for (std::size_t role = 0; role < roles; ++role) {
      RoleUsage& sum = out.usage[role];
      sum.calls += item.usage[role].calls;
      sum.cached += item.usage[role].cached;
      sum.tokens.in += item.usage[role].tokens.in;
      sum.tokens.out += item.usage[role].tokens.out;
      sum.priced_usd += item.usage[role].priced_usd;
      sum.unpriced += item.usage[role].unpriced;
    }
  }
  chunk = set;
  for (std::size_t node = 0; node < nodes; ++node) out.node_latency[node] = summary(std::move(node_ms[node]));

  const auto add_grader = [&](const std::string& prefix, const MetricValue& states, const Confusion& confusion) {
    const auto& [tp, fp, fn, tn] = confusion;
    MetricValue precision = states, recall = states, f1 = states;
    set_rate(precision, tp, tp + fp);
    set_rate(recall, tp, tp + fn);
    f1.n = 2 * tp + fp + fn;  // no share of independent trials: no interval
    if (f1.n > 0) f1.value = static_cast<double>(2 * tp) / static_cast<double>(f1.n);
    out.metrics.emplace_back(prefix + "_precision", precision);
    out.metrics.emplace_back(prefix + "_recall", recall);
    out.metrics.emplace_back(prefix + "_f1", f1);
  };

  const auto add_judged = [&] {
    for (std::size_t at = 0; at < ks_.size(); ++at) {
      MetricValue value;
      std::vector<double> shares;
      for (const ItemMeasures& item : items) {
        add_state(value, item.judged[at].state);
        if (item.judged[at].state == ItemState::scored) shares.push_back(item.judged[at].value);
      }
      value.n = value.scored;
      if (shares.empty()) continue;
      double sum = 0;
      for (const double each : shares) sum += each;
      value.value = sum / static_cast<double>(value.n);
      const Interval ends = bootstrap_mean(shares, seed);
      value.low = ends.low;
      value.high = ends.high;
      out.metrics.emplace_back("judged@" + std::to_string(ks_[at]), value);
    }
  };

  std::size_t next_interval = 0;
  for (std::size_t c = 0; c < definitions_.size(); ++c) {
    const auto& [name, boolean] = definitions_[c];
    if (name == "correct_refusal_rate") {  // the grader's rows stand between retrieval and refusals
      add_judged();
      add_grader("grader_set", set, out.grader_set);
      add_grader("grader_chunk", chunk, out.grader_chunk);
    }
    MetricValue value;
    for (const ItemMeasures& item : items) add_state(value, item.values[c].state);
    value.n = value.scored;
    std::optional<Interval> ends;
    if (!boolean) ends = intervals[next_interval++];
    const std::vector<double> of_scored = table.of_scored(c);
    if (value.n > 0) {
      double sum = 0;
      for (const double each : of_scored) sum += each;
      value.value = sum / static_cast<double>(value.n);
      if (boolean) ends = wilson(static_cast<std::uint64_t>(sum), value.n);
      value.low = ends->low;
      value.high = ends->high;
    }
    if (name == "cost_mean_usd" && value.unscorable > 0) value.value = value.low = value.high = std::nullopt;  // a call had no price: no total either
    out.metrics.emplace_back(name, value);

    const auto add_percentile = [&](const char* percentile_name, double p) {
      MetricValue at = value;
      at.value = at.low = at.high = std::nullopt;
      auto sorted = of_scored;
      std::sort(sorted.begin(), sorted.end());
      if (!sorted.empty()) at.value = percentile(sorted, p);
      out.metrics.emplace_back(percentile_name, at);
    };
    if (name == "false_refusal_rate") {
      MetricValue success = rewritten, made;
      set_rate(success, succeeded, rewrites_scorable);
      for (const ItemMeasures& item : items) add_state(made, item.values[c].state);
      made.n = made.scored;
      if (reflects && made.n > 0) made.value = static_cast<double>(rewrites);
      out.metrics.emplace_back("rewrites", made);
      out.metrics.emplace_back("rewrite_success_rate", success);
    } else if (name == "steps_mean") {
      add_percentile("steps_p95", 0.95);
    } else if (name == "latency_mean_ms") {
      out.latency = summary(of_scored);
      add_percentile("latency_p50_ms", 0.5);
      add_percentile("latency_p95_ms", 0.95);
      add_percentile("latency_p99_ms", 0.99);
    }
  }
  return out;
}

std::vector<std::vector<Comparison>> AgentMetrics::compare(std::span<const Pair> pairs, std::uint64_t seed) const {
  std::vector<std::vector<Comparison>> out;
  if (pairs.empty()) return out;
  // A configuration stands in several pairs; its table is made once.
  std::vector<const ItemMeasures*> sides;
  std::vector<Table> tables;
  const auto table_of = [&](std::span<const ItemMeasures> items) {
    for (std::size_t t = 0; t < sides.size(); ++t) {
      if (sides[t] == items.data() && tables[t].values.front().size() == items.size()) return t;
    }
    sides.push_back(items.data());
    tables.emplace_back(items, definitions_.size()).leave_out_if_never_ran(items, steps_column(definitions_));
    return tables.size() - 1;
  };
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const Pair& pair : pairs) {
    const std::size_t a = table_of(pair.a);
    places.emplace_back(a, table_of(pair.b));
  }
  const bool alike = std::all_of(pairs.begin(), pairs.end(), [&](const Pair& pair) { return pair.a.size() == pairs.front().a.size(); });
  std::vector<Family> families(pairs.size());
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    for (std::size_t c = 0; c < definitions_.size(); ++c) {
      families[p].push_back({tables[places[p].first].column(c), tables[places[p].second].column(c), definitions_[c].boolean});
    }
  }
  if (alike) return metrics::compare(pairs.front().a.size(), families, seed);
  for (std::size_t p = 0; p < pairs.size(); ++p) out.push_back(metrics::compare(pairs[p].a.size(), std::span(families).subspan(p, 1), seed).front());
  return out;
}

}  // namespace polygraph::metrics
