// The API over real sockets: a server, its ledger in SQLite, and an endpoint that does what it is told.
#include "proxy/service/service.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "scripted_upstream.hpp"
#include "tests/agent/scripted_host.hpp"
#include "tests/proxy/server_fixture.hpp"

namespace polygraph::proxy {
namespace {

using http::testing::Client;
using http::testing::Reply;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* key_canary = "gsk_canary-7f3d9a51";
constexpr const char* memory_question = "How do I limit the memory of a container?";

class ServiceTest : public http::testing::ServerTest {
 protected:
  void adjust(http::ServeOptions& options) override {
    std::filesystem::create_directories(folder_ / "state");
    ServiceOptions service;
    service.index = small_.index.get();
    service.settings = settings_;
    auto store = open_sqlite_store((folder_ / "state").string());
    ASSERT_TRUE(store) << store.error().message;
    service.store = std::move(*store);
    service.upstream.url = with_key_ ? upstream_.plain_url() : "https://api.groq.com/openai/v1";
    service.upstream.key = with_key_ ? key_canary : "";
    service.upstream.max_reply_bytes = settings_.upstream_max_bytes;
    if (std::filesystem::exists(folder_ / "recordings")) {
      auto recordings = Recordings::load(folder_ / "recordings");
      ASSERT_TRUE(recordings) << recordings.error().message;
      service.recordings = std::move(*recordings);
    }
    service.perform = [this](const agent::Effect& effect) {
      const std::lock_guard lock(host_mutex_);
      return host_.answer(effect);
    };
    auto made = Service::create(std::move(service));
    ASSERT_TRUE(made) << made.error().message;
    service_ = std::move(*made);
    options.add_routes = [this](const http::Parts& parts) { service_->add_routes(parts); };
    options.not_ready = [this] { return service_->not_ready(); };
    options.more_metrics = [this] { return service_->metrics(); };
  }
  void TearDown() override {
    stop();
    service_.reset();
    server_.reset();
    ServerTest::TearDown();
  }

