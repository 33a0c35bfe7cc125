// `serve` with its API as an operator runs it: the whole program before a scripted endpoint over TLS, its signals, its exit
// codes, its key, and two instances on one Redis. The routes themselves are tested in tests/proxy/service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <regex>
#include <thread>

#include "scripted_upstream.hpp"
#include "tests/cli/program.hpp"
#include "tests/proxy/server_fixture.hpp"
#include "tests/proxy/store/backends.hpp"

namespace polygraph::cli::test {
namespace {

using http::testing::Client;
using http::testing::Reply;
using nlohmann::json;
using proxy::test::RedisServer;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* key_canary = "gsk_canary-51c7e0b2d94f";
constexpr const char* chunk = "moorings#000";

class ServeApi : public ProgramTest {
 protected:
  /// A started server and where it answers.
  struct Server {
    std::unique_ptr<Running> process;
    json line;
    std::uint16_t port = 0, metrics_port = 0;
  };

  std::string site() { return write("my site/index.html", "<!doctype html><title>Ferry</title>").parent_path().string(); }
  std::string state() const { return (folder() / "my state").string(); }

  /// What every call of `serve` here has.
  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"serve", "--site", site(), "--index", lexical_index(), "--state", state(), "--recordings", recordings(), "--port", "0"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Surroundings with_key() {
    const auto file = write("secret/key", std::string("  ") + key_canary + "\n");
    return {.environment = {{"GROQ_API_KEY_FILE", file.string()}, {"SSL_CERT_FILE", upstream_.ca_file()}}};
  }
  std::string recordings() {
    std::filesystem::create_directories(folder() / "recordings");
    return (folder() / "recordings").string();
  }

  Server serve(const std::vector<std::string>& more = {}) {
    auto all = arguments(more);
    all.insert(all.end(), {"--upstream", upstream_.url()});
    Server server;
    server.process = start(all, with_key());
    if (!server.process->wait_for_lines(1, false)) {
      ADD_FAILURE() << server.process->err();
      return server;
    }
    server.line = one_json(server.process->out());
    const auto port = [&](const char* name) {
      const auto url = server.line[name].get<std::string>();
      return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    };
    server.port = port("listening");
    server.metrics_port = port("metrics");
    return server;
  }

  static Reply get(std::uint16_t port, const std::string& target) {
    Client client(port);
    client.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const auto reply = client.reply();
    EXPECT_TRUE(reply) << "no answer to " << target;
    return reply.value_or(Reply{});
  }
  static std::string post_text(const json& body) {
    const auto text = body.dump();
    return "POST /api/complete HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
           std::to_string(text.size()) + "\r\n\r\n" + text;
  }
  static Reply post(std::uint16_t port, const json& body) {
    Client client(port);
    client.send(post_text(body));
    const auto reply = client.reply();
    EXPECT_TRUE(reply) << "no answer to " << body;
    return reply.value_or(Reply{});
  }
  /// A task, with `how` as the scripted endpoint reads it in the question.
  static json generate(const std::string& how = "answer", const std::string& question = "How is the ferry moored?") {
    return {{"task", "generate"}, {"question", "[[" + how + "]] " + question}, {"chunk_ids", {chunk}}};
  }
  static json streamed(json task) {
    task["stream"] = true;
    return task;
  }
  static std::string code(const Reply& reply) {
    const auto body = json::parse(reply.body, nullptr, false);
    return body.is_object() && body.contains("error") ? body["error"]["code"].get<std::string>() : "no error: " + reply.body;
  }
  /// Waits, with patience, until `holds`.
  static bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 1500; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  json usage(const std::vector<std::string>& where) {
    std::vector<std::string> call{"usage", "--json"};
    call.insert(call.end(), where.begin(), where.end());
    const auto shown = run(call);
    EXPECT_EQ(shown.status, 0) << shown.err;
    return one_json(shown.out)["days"];
  }
  static int ended(Server& server) {
    server.process->signal(SIGTERM);
    return server.process->wait().status;
  }

