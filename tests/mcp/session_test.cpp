// The protocol, with tools that do what a test wants.
#include "cli/mcp/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

namespace polygraph::cli::mcp {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// What the session wrote.
class Wire {
 public:
  void write(const std::string& line) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(Json::parse(line));
    changed_.notify_all();
  }
  /// The message at `number` from 0, once it is there.
  Json at(std::size_t number) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 20s, [&] { return messages_.size() > number; })) {
      ADD_FAILURE() << "message " << number << " did not come";
      return nullptr;
    }
    return messages_[number];
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return messages_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Json> messages_;
};

/// Lets a call begin and go on when the test says so.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void entered() {
    const std::lock_guard lock(mutex_);
    ++inside_;
    changed_.notify_all();
  }
  void wait_until_inside(unsigned calls) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, 20s, [&] { return inside_ >= calls; }));
  }
  bool is_open() {
    const std::lock_guard lock(mutex_);
    return open_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  unsigned inside_ = 0;
};

class TwoResources final : public Resources {
 public:
  std::size_t count() const override { return 5; }
  Json describe(std::size_t number) const override { return {{"uri", "test://" + std::to_string(number)}, {"name", "n"}, {"title", "T"}}; }
  Json templates() const override { return Json::array({{{"uriTemplate", "test://{n}"}, {"name", "t"}, {"title", "T"}}}); }
  std::optional<Json> read(std::string_view uri) const override {
    if (uri != "test://1") return std::nullopt;
    return Json::array({{{"uri", uri}, {"text", "one"}}});
  }
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    Server server{"polygraph", "Polygraph", "1", "read me", {}, std::make_shared<TwoResources>()};
    const Json schema = Json::parse(R"({"type": "object", "properties": {"text": {"type": "string"}}, "required": [], "additionalProperties": false})");
    server.tools.push_back({"echo", "Echo", "says it", schema, schema, [](const Json& arguments, Call&) { return ToolResult{arguments.value("text", ""), arguments}; }});
    server.tools.push_back({"wait", "Wait", "waits", schema, schema, [this](const Json&, Call& call) {
                              call.progress("waiting");
                              gate_.entered();
                              while (!gate_.is_open() && !call.cancelled()) std::this_thread::sleep_for(1ms);
                              call.progress("waited");
                              ended_ += 1;
                              return ToolResult{"done", Json::object()};
                            }});
    server.tools.push_back({"throw", "Throw", "throws", schema, schema, [](const Json&, Call&) -> ToolResult { throw std::runtime_error("out of luck"); }});
    session_ = std::make_unique<Session>(std::move(server), [this](const std::string& line) { wire_.write(line); }, SessionOptions{2, 3, 2});
  }
  ~SessionTest() override {
    gate_.open();
    session_.reset();
  }

  void say(const std::string& line) { session_->receive(line); }
  /// Says it and gives the next message that comes.
  Json ask(const std::string& line) {
    const std::size_t next = wire_.count();
    say(line);
    return wire_.at(next);
  }
  Json start(std::string_view revision = "2025-06-18") {
    return ask(R"({"jsonrpc":"2.0","id":"start","method":"initialize","params":{"protocolVersion":")" + std::string(revision) +
               R"(","capabilities":{},"clientInfo":{"name":"test","version":"0"}}})");
  }
  static std::string call(const std::string& id, const std::string& tool, const std::string& more = "") {
    return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"tools/call","params":{"name":")" + tool + "\"" + more + "}}";
  }
  static int code(const Json& message) { return message.at("error").at("code"); }

  Wire wire_;
  Gate gate_;
  std::atomic<int> ended_{0};
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, AgreesOnTheRevisionThatTheClientAsksForOrOffersItsNewest) {
  const std::pair<const char*, const char*> cases[] = {{"2024-11-05", "2024-11-05"}, {"2025-03-26", "2025-03-26"}, {"2025-06-18", "2025-06-18"},
                                                      {"2025-11-25", "2025-11-25"}, {"2099-01-01", "2025-11-25"}, {"", "2025-11-25"}};
  for (const auto& [asked, agreed] : cases) EXPECT_EQ(name(negotiated(asked)), agreed) << asked;
  const auto reply = start("2025-03-26");
  EXPECT_EQ(reply["id"], "start");
  EXPECT_EQ(reply["result"]["protocolVersion"], "2025-03-26");
  EXPECT_EQ(reply["result"]["serverInfo"], Json({{"name", "polygraph"}, {"version", "1"}}));
  EXPECT_TRUE(reply["result"]["capabilities"].contains("tools"));
  EXPECT_EQ(reply["result"]["instructions"], "read me");
}