  static std::string post_text(const std::string& target, const std::string& body, const std::string& fields = "") {
    return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  Reply post(const std::string& target, const json& body, const std::string& fields = "") {
    auto connection = client();
    connection.send(post_text(target, body.dump(), fields));
    const auto reply = connection.reply();
    EXPECT_TRUE(reply) << "no answer to " << target;
    return reply.value_or(Reply{});
  }
  /// A task, with `how` as the scripted endpoint reads it in the question.
  static json generate(const std::string& how = "", const std::string& question = "How do I limit memory?") {
    return {{"task", "generate"}, {"question", how.empty() ? question : "[[" + how + "]] " + question}, {"chunk_ids", {"run/memory#001"}}};
  }
  static json grade(const std::string& how = "") {
    json task = generate(how);
    task["task"] = "grade";
    return task;
  }
  /// All of a streamed answer's bytes.
  std::string stream(const json& body) {
    json streamed = body;
    streamed["stream"] = true;
    auto connection = client();
    connection.send(post_text("/api/complete", streamed.dump(), "Connection: close\r\n"));
    return connection.rest();
  }
  /// Asks for a stream and leaves after its first piece.
  void leave_in_the_middle(const json& body) {
    json streamed = body;
    streamed["stream"] = true;
    auto connection = client();
    connection.send(post_text("/api/complete", streamed.dump()));
    std::string text;
    while (text.find("event: delta\n") == std::string::npos) {
      const auto more = connection.receive();
      ASSERT_FALSE(more.empty()) << text;
      text += more;
    }
  }
  static std::string code(const Reply& reply) { return json::parse(reply.body)["error"]["code"]; }

  /// The whole log: the server is gone afterwards.
  std::string final_log() {
    stop();
    service_.reset();
    server_.reset();
    return log_text();
  }
  /// Waits, with patience, until `holds`.
  static bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 1000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  /// What was charged. An answer goes out before its call is settled, so calls that are still open are waited for, within reason.
  std::vector<DayUsage> usage() {
    auto store = open_sqlite_store((folder_ / "state").string());
    EXPECT_TRUE(store);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    for (;;) {
      auto days = (*store)->usage();
      EXPECT_TRUE(days);
      const auto open = [](const DayUsage& day) { return day.open_requests > 0; };
      if (!days || std::none_of(days->begin(), days->end(), open) || std::chrono::steady_clock::now() > patience) return days.value_or(std::vector<DayUsage>{});
      std::this_thread::yield();
    }
  }
  void record(const std::string& id, const std::string& question, const std::string& index_digest, const json& aliases = json::array()) {
    std::filesystem::create_directories(folder_ / "recordings");
    const json recording = {{"kind", "recording"}, {"schema", 1}, {"id", id}, {"question", question}, {"aliases", aliases}, {"recorded_at", "2026-11-30T10:00:00Z"},
                            {"made_by", "a test"}, {"models", {{"generator", "extractive"}, {"grader", "extractive"}, {"rewriter", "extractive"}}},
                            {"index_digest", index_digest}, {"trace", {{"id", "run-1"}, {"question", question}}}};
    std::ofstream(folder_ / "recordings" / (id + ".json")) << recording.dump();
  }

  proxy::testing::ScriptedUpstream upstream_;
  test::SmallIndex small_ = test::small_index();
  test::ScriptedHost host_;
  std::mutex host_mutex_;
  ServiceSettings settings_;
  bool with_key_ = true;
  std::shared_ptr<Service> service_;
};

TEST_F(ServiceTest, CompletesEachTask) {
  start();
  const auto grade_reply = post("/api/complete", grade());
  ASSERT_EQ(grade_reply.status, 200) << grade_reply.body;
  const auto graded = json::parse(grade_reply.body);
  EXPECT_EQ(graded["task"], "grade");
  EXPECT_TRUE(graded["value"]["relevant"].is_boolean());
  EXPECT_TRUE(graded["value"]["relevant_chunk_ids"].is_array());
  EXPECT_EQ(graded["model"], settings_.models.grader);
  EXPECT_THAT(graded["prompt_version"].get<std::string>(), StartsWith("grade-"));
  EXPECT_FALSE(graded["cached"]);
  EXPECT_EQ(graded["finish"], "stop");
  EXPECT_EQ(graded["request_id"], grade_reply.field("x-request-id"));
  EXPECT_GT(graded["tokens"]["in"], 0);
  EXPECT_EQ(grade_reply.field("cache-control"), "no-store");

  const auto rewrite_reply = post("/api/complete", {{"task", "rewrite"}, {"question", "How?"}, {"failed_query", "how"}, {"reason", "nothing"}});
  ASSERT_EQ(rewrite_reply.status, 200) << rewrite_reply.body;
  EXPECT_TRUE(json::parse(rewrite_reply.body)["value"]["query"].is_string());

  const auto generate_reply = post("/api/complete", generate());
  ASSERT_EQ(generate_reply.status, 200) << generate_reply.body;
  EXPECT_FALSE(json::parse(generate_reply.body)["value"]["text"].get<std::string>().empty());
}

TEST_F(ServiceTest, TakesTheTextsFromItsOwnIndexAndTheLengthFromItsOwnSettings) {
  settings_.max_tokens_generate = 77;
  start();
  ASSERT_EQ(post("/api/complete", generate()).status, 200);
  const auto sent = upstream_.requests();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_THAT(sent[0].body, HasSubstr("docker run --memory 512m alpine"));
  EXPECT_THAT(sent[0].body, HasSubstr("77"));
  EXPECT_THAT(sent[0].head, HasSubstr(key_canary));
  EXPECT_EQ(json::parse(sent[0].body)["model"], settings_.models.generator);
}

TEST_F(ServiceTest, StreamsDeltasAndThenTheAnswer) {
  start();
  const std::string text = stream(generate("text:Use the memory flag."));
  EXPECT_THAT(text, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(text, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(text, HasSubstr("Transfer-Encoding: chunked\r\n"));
  const auto first = text.find("event: delta\n");
  const auto done = text.find("event: done\n");
  ASSERT_NE(first, std::string::npos) << text;
  ASSERT_NE(done, std::string::npos) << text;
  EXPECT_LT(first, done);
  EXPECT_EQ(text.find("event: done\n", done + 1), std::string::npos);
  EXPECT_THAT(text, HasSubstr("\"text\":\"Use the memory flag.\""));
  EXPECT_TRUE(text.ends_with("\r\n0\r\n\r\n")) << text;
}

TEST_F(ServiceTest, AStreamThatWasCutEndsWithAnErrorEventAndIsChargedAndNotCached) {
  start();
  const std::string text = stream(generate("cut_body"));
  EXPECT_THAT(text, HasSubstr("event: delta\n"));
  EXPECT_THAT(text, HasSubstr("event: error\n"));
  EXPECT_THAT(text, HasSubstr("upstream_invalid"));
  EXPECT_THAT(text, Not(HasSubstr("event: done\n")));
  EXPECT_THAT(stream(generate("cut_body")), HasSubstr("event: error\n"));
  EXPECT_EQ(upstream_.counts().calls, 2U);
  const auto days = usage();
  ASSERT_EQ(days.size(), 1U);
  EXPECT_EQ(days[0].requests, 2U);
}

TEST_F(ServiceTest, AFailureBeforeTheFirstDeltaIsAnOrdinaryError) {
  start();
  EXPECT_THAT(stream(generate("status:401")), StartsWith("HTTP/1.1 502 "));
}

TEST_F(ServiceTest, AnswersTheSameFromTheCacheWithoutACharge) {
  start();
  const auto first = json::parse(post("/api/complete", generate()).body);
  const auto second = json::parse(post("/api/complete", generate()).body);
  EXPECT_FALSE(first["cached"]);
  EXPECT_TRUE(second["cached"]);
  EXPECT_EQ(first["value"], second["value"]);
  EXPECT_EQ(first["tokens"], second["tokens"]);
  EXPECT_EQ(first["ms"], second["ms"]) << "what it cost when it was made";
  EXPECT_EQ(upstream_.counts().calls, 1U);
  EXPECT_EQ(usage().at(0).requests, 1U);
  EXPECT_THAT(stream(generate()), HasSubstr("\"cached\":true")) << "a stream is the same answer";
}

TEST_F(ServiceTest, DifferentQuestionsModelsAndPassagesAreDifferentAnswers) {
  settings_.allowed_models = {"other/model"};
  start();
  post("/api/complete", generate());
  json other = generate();
  other["model"] = "other/model";
  EXPECT_FALSE(json::parse(post("/api/complete", other).body)["cached"]);
  json passages = generate();
  passages["chunk_ids"] = {"run/memory#000"};
  EXPECT_FALSE(json::parse(post("/api/complete", passages).body)["cached"]);
  EXPECT_EQ(upstream_.counts().calls, 3U);
}

TEST_F(ServiceTest, IdenticalTasksAtTheSameTimeShareOneCall) {
  settings_.client_burst = 100;
  start();
  std::vector<std::thread> askers;
  std::atomic<int> answered{0};
  for (int i = 0; i < 8; ++i) {
    askers.emplace_back([&] {
      if (post("/api/complete", generate("delay:300")).status == 200) ++answered;
    });
  }
  for (auto& asker : askers) asker.join();
  EXPECT_EQ(answered, 8);
  EXPECT_EQ(upstream_.counts().calls, 1U);
  EXPECT_EQ(usage().at(0).requests, 1U);
}

TEST_F(ServiceTest, AClientThatLeavesEndsItsCall) {
  start();
  {
    auto connection = client();
    connection.send(post_text("/api/complete", generate("stall_body").dump()));
    ASSERT_TRUE(eventually([&] { return upstream_.counts().waiting == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return upstream_.counts().left == 1; }));
  EXPECT_TRUE(eventually([&] { return !usage().empty() && usage()[0].open_requests == 0; })) << "charged in full, and not left open";
}

TEST_F(ServiceTest, EndsThoughAClientLeftInTheMiddleOfItsStream) {
  start();
  leave_in_the_middle(generate("stall_body"));
  ASSERT_TRUE(eventually([&] { return upstream_.counts().left == 1; }));
  auto ended = std::async(std::launch::async, [&] { stop(); });
  if (ended.wait_for(std::chrono::seconds(60)) == std::future_status::ready) return;
  std::fputs("the server goes on for a client that left\n", stderr);
  std::abort();  // its threads can be ended in no other way
}

TEST_F(ServiceTest, SeveralThreadsServeManyClientsAtOnce) {
  settings_.client_burst = 1'000'000;
  settings_.limits = {1'000'000, 1'000'000, 1'000'000'000, 1'000'000'000};
  start({}, 4);
  constexpr int clients = 8, rounds = 6;
  std::atomic<int> wrong{0}, left{0};
  const auto expect = [&](bool holds) {
    if (!holds) ++wrong;
  };
  std::vector<std::thread> askers;
  for (int who = 0; who < clients; ++who) {
    askers.emplace_back([&, who] {
      for (int round = 0; round < rounds; ++round) {
        const std::string own = "Question " + std::to_string(who) + " of round " + std::to_string(round) + "?";
        expect(post("/api/complete", generate("", own)).status == 200);
        expect(post("/api/complete", generate("", "Everybody's question of round " + std::to_string(round) + "?")).status == 200);
        expect(stream(generate("slow_stream:1", own)).find("event: done\n") != std::string::npos);
        expect(stream(generate("cut_body", own)).find("event: error\n") != std::string::npos);
        leave_in_the_middle(generate("stall_body", own));
        ++left;
        expect(post("/api/ask", {{"question", own}}).status == 200);
        expect(json::parse(get("/api/status").body)["live"] == true);
        expect(get("/api/recordings").status == 200);
        expect(service_->metrics().find("polygraph_tokens_total") != std::string::npos);
      }
    });
  }
  for (auto& asker : askers) asker.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(eventually([&] { return upstream_.counts().left == static_cast<std::uint64_t>(left); }));
  EXPECT_TRUE(eventually([&] {
    const auto days = usage();
    return std::all_of(days.begin(), days.end(), [](const DayUsage& day) { return day.open_requests == 0; });
  }));
  std::uint64_t charged = 0;
  for (const auto& day : usage()) charged += day.requests;
  EXPECT_EQ(charged, upstream_.counts().calls);
}

TEST_F(ServiceTest, StopsWhileManyAskAndEndsWhatIsRunning) {
  settings_.client_burst = 1'000'000;
  settings_.limits = {1'000'000, 1'000'000, 1'000'000'000, 1'000'000'000};
  start({}, 4);
  constexpr int clients = 8, before_the_stop = 40;
  std::atomic<int> answered{0}, wrong{0};
  std::vector<Client> connections;
  for (int who = 0; who < clients; ++who) connections.push_back(client());
  std::vector<std::thread> askers;
  for (int who = 0; who < clients; ++who) {
    askers.emplace_back([&, who] {
      for (int round = 0;; ++round) {
        const json question = generate(round % 2 == 0 ? "delay:5" : "", "Question " + std::to_string(who) + " of round " + std::to_string(round) + "?");
        const std::string asked = round % 3 == 2 ? post_text("/api/ask", json{{"question", question["question"]}}.dump()) : post_text("/api/complete", question.dump());
        if (!connections[who].send(asked)) return;
        const auto reply = connections[who].reply();
        if (!reply) return;
        ++answered;
        if (reply->status == 200) continue;
        if (reply->status != 503 || code(*reply) != "shutting_down") ++wrong;
        return;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return answered >= before_the_stop; }));
  stop();
  for (auto& asker : askers) asker.join();
  EXPECT_EQ(wrong, 0);
  service_.reset();
  server_.reset();
  std::uint64_t charged = 0;
  for (const auto& day : usage()) {
    charged += day.requests;
    EXPECT_EQ(day.open_requests, 0U) << "an answer that was running was settled";
  }
  EXPECT_EQ(charged, upstream_.counts().calls);
}

TEST_F(ServiceTest, SaysWhatWasWrongInTheCallersOwnLetters) {
  start();
  const auto reply = post("/api/ask", json::parse("{\"question\": \"q\", \"config\": {\"Gr\u00f6\u00dfe\": 1}}"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(json::parse(reply.body)["error"]["message"].get<std::string>(), HasSubstr("Gr\xC3\xB6\xC3\x9F" "e"));
}

TEST_F(ServiceTest, ASharedCallGoesOnWhileSomebodyWaits) {
  start();
  auto stays = client();
  stays.send(post_text("/api/complete", generate("delay:500").dump()));
  {
    auto leaves = client();
    ASSERT_TRUE(eventually([&] { return upstream_.counts().calls == 1; }));
    leaves.send(post_text("/api/complete", generate("delay:500").dump()));
  }
  const auto reply = stays.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200) << reply->body;
  EXPECT_EQ(upstream_.counts().calls, 1U);
}

TEST_F(ServiceTest, IsBusyWhenAWindowIsSpentAndSaysUntilWhen) {
  settings_.limits.requests_per_minute = 1;
  start();
  EXPECT_EQ(post("/api/complete", generate()).status, 200);
  const auto reply = post("/api/complete", generate("", "Something else?"));
  EXPECT_EQ(reply.status, 503);
  const auto error = json::parse(reply.body)["error"];
  EXPECT_EQ(error["code"], "busy");
  EXPECT_THAT(error["until"].get<std::string>(), HasSubstr("T"));
  EXPECT_EQ(reply.field("retry-after"), std::to_string(error["retry_after"].get<int>()));
  EXPECT_GE(error["retry_after"].get<int>(), 1);
  EXPECT_LE(error["retry_after"].get<int>(), 61);
  EXPECT_EQ(post("/api/complete", generate()).status, 200) << "what is cached needs no quota";
  const auto status = json::parse(get("/api/status").body);
  EXPECT_FALSE(status["live"]);
  EXPECT_TRUE(status["until"].is_string());
}

TEST_F(ServiceTest, WhatNoEmptyMinuteHoldsIsTooLarge) {
  settings_.limits.tokens_per_minute = 1100;
  start();
  const auto reply = post("/api/complete", generate());
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(code(reply), "context_too_large");
  EXPECT_EQ(upstream_.counts().calls, 0U);
}

struct Fault {
  const char* how;
  int status;
  const char* code;
  std::uint64_t calls;
  std::uint64_t charged;  ///< requests
};

TEST_F(ServiceTest, EachFaultOfTheUpstreamHasItsAnswerAndItsCharge) {
  settings_.client_burst = 100;
  settings_.limits.requests_per_minute = 1000;
  settings_.limits.tokens_per_minute = 1'000'000;
  settings_.limits.tokens_per_day = 1'000'000'000;
  start();
  std::uint64_t calls = 0, charged = 0;
  for (const Fault& fault : std::initializer_list<Fault>{
           {"status:500", 503, "busy", 3, 0},
           {"status:503", 503, "busy", 3, 0},
           {"status:400", 502, "upstream_invalid", 1, 0},
           {"status:401", 502, "upstream_invalid", 1, 0},
           {"status:403", 502, "upstream_invalid", 1, 0},
           {"status:404", 502, "upstream_invalid", 1, 0},
           {"redirect", 502, "upstream_invalid", 1, 0},
           {"too_large", 413, "context_too_large", 1, 0},
           {"too_large_429", 413, "context_too_large", 1, 0},
           {"both_framings", 502, "upstream_invalid", 1, 1},
           {"two_lengths", 502, "upstream_invalid", 1, 1},
           {"junk", 502, "upstream_invalid", 1, 1},
           {"not_json", 502, "upstream_invalid", 1, 1},
           {"no_choices", 502, "upstream_invalid", 1, 1},
           {"cut_body", 502, "upstream_invalid", 1, 1},
           {"gigantic_length", 502, "upstream_invalid", 1, 1},
           {"no_usage", 200, "", 1, 1},
           {"wrong_usage", 200, "", 1, 1},
       }) {
    const auto reply = post("/api/complete", generate(fault.how));
    EXPECT_EQ(reply.status, fault.status) << fault.how << ": " << reply.body;
    if (fault.status != 200) {
      EXPECT_EQ(code(reply), fault.code) << fault.how;
    }
    if (fault.status == 503) {
      EXPECT_FALSE(reply.field("retry-after").empty()) << fault.how;
    }
    calls += fault.calls;
    charged += fault.charged;
    EXPECT_EQ(upstream_.counts().calls, calls) << fault.how;
    const auto days = usage();
    EXPECT_EQ(days.empty() ? 0 : days[0].requests, charged) << fault.how;
    EXPECT_EQ(days.empty() ? 0 : days[0].open_requests, 0U) << fault.how;
  }
}

TEST_F(ServiceTest, ADayLimitOfTheHostPausesTheModelAndIsNotTriedAgain) {
  start();
  const auto reply = post("/api/complete", generate("limited_tpd:120"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(code(reply), "busy");
  EXPECT_GE(json::parse(reply.body)["error"]["retry_after"].get<int>(), 110);
  EXPECT_EQ(upstream_.counts().calls, 1U);
  EXPECT_EQ(post("/api/complete", generate("", "Another one?")).status, 503);
  EXPECT_EQ(upstream_.counts().calls, 1U) << "paused: nothing goes out";
  const auto status = json::parse(get("/api/status").body);
  EXPECT_FALSE(status["live"]);
}

TEST_F(ServiceTest, AMinuteLimitOfTheHostIsWaitedForWithinTheDeadline) {
  start();
  upstream_.next({"limited_rpm:1", "answer"});
  EXPECT_EQ(post("/api/complete", generate()).status, 200);
  EXPECT_EQ(upstream_.counts().calls, 2U);
}

TEST_F(ServiceTest, AModelThatDoesNotAnswerInTimeIsChargedInFull) {
  settings_.upstream_deadline = std::chrono::milliseconds(300);
  start();
  const auto reply = post("/api/complete", generate("stall_body"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(code(reply), "busy");
  const auto days = usage();
  ASSERT_EQ(days.size(), 1U);
  EXPECT_EQ(days[0].requests, 1U);
  EXPECT_GT(days[0].tokens_in + days[0].tokens_out, 0U);
}

TEST_F(ServiceTest, AGradeThatCantBeReadIsAskedForOnceMore) {
  start();
  upstream_.next({"text:I think so.", "answer"});
  EXPECT_EQ(post("/api/complete", grade()).status, 200);
  EXPECT_EQ(upstream_.counts().calls, 2U);
  upstream_.next({"text:Perhaps.", "text:Perhaps not."});
  json other = grade();
  other["question"] = "Another?";
  const auto reply = post("/api/complete", other);
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(code(reply), "upstream_invalid");
  EXPECT_EQ(upstream_.counts().calls, 4U);
}

TEST_F(ServiceTest, AQueueThatIsFullSaysSoAtOnce) {
  settings_.upstream_concurrency = 1;
  settings_.upstream_queue = 1;
  start();
  auto first = client(), second = client();
  first.send(post_text("/api/complete", generate("stall_body", "One?").dump()));
  ASSERT_TRUE(eventually([&] { return upstream_.counts().waiting == 1; }));
  second.send(post_text("/api/complete", generate("", "Two?").dump()));
  ASSERT_TRUE(eventually([&] { return post("/api/complete", generate("", "Three?")).status == 503 || true; }));
  const auto third = post("/api/complete", generate("", "Four?"));
  EXPECT_EQ(third.status, 503);
  EXPECT_EQ(code(third), "busy");
}

TEST_F(ServiceTest, AClientGetsATokenBucketWellFormedOrNot) {
  settings_.client_burst = 2;
  settings_.client_per_minute = 1;
  start();
  EXPECT_EQ(post("/api/complete", {{"nonsense", true}}).status, 400);
  EXPECT_EQ(post("/api/complete", generate()).status, 200);
  const auto third = post("/api/complete", generate());
  EXPECT_EQ(third.status, 429);
  EXPECT_EQ(code(third), "rate_limited");
  EXPECT_FALSE(third.field("retry-after").empty());
  EXPECT_EQ(get("/api/status").status, 200) << "reading is not limited";
}

TEST_F(ServiceTest, OnlyATrustedProxysWordCountsForTheBucket) {
  settings_.client_burst = 1;
  settings_.client_per_minute = 1;
  start();
  EXPECT_EQ(post("/api/complete", generate(), "X-Forwarded-For: 198.51.100.1\r\n").status, 200);
  EXPECT_EQ(post("/api/complete", generate(), "X-Forwarded-For: 198.51.100.2\r\n").status, 429);
  stop();
  service_.reset();
  server_.reset();
  http::Settings behind;
  ASSERT_TRUE(behind.trusted_proxies.add("127.0.0.1"));
  start(behind);
  EXPECT_EQ(post("/api/complete", generate(), "X-Forwarded-For: 198.51.100.3\r\n").status, 200);
  EXPECT_EQ(post("/api/complete", generate(), "X-Forwarded-For: 6.6.6.6, 198.51.100.3\r\n").status, 429);
  EXPECT_EQ(post("/api/complete", generate(), "X-Forwarded-For: 198.51.100.4\r\n").status, 200);
}

TEST_F(ServiceTest, RefusesOtherMethodsAndTypes) {
  start();
  const auto wrong_method = get("/api/complete");
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_EQ(wrong_method.field("allow"), "POST");
  auto connection = client();
  connection.send("POST /api/complete HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(connection.reply()->status, 415);
  EXPECT_EQ(get("/api/nothing").status, 404);
}

TEST_F(ServiceTest, AnotherIndexIsAConflictBeforeAnyCall) {
  start();
  json task = generate();
  task["index_digest"] = "xxh128:00";
  const auto reply = post("/api/complete", task);
  EXPECT_EQ(reply.status, 409);
  EXPECT_EQ(code(reply), "index_mismatch");
  task["index_digest"] = small_.index->digest();
  EXPECT_EQ(post("/api/complete", task).status, 200);
}

TEST_F(ServiceTest, WithoutAKeyIsBusyAndNamesTheRecordingThatFits) {
  with_key_ = false;
  record("memory", "How do I limit memory?", std::string(small_.index->digest()));
  start();
  const auto reply = post("/api/complete", generate("", "how do I  limit MEMORY"));
  EXPECT_EQ(reply.status, 503);
  const auto error = json::parse(reply.body)["error"];
  EXPECT_EQ(error["code"], "busy");
  EXPECT_EQ(error["recording"], "memory");
  EXPECT_TRUE(error["until"].is_null());
  EXPECT_FALSE(json::parse(post("/api/complete", generate("", "Something else?")).body)["error"].contains("recording"));
  const auto status = json::parse(get("/api/status").body);
  EXPECT_FALSE(status["live"]);
  EXPECT_TRUE(status["serving_recorded"]);
  EXPECT_EQ(status["index"]["digest"], small_.index->digest());
}

TEST_F(ServiceTest, ListsAndServesRecordings) {
  record("memory", "How do I limit memory?", "xxh128:1", {"limit memory", "Memory limit?"});
  start();
  const auto list = json::parse(get("/api/recordings").body)["recordings"];
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["id"], "memory");
  EXPECT_EQ(list[0]["made_by"], "a test");
  EXPECT_EQ(list[0]["aliases"], json({"limit memory", "Memory limit?"})) << "so that a page finds the run for them without asking";
  EXPECT_EQ(json::parse(get("/api/recordings/memory").body)["kind"], "recording");
  EXPECT_EQ(get("/api/recordings/none").status, 404);
  EXPECT_EQ(get("/api/recordings/../../state/polygraph.sqlite").status, 404);
}

TEST_F(ServiceTest, AnswersAWholeRun) {
  start();
  upstream_.next({"answer", "text:Use the memory flag [run/memory#001]."});
  const auto reply = post("/api/ask", {{"question", memory_question}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto answer = json::parse(reply.body);
  EXPECT_EQ(answer["source"], "live");
  EXPECT_TRUE(answer["recording"].is_null());
  EXPECT_EQ(answer["trace"]["question"], memory_question);
  EXPECT_EQ(answer["trace"]["config"]["provider"], "proxy");
  ASSERT_EQ(answer["trace"]["status"], "answered") << answer["trace"].dump(2);
  EXPECT_THAT(answer["trace"]["models"]["generator"].get<std::string>(), HasSubstr("gpt-oss-120b"));
}

TEST_F(ServiceTest, AWholeRunWithoutEmbedderAndRerankerIsLexicalAndSaysSo) {
  host_.embed_error = host_.score_error = Error{ErrorCode::model_unavailable, "Node.js is not there", {}, 0};
  start();
  const auto answer = json::parse(post("/api/ask", {{"question", memory_question}}).body);
  EXPECT_EQ(answer["source"], "live");
  EXPECT_EQ(answer["trace"]["stages"]["lexical"], "used");
  EXPECT_THAT(answer["trace"]["stages"]["dense"].get<std::string>(), HasSubstr("Node.js is not there"));
}

TEST_F(ServiceTest, AWholeRunWhoseClientLeavesEndsItsCall) {
  start();
  upstream_.always("stall_body");
  {
    auto connection = client();
    connection.send(post_text("/api/ask", json{{"question", memory_question}}.dump()));
    ASSERT_TRUE(eventually([&] { return upstream_.counts().waiting == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return upstream_.counts().left == 1; }));
}

TEST_F(ServiceTest, AWholeRunWithoutAModelIsTheRecordedOneOrBusy) {
  with_key_ = false;
  record("memory", memory_question, std::string(small_.index->digest()));
  start();
  const auto recorded = json::parse(post("/api/ask", {{"question", memory_question}}).body);
  EXPECT_EQ(recorded["source"], "recorded");
  EXPECT_EQ(recorded["recording"]["id"], "memory");
  EXPECT_EQ(recorded["trace"]["id"], "run-1");
  EXPECT_EQ(post("/api/ask", {{"question", "Something else?"}}).status, 503);
  const auto extractive = json::parse(post("/api/ask", {{"question", memory_question}, {"config", {{"PROVIDER", "extractive"}}}}).body);
  EXPECT_EQ(extractive["source"], "live");
  EXPECT_EQ(extractive["trace"]["status"], "answered");
}

TEST_F(ServiceTest, ABrokenLedgerSendsNothingUpstreamAndRecoversByItself) {
  start();
  EXPECT_EQ(post("/api/complete", generate()).status, 200);
  std::filesystem::remove_all(folder_ / "state");
  std::ofstream(folder_ / "state") << "a file where the folder was";
  const auto reply = post("/api/complete", generate("", "Another?"));
  EXPECT_EQ(reply.status, 503) << reply.body;
  EXPECT_EQ(code(reply), "busy");
  EXPECT_EQ(upstream_.counts().calls, 1U);
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 503; }));
  EXPECT_EQ(get("/healthz").status, 200);
  std::filesystem::remove(folder_ / "state");
  std::filesystem::create_directories(folder_ / "state");
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 200; }));
  EXPECT_EQ(post("/api/complete", generate("", "A third?")).status, 200);
}

TEST_F(ServiceTest, LetsListedOriginsReadAnswers) {
  http::Settings settings;
  settings.allowed_origins = {"https://docs.example.org"};
  start(settings);
  const auto allowed = get("/api/status", "Origin: https://docs.example.org\r\n");
  EXPECT_EQ(allowed.field("access-control-allow-origin"), "https://docs.example.org");
  EXPECT_EQ(allowed.field("vary"), "Origin");
  EXPECT_EQ(get("/api/status", "Origin: https://evil.example\r\n").field("access-control-allow-origin"), "");
  const auto preflight = get("/api/complete", "Origin: https://docs.example.org\r\nAccess-Control-Request-Method: POST\r\n", "OPTIONS");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_THAT(preflight.field("access-control-allow-headers"), HasSubstr("Content-Type"));
}

TEST_F(ServiceTest, CountsCallsAndTokens) {
  start();
  post("/api/complete", generate());
  post("/api/complete", generate("status:401"));
  const std::string text = service_->metrics();
  EXPECT_THAT(text, HasSubstr("polygraph_upstream_calls_total{model=\"openai/gpt-oss-120b\",outcome=\"answered\"} 1"));
  EXPECT_THAT(text, HasSubstr("polygraph_upstream_calls_total{model=\"openai/gpt-oss-120b\",outcome=\"refused\"} 1"));
  EXPECT_THAT(text, HasSubstr("polygraph_tokens_total{model=\"openai/gpt-oss-120b\",direction=\"in\"}"));
}

TEST_F(ServiceTest, TheKeyAndTheQuestionShowNowhere) {
  start();
  std::string seen;
  for (const char* how : {"", "echo_key", "echo_key_400", "answer_key", "status:500", "cut_body"}) {
    seen += post("/api/complete", generate(how, "A private question?")).body;
    seen += stream(generate(how, "A private question?"));
  }
  seen += service_->metrics() + get("/api/status").body;
  const std::string log = final_log();
  EXPECT_THAT(log, HasSubstr("\"event\":\"request\""));
  EXPECT_THAT(log, HasSubstr("\"upstream_status\":401"));
  EXPECT_THAT(seen + log, Not(HasSubstr("canary")));
  EXPECT_THAT(log, Not(HasSubstr("private")));
}

TEST_F(ServiceTest, LogsQuestionsWhereTheOperatorAsksForIt) {
  settings_.log_questions = true;
  start();
  post("/api/complete", generate("", "A question to log?"));
  EXPECT_THAT(final_log(), HasSubstr("A question to log?"));
}

TEST_F(ServiceTest, TheQuestionLogTellsWhatBecameOfAQuestionAndOfNobodyWhoAsked) {
  settings_.question_log = (folder_ / "questions.log").string();
  start();
  upstream_.next({"text:{\"relevant\": false, \"reason\": \"nothing on it\", \"relevant_chunk_ids\": []}"});
  json graded = grade();
  graded["question"] = "Who reads ann@example.org?";
  EXPECT_EQ(post("/api/complete", graded).status, 200);
  EXPECT_EQ(post("/api/complete", generate("", "An answered one?")).status, 200);
  EXPECT_EQ(post("/api/ask", {{"question", "How do I descale a kettle?"}}).status, 200);
  stop();
  std::vector<std::pair<std::string, std::string>> seen;
  std::ifstream file(settings_.question_log);
  for (std::string line; std::getline(file, line);) {
    const auto entry = json::parse(line);
    seen.emplace_back(entry["question"], entry["status"]);
    EXPECT_THAT(line, Not(HasSubstr("127.0.0.1")));
  }
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0], std::pair(std::string("Who reads [e-mail]"), std::string("not_relevant")));
  EXPECT_EQ(seen[1], std::pair(std::string("An answered one?"), std::string("answered")));
  EXPECT_EQ(seen[2].first, "How do I descale a kettle?");
}

TEST_F(ServiceTest, NoQuestionIsKeptUnlessAFileIsNamed) {
  start();
  post("/api/complete", generate("", "A question of nobody's?"));
  stop();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) EXPECT_NE(entry.path().filename(), "questions.log");
}

}  // namespace
}  // namespace polygraph::proxy
