#include "wasm/metrics/agent_metrics.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace polygraph::metrics {
namespace {

using Ids = std::vector<std::string>;

EvaluatedItem answerable(Ids chunks, Ids pages = {}) { return {QuestionType::answerable, std::move(chunks), std::move(pages)}; }
const EvaluatedItem unanswerable{QuestionType::unanswerable, {}, {}};

/// A run step by step. Each step takes 10 ms.
class Script {
 public:
  explicit Script(bool reflects = true) {
    run_.config.use_reflection = reflects;
    run_.config.max_rewrites = 2;
  }
  Script& retrieve(Ids ids, std::size_t top_k = 2) {
    agent::Retrieved data;
    data.candidate_ids = ids;
    ids.resize(std::min(ids.size(), top_k));
    data.retrieved_ids = ids;
    last_ = ids;
    return step(data);
  }
  Script& grade(bool relevant, Ids kept) {
    agent::Graded data;
    data.relevant = relevant;
    data.relevant_chunk_ids = std::move(kept);
    data.graded_ids = last_;
    return step(data);
  }
  Script& rewrite(bool repeated = false) {
    agent::Rewritten data;
    data.repeated = repeated;
    return step(data);
  }
  Script& call(agent::Task task, std::uint64_t in, std::uint64_t out, std::optional<double> cost, bool cached = false) {
    agent::CompleteRequest request;
    request.task = task;
    agent::RecordedEffect recorded{{1, request, ""}, {}};
    recorded.result.value = agent::Completion{"{}"};
    recorded.result.tokens = {in, out};
    recorded.result.cost_usd = cost;
    recorded.result.cached = cached;
    run_.steps.back().effects.push_back(recorded);
    return *this;
  }
  agent::Run answered() { return ended(agent::Status::answered, agent::Generated{}); }
  agent::Run refused() { return ended(agent::Status::refused, agent::Refused{}); }
  agent::Run failed() {
    run_.status = agent::Status::failed;
    return run_;
  }

