// The agent as a protocol: an engine and a scripted host in memory.
#include "wasm/agent/agent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/agent/scripted_host.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph {
namespace {

using agent::Agent;
using agent::EffectKind;
using agent::Graded;
using agent::Generated;
using agent::Node;
using agent::Refused;
using agent::Retrieved;
using agent::Rewritten;
using agent::Status;
using test::config;
using test::nodes;
using test::ScriptedHost;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* memory_question = "How do I limit the memory of a container?";

class AgentTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(small.index, nullptr); }
  agent::Run run(const agent::Config& with, std::string question = memory_question, agent::Options options = {}) {
    return test::run(*small.index, std::move(question), with, host, std::move(options));
  }
  agent::Config llm(std::initializer_list<std::pair<std::string_view, std::string_view>> options = {}) {
    agent::Config made = config("tuned", options);
    made.provider = agent::Provider::proxy;
    return made;
  }
  template <class Data>
  static const Data& last(const agent::Run& run) {
    for (auto step = run.steps.rbegin(); step != run.steps.rend(); ++step) {
      if (const auto* data = std::get_if<Data>(&step->data)) return *data;
    }
    static const Data none{};
    ADD_FAILURE() << "no such step";
    return none;
  }
  static std::string span(const std::string& text, const agent::Citation& citation) {
    std::string out;
    std::size_t points = 0;
    for (std::size_t at = 0; at < text.size(); ++points) {
      const auto point = text::decode(text, at);
      if (points >= citation.begin && points < citation.end) out += text.substr(at, point.length);
      at += point.length;
    }
    return out;
  }

  test::SmallIndex small = test::small_index();
  ScriptedHost host;
};

constexpr const char* grade_yes = R"({"relevant": true, "reason": "it says so", "relevant_chunk_ids": ["run/memory#001"]})";
constexpr const char* grade_no = R"({"relevant": false, "reason": "nothing on it", "relevant_chunk_ids": []})";

// --- the extractive provider ----------------------------------------------------------------------------------------

TEST_F(AgentTest, AnswersAQuestionThatThePagesAnswerWithCitationsThatHold) {
  const agent::Run run = this->run(config("tuned"));
  ASSERT_EQ(run.status, Status::answered) << run.answer << last<Graded>(run).reason;
  EXPECT_THAT(nodes(run), ElementsAre(Node::retrieve, Node::grade_context, Node::generate));
  EXPECT_THAT(run.answer, HasSubstr("use the `--memory` flag"));
  EXPECT_THAT(run.answer, HasSubstr("docker run --memory 512m alpine"));
  ASSERT_THAT(run.citations, Not(IsEmpty()));
  for (const agent::Citation& citation : run.citations) {
    const auto chunk = small.index->find_chunk(citation.chunk_id);
    ASSERT_TRUE(chunk) << citation.chunk_id;
    // Extractive answers are verbatim: what a citation stands for is in the passage.
    EXPECT_THAT(std::string(small.index->chunk(*chunk).text), HasSubstr(span(run.answer, citation)));
    EXPECT_THAT(run.answer, HasSubstr("[" + citation.chunk_id + "]"));
    EXPECT_THAT(citation.url, HasSubstr("https://docs.example/"));
  }
  EXPECT_EQ(run.stages, retrieval::Stages{});
  EXPECT_THAT(run.grader, HasSubstr("extractive"));
  EXPECT_EQ(host.asked[EffectKind::complete], 0);
}

TEST_F(AgentTest, RefusesWhatNoPageAnswersAfterTheRewritesAndOffersTheClosestPages) {
  const agent::Run run = this->run(config("tuned"), "How do I configure Kubernetes ingress on GKE with Terraform?");
  ASSERT_EQ(run.status, Status::refused) << run.answer;
  EXPECT_THAT(run.answer, HasSubstr("could not find this in the knowledge base"));
  EXPECT_EQ(run.steps.back().node(), Node::refuse);
  const Refused& refused = last<Refused>(run);
  EXPECT_THAT(refused.closest, Not(IsEmpty()));
  EXPECT_LE(refused.closest.size(), 3U);
  EXPECT_THAT(refused.last_grader_reason, HasSubstr("probability"));
  EXPECT_THAT(run.citations, IsEmpty());
  EXPECT_GE(agent::totals(run).rewrites, 1U);
}

