// Traces: written, validated against the published schema, replayed, edited, forked.
#include "wasm/trace/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "tests/agent/scripted_host.hpp"
#include "wasm/trace/base64.hpp"
#include "wasm/trace/effect_json.hpp"

namespace polygraph {
namespace {

using Json = nlohmann::ordered_json;
using agent::EffectKind;
using agent::Status;
using test::config;
using test::ScriptedHost;
using testing::HasSubstr;

constexpr const char* memory_question = "How do I limit the memory of a container?";
constexpr const char* trick_question = "How do I configure Kubernetes ingress on GKE with Terraform?";
constexpr const char* grade_yes = R"({"relevant": true, "reason": "it says so", "relevant_chunk_ids": ["run/memory#001"]})";
constexpr const char* grade_no = R"({"relevant": false, "reason": "nothing on it", "relevant_chunk_ids": []})";

/// What is wrong with a trace by assets/schemas/trace.schema.json; empty: nothing.
std::string schema_errors(const std::string& trace) {
  static const std::unique_ptr<valijson::Schema> schema = [] {
    std::ifstream file(std::string(POLYGRAPH_SOURCE_DIR) + "/assets/schemas/trace.schema.json");
    const nlohmann::json document = nlohmann::json::parse(file);
    auto made = std::make_unique<valijson::Schema>();
    valijson::SchemaParser parser;
    const valijson::adapters::NlohmannJsonAdapter adapter(document);
    parser.populateSchema(adapter, *made);
    return made;
  }();
  const nlohmann::json document = nlohmann::json::parse(trace);
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter target(document);
  if (validator.validate(*schema, target, &results)) return {};
  std::string out;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& part : error.context) out += part;
    out += ": " + error.description + "\n";
  }
  return out.empty() ? "invalid" : out;
}

/// Calls `each` for every value in the document that is neither an object nor an array.
void for_each_leaf(Json& json, const std::string& path, const std::function<void(Json&, const std::string&)>& each) {
  if (json.is_object()) {
    for (auto& item : json.items()) for_each_leaf(item.value(), path + "/" + item.key(), each);
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) for_each_leaf(json[i], path + "/" + std::to_string(i), each);
  } else {
    each(json, path);
  }
}

/// Another value of the same type.
Json changed(const Json& leaf) {
  if (leaf.is_boolean()) return !leaf.get<bool>();
  if (leaf.is_number_unsigned()) return leaf.get<std::uint64_t>() + 1;
  if (leaf.is_number()) return leaf.get<double>() + 0.0625;
  if (leaf.is_null()) return "something";
  const std::string text = leaf.get<std::string>();
  std::string other = text + "x";
  // A base64 value stays one: its first character changes, and with it a low bit of the first float.
  if (text.size() >= 8 && text.size() % 4 == 0 && text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == std::string::npos) {
    other = text;
    other[0] = text[0] == 'A' ? 'B' : 'A';
  }
  return other;
}

class TraceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(small.index, nullptr); }

  static agent::Config llm(std::initializer_list<std::pair<std::string_view, std::string_view>> options = {}) {
    agent::Config made = config("tuned", options);
    made.provider = agent::Provider::proxy;
    return made;
  }

  struct Named {
    std::string name;
    agent::Run run;
  };
  /// One run of every kind that a trace can record.
  std::vector<Named> runs() {
    std::vector<Named> all;
    const auto add = [&](std::string name, const agent::Config& with, const char* question, const std::function<void(ScriptedHost&)>& script = {},
                         agent::Options options = {}) {
      ScriptedHost host;
      if (script) script(host);
      all.push_back({std::move(name), test::run(*small.index, question, with, host, std::move(options))});
    };
    for (const auto preset : agent::preset_names()) add(std::string(preset), config(preset), memory_question);
    add("refused", config("tuned"), trick_question);
    add("lexical", config("tuned"), memory_question, {}, {"not loaded", "not loaded", {}});
    add("embedder unavailable", config("tuned"), memory_question,
        [](ScriptedHost& host) { host.embed_error = Error{ErrorCode::model_unavailable, "died", "worker", 3}; });
    add("reranker failed", config("tuned"), memory_question, [](ScriptedHost& host) { host.score_error = Error{ErrorCode::provider_failed, "damaged"}; });
    add("no clock", config("tuned"), memory_question, [](ScriptedHost& host) { host.time_error = Error{ErrorCode::io, "no clock"}; });
    add("partial logits", config("tuned", {{"RERANK_BUDGET_MS", "1500"}}), memory_question, [](ScriptedHost& host) { host.most_logits = 2; });
    add("model graded", llm(), memory_question, [](ScriptedHost& host) {
      host.replies = {"no JSON", grade_no, R"({"query": "memory limit flag"})", grade_yes,
                      "Use `--memory` [run/memory#001], not [made/up#001]. <b>\xE2\x80\xAE</b> </script> \x02"};
    });
    add("model repeated", llm(), memory_question, [](ScriptedHost& host) { host.replies = {grade_no, std::string(R"({"query": ")") + memory_question + "\"}"}; });
    add("model malformed", llm(), memory_question, [](ScriptedHost& host) { host.replies = {"{", "{"}; });
    add("model declined", llm({{"USE_REFLECTION", "0"}}), memory_question, [](ScriptedHost& host) { host.replies = {"I don't know."}; });
    auto aborted = agent::Agent::create(*small.index, memory_question, config("tuned"));
    ScriptedHost host;
    (void)aborted->resume(1, host.answer(aborted->start().front()));
    aborted->abort({ErrorCode::model_unavailable, "the tab was closed"});
    all.push_back({"aborted", aborted->run()});
    return all;
  }

  test::SmallIndex small = test::small_index();
};