  proxy::testing::ScriptedUpstream upstream_;
};

TEST_F(ServeApi, SaysWhereItAnswersThenIsAliveReadyAndMeasured) {
  auto server = serve();
  EXPECT_EQ(server.line.size(), 3U);
  EXPECT_THAT(server.line["listening"].get<std::string>(), ContainsRegex("^http://127\\.0\\.0\\.1:[0-9]+$"));
  EXPECT_THAT(server.line["metrics"].get<std::string>(), ContainsRegex("^http://127\\.0\\.0\\.1:[0-9]+$"));
  for (const auto port : {server.port, server.metrics_port}) {
    EXPECT_EQ(get(port, "/healthz").status, 200);
    EXPECT_EQ(get(port, "/readyz").status, 200);
  }
  EXPECT_EQ(get(server.port, "/metrics").status, 404) << "not for visitors";
  EXPECT_EQ(post(server.port, generate()).status, 200);
  const auto metrics = get(server.metrics_port, "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(metrics.field("content-type"), StartsWith("text/plain"));
  EXPECT_THAT(metrics.body, ContainsRegex("\npolygraph_requests_total\\{route=\"[a-z/]*complete\",status=\"200\"\\} 1\n"));
  EXPECT_THAT(metrics.body, HasSubstr("\npolygraph_upstream_calls_total{model=\"openai/gpt-oss-120b\",outcome=\"answered\"} 1\n"));
  EXPECT_THAT(metrics.body, ContainsRegex("\npolygraph_tokens_total\\{model=\"openai/gpt-oss-120b\",direction=\"out\"\\} [1-9]"));
  EXPECT_THAT(metrics.body, ContainsRegex("\npolygraph_connections [0-9]+\n"));

  const auto pid = server.line["pid"].get<int>();
  EXPECT_TRUE(std::filesystem::exists("/proc/" + std::to_string(pid)));
  EXPECT_EQ(ended(server), 0);
  EXPECT_EQ(lines(server.process->out()).size(), 1U) << "nothing after the line";
  for (const auto& line : lines(server.process->err())) {
    const auto logged = json::parse(line, nullptr, false);
    ASSERT_TRUE(logged.is_object()) << line;
    for (const char* field : {"ts", "level", "event"}) EXPECT_TRUE(logged.contains(field)) << line;
  }
}

TEST_F(ServeApi, AsksItsEndpointOverTlsWithTheKeyOfAFile) {
  auto server = serve();
  const auto whole = post(server.port, generate("text:With two bow lines [1]."));
  ASSERT_EQ(whole.status, 200) << whole.body;
  EXPECT_EQ(json::parse(whole.body)["value"]["text"], "With two bow lines [1].");
  Client client(server.port);
  client.send(post_text(streamed(generate("text:With two stern lines [1]."))));
  const auto stream = client.rest();
  EXPECT_THAT(stream, HasSubstr("event: delta\n"));
  EXPECT_THAT(stream, HasSubstr("event: done\n"));
  EXPECT_GE(upstream_.counts().handshakes, 1U);
  for (const auto& request : upstream_.requests()) EXPECT_THAT(request.head, HasSubstr(std::string("Authorization: Bearer ") + key_canary + "\r\n"));
}

TEST_F(ServeApi, AnEndpointOfAnUnknownAuthorityIsNotAskedAndKeepsTheKeyUnsent) {
  auto surroundings = with_key();
  surroundings.environment.erase("SSL_CERT_FILE");
  auto server = start(arguments({"--upstream", upstream_.url(), "--set", "UPSTREAM_DEADLINE_MS=2000"}), surroundings);
  ASSERT_TRUE(server->wait_for_lines(1, false)) << server->err();
  const auto url = one_json(server->out())["listening"].get<std::string>();
  const auto refused = post(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))), generate());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(code(refused), "busy");
  EXPECT_EQ(upstream_.counts().calls, 0U);
}

