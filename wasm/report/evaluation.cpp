#include "wasm/report/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "wasm/comparison/matrix.hpp"
#include "wasm/golden/golden_set.hpp"
#include "wasm/index/page_id.hpp"
#include "wasm/json/cursor.hpp"
#include "wasm/judges/judgement.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::report {
namespace {

using metrics::ItemMeasures;
using metrics::ItemState;
using metrics::Measured;

constexpr std::size_t most_failures = 5;

metrics::QuestionType type_of(golden::ItemType type) {
  switch (type) {
    case golden::ItemType::answerable: return metrics::QuestionType::answerable;
    case golden::ItemType::vague: return metrics::QuestionType::vague;
    case golden::ItemType::unanswerable: break;
  }
  return metrics::QuestionType::unanswerable;
}

Measured measured(const judges::Judgement& judgement, judges::Metric metric) {
  const auto& verdict = judgement.of(metric);
  if (!verdict) return {};
  switch (verdict->state) {
    case judges::State::scored: return {verdict->value.value_or(0), ItemState::scored};
    case judges::State::judge_error: return {0, ItemState::judge_error};
    case judges::State::failed: return {0, ItemState::failed};
    case judges::State::unscorable: break;
  }
  return {};
}

metrics::Judgements judgements_of(const judges::Judgement& judgement) {
  metrics::Judgements out;
  out.faithfulness = measured(judgement, judges::Metric::faithfulness);
  out.answer_relevancy = measured(judgement, judges::Metric::answer_relevancy);
  out.correctness = measured(judgement, judges::Metric::correctness);
  out.groundedness = measured(judgement, judges::Metric::groundedness);
  out.citation_precision = measured(judgement, judges::Metric::citation_precision);
  out.citation_recall = measured(judgement, judges::Metric::citation_recall);
  return out;
}

/// What a pipeline says that its generation used, as one completion.
std::optional<agent::RecordedEffect> reported_usage(const diagnosis::QueryResult& result) {
  for (const auto& [field, text] : result.others) {
    if (field != "usage") continue;
    agent::RecordedEffect spent;
    agent::CompleteRequest request;
    request.task = agent::Task::generate;
    spent.effect.request = std::move(request);
    json::Cursor at(text);
    at.object([&](std::string_view key) {
      constexpr std::uint64_t most = std::uint64_t{1} << 53;
      if (key == "tokens_in") {
        spent.result.tokens.in = at.count(most);
      } else if (key == "tokens_out") {
        spent.result.tokens.out = at.count(most);
      } else if (key == "cost_usd") {
        spent.result.cost_usd = at.number();
      } else {
        at.raw();
      }
    });
    if (!at.failed()) return spent;
  }
  return std::nullopt;
}

/// A pipeline's result as the run of an agent without reflection: one retrieval, then what was generated.
std::optional<agent::Run> run_of(const diagnosis::QueryResult& result, std::size_t top_k) {
  if (!result.completed()) return std::nullopt;
  agent::Run run;
  run.question = result.query;
  run.config.use_reflection = false;
  run.status = result.refused.value_or(false) ? agent::Status::refused : agent::Status::answered;
  run.answer = result.generated_answer.value_or("");
  agent::Step retrieve;
  retrieve.n = 1;
  retrieve.ms = result.latency.retrieval_ms.value_or(0);
  agent::Retrieved retrieved;
  retrieved.query = result.query;
  for (const auto& chunk : result.retrieved_chunks) {
    retrieved.candidate_ids.push_back(chunk.id);
    if (retrieved.retrieved_ids.size() < top_k) retrieved.retrieved_ids.push_back(chunk.id);
  }
  retrieved.candidates.resize(retrieved.candidate_ids.size());
  retrieve.data = std::move(retrieved);
  run.steps.push_back(std::move(retrieve));
  if (result.generated_answer) {
    agent::Step generate;
    generate.n = 2;
    generate.started_ms = run.steps[0].ms;
    generate.ms = result.latency.generation_ms.value_or(0);
    generate.data = agent::Generated{};
    if (auto spent = reported_usage(result)) generate.effects.push_back(std::move(*spent));
    run.steps.push_back(std::move(generate));
  }
  run.total_ms = result.latency.total_ms.value_or(run.steps[0].ms);
  return run;
}

/// The mean of an item's repeats. A value that some repeats scored is over those.
ItemMeasures averaged(std::vector<ItemMeasures> repeats) {
  if (repeats.size() == 1) return std::move(repeats.front());
  ItemMeasures out = repeats.front();
  for (std::size_t metric = 0; metric < out.values.size(); ++metric) {
    double sum = 0;
    std::uint64_t scored = 0;
    ItemState otherwise = ItemState::unscorable;
    for (const ItemMeasures& each : repeats) {
      const Measured& value = each.values[metric];
      if (value.state == ItemState::scored) {
        sum += value.value;
        ++scored;
      } else if (value.state > otherwise) {
        otherwise = value.state;
      }
    }
    out.values[metric] = scored > 0 ? Measured{sum / static_cast<double>(scored), ItemState::scored} : Measured{0, otherwise};
  }
  const auto add = [](metrics::Confusion& to, const metrics::Confusion& of) {
    to.true_positive += of.true_positive;
    to.false_positive += of.false_positive;
    to.false_negative += of.false_negative;
    to.true_negative += of.true_negative;
  };
  for (std::size_t i = 1; i < repeats.size(); ++i) {
    const ItemMeasures& each = repeats[i];
    add(out.grader_set, each.grader_set);
    add(out.grader_chunk, each.grader_chunk);
    out.graded = out.graded || each.graded;
    out.rewrites += each.rewrites;
    out.rewrites_scorable += each.rewrites_scorable;
    out.rewrites_succeeded += each.rewrites_succeeded;
    out.rewrites_unanswerable += each.rewrites_unanswerable;
    out.step_ms.insert(out.step_ms.end(), each.step_ms.begin(), each.step_ms.end());
    for (std::size_t role = 0; role < metrics::roles; ++role) {
      auto& to = out.usage[role];
      const auto& of = each.usage[role];
      to.calls += of.calls;
      to.cached += of.cached;
      to.tokens.in += of.tokens.in;
      to.tokens.out += of.tokens.out;
      to.priced_usd += of.priced_usd;
      to.unpriced += of.unpriced;
    }
  }
  return out;
}

/// Standard deviation of each metric's mean between the repeats that all items have.
std::vector<std::pair<std::string, double>> spread_of(const metrics::AgentMetrics& metrics, const std::vector<std::vector<ItemMeasures>>& repeats) {
  std::size_t rounds = repeats.empty() ? 0 : repeats.front().size();
  for (const auto& item : repeats) rounds = std::min(rounds, item.size());
  std::vector<std::pair<std::string, double>> out;
  if (rounds < 2) return out;
  for (std::size_t metric = 0; metric < metrics.definitions().size(); ++metric) {
    std::vector<double> means;
    for (std::size_t round = 0; round < rounds; ++round) {
      double sum = 0;
      std::uint64_t scored = 0;
      for (const auto& item : repeats) {
        if (item[round].values[metric].state != ItemState::scored) continue;
        sum += item[round].values[metric].value;
        ++scored;
      }
      if (scored > 0) means.push_back(sum / static_cast<double>(scored));
    }
    if (means.size() < 2) continue;
    double mean = 0, squares = 0;
    for (const double each : means) mean += each / static_cast<double>(means.size());
    for (const double each : means) squares += (each - mean) * (each - mean);
    out.emplace_back(metrics.definitions()[metric].name, std::sqrt(squares / static_cast<double>(means.size() - 1)));
  }
  return out;
}

std::vector<FailureCase> failure_cases(const diagnosis::Evaluation& evaluation, const std::function<void()>& passed) {
  constexpr std::uint32_t often = 4096;
  std::vector<FailureCase> first, further;
  std::set<std::string> kinds;
  for (std::uint32_t number = 0; number < evaluation.queries().size(); ++number) {
    const auto& query = evaluation.queries()[number];
    // An agent's diagnosis may stand beside PASS: a correct answer after a wrong verdict of the grader.
    const diagnosis::QueryResult result = evaluation.result(number);
    if (passed && (number + 1) % often == 0) passed();
    if (query.category == diagnosis::Category::pass && !result.agent_diagnosis) continue;
    FailureCase failure{query.id, result.query, std::string(result.agent_diagnosis ? name(*result.agent_diagnosis) : name(query.category)), number};
    if (kinds.insert(failure.kind).second) {
      first.push_back(std::move(failure));
    } else if (further.size() < most_failures) {
      further.push_back(std::move(failure));
    }
  }
  for (auto& each : further) {
    if (first.size() >= most_failures) break;
    first.push_back(std::move(each));
  }
  if (first.size() > most_failures) first.resize(most_failures);
  return first;
}

}  // namespace

