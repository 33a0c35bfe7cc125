// The export of traces as a user of the program has it: whatever the receiver does, the command's output and status are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "scripted_upstream.hpp"
#include "tests/cli/program.hpp"
#include "tests/proxy/server_fixture.hpp"
#include "tests/proxy/telemetry/collector.hpp"

namespace polygraph::cli::test {
namespace {

using nlohmann::json;
using telemetry::testing::closed_port;
using telemetry::testing::Collector;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Environment = std::map<std::string, std::string>;

constexpr const char* question = "At what temperature is the fish soup kept?";
constexpr const char* golden =
    R"({"id":"soup","type":"answerable","question":"At what temperature is the fish soup kept?","reference_answer":"65 degrees","relevant_chunk_ids":["galley/soup#000"],"should_refuse":false}
{"id":"tax","type":"unanswerable","question":"What is the income tax rate of Portugal?","should_refuse":true}
)";

Environment langfuse(const std::string& url) {
  return {{"LANGFUSE_PUBLIC_KEY", "pk-lf-canary"}, {"LANGFUSE_SECRET_KEY", "sk-lf-canary"}, {"LANGFUSE_HOST", url}};
}

/// The spans of each trace that arrived.
std::vector<json> traces_of(const Collector& collector) {
  std::vector<json> traces;
  for (const auto& request : collector.received()) {
    const auto body = json::parse(request.body);
    for (const auto& resource : body.at("resourceSpans")) traces.push_back(resource.at("scopeSpans").at(0).at("spans"));
  }
  return traces;
}

std::vector<std::string> names_of(const json& spans) {
  std::vector<std::string> names;
  for (const auto& span : spans) names.push_back(span.at("name"));
  return names;
}

json attribute(const json& span, const std::string& key) {
  for (const auto& each : span.at("attributes")) {
    if (each.at("key") == key) return each.at("value");
  }
  return nullptr;
}

std::size_t notes_of(const std::string& err) {
  const auto all = lines(err);
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& line) { return line.find("traces are not exported") != std::string::npos; }));
}

class TraceExport : public ProgramTest {
 protected:
  Outcome checked(Outcome outcome) const {
    EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("canary"))) << "a key shows";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder())) {
      if (!entry.is_regular_file()) continue;
      EXPECT_THAT(read(entry.path()), Not(HasSubstr("canary"))) << entry.path();
    }
    return outcome;
  }
  Outcome ask(const Environment& environment) { return checked(run({"ask", "--index", lexical_index(), "--json", question}, {.environment = environment})); }
};

TEST_F(TraceExport, AskSendsItsTraceStepByStep) {
  const Collector collector;
  const auto asked = ask(langfuse(collector.url()));
  ASSERT_EQ(asked.status, 0) << asked.err;
  EXPECT_EQ(notes_of(asked.err), 0U);
  const auto trace = one_json(asked.out);
  const auto sent = traces_of(collector);
  ASSERT_EQ(sent.size(), 1U);
  std::vector<std::string> nodes{"invoke_agent polygraph"};
  for (const auto& step : trace["steps"]) nodes.push_back(step["node"]);
  EXPECT_EQ(names_of(sent[0]), nodes);
  EXPECT_EQ(attribute(sent[0][0], "polygraph.run.id"), (json{{"stringValue", trace["id"]}}));
  EXPECT_EQ(attribute(sent[0][0], "langfuse.trace.input"), (json{{"stringValue", question}}));
}

TEST_F(TraceExport, ACallOfALanguageModelIsAGenerationWithItsTokens) {
  proxy::testing::ScriptedUpstream model;
  const Collector collector;
  auto environment = langfuse(collector.url());
  environment.insert({{"PROVIDER", "openai-compatible"}, {"OPENAI_BASE_URL", model.plain_url()}, {"GENERATOR_MODEL", "big"}, {"GRADER_MODEL", "small"}, {"OPENAI_API_KEY", "sk-canary-0123"}});
  const auto asked = ask(environment);
  ASSERT_EQ(asked.status, 0) << asked.err;
  const auto trace = one_json(asked.out);
  const auto sent = traces_of(collector);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(names_of(sent[0]), (std::vector<std::string>{"invoke_agent polygraph", "retrieve", "grade_context", "chat small", "generate", "chat big"}));
  std::uint64_t in = 0;
  for (const auto& span : sent[0]) {
    if (const auto tokens = attribute(span, "gen_ai.usage.input_tokens"); !tokens.is_null()) in += std::stoull(tokens["intValue"].get<std::string>());
  }
  EXPECT_EQ(in, trace["totals"]["tokens"]["in"].get<std::uint64_t>());
  EXPECT_GT(in, 0U);
  EXPECT_THAT(collector.received()[0].body, Not(HasSubstr("canary")));
}

TEST_F(TraceExport, WithoutItsSettingsNothingIsConnectedTo) {
  const Collector collector;
  const auto asked = ask({{"LANGFUSE_HOST", collector.url()}, {"OTEL_SERVICE_NAME", "docs"}, {"OTEL_EXPORTER_OTLP_HEADERS", "a=b"}});
  EXPECT_EQ(asked.status, 0);
  EXPECT_EQ(notes_of(asked.err), 0U);
  EXPECT_EQ(collector.connections(), 0U);
}