TEST_F(ServeApi, ASignalLetsARunningStreamEnd) {
  auto server = serve();
  Client client(server.port), idle(server.port);
  client.send(post_text(streamed(generate("slow_stream:100"))));
  std::string stream;
  while (stream.find("event: delta\n") == std::string::npos) {
    const auto more = client.receive();
    ASSERT_FALSE(more.empty()) << stream;
    stream += more;
  }
  ASSERT_EQ(stream.find("event: done\n"), std::string::npos) << "the stream was over before the signal";
  server.process->signal(SIGTERM);
  EXPECT_TRUE(idle.ends_within(std::chrono::seconds(10))) << "an idle connection is closed at once";
  stream += client.rest();
  EXPECT_THAT(stream, HasSubstr("event: done\n"));
  EXPECT_TRUE(stream.ends_with("0\r\n\r\n"));
  EXPECT_EQ(server.process->wait().status, 0);
  const auto days = usage({"--state", state()});
  ASSERT_EQ(days.size(), 1U);
  EXPECT_EQ(days[0]["open_requests"], 0) << "it was settled before the end";
  EXPECT_GT(days[0]["tokens_out"], 0);
}

TEST_F(ServeApi, AKillInTheMiddleOfACallLosesNoCharge) {
  auto server = serve();
  Client client(server.port);
  client.send(post_text(generate("stall")));
  ASSERT_TRUE(eventually([&] { return upstream_.counts().waiting == 1; }));
  const auto open = usage({"--state", state()});
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0]["open_requests"], 1);
  const auto reserved = open[0]["open_tokens"].get<std::uint64_t>();
  EXPECT_GT(reserved, 1024U) << "the cap of the answer and the prompt's estimate";
  server.process->signal(SIGKILL);
  EXPECT_EQ(server.process->wait().status, 128 + SIGKILL);

  // What is left of the minute's tokens has no room for another call beside the one that was killed.
  auto again = serve({"--set", "TOKENS_PER_MINUTE=" + std::to_string(reserved + 100)});
  const auto refused = post(again.port, generate());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(code(refused), "busy");
  EXPECT_EQ(ended(again), 0);
  auto third = serve({"--set", "TOKENS_PER_MINUTE=100000"});
  EXPECT_EQ(post(third.port, generate()).status, 200);
  EXPECT_EQ(ended(third), 0);
  const auto days = usage({"--state", state()});
  ASSERT_GE(days.size(), 1U);
  std::uint64_t requests = 0, charged = 0;
  for (const auto& day : days) {
    requests += day["requests"].get<std::uint64_t>();
    charged += day["open_tokens"].get<std::uint64_t>() + (day["open_requests"] == 0 ? day["tokens_in"].get<std::uint64_t>() : 0);
  }
  EXPECT_EQ(requests, 2U) << "the killed call and the answered one, each once";
  EXPECT_GE(charged, reserved);
}