RunEvaluator::RunEvaluator(RunFacts facts) : metrics_({facts.top_k, true}) {
  run_.facts = std::move(facts);
  diagnosis::ResultsHeader header;
  header.dataset_name = run_.facts.golden_name;
  header.pipeline_name = run_.facts.name;
  header.k = run_.facts.k;
  header.k_given = true;
  run_.document.evaluation.emplace(std::move(header));
}

Result<void> RunEvaluator::add(std::string_view golden, std::string_view result_json, std::string_view judgement, std::uint32_t repeat) {
  auto item = golden::parse(golden);
  if (!item) return tl::unexpected(item.error());
  if (item->items.size() != 1) return fail(ErrorCode::invalid_json, "should hold one golden item", "golden");
  const golden::Item& gold = item->items.front();
  auto result = diagnosis::parse_query_result(result_json, run_.facts.k);
  if (!result) return tl::unexpected(result.error());

  metrics::EvaluatedItem evaluated;
  evaluated.type = type_of(gold.type);
  evaluated.relevant_chunk_ids = gold.relevant_chunk_ids;
  evaluated.pool_ids = gold.pool_ids;
  for (const std::string& page : gold.relevant_pages) evaluated.relevant_pages.push_back(index::page_id_of_reference(page));
  pages_ = pages_ || !gold.relevant_pages.empty();
  std::optional<metrics::Judgements> judged;
  if (judgement != "null" && !judgement.empty()) {
    auto read = judges::judgement_from_json(judgement);
    if (!read) return tl::unexpected(read.error());
    judged = judgements_of(*read);
  }
  std::optional<agent::Run> run;
  if (result->trace.empty()) {
    run = run_of(*result, run_.facts.top_k);
    evaluated.refusal_known = result->refused.has_value();
  } else {
    auto read = trace::parse(result->trace);
    if (!read) return tl::unexpected(read.error());
    run = std::move(*read);
  }
  ItemMeasures measures = metrics_.measure(evaluated, run ? &*run : nullptr, judged ? &*judged : nullptr);
  ++run_.done;
  if (repeat > 1 && !run_.ids.empty() && run_.ids.back() == result->query_id) {
    repeats_.back().push_back(std::move(measures));
    return {};
  }
  if (run && !run->steps.empty()) {
    if (const auto* retrieved = std::get_if<agent::Retrieved>(&run->steps.front().data)) {
      if (auto ids = metrics::unjudged(evaluated, retrieved->candidate_ids, run_.facts.top_k); !ids.empty()) run_.unjudged.push_back({result->query_id, std::move(ids)});
    }
  }
  run_.ids.push_back(result->query_id);
  repeats_.push_back({std::move(measures)});
  return run_.document.evaluation->add(std::move(*result), result_json);
}