TEST_F(AgentTest, MakesAnotherQueryForEachAttempt) {
  const agent::Run run = this->run(config("tuned", {{"MAX_REWRITES", "3"}}), "terraform kubernetes ingress for the network of containers");
  std::vector<std::string> queries;
  for (const agent::Step& step : run.steps) {
    if (const auto* data = std::get_if<Retrieved>(&step.data)) queries.push_back(data->query);
  }
  ASSERT_EQ(run.status, Status::refused);
  EXPECT_THAT(queries, SizeIs(4));
  std::sort(queries.begin(), queries.end());
  EXPECT_EQ(std::adjacent_find(queries.begin(), queries.end()), queries.end());
}

TEST_F(AgentTest, GradesARewrittenQueryAgainstTheOriginalQuestion) {
  const agent::Run run = this->run(config("tuned"), "Terraform module for Kubernetes ingress and docker volume");
  ASSERT_GE(agent::totals(run).rewrites, 1U);
  EXPECT_EQ(run.status, Status::refused);
  EXPECT_THAT(last<Graded>(run).reason, HasSubstr("original question"));
  EXPECT_THAT(last<Graded>(run).reason, HasSubstr("kubernet"));
}

TEST_F(AgentTest, ARewriteHasOnlyThosePassagesScoredThatWereNotBefore) {
  const agent::Run run = this->run(config("tuned"), "Terraform module for Kubernetes ingress and docker volume");
  ASSERT_GE(agent::totals(run).rewrites, 1U);
  std::vector<std::vector<text::TokenId>> pairs;
  for (const agent::Step& step : run.steps) {
    if (step.node() != Node::retrieve) continue;
    for (const auto& [effect, result] : step.effects) {
      if (effect.kind() != EffectKind::score) continue;
      for (const auto& pair : std::get<agent::ScoreRequest>(effect.request).pairs) pairs.push_back(pair.token_ids);
    }
    const Retrieved& data = std::get<Retrieved>(step.data);
    const auto scored = std::count_if(data.candidates.begin(), data.candidates.end(), [](const auto& candidate) { return candidate.rerank_score.has_value(); });
    EXPECT_EQ(scored, std::min<std::ptrdiff_t>(run.config.retrieval.rerank_candidates, std::ssize(data.candidates))) << "new or not, each has its logit";
  }
  const auto asked = pairs.size();
  std::sort(pairs.begin(), pairs.end());
  EXPECT_EQ(std::unique(pairs.begin(), pairs.end()) - pairs.begin(), std::ssize(pairs)) << "of " << asked;
}

TEST_F(AgentTest, WithoutReflectionGeneratesFromWhatWasRetrieved) {
  const agent::Run run = this->run(config("baseline"));
  EXPECT_THAT(nodes(run), ElementsAre(Node::retrieve, Node::generate));
  EXPECT_EQ(run.status, Status::answered);
  EXPECT_EQ(host.asked[EffectKind::score], 0);
}

TEST_F(AgentTest, GoesOnLexicallyWhereNoModelIsThereAndSaysWhy) {
  const agent::Run run = this->run(config("tuned"), memory_question, {"the embedder is not loaded yet", "the reranker is not loaded yet", {}});
  EXPECT_EQ(run.status, Status::answered) << run.answer;
  EXPECT_EQ(run.stages.lexical, "used");
  EXPECT_EQ(run.stages.dense, "the embedder is not loaded yet");
  EXPECT_EQ(run.stages.rerank, "the reranker is not loaded yet");
  EXPECT_EQ(host.asked[EffectKind::embed] + host.asked[EffectKind::score], 0);
}

TEST_F(AgentTest, DegradesWhenAModelTurnsOutToBeUnavailable) {
  host.embed_error = Error{ErrorCode::model_unavailable, "the worker died"};
  const agent::Run run = this->run(config("tuned"));
  EXPECT_EQ(run.status, Status::answered) << run.answer;
  EXPECT_THAT(run.stages.dense, HasSubstr("the worker died"));
}