TEST_F(SessionTest, BeginsWithInitializeOnceAndOnlyOnce) {
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":1,"method":"ping"})"), Json::parse(R"({"jsonrpc":"2.0","id":1,"result":{}})")) << "a ping is answered at any time";
  EXPECT_EQ(code(ask(R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})")), -32600);
  EXPECT_EQ(code(ask(call("3", "echo"))), -32600);
  EXPECT_EQ(code(ask(R"({"jsonrpc":"2.0","id":4,"method":"initialize","params":{}})")), -32602);
  EXPECT_TRUE(start().contains("result"));
  EXPECT_EQ(code(start()), -32600);
}

TEST_F(SessionTest, AProbeForANewerHandshakeIsAnUnknownMethodSoThatTheClientFallsBack) {
  EXPECT_EQ(code(ask(R"({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}})")), -32601);
}

TEST_F(SessionTest, ListsToolsWithWhatTheRevisionKnows) {
  start("2025-06-18");
  const auto tool = ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})")["result"]["tools"][0];
  EXPECT_EQ(tool["name"], "echo");
  EXPECT_EQ(tool["title"], "Echo");
  EXPECT_TRUE(tool.contains("inputSchema") && tool.contains("outputSchema"));
  EXPECT_EQ(tool["annotations"]["readOnlyHint"], true);
}

TEST_F(SessionTest, AnOldClientIsSentNothingThatItsRevisionLacks) {
  start("2024-11-05");
  const auto tool = ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})")["result"]["tools"][0];
  EXPECT_FALSE(tool.contains("title") || tool.contains("outputSchema") || tool.contains("annotations"));
  const auto result = ask(call("2", "echo", R"(,"arguments":{"text":"hello"})"))["result"];
  EXPECT_EQ(result, Json::parse(R"({"content":[{"type":"text","text":"hello"}],"isError":false})"));
  EXPECT_FALSE(ask(R"({"jsonrpc":"2.0","id":3,"method":"resources/list"})")["result"]["resources"][0].contains("title"));
}

TEST_F(SessionTest, GivesAResultAsTextAndAsData) {
  start();
  const auto result = ask(call("1", "echo", R"(,"arguments":{"text":"hello"})"))["result"];
  EXPECT_EQ(result["content"][0]["text"], "hello");
  EXPECT_EQ(result["structuredContent"], Json({{"text", "hello"}}));
  EXPECT_EQ(result["isError"], false);
}

TEST_F(SessionTest, NamesWhatIsWrongWithACall) {
  start("2025-06-18");
  EXPECT_EQ(code(ask(call("1", "nothing"))), -32602);
  EXPECT_THAT(ask(call("2", "nothing"))["error"]["message"].get<std::string>(), HasSubstr("there is no tool \"nothing\""));
  EXPECT_THAT(ask(call("3", "echo", R"(,"arguments":{"text":4})"))["error"]["message"].get<std::string>(), HasSubstr("text is 4"));
  EXPECT_EQ(code(ask(R"({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{}})")), -32602);
  EXPECT_EQ(code(ask(R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":[1]})")), -32602);
  EXPECT_EQ(code(ask(call("6", "throw"))), -32603);
  EXPECT_EQ(code(ask(R"({"jsonrpc":"2.0","id":7,"method":"prompts/list"})")), -32601);
}