 private:
  template <class Data>
  Script& step(Data data) {
    agent::Step each;
    each.ms = 10;
    each.data = std::move(data);
    run_.steps.push_back(std::move(each));
    return *this;
  }
  template <class Data>
  agent::Run ended(agent::Status status, Data data) {
    step(std::move(data));
    run_.status = status;
    run_.total_ms = 10 * static_cast<double>(run_.steps.size());
    return run_;
  }
  agent::Run run_;
  Ids last_;
};

const AgentMetrics metrics_of({.top_k = 4, .pages = true});

AgentSummary aggregate(const std::vector<ItemMeasures>& items) { return metrics_of.aggregate(items, 1); }

MetricValue value(const AgentSummary& summary, std::string_view name) {
  const auto* found = summary.find(name);
  if (found != nullptr) return *found;
  ADD_FAILURE() << name << " is missing";
  return {};
}

TEST(AgentMetrics, MeasureTheFirstRetrievalAlone) {
  const auto run = Script().retrieve({"a#0", "b#0", "b#1"}).grade(false, {}).rewrite().retrieve({"b#1"}).grade(true, {"b#1"}).answered();
  const auto summary = aggregate({metrics_of.measure(answerable({"b#1"}), &run)});
  EXPECT_EQ(value(summary, "recall@1").value, 0.0);
  EXPECT_EQ(value(summary, "recall@3").value, 1.0);
  EXPECT_EQ(value(summary, "hit_rate@4").value, 1.0);
  EXPECT_DOUBLE_EQ(*value(summary, "mrr").value, 1.0 / 3);
  EXPECT_EQ(value(summary, "mrr").n, 1U);
}

TEST(AgentMetrics, CountAPageOnceAtTheRankOfItsBestChunk) {
  const auto run = Script().retrieve({"a#0", "b#0", "b#1", "c#0"}).answered();
  const auto summary = aggregate({metrics_of.measure(answerable({}, {"b", "c"}), &run)});
  EXPECT_EQ(value(summary, "recall_pages@1").value, 0.0);
  EXPECT_EQ(value(summary, "recall_pages@3").value, 0.5);
  EXPECT_EQ(value(summary, "recall_pages@4").value, 1.0) << "c stands at the rank of its chunk";
  EXPECT_EQ(value(summary, "mrr_pages").value, 0.5);
  EXPECT_EQ(value(summary, "recall@3").value, std::nullopt) << "the item names no chunk";
  EXPECT_EQ(value(summary, "recall@3").unscorable, 1U);
}

TEST(AgentMetrics, SayHowMuchOfARetrievalWasEverJudged) {
  const auto run = Script().retrieve({"g#0", "x#0", "y#0", "z#0", "w#0"}).answered();
  auto item = answerable({"g#0"});
  item.pool_ids = {"x#0", "w#0"};  // gold is judged whether the pool holds it or not
  auto pooled_unanswerable = unanswerable;
  pooled_unanswerable.pool_ids = {"g#0"};
  const auto few = Script().retrieve({"g#0"}).refused();
  const auto summary = aggregate({metrics_of.measure(item, &run), metrics_of.measure(pooled_unanswerable, &few), metrics_of.measure(answerable({"g#0"}), &run), metrics_of.measure(item, nullptr)});
  EXPECT_DOUBLE_EQ(*value(summary, "judged@4").value, (2.0 / 4 + 1.0 / 1) / 2) << "of what was retrieved, at most 4";
  EXPECT_DOUBLE_EQ(*value(summary, "judged@5").value, (3.0 / 5 + 1.0) / 2);
  EXPECT_EQ(value(summary, "judged@4").unscorable, 1U) << "an item that was never pooled says nothing";
  EXPECT_EQ(value(summary, "judged@4").failed, 1U);
  EXPECT_EQ(unjudged(item, std::get<agent::Retrieved>(run.steps[0].data).candidate_ids, 4), (Ids{"y#0", "z#0"}));
  EXPECT_EQ(unjudged(answerable({"g#0"}), std::vector<std::string>{"y#0"}, 4), Ids{});
  EXPECT_EQ(aggregate({metrics_of.measure(answerable({"g#0"}), &run)}).find("judged@4"), nullptr) << "no item was pooled";
}

TEST(AgentMetrics, TakeEveryGradeAsOnePredictionAndEveryGradedChunkAsAnother) {
  // First grade: gold is there, the grader says no. Second: gold is there, kept beside another chunk.
  const auto run = Script().retrieve({"g#0", "x#0"}).grade(false, {}).rewrite().retrieve({"x#1", "p#3"}).grade(true, {"x#1", "p#3"}).answered();
  // On an unanswerable item nothing is gold. A verdict without an id is a no.
  const auto other = Script().retrieve({"g#0", "x#0"}).grade(true, {"g#0"}).answered();
  const auto third = Script().retrieve({"x#0"}).grade(true, {}).refused();
  const auto summary = aggregate({metrics_of.measure(answerable({"g#0"}, {"p"}), &run), metrics_of.measure(unanswerable, &other), metrics_of.measure(unanswerable, &third)});
  EXPECT_EQ(summary.grader_set, (Confusion{1, 1, 1, 1}));
  EXPECT_EQ(summary.grader_chunk, (Confusion{1, 2, 1, 3}));
  EXPECT_EQ(value(summary, "grader_set_precision").value, 0.5);
  EXPECT_EQ(value(summary, "grader_set_precision").n, 2U);
  EXPECT_DOUBLE_EQ(*value(summary, "grader_chunk_precision").value, 1.0 / 3);
  EXPECT_DOUBLE_EQ(*value(summary, "grader_chunk_f1").value, 2.0 / 5);
  EXPECT_EQ(value(summary, "grader_set_recall").scored, 3U);
}

TEST(AgentMetrics, TellCorrectRefusalsFromFalseOnes) {
  const auto answer = Script().retrieve({"a#0"}).answered(), refusal = Script().retrieve({"a#0"}).refused(), failure = Script().failed();
  EvaluatedItem vague = answerable({"a#0"});
  vague.type = QuestionType::vague;
  const auto summary = aggregate({metrics_of.measure(unanswerable, &refusal), metrics_of.measure(unanswerable, &answer), metrics_of.measure(answerable({"a#0"}), &answer),
                                  metrics_of.measure(vague, &refusal), metrics_of.measure(vague, &answer), metrics_of.measure(vague, &failure), metrics_of.measure(unanswerable, nullptr)});
  EXPECT_EQ(value(summary, "correct_refusal_rate").value, 0.5);
  EXPECT_EQ(value(summary, "correct_refusal_rate").failed, 1U);
  EXPECT_DOUBLE_EQ(*value(summary, "false_refusal_rate").value, 1.0 / 3);
  EXPECT_EQ(value(summary, "false_refusal_rate").n, 3U);
  EXPECT_EQ(value(summary, "false_refusal_rate").unscorable, 3U);
  const Interval wilson_ends = wilson(1, 3);
  EXPECT_EQ(value(summary, "false_refusal_rate").low, wilson_ends.low);
}

TEST(AgentMetrics, CountARewriteAsASuccessWhenTheNextGradePassesOverGold) {
  const auto good = Script().retrieve({"x#0"}).grade(false, {}).rewrite().retrieve({"g#0"}).grade(true, {"g#0"}).answered();
  const auto passed_without_gold = Script().retrieve({"x#0"}).grade(false, {}).rewrite().retrieve({"x#1"}).grade(true, {"x#1"}).answered();
  const auto gold_not_passed = Script().retrieve({"x#0"}).grade(false, {}).rewrite().retrieve({"g#0"}).grade(false, {}).rewrite(true).refused();
  const auto summary = aggregate({metrics_of.measure(answerable({"g#0"}), &good), metrics_of.measure(answerable({"g#0"}), &passed_without_gold),
                                  metrics_of.measure(answerable({"g#0"}), &gold_not_passed), metrics_of.measure(unanswerable, &good)});
  EXPECT_EQ(value(summary, "rewrites").value, 4.0);
  EXPECT_EQ(value(summary, "rewrite_success_rate").value, 0.25);
  EXPECT_EQ(value(summary, "rewrite_success_rate").n, 4U);
  EXPECT_EQ(summary.rewrites_unanswerable, 1U);
}

TEST(AgentMetrics, TellALoopFromAStall) {
  const auto loop = Script().retrieve({"x#0"}).grade(false, {}).rewrite().retrieve({"x#0"}).grade(false, {}).rewrite().retrieve({"x#0"}).grade(false, {}).refused();
  const auto stalled = Script().retrieve({"x#0"}).grade(false, {}).rewrite().retrieve({"x#0"}).grade(false, {}).rewrite(true).refused();
  const auto summary = aggregate({metrics_of.measure(unanswerable, &loop), metrics_of.measure(unanswerable, &stalled)});
  EXPECT_EQ(value(summary, "loop_rate").value, 0.5);
  EXPECT_EQ(value(summary, "stalled_rate").value, 0.5);
  EXPECT_EQ(value(summary, "steps_mean").value, 8.0);      // 9 and 7
  EXPECT_DOUBLE_EQ(*value(summary, "steps_p95").value, 8.9);
}

TEST(AgentMetrics, WithoutReflectionHaveNoGraderAndNoRewritesButALoopRateOfZero) {
  const auto run = Script(false).retrieve({"a#0"}).answered();
  const auto summary = aggregate({metrics_of.measure(answerable({"a#0"}), &run)});
  for (const char* name : {"grader_set_precision", "grader_set_recall", "grader_set_f1", "grader_chunk_precision", "rewrites", "rewrite_success_rate"}) {
    EXPECT_EQ(value(summary, name).value, std::nullopt) << name;
  }
  EXPECT_EQ(value(summary, "loop_rate").value, 0.0);
}

TEST(AgentMetrics, KeepTheFourStatesOfAJudgedItemApart) {
  const auto answer = Script().retrieve({"a#0"}).answered(), refusal = Script().retrieve({"a#0"}).refused();
  Judgements right, wrong, broken;
  right.correctness = {0.5, ItemState::scored};
  right.faithfulness = {1, ItemState::scored};
  wrong.correctness = {0.25, ItemState::scored};
  wrong.faithfulness = {0.5, ItemState::scored};
  broken.correctness = broken.faithfulness = {0, ItemState::judge_error};
  const auto item = answerable({"a#0"});
  const auto summary = aggregate({metrics_of.measure(item, &answer, &right), metrics_of.measure(item, &answer, &wrong), metrics_of.measure(item, &answer, &broken),
                                  metrics_of.measure(item, &refusal, &right), metrics_of.measure(item, nullptr, &right)});
  const auto faithfulness = value(summary, "faithfulness");
  EXPECT_EQ(faithfulness.value, 0.75);
  EXPECT_EQ(faithfulness.scored, 2U);
  EXPECT_EQ(faithfulness.judge_error, 1U);
  EXPECT_EQ(faithfulness.unscorable, 1U);
  EXPECT_EQ(faithfulness.failed, 1U);
  const auto accuracy = value(summary, "end_to_end_accuracy");
  EXPECT_EQ(accuracy.value, 0.25) << "the refused and the failed run are wrong, the judge's failure is on neither side";
  EXPECT_EQ(accuracy.n, 4U);
  EXPECT_EQ(accuracy.judge_error, 1U);
}

TEST(AgentMetrics, AreUndefinedWithoutAJudgeRatherThanZero) {
  const auto refusal = Script().retrieve({"a#0"}).refused();
  const auto summary = aggregate({metrics_of.measure(answerable({"a#0"}), &refusal)});
  EXPECT_EQ(value(summary, "end_to_end_accuracy").value, std::nullopt);
  EXPECT_EQ(value(summary, "faithfulness").value, std::nullopt);
}

TEST(AgentMetrics, SumTokensAndCostByRoleAndHaveNoCostWithoutAPrice) {
  const auto priced = Script().retrieve({"a#0"}).grade(true, {"a#0"}).call(agent::Task::grade, 100, 10, 0.5).call(agent::Task::generate, 200, 20, 0.25, true).answered();
  const auto unpriced = Script().retrieve({"a#0"}).grade(true, {"a#0"}).call(agent::Task::grade, 1, 1, std::nullopt).answered();
  const auto item = answerable({"a#0"});
  const auto summary = aggregate({metrics_of.measure(item, &priced), metrics_of.measure(item, &unpriced)});
  EXPECT_EQ(value(summary, "tokens_mean").value, 166.0);  // 330 and 2
  EXPECT_EQ(value(summary, "cost_mean_usd").value, std::nullopt);
  const RoleUsage& grader = summary.usage[static_cast<std::size_t>(agent::Task::grade)];
  EXPECT_EQ(grader.tokens, (agent::Tokens{101, 11}));
  EXPECT_EQ(grader.unpriced, 1U);
  EXPECT_EQ(grader.priced_usd, 0.5);
  EXPECT_EQ(summary.usage[static_cast<std::size_t>(agent::Task::generate)].cached, 1U);
  EXPECT_EQ(value(aggregate({metrics_of.measure(item, &priced)}), "cost_mean_usd").value, 0.75);
}

TEST(AgentMetrics, GiveLatencyPerQueryAndPerNode) {
  const auto first = Script().retrieve({"a#0"}).answered(), second = Script().retrieve({"a#0"}).grade(false, {}).refused();
  const auto item = answerable({"a#0"});
  const auto summary = aggregate({metrics_of.measure(item, &first), metrics_of.measure(item, &second)});
  EXPECT_EQ(value(summary, "latency_p50_ms").value, 25.0);
  EXPECT_EQ(summary.latency.min, 20.0);
  EXPECT_EQ(summary.latency.max, 30.0);
  EXPECT_EQ(summary.node_latency[static_cast<std::size_t>(agent::Node::retrieve)].count, 2U);
  EXPECT_EQ(summary.node_latency[static_cast<std::size_t>(agent::Node::retrieve)].p99, 10.0);
  EXPECT_EQ(summary.node_latency[static_cast<std::size_t>(agent::Node::generate)].count, 1U);
  EXPECT_EQ(summary.node_latency[static_cast<std::size_t>(agent::Node::rewrite_query)].p50, std::nullopt);
}

TEST(AgentMetrics, OfNoItemAreAllUndefinedAndWrittenAsNull) {
  const auto document = nlohmann::json::parse(to_json(aggregate({})));
  for (const auto& [name, metric] : document["metrics"].items()) {
    EXPECT_TRUE(metric["value"].is_null()) << name;
    EXPECT_TRUE(metric["low"].is_null()) << name;
    EXPECT_EQ(metric["n"], 0) << name;
  }
  for (const char* name : {"recall@4", "ndcg_pages@10", "mrr", "grader_set_f1", "steps_p95", "latency_p95_ms", "cost_mean_usd", "rewrite_success_rate", "citation_recall"}) {
    EXPECT_TRUE(document["metrics"].contains(name)) << name;
  }
  EXPECT_TRUE(document["latency"]["nodes"]["grade_context"]["p95_ms"].is_null());
}

TEST(AgentMetrics, CompareItemByItemAndCallNothingThatNeverRanALoser) {
  const auto hit = Script().retrieve({"g#0", "x#0"}).answered(), miss = Script().retrieve({"x#0", "g#0"}).answered();
  const auto item = answerable({"g#0"});
  Judgements judgements;
  judgements.correctness = {1, ItemState::scored};
  std::vector<ItemMeasures> a, b, never;
  for (int i = 0; i < 20; ++i) {
    a.push_back(metrics_of.measure(item, &miss, &judgements));
    b.push_back(metrics_of.measure(item, &hit, &judgements));
    never.push_back(metrics_of.measure(item, nullptr, &judgements));
  }
  const std::vector<AgentMetrics::Pair> pairs{{a, b}, {a, a}, {a, never}};
  const auto compared = metrics_of.compare(pairs, 1);
  const auto of = [&](std::size_t pair, std::string_view name) {
    for (std::size_t c = 0; c < metrics_of.definitions().size(); ++c) {
      if (metrics_of.definitions()[c].name == name) return compared[pair][c];
    }
    return Comparison{};
  };
  EXPECT_EQ(of(0, "mrr").delta, 0.5);
  EXPECT_DOUBLE_EQ(*of(0, "mrr").p, 1.0 / 10'001);
  EXPECT_LT(*of(0, "mrr").p_holm, 0.05);
  EXPECT_EQ(of(1, "mrr").p, 1.0);
  for (const auto& each : compared[2]) {
    EXPECT_EQ(each.p, std::nullopt);
    EXPECT_EQ(each.n, 0U);
  }
}

}  // namespace
}  // namespace polygraph::metrics