EvaluatedRun RunEvaluator::finish(const std::function<void()>& passed) {
  run_.spread = spread_of(metrics_, repeats_);
  run_.measures.reserve(repeats_.size());
  for (auto& each : repeats_) run_.measures.push_back(averaged(std::move(each)));
  repeats_ = {};
  run_.summary = metrics_.aggregate(run_.measures, seed);
  if (!pages_) std::erase_if(run_.summary.metrics, [](const auto& metric) { return metric.first.find("_pages") != std::string::npos; });
  run_.document.report = run_.evaluation().report();
  run_.failures = failure_cases(run_.evaluation(), passed);
  return std::move(run_);
}

ComparedRuns compare(const EvaluatedRun& a, const EvaluatedRun& b) {
  ComparedRuns out;
  std::map<std::string_view, std::size_t> in_b;
  for (std::size_t i = 0; i < b.ids.size(); ++i) in_b[b.ids[i]] = i;
  std::vector<std::pair<std::size_t, std::size_t>> shared;
  for (std::size_t i = 0; i < a.ids.size(); ++i) {
    const auto found = in_b.find(a.ids[i]);
    if (found == in_b.end()) {
      out.only_in_a.push_back(a.ids[i]);
    } else {
      shared.emplace_back(i, found->second);
      in_b.erase(found);
    }
  }
  for (const std::string& id : b.ids) {
    if (in_b.contains(id)) out.only_in_b.push_back(id);
  }

  // Two configurations may hand on another number of passages: their columns are matched by name.
  const metrics::AgentMetrics of_a({a.facts.top_k, true}), of_b({b.facts.top_k, true});
  struct Values {
    std::vector<double> values;
    std::vector<std::uint8_t> scored;
  };
  const auto column = [&](const EvaluatedRun& run, std::size_t metric, bool first) {
    Values out_column;
    for (const auto& [in_a, in_other] : shared) {
      const Measured& value = run.measures[first ? in_a : in_other].values[metric];
      out_column.values.push_back(value.state == ItemState::scored ? value.value : 0);
      out_column.scored.push_back(value.state == ItemState::scored ? 1 : 0);
    }
    return out_column;
  };
  std::vector<std::pair<Values, Values>> columns;
  metrics::Family family;
  for (std::size_t metric = 0; metric < of_a.definitions().size(); ++metric) {
    const auto& definition = of_a.definitions()[metric];
    const auto same = std::find_if(of_b.definitions().begin(), of_b.definitions().end(), [&](const auto& each) { return each.name == definition.name; });
    if (same == of_b.definitions().end() || a.summary.find(definition.name) == nullptr || b.summary.find(definition.name) == nullptr) continue;
    columns.emplace_back(column(a, metric, true), column(b, static_cast<std::size_t>(same - of_b.definitions().begin()), false));
    out.metrics.push_back({definition.name, {}});
    family.push_back({{}, {}, definition.boolean});
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    family[i].a = {columns[i].first.values, columns[i].first.scored};
    family[i].b = {columns[i].second.values, columns[i].second.scored};
  }
  const auto tests = metrics::compare(shared.size(), std::span(&family, 1), seed).front();
  for (std::size_t i = 0; i < tests.size(); ++i) out.metrics[i].test = tests[i];
  return out;
}