TEST_F(SessionTest, FromTheNewestRevisionOnTheModelSeesWhatIsWrongWithItsArguments) {
  start("2025-11-25");
  const auto result = ask(call("3", "echo", R"(,"arguments":{"text":4})"))["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_THAT(result["content"][0]["text"].get<std::string>(), HasSubstr("text is 4"));
  EXPECT_FALSE(result.contains("structuredContent"));
}

TEST_F(SessionTest, AnswersJunkUnderTheIdThatItHas) {
  start();
  const std::tuple<const char*, int, Json> cases[] = {
      {"junk", -32700, nullptr},
      {R"({"jsonrpc":"2.0","id":1,)", -32700, nullptr},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"caf\xe9\"}", -32700, nullptr},
      {R"({"jsonrpc":"2.0","id":1,"method":"\ud800"})", -32700, nullptr},
      {R"({"jsonrpc":"2.0","id":1e999,"method":"ping"})", -32700, nullptr},
      {"1", -32600, nullptr},
      {"null", -32600, nullptr},
      {"\"ping\"", -32600, nullptr},
      {"{}", -32600, nullptr},
      {R"({"id":1,"method":"ping"})", -32600, 1},
      {R"({"jsonrpc":"1.0","id":"a","method":"ping"})", -32600, "a"},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", -32600, nullptr},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", -32600, nullptr},
      {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", -32600, nullptr},
      {R"({"jsonrpc":"2.0","id":5})", -32600, 5},
      {R"({"jsonrpc":"2.0","id":6,"method":7})", -32600, 6},
      {R"({"jsonrpc":"2.0","id":8,"method":"ping","params":"x"})", -32602, 8},
  };
  for (const auto& [line, expected, id] : cases) {
    const auto reply = ask(line);
    EXPECT_EQ(code(reply), expected) << line;
    EXPECT_EQ(reply["id"], id) << line;
  }
  EXPECT_THAT(ask("{\"jsonrpc\":\"2.0\",\"x\":\"caf\xe9\"}")["error"]["message"].get<std::string>(), HasSubstr("not UTF-8 at byte 25"));
  const auto next = wire_.count();
  session_->receive_too_long(1 << 20);
  EXPECT_EQ(code(wire_.at(next)), -32600);
}

TEST_F(SessionTest, DeeplyNestedInputIsAnsweredLikeAnyOther) {
  start();
  EXPECT_EQ(code(ask(std::string(500'000, '['))), -32700);
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(code(ask(call("1", "echo", R"(,"arguments":{"text":)" + deep + "}"))), -32700);
}

TEST_F(SessionTest, NotificationsAndAnswersNobodyAskedForGetNoAnswer) {
  start();
  const auto before = wire_.count();
  for (const char* line : {R"({"jsonrpc":"2.0","method":"notifications/initialized"})", R"({"jsonrpc":"2.0","method":"notifications/unheard"})", R"({"jsonrpc":"2.0","id":77,"result":{}})",
                           R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}})", R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
                           R"({"jsonrpc":"2.0","method":"x","params":[]})", "", "  \r"}) {
    say(line);
  }
  EXPECT_EQ(wire_.count(), before);
}

TEST_F(SessionTest, APingIsAnsweredWhileACallRuns) {
  start();
  say(call("1", "wait"));
  gate_.wait_until_inside(1);
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":"p","method":"ping"})")["id"], "p");
  EXPECT_EQ(ended_, 0);
  gate_.open();
  EXPECT_EQ(wire_.at(2)["id"], 1);
}

TEST_F(SessionTest, ACancelledCallStopsAndIsNotAnswered) {
  start();
  say(call("1", "wait"));
  gate_.wait_until_inside(1);
  say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}})");  // another id: a string
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":"p","method":"ping"})")["id"], "p");
  EXPECT_EQ(ended_, 0);
  say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}})");
  while (ended_ == 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(ask(call("2", "echo"))["id"], 2) << "the next answer is that of the next call";
  session_->finish([] { return false; });
  EXPECT_EQ(wire_.count(), 3U);
}

TEST_F(SessionTest, ACallThatWaitsCanBeCancelledBeforeItBegins) {
  start();
  say(call("1", "wait"));
  say(call("2", "wait"));
  gate_.wait_until_inside(2);  // both threads are taken
  say(call("3", "wait"));
  say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}})");
  gate_.open();
  session_->finish([] { return false; });
  EXPECT_EQ(ended_, 2);
  EXPECT_EQ(wire_.count(), 3U);
}

TEST_F(SessionTest, TellsOfProgressOnlyWhereItIsAskedFor) {
  start();
  gate_.open();
  ask(call("1", "wait"));
  EXPECT_EQ(wire_.count(), 2U);
  say(call("2", "wait", R"(,"_meta":{"progressToken":"tok"})"));
  const auto first = wire_.at(2), second = wire_.at(3), answer = wire_.at(4);
  EXPECT_EQ(first, Json::parse(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":1,"message":"waiting"}})"));
  EXPECT_EQ(second["params"]["progress"], 2);
  EXPECT_EQ(answer["id"], 2);
}