TEST_F(TraceTest, EveryKindOfRunFitsThePublishedSchema) {
  for (const Named& each : runs()) {
    EXPECT_EQ(schema_errors(trace::to_json(each.run)), "") << each.name;
    EXPECT_EQ(schema_errors(trace::to_json(each.run, {true, small.index.get()})), "") << each.name << " with text";
  }
}

TEST_F(TraceTest, TheSchemaRefusesWhatIsNoTrace) {
  EXPECT_NE(schema_errors("{}"), "");
  Json document = Json::parse(trace::to_json(runs().front().run));
  document["steps"][0]["effects"][0]["result"] = Json::object();
  EXPECT_NE(schema_errors(document.dump()), "");
  document = Json::parse(trace::to_json(runs().front().run));
  document["steps"][0]["data"].erase("query");
  EXPECT_NE(schema_errors(document.dump()), "");
}

TEST_F(TraceTest, WritingWhatWasReadGivesTheSameBytes) {
  for (const Named& each : runs()) {
    const std::string text = trace::to_json(each.run);
    const auto read = trace::parse(text);
    ASSERT_TRUE(read) << each.name << ": " << read.error().message;
    EXPECT_EQ(trace::to_json(*read), text) << each.name;
  }
}

TEST_F(TraceTest, EveryKindOfRunReplaysToTheSameBytes) {
  for (const Named& each : runs()) {
    const std::string text = trace::to_json(each.run);
    const auto replay = trace::replay(*small.index, text);
    ASSERT_TRUE(replay) << each.name << ": " << replay.error().message;
    EXPECT_TRUE(replay->identical) << each.name << ": " << replay->difference;
    EXPECT_EQ(trace::to_json(replay->run), text) << each.name;
    const auto with_text = trace::replay(*small.index, trace::to_json(each.run, {true, small.index.get()}));
    ASSERT_TRUE(with_text);
    EXPECT_TRUE(with_text->identical) << each.name << ": " << with_text->difference;
  }
}

TEST_F(TraceTest, ReplayFindsEveryChangedValue) {
  // Together these hold every kind of step, effect, result and field.
  const std::vector<std::string> chosen = {"tuned", "refused", "embedder unavailable", "reranker failed", "model graded", "aborted"};
  for (const Named& each : runs()) {
    if (std::find(chosen.begin(), chosen.end(), each.name) == chosen.end()) continue;
    const Json original = Json::parse(trace::to_json(each.run, {true, small.index.get()}));
    Json document = original;
    int leaves = 0;
    for_each_leaf(document, "", [&](Json& leaf, const std::string& path) {
      // The engine that replays need not be the one that recorded.
      if (path.rfind("/engine/", 0) == 0) return;
      const Json kept = leaf;
      leaf = changed(kept);
      const auto replay = trace::replay(*small.index, document.dump());
      const bool found = !replay || (!replay->identical && !replay->difference.empty());
      EXPECT_TRUE(found) << each.name << ": " << path << " was " << kept.dump() << ", is " << leaf.dump();
      leaf = kept;
      ++leaves;
    });
    EXPECT_GT(leaves, 50) << each.name;
    EXPECT_EQ(document, original);
  }
}