TEST_F(AgentTest, TakesTheLogitsThatATimeBudgetAllowed) {
  host.most_logits = 2;
  const agent::Run run = this->run(config("tuned", {{"RERANK_BUDGET_MS", "1500"}}));
  ASSERT_EQ(run.status, Status::answered) << run.answer;
  const Retrieved& data = std::get<Retrieved>(run.steps[0].data);
  const auto scored = std::count_if(data.candidates.begin(), data.candidates.end(), [](const auto& candidate) { return candidate.rerank_score.has_value(); });
  EXPECT_EQ(scored, 2);
}

TEST_F(AgentTest, HasTheSentencesScoredThatItMayQuote) {
  const agent::Run run = this->run(config("tuned"));
  ASSERT_EQ(run.status, Status::answered);
  EXPECT_EQ(host.asked[EffectKind::score], 2) << "passages, then sentences";
  const agent::Step& generate = run.steps.back();
  ASSERT_EQ(generate.node(), Node::generate);
  const auto scored = std::find_if(generate.effects.begin(), generate.effects.end(), [](const auto& each) { return each.effect.kind() == EffectKind::score; });
  ASSERT_NE(scored, generate.effects.end());
  EXPECT_EQ(std::get<agent::ScoreRequest>(scored->effect.request).budget_ms, run.config.retrieval.rerank_budget_ms);
}

TEST_F(AgentTest, QuotesByWordsAloneWithoutAReranker) {
  const agent::Run run = this->run(config("tuned", {{"USE_RERANKER", "false"}, {"USE_REFLECTION", "false"}}));
  EXPECT_EQ(host.asked[EffectKind::score], 0);
  EXPECT_EQ(run.status, Status::answered);
}

TEST_F(AgentTest, MoreScoresThanSentencesEndTheRunAsFailed) {
  auto agent = agent::Agent::create(*small.index, memory_question, config("tuned"));
  ASSERT_TRUE(agent);
  std::vector<agent::Effect> open = agent->start();
  while (!open.empty()) {
    const agent::Effect effect = open.front();
    open.erase(open.begin());
    agent::EffectResult result = host.answer(effect);
    if (auto* logits = std::get_if<agent::Logits>(&result.value); logits != nullptr && agent->run().steps.back().node() == Node::generate) {
      logits->values.push_back(1.0F);
    }
    auto more = agent->resume(effect.id, std::move(result));
    ASSERT_TRUE(more);
    open.insert(open.end(), more->begin(), more->end());
  }
  EXPECT_EQ(agent->run().status, Status::failed);
  ASSERT_TRUE(agent->run().error);
  EXPECT_EQ(agent->run().error->code, ErrorCode::mismatch);
  EXPECT_THAT(agent->run().answer, IsEmpty());
}

TEST_F(AgentTest, AnyOtherModelErrorEndsTheRunAsFailed) {
  host.score_error = Error{ErrorCode::provider_failed, "the model file is damaged"};
  const agent::Run run = this->run(config("tuned"));
  EXPECT_EQ(run.status, Status::failed);
  ASSERT_TRUE(run.error);
  EXPECT_EQ(run.error->message, "the model file is damaged");
  EXPECT_THAT(run.answer, IsEmpty());
}

TEST_F(AgentTest, AVectorOfAnotherModelEndsTheRunAsFailed) {
  auto agent = Agent::create(*small.index, memory_question, config("tuned"));
  ASSERT_TRUE(agent);
  for (const agent::Effect& effect : agent->start()) {
    agent::EffectResult result = host.answer(effect);
    if (effect.kind() == EffectKind::embed) result.value = agent::Embedding{{1.0F, 0.0F}};
    ASSERT_TRUE(agent->resume(effect.id, std::move(result)));
  }
  for (const agent::EffectId id : agent->open_effects()) {
    agent::EffectResult time;
    time.value = agent::Time{"2026-01-02T03:04:06Z", 2000};
    ASSERT_TRUE(agent->resume(id, time));
  }
  EXPECT_EQ(agent->run().status, Status::failed);
  ASSERT_TRUE(agent->run().error);
  EXPECT_EQ(agent->run().error->code, ErrorCode::mismatch);
}