TEST_F(SessionTest, OneIdIsNotUsedForTwoCallsAtOnceAndTooManyCallsAreRefused) {
  start();
  say(call("1", "wait"));
  say(call("2", "wait"));
  gate_.wait_until_inside(2);
  EXPECT_EQ(code(ask(call("1", "echo"))), -32600);
  for (const char* id : {"3", "4", "5"}) say(call(id, "echo"));
  EXPECT_EQ(code(ask(call("6", "echo"))), -32000);
  gate_.open();
  session_->finish([] { return false; });
  EXPECT_EQ(wire_.count(), 8U);
}

TEST_F(SessionTest, ABatchIsAnsweredAsOneByTheRevisionThatHasThem) {
  start("2025-03-26");
  gate_.open();
  const auto reply = ask("[" + call("1", "wait") + R"(,{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"ping"},5,)"
                         R"({"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}])");
  ASSERT_TRUE(reply.is_array());
  ASSERT_EQ(reply.size(), 4U);
  std::vector<std::string> ids;
  for (const auto& each : reply) ids.push_back(each["id"].dump());
  EXPECT_THAT(ids, ::testing::UnorderedElementsAre("1", "2", "3", "null"));
  EXPECT_EQ(code(ask("[]")), -32600);
  const auto before = wire_.count();
  say(R"([{"jsonrpc":"2.0","method":"notifications/initialized"}])");
  EXPECT_EQ(wire_.count(), before) << "a batch of notifications gets no answer";
}

TEST_F(SessionTest, ABatchWithACancelledCallIsAnsweredWithoutIt) {
  start("2025-03-26");
  say("[" + call("1", "wait") + R"(,{"jsonrpc":"2.0","id":2,"method":"ping"}])");
  gate_.wait_until_inside(1);
  say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  const auto reply = wire_.at(1);
  ASSERT_EQ(reply.size(), 1U);
  EXPECT_EQ(reply[0]["id"], 2);
}

TEST_F(SessionTest, OtherRevisionsHaveNoBatches) {
  EXPECT_EQ(code(ask(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])")), -32600);
  start("2025-06-18");
  EXPECT_EQ(code(ask(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])")), -32600);
}

TEST_F(SessionTest, ResourcesComePageByPage) {
  start();
  std::vector<std::string> uris;
  std::string params = "{}";
  for (int page = 0; page < 3; ++page) {
    const auto result = ask(R"({"jsonrpc":"2.0","id":1,"method":"resources/list","params":)" + params + "}")["result"];
    for (const auto& each : result["resources"]) uris.push_back(each["uri"]);
    EXPECT_EQ(result.contains("nextCursor"), page < 2);
    if (page < 2) params = Json({{"cursor", result["nextCursor"]}}).dump();
  }
  EXPECT_THAT(uris, ::testing::ElementsAre("test://0", "test://1", "test://2", "test://3", "test://4"));
  for (const char* cursor : {"\"\"", "\"x\"", "\"-1\"", "\"5\"", "\"0\"", "2", "null", "\"99999999999999999999\""}) {
    EXPECT_EQ(code(ask(R"({"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":)" + std::string(cursor) + "}}")), -32602) << cursor;
  }
}

TEST_F(SessionTest, AResourceIsReadOrIsNotThere) {
  start();
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://1"}})")["result"]["contents"][0]["text"], "one");
  const auto missing = ask(R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://9"}})");
  EXPECT_EQ(code(missing), -32002);
  EXPECT_EQ(missing["error"]["data"]["uri"], "test://9");
  EXPECT_EQ(code(ask(R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}})")), -32602);
  EXPECT_EQ(code(ask(R"({"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://1"}})")), -32601);
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":1,"method":"resources/templates/list"})")["result"]["resourceTemplates"][0]["uriTemplate"], "test://{n}");
}

TEST_F(SessionTest, WhoClosesTheInputStillGetsWhatWasAskedUnlessNobodyReads) {
  start();
  say(call("1", "wait"));
  gate_.wait_until_inside(1);
  session_->finish([] { return true; });  // nobody reads: the call is cancelled
  EXPECT_EQ(ended_, 1);
}

TEST_F(SessionTest, StopEndsWhatRunsAndWhatWaits) {
  start();
  for (const char* id : {"1", "2"}) say(call(id, "wait"));
  gate_.wait_until_inside(2);
  for (const char* id : {"3", "4"}) say(call(id, "wait"));
  session_->stop();
  EXPECT_EQ(ended_, 2);
  EXPECT_EQ(wire_.count(), 1U) << "nothing was answered but the handshake";
}

}  // namespace
}  // namespace polygraph::cli::mcp
