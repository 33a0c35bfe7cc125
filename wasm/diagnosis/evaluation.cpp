#include "wasm/diagnosis/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wasm/diagnosis/ranking.hpp"
#include "wasm/metrics/interval.hpp"

namespace polygraph::diagnosis {
namespace {

/// A mean whose error does not grow with the number of values (Neumaier 1974), so that the order of the queries shows in no
/// decimal that anybody looks at.
class Mean {
 public:
  void add(double value) {
    const double sum = sum_ + value;
    rest_ += std::fabs(sum_) >= std::fabs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
    largest_ = std::max(largest_, std::fabs(value));
    ++count_;
  }
  void add(const std::optional<double>& value) {
    if (value) add(*value);
  }
  std::uint64_t count() const noexcept { return count_; }
  double value() const noexcept {
    if (count_ == 0) return 0;
    const double mean = (sum_ + rest_) / static_cast<double>(count_);
    // Only values near the end of double's range can sum beyond it.
    return std::isfinite(mean) ? mean : std::copysign(largest_, sum_);
  }
  std::optional<double> if_any() const noexcept { return count_ == 0 ? std::nullopt : std::optional(value()); }

 private:
  double sum_ = 0, rest_ = 0, largest_ = 0;
  std::uint64_t count_ = 0;
};

/// Share of true ones.
class Rate {
 public:
  void add(const std::optional<bool>& verdict) {
    if (!verdict) return;
    ++count_;
    if (*verdict) ++yes_;
  }
  std::uint64_t count() const noexcept { return count_; }
  std::optional<double> if_any() const noexcept {
    return count_ == 0 ? std::nullopt : std::optional(static_cast<double>(yes_) / static_cast<double>(count_));
  }

 private:
  std::uint64_t yes_ = 0, count_ = 0;
};

struct Sums {
  std::uint64_t total = 0, completed = 0;
  Mean precision, recall, reciprocal_rank, judge_confidence;
  Rate correct, grounded;
  CategoryCounts categories{};
  std::uint64_t judged = 0, judge_failures = 0;