TEST_F(TraceExport, ARunSendsOneTraceAnItemAndAResumedOneNoneAgain) {
  const Collector collector;
  const auto dataset = write("golden.jsonl", golden);
  const std::vector<std::string> call{"run", "--index", lexical_index(), "--dataset", dataset.string(), "--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false"};
  const Environment environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()}, {"OTEL_EXPORTER_OTLP_HEADERS", "key=canary"}, {"OTEL_SERVICE_NAME", "evaluation"}};
  const auto done = checked(run(call, {.environment = environment}));
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(traces_of(collector).size(), 2U);
  EXPECT_THAT(collector.received().at(0).body, HasSubstr("evaluation"));
  EXPECT_EQ(run(call, {.environment = environment}).status, 0);
  EXPECT_EQ(traces_of(collector).size(), 2U);
}

TEST_F(TraceExport, ARecordingIsSentToo) {
  const Collector collector;
  const auto examples = write("examples.json", json{{"kind", "examples"}, {"groups", {{{"questions", {question}}}}}}.dump());
  const auto recorded = checked(run({"record", "--index", lexical_index(), "--examples", examples.string(), "--out", (folder() / "recorded").string()},
                                    {.environment = langfuse(collector.url())}));
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_EQ(traces_of(collector).size(), 1U);
}

TEST_F(TraceExport, WhateverTheReceiverDoesTheAnswerIsTheSameAndOneNoteSaysIt) {
  const auto answer = one_json(ask({}).out)["answer"];
  for (const char* does : {"status:500:sk-lf-canary", "status:401", "close", "stall", "trickle"}) {
    const Collector collector({does});
    const auto asked = ask(langfuse(collector.url()));
    EXPECT_EQ(asked.status, 0) << does;
    EXPECT_EQ(one_json(asked.out)["answer"], answer) << does;
    EXPECT_EQ(notes_of(asked.err), 1U) << does << asked.err;
  }
  const auto refused = ask(langfuse("http://127.0.0.1:" + std::to_string(closed_port())));
  EXPECT_EQ(refused.status, 0);
  EXPECT_EQ(notes_of(refused.err), 1U) << refused.err;
}

TEST_F(TraceExport, ASettingThatCannotBeUsedIsANoteAndNoFailure) {
  for (const Environment& environment : {Environment{{"LANGFUSE_PUBLIC_KEY", "pk-canary"}}, Environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://canary:1"}},
                                         Environment{{"LANGFUSE_PUBLIC_KEY", "pk-canary"}, {"LANGFUSE_SECRET_KEY_FILE", "/no/such/file"}}}) {
    const auto asked = ask(environment);
    EXPECT_EQ(asked.status, 0);
    EXPECT_EQ(notes_of(asked.err), 1U) << asked.err;
  }
}

TEST_F(TraceExport, ConfigListsItsSettingsWithKeysMasked) {
  auto environment = langfuse("https://traces.example");
  environment.insert({{"OTEL_EXPORTER_OTLP_HEADERS", "key=canary"}, {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "key=canary"}, {"OTEL_SERVICE_NAME", "docs"}});
  const auto printed = checked(run({"config", "--json"}, {.environment = environment}));
  ASSERT_EQ(printed.status, 0);
  const auto config = one_json(printed.out);
  for (const char* name : {"LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"}) EXPECT_EQ(config[name]["value"], "(set)");
  EXPECT_EQ(config["LANGFUSE_HOST"]["value"], "https://traces.example");
  EXPECT_EQ(config["OTEL_SERVICE_NAME"]["value"], "docs");
  EXPECT_EQ(config["OTEL_EXPORTER_OTLP_ENDPOINT"]["source"], "default");
  checked(run({"config"}, {.environment = environment}));
}

/// What `serve` sends for one question to /api/ask.
class ServeTraceExport : public TraceExport {
 protected:
  void ask_server(const Collector& collector, const std::vector<std::string>& more) {
    const proxy::testing::ScriptedUpstream model;
    const auto site = write("site/index.html", "<!doctype html><title>Ferry</title>").parent_path().string();
    std::filesystem::create_directories(folder() / "recordings");
    std::vector<std::string> call{"serve", "--site", site, "--index", lexical_index(), "--state", (folder() / "state").string(), "--recordings",
                                  (folder() / "recordings").string(), "--port", "0", "--upstream", model.plain_url()};
    call.insert(call.end(), more.begin(), more.end());
    const auto server = start(call, {.environment = langfuse(collector.url())});
    ASSERT_TRUE(server->wait_for_lines(1, false)) << server->err();
    const auto url = one_json(server->out())["listening"].get<std::string>();
    http::testing::Client client(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    const auto body = json{{"question", question}}.dump();
    client.send("POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    const auto reply = client.reply();
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->status, 200) << reply->body;
    EXPECT_TRUE(collector.wait_for(1));
    server->signal(SIGTERM);
    const auto ended = checked(server->wait());
    EXPECT_EQ(ended.status, 0) << ended.err;
  }
};

TEST_F(ServeTraceExport, SendsTheRunWithoutItsWords) {
  const Collector collector;
  ask_server(collector, {});
  const auto sent = traces_of(collector);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(names_of(sent[0]).front(), "invoke_agent polygraph");
  EXPECT_EQ(attribute(sent[0].back(), "langfuse.observation.type"), (json{{"stringValue", "generation"}}));
  EXPECT_THAT(collector.received()[0].body, Not(HasSubstr("soup kept")));
}

TEST_F(ServeTraceExport, SendsItsWordsWhereQuestionsAreLogged) {
  const Collector collector;
  ask_server(collector, {"--set", "LOG_QUESTIONS=1"});
  EXPECT_THAT(collector.received().at(0).body, HasSubstr("soup kept"));
}

}  // namespace
}  // namespace polygraph::cli::test