TEST_F(ServeApi, WrongUseIsTwoAndWhatCantBeUsedIsThree) {
  const auto broken = write("broken.polygraph", "no index").string();
  const auto file = write("a file", "x").string();
  const auto blank = write("blank", " \n").string(), two_lines = write("two lines", "gsk_a\r\nX-Injected: 1\n").string();
  const auto nowhere = (folder() / "nowhere").string();
  struct Case {
    int status;
    std::string words;
    std::vector<std::string> more;
    std::map<std::string, std::string> environment = {};
  };
  const std::vector<Case> cases{
      {2, "--nonsense", {"--nonsense"}},
      {2, "NONSENSE", {"--set", "NONSENSE=1"}},
      {2, "NAME=VALUE", {"--set", "CLIENT_BURST"}},
      {2, "CLIENT_BURST", {"--set", "CLIENT_BURST=many"}},
      {2, "CLIENT_BURST", {"--set", "CLIENT_BURST=-1"}},
      {2, "UPSTREAM_CONCURRENCY", {"--set", "UPSTREAM_CONCURRENCY=0"}},
      {2, "REQUESTS_PER_MINUTE", {}, {{"PROXY_REQUESTS_PER_MINUTE", "1e3"}}},
      {2, "TRUSTED_PROXIES", {"--set", "TRUSTED_PROXIES=everybody"}},
      {2, "ALLOWED_ORIGINS", {"--set", "ALLOWED_ORIGINS=*"}},
      {2, "GENERATOR_MODEL", {"--set", "GENERATOR_MODEL=two words"}},
      {2, "https://", {"--upstream", "http://example.org/v1"}},
      {2, "https://", {"--upstream", "http://10.0.0.1/v1"}},
      {2, "user or password", {"--upstream", "https://me:gsk_x@example.org/v1"}},
      {2, "redis://", {"--store", "http://127.0.0.1:1/0"}},
      {2, "GROQ_API_KEY_FILE", {}, {{"GROQ_API_KEY_FILE", blank}}},
      {2, "GROQ_API_KEY_FILE", {}, {{"GROQ_API_KEY_FILE", two_lines}}},
      {2, "GROQ_API_KEY_FILE", {}, {{"GROQ_API_KEY_FILE", nowhere}}},
      {2, "GROQ_API_KEY", {}, {{"GROQ_API_KEY", "gsk_a\r\nX-Injected: 1"}}},
      {3, nowhere, {"--site", nowhere}},
      {3, nowhere, {"--index", nowhere}},
      {3, "broken.polygraph", {"--index", broken}},
      {3, file, {"--state", file + "/state"}},
      {3, nowhere, {"--recordings", nowhere}},
      {3, "127.0.0.1:1", {"--store", "redis://127.0.0.1:1/0"}},
  };
  for (const auto& [status, words, more, environment] : cases) {
    for (const bool check : {true, false}) {
      // Each option is given once.
      std::vector<std::string> call{"serve", "--port", "0"};
      const std::map<std::string, std::string> usual{{"--site", site()}, {"--index", lexical_index()}, {"--state", state()}, {"--recordings", recordings()}};
      for (const auto& [name, value] : usual) {
        if (std::find(more.begin(), more.end(), name) == more.end()) call.insert(call.end(), {name, value});
      }
      call.insert(call.end(), more.begin(), more.end());
      if (check) call.push_back("--check-config");
      const auto refused = run(call, {.environment = environment});
      EXPECT_EQ(refused.status, status) << words << ": " << refused.err;
      EXPECT_THAT(refused.err, HasSubstr(words));
      EXPECT_THAT(refused.err, Not(HasSubstr("gsk_"))) << "nothing of a key is repeated";
      EXPECT_THAT(refused.out, IsEmpty());
    }
  }
}

TEST_F(ServeApi, CheckingASoundConfigurationEndsWithZeroAndAsksNobody) {
  auto call = arguments({"--upstream", upstream_.url(), "--check-config"});
  const auto checked = run(call, with_key());
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.out, IsEmpty());
  EXPECT_EQ(upstream_.counts().connections, 0U);
}

TEST_F(ServeApi, HelpNamesEverySettingWithItsDefault) {
  const std::map<std::string, std::string> expected{
      {"MAX_TARGET_BYTES", "8192"}, {"MAX_HEADER_BYTES", "16384"}, {"MAX_HEADERS", "100"}, {"MAX_BODY_BYTES", "65536"}, {"MAX_CONNECTIONS", "1024"},
      {"IDLE_TIMEOUT_MS", "15000"}, {"HEADER_TIMEOUT_MS", "10000"}, {"BODY_TIMEOUT_MS", "10000"}, {"WRITE_TIMEOUT_MS", "20000"},
      {"TOTAL_TIMEOUT_MS", "120000"}, {"UPSTREAM_DEADLINE_MS", "30000"}, {"UPSTREAM_MAX_BYTES", "1048576"}, {"UPSTREAM_CONCURRENCY", "4"},
      {"UPSTREAM_QUEUE", "64"}, {"REQUESTS_PER_MINUTE", "30"}, {"REQUESTS_PER_DAY", "1000"}, {"TOKENS_PER_MINUTE", "8000"}, {"TOKENS_PER_DAY", "200000"},
      {"CLIENT_BURST", "20"}, {"CLIENT_PER_MINUTE", "30"}, {"TRUSTED_PROXIES", "none"}, {"ALLOWED_ORIGINS", "none"}, {"CONNECT_ENDPOINTS", "none"},
      {"GENERATOR_MODEL", "openai/gpt-oss-120b"}, {"GRADER_MODEL", "openai/gpt-oss-20b"}, {"REWRITER_MODEL", "openai/gpt-oss-20b"},
      {"ALLOWED_MODELS", "these three"}, {"MAX_TOKENS_GRADE", "512"}, {"MAX_TOKENS_REWRITE", "256"}, {"MAX_TOKENS_GENERATE", "1024"},
      {"MAX_QUESTION_CHARS", "2000"}, {"MAX_CHUNKS", "20"}, {"LOG_QUESTIONS", "0"}, {"QUESTION_LOG", "none"}, {"QUESTION_LOG_BYTES", "16777216"}, {"SHUTDOWN_TIMEOUT_MS", "30000"}};
  const auto help = run({"serve", "--help"});
  EXPECT_EQ(help.status, 0);
  std::map<std::string, std::string> named;
  const std::regex row("^  ([A-Z][A-Z_]+) +(these three|[^ ]+) +[^ ].*$");
  for (const auto& line : lines(help.out)) {
    if (std::smatch parts; std::regex_match(line, parts, row)) named[parts[1]] = parts[2];
  }
  EXPECT_EQ(named, expected);
  // What stands there is what a server runs with: each number is one that it takes.
  auto call = arguments({"--check-config"});
  for (const auto& [name, value] : named) {
    if (value != "none" && value != "these three") call.insert(call.end(), {"--set", name + "=" + value});
  }
  EXPECT_EQ(run(call).status, 0);
}