namespace {

/// What stands behind each figure, item by item in the order of the results: {metric: [value or state]}, and for the grader's and
/// the rewrites' figures, which are over decisions, the counts {grader_set: [[tp, fp, fn, tn]], grader_chunk, rewrites: [made]}.
void write_item_values(json::Writer& writer, const EvaluatedRun& run) {
  const auto state = [](ItemState of) -> std::string_view {
    return of == ItemState::judge_error ? "judge_error" : of == ItemState::failed ? "failed" : "unscorable";
  };
  const metrics::AgentMetrics all({run.facts.top_k, true});
  writer.key("item_values").begin_object();
  for (std::size_t metric = 0; metric < all.definitions().size(); ++metric) {
    const std::string& name = all.definitions()[metric].name;
    if (run.summary.find(name) == nullptr) continue;
    writer.key(name).begin_array();
    for (const ItemMeasures& item : run.measures) {
      const Measured& value = item.values[metric];
      value.state == ItemState::scored ? writer.value(value.value) : writer.value(state(value.state));
    }
    writer.end_array();
  }
  writer.end_object();
  writer.key("item_decisions").begin_object();
  for (const auto& [name, confusion] : {std::pair("grader_set", &ItemMeasures::grader_set), std::pair("grader_chunk", &ItemMeasures::grader_chunk)}) {
    writer.key(name).begin_array();
    for (const ItemMeasures& item : run.measures) {
      const metrics::Confusion& of = item.*confusion;
      writer.begin_array();
      for (const std::uint64_t each : {of.true_positive, of.false_positive, of.false_negative, of.true_negative}) writer.count(each);
      writer.end_array();
    }
    writer.end_array();
  }
  writer.key("rewrites").begin_array();
  for (const ItemMeasures& item : run.measures) writer.count(item.rewrites);
  writer.end_array();
  writer.end_object();
}

}  // namespace

Result<comparison::Matrix> matrix_of(const std::vector<EvaluatedRun>& runs) {
  std::vector<comparison::Contender> contenders;
  for (const EvaluatedRun& run : runs) {
    const auto* cost = run.summary.find("cost_mean_usd");
    const auto alike = std::count_if(contenders.begin(), contenders.end(), [&](const auto& one) { return one.document->report.pipeline_name == run.facts.name; });
    // A pipeline that never said what it used did not cost nothing: nobody knows.
    const auto& usage = run.summary.usage;
    const bool known = !run.facts.config.empty() || std::any_of(usage.begin(), usage.end(), [](const auto& role) { return role.calls > 0; });
    contenders.push_back({run.facts.name + (alike > 0 ? " (" + std::to_string(alike + 1) + ")" : ""), &run.document, cost == nullptr || !known ? std::nullopt : cost->value});
  }
  return comparison::matrix(std::move(contenders), {.test = paired_tests});
}