// --- language models as providers -----------------------------------------------------------------------------------

TEST_F(AgentTest, AnswersFromTheChunksThatTheGraderKept) {
  host.replies = {grade_yes, "Use the `--memory` flag [run/memory#001]."};
  const agent::Run run = this->run(llm());
  ASSERT_EQ(run.status, Status::answered) << run.answer;
  ASSERT_THAT(host.completes, SizeIs(2));
  EXPECT_THAT(host.completes[0].chunk_ids, Not(IsEmpty()));
  EXPECT_THAT(host.completes[0].schema, HasSubstr("relevant_chunk_ids"));
  EXPECT_THAT(host.completes[1].chunk_ids, ElementsAre("run/memory#001"));
  EXPECT_THAT(host.completes[1].schema, IsEmpty());
  ASSERT_THAT(run.citations, SizeIs(1));
  EXPECT_EQ(span(run.answer, run.citations[0]), "Use the `--memory` flag");
  EXPECT_EQ(run.generator, "scripted-llm");
  EXPECT_EQ(agent::totals(run).tokens.in, 200U);
  EXPECT_DOUBLE_EQ(agent::totals(run).cost_usd.value_or(-1), 0.0002);
}

TEST_F(AgentTest, RewritesOnANegativeVerdictAndSearchesAgain) {
  host.replies = {grade_no, R"({"query": "memory limit flag"})", grade_yes, "Use `--memory` [run/memory#001]."};
  const agent::Run run = this->run(llm());
  EXPECT_THAT(nodes(run), ElementsAre(Node::retrieve, Node::grade_context, Node::rewrite_query, Node::retrieve, Node::grade_context, Node::generate));
  EXPECT_EQ(host.completes[1].failed_query, memory_question);
  EXPECT_EQ(host.completes[1].reason, "nothing on it");
  EXPECT_EQ(std::get<Retrieved>(run.steps[3].data).query, "memory limit flag");
  EXPECT_EQ(host.completes[2].question, memory_question);
}

TEST_F(AgentTest, ARewriteEqualToAnEarlierQueryEndsTheLoop) {
  host.replies = {grade_no, R"({"query": "  how do i LIMIT the memory of  a container? "})"};
  const agent::Run run = this->run(llm());
  EXPECT_THAT(nodes(run), ElementsAre(Node::retrieve, Node::grade_context, Node::rewrite_query, Node::refuse));
  EXPECT_TRUE(std::get<Rewritten>(run.steps[2].data).repeated);
  EXPECT_THAT(last<Refused>(run).reason, HasSubstr("repeats an earlier one"));
}

TEST_F(AgentTest, RefusesWhenTheRewritesAreSpent) {
  host.replies = {grade_no, R"({"query": "one"})", grade_no};
  const agent::Run run = this->run(llm({{"MAX_REWRITES", "1"}}));
  EXPECT_EQ(run.status, Status::refused);
  EXPECT_EQ(last<Refused>(run).last_grader_reason, "nothing on it");
}