  void add(const EvaluatedQuery& query) {
    ++total;
    ++categories[index(query.category)];
    if (!query.completed) return;
    ++completed;
    precision.add(query.precision);
    recall.add(query.recall);
    reciprocal_rank.add(query.reciprocal_rank);
    if (query.judge == JudgeState::failed) ++judge_failures;
    if (query.judge != JudgeState::judged) return;
    ++judged;
    correct.add(query.correct);
    grounded.add(query.grounded);
    judge_confidence.add(query.judge_confidence);
  }
};

double finite_percentile(std::span<const double> sorted, double p) {
  const double value = metrics::percentile(sorted, p);
  return std::isfinite(value) ? value : std::numeric_limits<double>::max();
}

LatencySummary summary(std::vector<double>& times) {
  LatencySummary out;
  if (times.empty()) return out;
  std::sort(times.begin(), times.end());
  Mean mean;
  for (const double ms : times) mean.add(ms);
  out.count = times.size();
  out.mean_ms = mean.value();
  out.p50_ms = finite_percentile(times, 0.50);
  out.p95_ms = finite_percentile(times, 0.95);
  out.p99_ms = finite_percentile(times, 0.99);
  out.min_ms = times.front();
  out.max_ms = times.back();
  return out;
}

/// Whether failure `a` is listed before `b`.
bool worse(const EvaluatedQuery& a, const EvaluatedQuery& b) {
  if (a.severity != b.severity) return a.severity > b.severity;
  if (at_nine(a.confidence) != at_nine(b.confidence)) return at_nine(a.confidence) > at_nine(b.confidence);
  if (a.category != b.category) return a.category < b.category;
  return a.id < b.id;
}

constexpr std::size_t most_failures = 5;

}  // namespace

Result<Evaluation> Evaluation::read(std::string_view document, std::size_t offset, const ReadOptions& options, const Rules& rules) {
  Evaluation out({}, rules);
  auto header = read_results(
      document, options, [&](StoredResult&& stored) { return out.take(std::move(stored.result), stored.json); },
      [&](const ResultsHeader& head) { out.header_ = head; }, offset);
  if (!header) return tl::unexpected(std::move(header.error()));
  return out;
}

Result<void> Evaluation::add(QueryResult result) {
  own_.push_back(to_json(result, header_.k));
  return take(std::move(result), own_.back());
}

Result<void> Evaluation::add(QueryResult result, std::string_view json) { return take(std::move(result), json); }

Result<void> Evaluation::take(QueryResult&& result, std::string_view json) {
  const auto number = static_cast<std::uint32_t>(queries_.size());
  if (!numbers_.emplace(result.query_id, number).second) {
    return fail(ErrorCode::invalid_json, "query id \"" + result.query_id + "\" occurs twice", "query_id");
  }
  finish(result, header_.k, rules_);
  EvaluatedQuery query;
  query.json = json;
  query.completed = result.completed();
  query.category = result.diagnosis->category;
  query.severity = result.diagnosis->severity;
  query.confidence = result.diagnosis->confidence;
  if (query.completed) {
    query.precision = result.metrics.precision_at_k;
    query.recall = result.metrics.recall_at_k;
    query.reciprocal_rank = result.metrics.reciprocal_rank;
    query.retrieval_ms = result.latency.retrieval_ms;
    query.judge = result.judge();
    query.correct = result.correct();
    query.grounded = result.grounded();
    if (query.judge == JudgeState::judged) query.judge_confidence = result.metrics.judge_confidence;
  }
  if (result.has_type()) {
    const auto [known, added] = type_numbers_.emplace(*result.query_type, static_cast<std::uint32_t>(types_.size()));
    if (added) types_.push_back(*result.query_type);
    query.type = known->second;
  }
  query.id = std::move(result.query_id);
  queries_.push_back(std::move(query));
  return {};
}

std::optional<std::uint32_t> Evaluation::find(std::string_view id) const {
  const auto found = numbers_.find(std::string(id));
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::uint32_t> Evaluation::all() const {
  std::vector<std::uint32_t> out(queries_.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint32_t>(i);
  return out;
}

EvaluationReport Evaluation::report() const { return report(all()); }

EvaluationReport Evaluation::report(std::span<const std::uint32_t> selection) const {
  Sums sums;
  std::vector<Sums> per_type(types_.size());
  std::vector<double> times;
  std::vector<std::uint32_t> failures;  // the worst so far, in order
  for (const std::uint32_t number : selection) {
    const EvaluatedQuery& query = queries_[number];
    sums.add(query);
    if (query.type != 0) per_type[query.type].add(query);
    if (query.retrieval_ms) times.push_back(*query.retrieval_ms);
    if (query.category == Category::pass) continue;
    const auto place = std::upper_bound(failures.begin(), failures.end(), number, [&](std::uint32_t a, std::uint32_t b) { return worse(queries_[a], queries_[b]); });
    if (place == failures.end() && failures.size() == most_failures) continue;
    failures.insert(place, number);
    if (failures.size() > most_failures) failures.pop_back();
  }

  EvaluationReport out;
  out.dataset_name = header_.dataset_name;
  out.dataset_version = header_.dataset_version;
  out.pipeline_name = header_.pipeline_name;
  out.total_queries = sums.total;
  out.completed_queries = sums.completed;
  out.failed_queries = sums.total - sums.completed;
  out.judged_queries = sums.judged;
  out.judge_failures = sums.judge_failures;
  out.retrieval = {sums.precision.value(), sums.recall.value(), sums.reciprocal_rank.value(), header_.k, sums.recall.count()};
  out.semantic = {sums.correct.if_any(), sums.grounded.if_any(), sums.judge_confidence.if_any(), sums.correct.count(), sums.grounded.count()};
  out.latency = summary(times);
  out.diagnosis_counts = sums.categories;
  for (std::size_t i = 1; i < types_.size(); ++i) {
    const Sums& type = per_type[i];
    if (type.total == 0) continue;
    out.by_type.push_back({types_[i], type.total, type.completed, type.total - type.completed, type.precision.value(), type.recall.value(),
                           type.reciprocal_rank.value(), type.correct.if_any(), type.grounded.if_any(), type.categories, type.recall.count()});
  }
  std::sort(out.by_type.begin(), out.by_type.end(), [](const TypeMetrics& a, const TypeMetrics& b) { return type_before(a.query_type, b.query_type); });
  for (const std::uint32_t number : failures) {
    QueryResult one = result(number);
    const Category category = one.diagnosis->category;
    out.top_failures.push_back({std::move(one.query_id), std::move(one.query), category, one.diagnosis->severity, one.diagnosis->confidence,
                                std::move(one.diagnosis->reason), std::string(action(category)), std::move(one.diagnosis->evidence)});
  }
  out.insights = insights(out);
  out.health = health(out);
  out.confidence = confidence(out);
  return out;
}

QueryResult Evaluation::result(std::uint32_t number) const {
  auto read = parse_query_result(queries_[number].json, header_.k);
  QueryResult out = read ? std::move(*read) : QueryResult();  // it was read before
  finish(out, header_.k, rules_);
  return out;
}

void Evaluation::write_results(json::Writer& writer, std::span<const std::uint32_t> selection, const std::function<void()>& passed) const {
  constexpr std::uint32_t often = 4096;
  writer.begin_array();
  std::uint32_t written = 0;
  for (const std::uint32_t number : selection) {
    write(writer, result(number), header_.k);
    if (passed && ++written % often == 0) passed();
  }
  writer.end_array();
}

}  // namespace polygraph::diagnosis