TEST_F(TraceTest, ReplayNamesWhatDiffersFirst) {
  ScriptedHost host;
  host.replies = {grade_yes, "Use `--memory` [run/memory#001]."};
  const Json original = Json::parse(trace::to_json(test::run(*small.index, memory_question, llm(), host)));
  const auto difference = [&](const std::function<void(Json&)>& edit) {
    Json document = original;
    edit(document);
    const auto replay = trace::replay(*small.index, document.dump());
    if (!replay) return trace::Replay{false, replay.error().message, 0, 0, {}};
    return *replay;
  };
  const auto question = difference([](Json& json) { json["question"] = "What is a volume?"; });
  EXPECT_EQ(question.step, 1U);
  EXPECT_EQ(question.effect, 2U);
  EXPECT_THAT(question.difference, HasSubstr("step 1 (retrieve), effect 2 (embed), digest: the trace has xxh128:"));

  const auto vector = difference([](Json& json) {
    auto& text = json["steps"][0]["effects"][1]["result"]["embedding"].get_ref<std::string&>();
    text[0] = text[0] == 'A' ? 'B' : 'A';
  });
  EXPECT_EQ(vector.effect, 2U);
  EXPECT_THAT(vector.difference, HasSubstr("changed after it was recorded"));

  const auto score = difference([](Json& json) { json["steps"][0]["data"]["candidates"][0]["scores"]["bm25"] = 99.5; });
  EXPECT_THAT(score.difference, HasSubstr("step 1 (retrieve), data.candidates[0].scores.bm25: the trace has 99.5, the replay has "));

  const auto verdict = difference([](Json& json) { json["steps"][1]["data"]["relevant"] = false; });
  EXPECT_THAT(verdict.difference, HasSubstr("step 2 (grade_context), data.relevant: the trace has false, the replay has true"));

  const auto answer = difference([](Json& json) { json["answer"] = "Use nothing."; });
  EXPECT_EQ(answer.step, 0U);
  EXPECT_THAT(answer.difference, HasSubstr("answer: the trace has \"Use nothing.\", the replay has \"Use `--memory`"));

  const auto removed_step = difference([](Json& json) { json["steps"].erase(2); });
  EXPECT_EQ(removed_step.step, 3U);
  EXPECT_THAT(removed_step.difference, HasSubstr("the trace does not hold it"));
  const auto added_step = difference([](Json& json) { json["steps"].push_back(json["steps"][2]); });
  EXPECT_EQ(added_step.step, 4U);
  EXPECT_THAT(added_step.difference, HasSubstr("only the trace has it"));

  const auto removed = difference([](Json& json) { json["steps"][1]["effects"].erase(1); });
  EXPECT_EQ(removed.step, 2U);
  EXPECT_EQ(removed.effect, 5U);
  const auto added = difference([](Json& json) {
    Json extra = json["steps"][1]["effects"][0];
    extra["id"] = 99;
    json["steps"][1]["effects"].push_back(extra);
  });
  EXPECT_EQ(added.effect, 99U);
  const auto swapped = difference([](Json& json) { std::swap(json["steps"][0]["effects"][1], json["steps"][0]["effects"][2]); });
  EXPECT_EQ(swapped.step, 1U);
  EXPECT_THAT(swapped.difference, HasSubstr("effect 3 (score)"));
  const auto other_kind = difference([](Json& json) { json["steps"][0]["effects"][1]["kind"] = "score"; });
  EXPECT_THAT(other_kind.difference, HasSubstr("kind: the trace has \"score\", the replay has \"embed\""));
}

TEST_F(TraceTest, UnknownFieldsAreLeftAlone) {
  Json document = Json::parse(trace::to_json(runs().front().run));
  document["note"] = "by a later version";
  document["steps"][0]["data"]["note"] = Json::array({1, 2});
  document["steps"][0]["effects"][0]["note"] = nullptr;
  const auto replay = trace::replay(*small.index, document.dump());
  ASSERT_TRUE(replay);
  EXPECT_TRUE(replay->identical) << replay->difference;
}

TEST_F(TraceTest, AnotherIndexIsAMismatchThatNamesBothDigests) {
  const test::SmallIndex other = test::small_index(false);
  ASSERT_NE(other.index, nullptr);
  const auto replay = trace::replay(*other.index, trace::to_json(runs().front().run));
  ASSERT_FALSE(replay);
  EXPECT_EQ(replay.error().code, ErrorCode::mismatch);
  EXPECT_THAT(replay.error().message, HasSubstr(small.index->digest()));
  EXPECT_THAT(replay.error().message, HasSubstr(other.index->digest()));
}