TEST_F(ServeApi, TheKeyShowsNowhere) {
  auto server = serve({"--set", "LOG_QUESTIONS=1", "--set", "UPSTREAM_DEADLINE_MS=3000", "--set", "TOKENS_PER_MINUTE=1000000"});
  std::string said;
  for (const char* how : {"answer", "echo_key", "echo_key_400", "answer_key", "status:500", "cut", "not_json", "limited_tpd"}) {
    const auto task = generate(how);
    said += post(server.port, task).body;
    Client client(server.port);
    client.send(post_text(streamed(task)));
    said += client.rest();
  }
  for (const char* target : {"/api/status", "/api/recordings", "/readyz", "/healthz"}) said += get(server.port, target).body;
  said += get(server.metrics_port, "/metrics").body;
  const auto pid = server.line["pid"].get<int>();
  const auto arguments_seen = read("/proc/" + std::to_string(pid) + "/cmdline"), limits = read("/proc/" + std::to_string(pid) + "/limits");
  EXPECT_THAT(limits, ContainsRegex("Max core file size +0 +0 "));
  server.process->signal(SIGTERM);
  const auto outcome = server.process->wait();
  EXPECT_EQ(outcome.status, 0) << outcome.err.substr(outcome.err.size() - std::min<std::size_t>(outcome.err.size(), 2000));

  // From the second half of the key on: a part of it would be as bad.
  const std::string part = std::string(key_canary).substr(11);
  ASSERT_GE(upstream_.counts().behaviours["answer_key"], 1U) << "the canary was sent to somebody who repeats it";
  EXPECT_THAT(said, Not(HasSubstr(part)));
  EXPECT_THAT(arguments_seen, Not(HasSubstr(part)));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder())) {
    if (!entry.is_regular_file() || entry.path().parent_path().filename() == "secret") continue;
    ++files;
    EXPECT_EQ(read(entry.path()).find(part), std::string::npos) << entry.path();
  }
  EXPECT_GT(files, 4U) << "stdout, the log, the ledger";
}

class ServeTwice : public ServeApi {
 protected:
  void SetUp() override {
    if (!RedisServer::installed()) GTEST_SKIP() << "no redis-server on this machine: apt-get install redis-server";
    redis_ = std::make_unique<RedisServer>();
  }
  Server on_redis(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--store", redis_->url(), "--set", "TOKENS_PER_MINUTE=10000000", "--set", "TOKENS_PER_DAY=10000000"});
    return serve(more);
  }
  std::unique_ptr<RedisServer> redis_;
};