Result<void> write_matrix(json::Writer& writer, const std::vector<EvaluatedRun>& runs, const std::function<void()>& passed) {
  const auto matrix = matrix_of(runs);
  if (!matrix) return tl::unexpected(matrix.error());
  writer.begin_object();
  writer.field("kind", "matrix");
  writer.key("schema").count(1);
  writer.field("dataset_name", runs.front().facts.golden_name);
  writer.field("dataset_version", "");
  writer.key("names").begin_array();
  for (const EvaluatedRun& run : runs) writer.value(run.facts.name);
  writer.end_array();
  writer.key("reports").begin_array();
  for (const EvaluatedRun& run : runs) write_evaluation(writer, run, true, passed);
  writer.end_array();
  writer.key("ranking").begin_array();
  for (const auto& one : matrix->ranking) {
    writer.begin_object();
    writer.key("pipeline").count(one.contender);
    writer.key("rank").count(one.rank);
    writer.key("wins").count(one.wins);
    writer.key("losses").count(one.losses);
    writer.key("ties").count(one.ties);
    writer.end_object();
  }
  writer.end_array();
  writer.key("points").begin_array();
  for (std::size_t i = 0; i < matrix->places.size(); ++i) {
    const comparison::Place& place = matrix->places[i];
    writer.begin_object();
    writer.key("pipeline").count(i);
    writer.field("quality", place.recall);
    writer.field("latency_ms", place.mean_ms);
    writer.field("cost_usd", place.cost_usd);
    writer.field("latency_front", place.latency_front);
    writer.field("cost_front", place.cost_front);
    writer.end_object();
  }
  writer.end_array();
  writer.field("quality_metric", "recall@" + std::to_string(runs.front().facts.k));
  writer.key("pairs").begin_array();
  for (const auto& pair : matrix->pairs) {
    writer.begin_object();
    writer.key("a").count(pair.a);
    writer.key("b").count(pair.b);
    comparison::write_fields(writer, pair.comparison);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
  return {};
}

void write_evaluation(json::Writer& writer, const EvaluatedRun& run, bool with_results, const std::function<void()>& passed) {
  const RunFacts& facts = run.facts;
  const auto object_or_null = [&](std::string_view json) { json.empty() ? writer.null() : writer.raw(json); };
  const auto text_or_null = [&](std::string_view text) { text.empty() ? writer.null() : writer.value(text); };
  writer.begin_object();
  writer.field("kind", "evaluation");
  writer.key("schema").count(1);
  diagnosis::write_fields(writer, run.report());

  const auto& generation = run.summary.node_latency[static_cast<std::size_t>(agent::Node::generate)];
  writer.key("generation_latency").begin_object();
  writer.key("count").count(generation.count);
  writer.field("mean_ms", generation.mean);
  writer.field("p50_ms", generation.p50);
  writer.field("p95_ms", generation.p95);
  writer.field("p99_ms", generation.p99);
  writer.field("min_ms", generation.min);
  writer.field("max_ms", generation.max);
  writer.end_object();

  writer.key("metrics").begin_object();
  for (const auto& [name, value] : run.summary.metrics) {
    writer.key(name).begin_object();
    writer.field("value", value.value);
    writer.key("n").count(value.n);
    writer.field("low", value.low);
    writer.field("high", value.high);
    writer.key("scored").count(value.scored);
    writer.key("unscorable").count(value.unscorable);
    writer.key("judge_error").count(value.judge_error);
    writer.key("failed").count(value.failed);
    writer.end_object();
  }
  writer.end_object();
  writer.key("details").raw(metrics::to_json(run.summary));
  if (!run.spread.empty()) {
    writer.key("spread").begin_object();
    for (const auto& [name, value] : run.spread) writer.field(name, value);
    writer.end_object();
  }
  writer.key("config");
  object_or_null(facts.config);
  writer.key("index_digest");
  text_or_null(facts.index_digest);
  writer.key("golden").begin_object();
  writer.field("name", facts.golden_name);
  writer.field("digest", facts.golden_digest);
  writer.field("source", facts.golden_source);
  writer.key("subset");
  text_or_null(facts.subset);
  writer.end_object();
  writer.key("judge");
  if (facts.judge.empty()) {
    writer.null();
  } else {
    const auto judge = nlohmann::ordered_json::parse(facts.judge);
    writer.begin_object();
    writer.field("provider", judge.value("provider", std::string()));
    writer.field("model", judge.value("model", std::string()));
    writer.field("calibrated", facts.judge_calibrated);
    writer.end_object();
  }
  writer.field("complete", run.complete());
  writer.key("unjudged").begin_array();
  for (const Unjudged& each : run.unjudged) {
    writer.begin_object();
    writer.field("query_id", each.query_id);
    writer.key("chunk_ids").begin_array();
    for (const std::string& id : each.chunk_ids) writer.value(id);
    writer.end_array();
    writer.end_object();
  }
  writer.end_array();
  writer.key("failures").begin_array();
  for (const FailureCase& failure : run.failures) {
    writer.begin_object();
    writer.field("query_id", failure.query_id);
    writer.field("kind", failure.kind);
    writer.end_object();
  }
  writer.end_array();
  if (with_results) {
    write_item_values(writer, run);
    writer.key("results");
    run.evaluation().write_results(writer, run.evaluation().all(), passed);
  }
  writer.end_object();
}

}  // namespace polygraph::report