TEST_F(TraceTest, WhatIsNoTraceIsRefusedByField) {
  EXPECT_EQ(trace::parse("").error().code, ErrorCode::invalid_json);
  EXPECT_EQ(trace::parse("[]").error().code, ErrorCode::invalid_json);
  EXPECT_EQ(trace::parse("{\"kind\": \"trace\", \"schema\": 2}").error().code, ErrorCode::unsupported_version);
  Json document = Json::parse(trace::to_json(runs().front().run));
  document["steps"][0]["effects"][1]["result"]["embedding"] = "not base64!";
  EXPECT_EQ(trace::parse(document.dump()).error().field, "steps[0].effects[1].result.embedding");
  document = Json::parse(trace::to_json(runs().front().run));
  document["config"]["top_k"] = 1000000;
  EXPECT_EQ(trace::parse(document.dump()).error().field, "config.top_k");
}

TEST_F(TraceTest, TenThousandMutatedTracesNeverCrash) {
  std::vector<std::string> originals;
  for (const Named& each : runs()) originals.push_back(trace::to_json(each.run));
  std::mt19937 random(20260102);  // NOLINT: a fixed seed, the same mutations everywhere
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::string_view tokens[] = {"null", "-1", "1e999", "\"\"", "{}", "[]", "true", "4294967296", "\"\\ud800\"", "\xFF", "[[[[[[[[", "}"};
  int read = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string text = originals[below(originals.size())];
    for (std::size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0: text[at] = static_cast<char>(random() & 0xFF); break;
        case 1: text.erase(at, 1 + below(40)); break;
        case 2: text.insert(at, tokens[below(std::size(tokens))]); break;
        case 3: text.resize(at); break;
        default: {  // replace the value after a colon
          const std::size_t colon = text.find(':', at);
          const std::size_t end = colon == std::string::npos ? std::string::npos : text.find_first_of(",}", colon);
          if (end != std::string::npos) text.replace(colon + 1, end - colon - 1, tokens[below(std::size(tokens))]);
        }
      }
    }
    if (trace::parse(text)) ++read;
    if (i % 10 == 0) (void)trace::replay(*small.index, text);
    if (i % 50 == 0) (void)trace::Fork::create(*small.index, text, 2, config("full"));
  }
  EXPECT_GT(read, 10) << "the mutations are too coarse to reach anything";
}

// --- fork -----------------------------------------------------------------------------------------------------------

TEST_F(TraceTest, AForkServesWhatTheTraceHoldsAndAsksOnlyForTheRest) {
  ScriptedHost host;
  const agent::Run original = test::run(*small.index, memory_question, config("full"), host);
  const std::string text = trace::to_json(original);

  // The same configuration again: nothing is asked.
  auto same = trace::Fork::create(*small.index, text, 1, config("full"));
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->start().empty());
  EXPECT_TRUE(same->agent().finished());
  EXPECT_EQ(same->served(), 3U) << "embedding, pairs of passages, pairs of sentences";
  EXPECT_EQ(same->agent().run().answer, original.answer);

  // Other pairs: the embedding and the sentences' scores are served, the passages' scores are asked for.
  auto other = trace::Fork::create(*small.index, text, 1, config("full", {{"RERANK_CANDIDATES", "3"}}));
  ASSERT_TRUE(other);
  ScriptedHost second;
  test::drive(*other, second);
  EXPECT_TRUE(other->agent().finished());
  EXPECT_EQ(other->served(), 2U);
  EXPECT_EQ(second.asked[EffectKind::score], 1);
  EXPECT_EQ(second.asked[EffectKind::embed] + second.asked[EffectKind::time], 0);
}

TEST_F(TraceTest, AForkKeepsTheStepsBeforeItAndReplays) {
  ScriptedHost host;
  const agent::Run original = test::run(*small.index, memory_question, config("full"), host);
  agent::Config generated = llm();
  auto fork = trace::Fork::create(*small.index, trace::to_json(original), 2, generated);
  ASSERT_TRUE(fork);
  ScriptedHost second;
  second.replies = {grade_yes, "Use `--memory` [run/memory#001]."};
  test::drive(*fork, second);
  const agent::Run& run = fork->agent().run();
  ASSERT_EQ(run.status, Status::answered) << run.answer;
  EXPECT_EQ(run.answer, "Use `--memory` [run/memory#001].");
  EXPECT_EQ(run.config, generated);
  ASSERT_EQ(run.earlier.size(), 1U);
  EXPECT_EQ(run.earlier[0].run_id, original.id);
  EXPECT_NE(run.id, original.id);
  EXPECT_EQ(run.steps[0].ms, original.steps[0].ms);
  EXPECT_EQ(fork->served(), 2U);

  const std::string text = trace::to_json(run);
  EXPECT_EQ(schema_errors(text), "");
  const auto replay = trace::replay(*small.index, text);
  ASSERT_TRUE(replay);
  EXPECT_TRUE(replay->identical) << replay->difference;

  // A fork of the fork keeps both parts; the sentences that the model did not need are scored now.
  auto again = trace::Fork::create(*small.index, text, 3, config("tuned", {{"PROVIDER", "extractive"}}));
  ASSERT_TRUE(again);
  ScriptedHost third;
  test::drive(*again, third);
  EXPECT_EQ(third.asked[EffectKind::score], 1);
  EXPECT_EQ(third.asked[EffectKind::embed] + third.asked[EffectKind::complete], 0);
  ASSERT_EQ(again->agent().run().earlier.size(), 2U);
  const auto second_replay = trace::replay(*small.index, trace::to_json(again->agent().run()));
  ASSERT_TRUE(second_replay);
  EXPECT_TRUE(second_replay->identical) << second_replay->difference;
}