TEST_F(ServeTwice, TwoInstancesSpendOneQuota) {
  constexpr int quota = 10, threads = 8, each = 6;
  const std::vector<std::string> settings{"--set", "REQUESTS_PER_MINUTE=" + std::to_string(quota), "--set", "CLIENT_BURST=1000", "--set", "UPSTREAM_CONCURRENCY=8"};
  auto one = on_redis(settings), two = on_redis(settings);
  std::vector<std::future<std::pair<int, int>>> clients;
  for (int i = 0; i < threads; ++i) {
    clients.push_back(std::async(std::launch::async, [&, i] {
      std::pair<int, int> answered_busy;
      for (int j = 0; j < each; ++j) {
        const auto reply = post((i + j) % 2 == 0 ? one.port : two.port, generate("answer", "Question " + std::to_string(i) + "-" + std::to_string(j) + "?"));
        if (reply.status == 200) ++answered_busy.first;
        if (reply.status == 503 && code(reply) == "busy") ++answered_busy.second;
      }
      return answered_busy;
    }));
  }
  int answered = 0, busy = 0;
  for (auto& client : clients) {
    const auto [a, b] = client.get();
    answered += a;
    busy += b;
  }
  EXPECT_EQ(answered, quota);
  EXPECT_EQ(busy, threads * each - quota);
  EXPECT_EQ(upstream_.counts().calls, static_cast<std::uint64_t>(quota));
  const auto days = usage({"--store", redis_->url()});
  ASSERT_GE(days.size(), 1U);
  EXPECT_EQ(days[0]["requests"], quota);
  EXPECT_EQ(days[0]["open_requests"], 0);
}

TEST_F(ServeTwice, TwoInstancesShareAnswersAndTheClientsBuckets) {
  const std::vector<std::string> settings{"--set", "CLIENT_BURST=4", "--set", "CLIENT_PER_MINUTE=1"};
  auto one = on_redis(settings), two = on_redis(settings);
  const auto first = post(one.port, generate());
  ASSERT_EQ(first.status, 200) << first.body;
  const auto second = post(two.port, generate());
  ASSERT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(json::parse(first.body)["cached"], false);
  EXPECT_EQ(json::parse(second.body)["cached"], true);
  EXPECT_EQ(json::parse(first.body)["value"], json::parse(second.body)["value"]);
  EXPECT_EQ(upstream_.counts().calls, 1U);
  EXPECT_EQ(post(one.port, generate()).status, 200);
  EXPECT_EQ(post(two.port, generate()).status, 200);
  for (const auto port : {one.port, two.port}) {
    const auto spent = post(port, generate());
    EXPECT_EQ(spent.status, 429);
    EXPECT_EQ(code(spent), "rate_limited");
    EXPECT_FALSE(spent.field("retry-after").empty());
  }
}

TEST_F(ServeTwice, WhileRedisIsAwayNothingIsSpentAndItComesBackByItself) {
  auto server = on_redis({"--set", "CLIENT_BURST=1000"});
  EXPECT_EQ(post(server.port, generate("answer", "Before?")).status, 200);
  redis_->kill();
  const auto calls = upstream_.counts().calls;
  for (const char* question : {"First?", "Second?"}) {
    const auto refused = post(server.port, generate("answer", question));
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_EQ(code(refused), "busy");
    EXPECT_FALSE(refused.field("retry-after").empty());
  }
  EXPECT_EQ(get(server.port, "/readyz").status, 503);
  EXPECT_EQ(get(server.metrics_port, "/readyz").status, 503);
  EXPECT_EQ(get(server.port, "/healthz").status, 200) << "alive all the same: a restart would mend nothing";
  EXPECT_EQ(json::parse(get(server.port, "/api/status").body)["live"], false);
  EXPECT_EQ(get(server.port, "/").status, 200) << "the site needs no store";
  EXPECT_EQ(upstream_.counts().calls, calls);
  redis_->start();
  ASSERT_TRUE(eventually([&] { return get(server.port, "/readyz").status == 200; }));
  EXPECT_EQ(post(server.port, generate("answer", "After?")).status, 200);
  EXPECT_EQ(ended(server), 0);
  std::size_t errors = 0;
  for (const auto& line : lines(server.process->err())) errors += line.find("\"event\":\"store\"") != line.npos && line.find("\"error\"") != line.npos ? 1 : 0;
  EXPECT_EQ(errors, 1U) << "one line a minute: " << server.process->err();
}

}  // namespace
}  // namespace polygraph::cli::test