TEST_F(AgentTest, RelevantWithoutAValidIdCountsAsNotRelevant) {
  host.replies = {R"({"relevant": true, "reason": "yes", "relevant_chunk_ids": ["run/memory#099", "elsewhere#000"]})"};
  const agent::Run run = this->run(llm({{"MAX_REWRITES", "0"}}));
  EXPECT_EQ(run.status, Status::refused);
  EXPECT_FALSE(last<Graded>(run).relevant);
  EXPECT_THAT(last<Graded>(run).dropped_ids, ElementsAre("run/memory#099", "elsewhere#000"));
}

TEST_F(AgentTest, AMalformedReplyIsAskedAgainOnce) {
  host.replies = {"I think it is relevant.", grade_yes, "Use `--memory` [run/memory#001]."};
  const agent::Run run = this->run(llm());
  EXPECT_EQ(run.status, Status::answered);
  ASSERT_THAT(host.completes, SizeIs(3));
  EXPECT_THAT(host.completes[0].repair, IsEmpty());
  EXPECT_THAT(host.completes[1].repair, HasSubstr("no complete JSON value"));
  EXPECT_THAT(run.steps[1].effects, SizeIs(3));
  EXPECT_NE(run.steps[1].effects[1].effect.digest, run.steps[1].effects[2].effect.digest) << "a cache must not serve the malformed reply again";
}

TEST_F(AgentTest, ASecondMalformedReplyFailsTheRun) {
  host.replies = {"[1, 2]", R"({"relevant": "yes"})"};
  const agent::Run run = this->run(llm());
  EXPECT_EQ(run.status, Status::failed);
  ASSERT_TRUE(run.error);
  EXPECT_EQ(run.error->code, ErrorCode::invalid_json);
  EXPECT_THAT(run.error->message, HasSubstr("\"relevant\" is of type string"));
}

TEST_F(AgentTest, AReplyCutByTheTokenLimitIsReportedAsThat) {
  host.finish = "length";
  host.replies = {R"({"relevant": tr)", R"({"relevant": tr)"};
  const agent::Run run = this->run(llm());
  EXPECT_EQ(run.status, Status::failed);
  ASSERT_TRUE(run.error);
  EXPECT_THAT(run.error->message, HasSubstr("cut by the token limit after 20 tokens"));
}

TEST_F(AgentTest, ACutAnswerIsNoAnswer) {
  host.finish = "length";
  host.replies = {grade_yes, "Use the `--memory` flag [run/memory#001] and"};
  const agent::Run run = this->run(llm());
  EXPECT_EQ(run.status, Status::failed);
  EXPECT_THAT(run.answer, IsEmpty());
}

TEST_F(AgentTest, TheLastJsonValueOfAReplyCounts) {
  host.replies = {std::string("Draft: ") + grade_no + "\nOn reflection:\n```json\n" + grade_yes + "\n```\n", "Use `--memory` [run/memory#001]."};
  EXPECT_EQ(run(llm()).status, Status::answered);
}

TEST_F(AgentTest, AnAnswerWithoutAValidCitationBecomesARefusal) {
  host.replies = {grade_yes, "Use the --memory flag [store/volumes#000]."};
  const agent::Run run = this->run(llm());
  EXPECT_EQ(run.status, Status::refused);
  EXPECT_TRUE(last<Generated>(run).declined);
  EXPECT_THAT(last<Generated>(run).dropped_ids, ElementsAre("store/volumes#000"));
  EXPECT_THAT(last<Generated>(run).draft, HasSubstr("--memory"));
  EXPECT_THAT(run.answer, Not(HasSubstr("--memory")));
}

TEST_F(AgentTest, AnAnswerThatSaysItCannotAnswerBecomesARefusal) {
  host.replies = {grade_yes, "I\xE2\x80\x99m sorry, but I can\xE2\x80\x99t answer this from the passages [run/memory#001]."};
  EXPECT_EQ(run(llm()).status, Status::refused);
}

TEST_F(AgentTest, AnAnswerAboutThingsThatCannotBeFoundIsNoRefusal) {
  for (const char* answer : {"If Docker cannot find the image locally, it pulls it [run/memory#001].",
                             "The build context does not contain ignored files [run/memory#001].",
                             "Unable to find image 'alpine' locally means that it is pulled [run/memory#001]."}) {
    host.replies = {grade_yes, answer};
    EXPECT_EQ(run(llm()).status, Status::answered) << answer;
  }
}

TEST_F(AgentTest, CitationsOfOtherChunksAreTakenOutOfTheText) {
  host.replies = {grade_yes, "Use `--memory` [run/memory#001] [made/up#007]. It is a flag [made/up#008]."};
  const agent::Run run = this->run(llm());
  EXPECT_EQ(run.answer, "Use `--memory` [run/memory#001]. It is a flag.");
  EXPECT_THAT(last<Generated>(run).dropped_ids, ElementsAre("made/up#007", "made/up#008"));
}

TEST_F(AgentTest, WithoutReflectionTheGeneratorMayStillDecline) {
  host.replies = {"I do not know."};
  const agent::Run run = this->run(llm({{"USE_REFLECTION", "false"}}));
  EXPECT_THAT(nodes(run), ElementsAre(Node::retrieve, Node::generate, Node::refuse));
  EXPECT_EQ(run.status, Status::refused);
}

TEST_F(AgentTest, AProviderThatFailsEndsTheRunWithItsReason) {
  host.complete_error = Error{ErrorCode::quota_spent, "the day's quota is spent"};
  const agent::Run run = this->run(llm());
  EXPECT_EQ(run.status, Status::failed);
  ASSERT_TRUE(run.error);
  EXPECT_EQ(run.error->code, ErrorCode::quota_spent);
  EXPECT_THAT(run.answer, IsEmpty());
}

TEST_F(AgentTest, HostileRepliesStayDataAndEndInARecord) {
  const std::string hostile = "<script>alert(1)</script> \x01\x02 \xE2\x80\xAE" "dlrow [run/memory#001] \xFF\xFE";
  host.replies = {grade_yes, hostile};
  const agent::Run run = this->run(llm(), "<img src=x onerror=alert(1)> \xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D memory \x7F");
  EXPECT_EQ(run.status, Status::answered);
  EXPECT_FALSE(text::first_invalid(run.answer));
  EXPECT_THAT(run.answer, HasSubstr("<script>"));
}

// --- the protocol ---------------------------------------------------------------------------------------------------

TEST_F(AgentTest, TheOrderOfResultsDoesNotMatter) {
  ScriptedHost other;
  const agent::Run forward = run(config("tuned"));
  auto agent = Agent::create(*small.index, memory_question, config("tuned"));
  ASSERT_TRUE(agent);
  auto effects = agent->start();
  ASSERT_THAT(effects, SizeIs(2));
  EXPECT_EQ(effects[0].kind(), EffectKind::time);
  EXPECT_EQ(effects[1].kind(), EffectKind::embed);
  const auto time = other.answer(effects[0]);
  auto next = agent->resume(effects[1].id, other.answer(effects[1]));
  ASSERT_TRUE(next);
  EXPECT_THAT(*next, IsEmpty()) << "the time is still open";
  EXPECT_THAT(agent->open_effects(), ElementsAre(effects[0].id));
  next = agent->resume(effects[0].id, time);
  ASSERT_TRUE(next);
  // Every batch is performed in order and handed in backwards.
  while (!next->empty()) {
    std::vector<std::pair<agent::EffectId, agent::EffectResult>> batch;
    for (const agent::Effect& effect : *next) batch.insert(batch.begin(), {effect.id, other.answer(effect)});
    std::vector<agent::Effect> following;
    for (auto& [id, result] : batch) {
      auto more = agent->resume(id, std::move(result));
      ASSERT_TRUE(more);
      following.insert(following.end(), more->begin(), more->end());
    }
    *next = std::move(following);
  }
  EXPECT_TRUE(agent->finished());
  EXPECT_EQ(agent->run().answer, forward.answer);
  EXPECT_EQ(agent->run().id, forward.id);
  EXPECT_EQ(agent->run().total_ms, forward.total_ms);
}

TEST_F(AgentTest, AnUnknownEffectOrAResultOfAnotherKindChangesNothing) {
  auto agent = Agent::create(*small.index, memory_question, config("tuned"));
  ASSERT_TRUE(agent);
  const auto effects = agent->start();
  agent::EffectResult time;
  time.value = agent::Time{"2026-01-02T03:04:05Z", 1};
  EXPECT_EQ(agent->resume(99, time).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(agent->resume(effects[1].id, time).error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(agent->open_effects(), SizeIs(2));
  ASSERT_TRUE(agent->resume(effects[0].id, time));
  EXPECT_EQ(agent->resume(effects[0].id, time).error().code, ErrorCode::invalid_argument) << "a second result for one effect";
  agent::EffectResult negative = host.answer(effects[1]);
  negative.ms = -1;
  EXPECT_EQ(agent->resume(effects[1].id, negative).error().code, ErrorCode::invalid_argument);
}

TEST_F(AgentTest, AbortEndsTheRunAtOnce) {
  auto agent = Agent::create(*small.index, memory_question, config("tuned"));
  ASSERT_TRUE(agent);
  agent->start();
  agent->abort({ErrorCode::model_unavailable, "the tab was closed"});
  EXPECT_TRUE(agent->finished());
  EXPECT_EQ(agent->run().status, Status::failed);
  EXPECT_EQ(agent->run().error->message, "the tab was closed");
  EXPECT_THAT(agent->open_effects(), IsEmpty());
}

TEST_F(AgentTest, QuestionsThatAreEmptyTooLongOrNotUtf8AreRejected) {
  EXPECT_EQ(Agent::create(*small.index, " \n\t", config("tuned")).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Agent::create(*small.index, std::string(100 * 1024, 'a'), config("tuned")).error().code, ErrorCode::invalid_argument);
  const auto ill_formed = Agent::create(*small.index, "caf\xC3", config("tuned"));
  EXPECT_EQ(ill_formed.error().code, ErrorCode::invalid_text);
  EXPECT_THAT(ill_formed.error().message, HasSubstr("byte 3"));
}

TEST_F(AgentTest, TimesComeFromTimeEffectsAndStepsFollowOnEachOther) {
  const agent::Run run = this->run(config("tuned"));
  EXPECT_EQ(run.started_at, "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(run.steps[0].started_ms, 0);
  for (std::size_t i = 1; i < run.steps.size(); ++i) {
    EXPECT_DOUBLE_EQ(run.steps[i].started_ms, run.steps[i - 1].started_ms + run.steps[i - 1].ms);
    EXPECT_EQ(run.steps[i].effects.front().effect.kind(), EffectKind::time);
  }
  EXPECT_EQ(run.steps.back().effects.back().effect.kind(), EffectKind::time);
  EXPECT_DOUBLE_EQ(run.total_ms, host.clock_ms - 1000.5);
}

TEST_F(AgentTest, ACachedResultIsChargedItsOriginalLatency) {
  host.replies = {grade_yes, "Use `--memory` [run/memory#001]."};
  const agent::Run live = run(llm());
  // The same results from a cache that takes no time.
  auto agent = Agent::create(*small.index, memory_question, llm());
  ASSERT_TRUE(agent);
  std::deque<agent::Effect> open;
  for (auto& effect : agent->start()) open.push_back(effect);
  std::map<std::string, agent::EffectResult> cache;
  for (const auto& step : live.steps) {
    for (const auto& recorded : step.effects) cache[recorded.effect.digest] = recorded.result;
  }
  double clock = 1000;
  while (!open.empty()) {
    agent::EffectResult result = cache[open.front().digest];
    result.cached = true;
    if (open.front().kind() == EffectKind::time) {
      result = {};
      result.value = agent::Time{"2026-01-02T03:04:05.678Z", clock += 0.5};
    }
    auto next = agent->resume(open.front().id, result);
    ASSERT_TRUE(next);
    open.pop_front();
    for (auto& effect : *next) open.push_back(effect);
  }
  EXPECT_DOUBLE_EQ(agent->run().total_ms, live.total_ms);
}

TEST_F(AgentTest, DigestsTellRequestsAndModelsApart) {
  const auto digests = [&](const char* question, std::string_view provider) {
    auto made = config("tuned", {{"PROVIDER", provider}});
    ScriptedHost scripted;
    scripted.replies = {grade_yes, "x [run/memory#001]"};
    std::vector<std::string> out;
    for (const auto& step : test::run(*small.index, question, made, scripted).steps) {
      for (const auto& recorded : step.effects) {
        if (recorded.effect.kind() == EffectKind::embed || recorded.effect.kind() == EffectKind::complete) out.push_back(recorded.effect.digest);
      }
    }
    return out;
  };
  const auto proxy = digests(memory_question, "proxy");
  EXPECT_EQ(proxy, digests(memory_question, "proxy"));
  const auto other = digests(memory_question, "openai-compatible");
  EXPECT_EQ(proxy[0], other[0]) << "the same embedder read the same tokens";
  EXPECT_NE(proxy[1], other[1]) << "another provider graded";
  EXPECT_NE(proxy[0], digests("What is a volume?", "proxy")[0]);
}

}  // namespace
}  // namespace polygraph