TEST_F(TraceTest, AForkWithoutModelsGoesOnLexically) {
  const agent::Run original = [&] {
    ScriptedHost host;
    return test::run(*small.index, memory_question, config("tuned"), host, {"not loaded", "not loaded", {}});
  }();
  auto fork = trace::Fork::create(*small.index, trace::to_json(original), 1, config("hybrid"), {"no worker", "no worker", {}});
  ASSERT_TRUE(fork);
  EXPECT_TRUE(fork->start().empty());
  EXPECT_EQ(fork->agent().run().stages.dense, "no worker");
  const auto replay = trace::replay(*small.index, trace::to_json(fork->agent().run()));
  ASSERT_TRUE(replay);
  EXPECT_TRUE(replay->identical) << replay->difference;
}

TEST_F(TraceTest, AStepThatTheTraceDoesNotHaveCannotBeForked) {
  const std::string text = trace::to_json(runs().front().run);
  EXPECT_EQ(trace::Fork::create(*small.index, text, 0, config("full")).error().field, "from_step");
  EXPECT_THAT(trace::Fork::create(*small.index, text, 9, config("full")).error().message, HasSubstr("steps 1 to 2"));
}

// --- the boundary ---------------------------------------------------------------------------------------------------

TEST(EffectJson, ResultsComeBackAsTheyWereSent) {
  const auto result = trace::effect_result_from_json(
      R"({"text": "hi", "ms": 12.5, "model": "m", "tokens": {"in": 3, "out": 4}, "cost_usd": 0.25, "cached": true, "finish": "length"})");
  ASSERT_TRUE(result);
  EXPECT_EQ(std::get<agent::Completion>(result->value).text, "hi");
  EXPECT_EQ(result->tokens.out, 4U);
  EXPECT_EQ(result->cost_usd, 0.25);
  EXPECT_TRUE(result->cached);
  EXPECT_EQ(result->finish, "length");
  const std::vector<float> logits = {1.5F, -2.25F, 3e-38F};
  const auto scored = trace::effect_result_from_json(Json{{"logits", trace::floats_to_base64(logits)}}.dump());
  ASSERT_TRUE(scored);
  EXPECT_EQ(std::get<agent::Logits>(scored->value).values, logits);
}

TEST(EffectJson, AMalformedResultNamesItsField) {
  EXPECT_EQ(trace::effect_result_from_json("nonsense").error().code, ErrorCode::invalid_json);
  EXPECT_EQ(trace::effect_result_from_json("{}").error().field, "result");
  EXPECT_EQ(trace::effect_result_from_json(R"({"text": "a", "logits": ""})").error().field, "result");
  EXPECT_EQ(trace::effect_result_from_json(R"({"time": {"utc": "x"}})").error().field, "result.time.ms");
  EXPECT_EQ(trace::effect_result_from_json(R"({"logits": "AAAA"})").error().field, "result.logits");
  EXPECT_EQ(trace::effect_result_from_json(R"({"text": "a", "tokens": {"in": -1, "out": 0}})").error().field, "result.tokens.in");
}

TEST(Base64, AgreesWithRfc4648AndRefusesWhatIsNotCanonical) {
  // "foobar" padded to whole floats: bytes 66 6f 6f 62.
  const std::vector<float> one = {1.0F};
  EXPECT_EQ(trace::floats_to_base64(one), "AACAPw==");
  EXPECT_EQ(trace::floats_from_base64("AACAPw=="), one);
  EXPECT_EQ(trace::floats_from_base64(""), std::vector<float>{});
  for (const char* wrong : {"AACAPw=", "AACAPw", "AACAPx==", "AAC*Pw==", "AAAA", "====", "AACA=w=="}) EXPECT_FALSE(trace::floats_from_base64(wrong)) << wrong;
}

}  // namespace
}  // namespace polygraph
