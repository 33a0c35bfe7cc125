// The client in every API's format against a scripted endpoint, over real sockets and real TLS: what each has of its own.
// What framing and TLS do to a call is tested in chat_client_test.cpp, once for all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "proxy/upstream/format.hpp"
#include "scripted_upstream.hpp"

namespace polygraph::proxy {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ScriptedUpstream;

const std::string canary = "key-CANARYcanary0123456789abcdefghij";
const std::string answer = "This is the scripted answer [1].";
constexpr const char* schema = R"({"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false})";

class EveryFormat : public ::testing::TestWithParam<ApiFormat> {
 protected:
  EveryFormat() {
    Upstream upstream;
    upstream.format = GetParam();
    const bool chat = upstream.format == ApiFormat::openai || upstream.format == ApiFormat::groq;
    upstream.url = chat ? server_.url() : upstream.format == ApiFormat::gemini ? server_.root_url() + "/v1beta" : server_.root_url();
    upstream.key = canary;
    upstream.ca_file = server_.ca_file();
    client_ = make_chat_client(io_.get_executor(), upstream).value();
  }

  ChatReply ask(const std::string& behaviour, bool stream = false, const std::string& wanted = {}, std::chrono::milliseconds time = 20s, unsigned logprobs = 0) {
    if (!behaviour.empty()) server_.next({behaviour});
    ModelRequest request{.role = "judge", .model = "scripted-model", .system = "Answer.", .user = {"How?"}, .schema = wanted, .stream = stream, .top_logprobs = logprobs};
    ChatCall call;
    call.body = format_of(GetParam()).body(request).value();
    call.model = request.model;
    call.stream = stream;
    return run(std::move(call), time);
  }
  ChatReply list(const std::string& behaviour = {}) {
    if (!behaviour.empty()) server_.next({behaviour});
    ChatCall call;
    call.list_models = true;
    return run(std::move(call), 20s);
  }
  ChatReply run(ChatCall call, std::chrono::milliseconds time) {
    streamed_.clear();
    call.deadline = std::chrono::steady_clock::now() + time;
    call.on_delta = [this](std::string_view text) { streamed_ += text; };
    std::optional<ChatReply> reply;
    const auto handle = client_->call(std::move(call), [&](ChatReply got) { reply = std::move(got); });
    io_.restart();
    io_.run();
    EXPECT_TRUE(reply);
    if (!reply) return {};
    EXPECT_THAT(reply->why + reply->text + reply->model, Not(HasSubstr("CANARY")));
    return *reply;
  }
  bool chat() const { return GetParam() == ApiFormat::openai || GetParam() == ApiFormat::groq; }

  ScriptedUpstream server_;
  boost::asio::io_context io_{1};
  std::shared_ptr<ChatClient> client_;
  std::string streamed_;
};

TEST_P(EveryFormat, Answers) {
  const auto reply = ask("answer");
  ASSERT_EQ(reply.outcome, Outcome::answered) << reply.why;
  EXPECT_EQ(reply.text, answer);
  EXPECT_EQ(reply.model, "scripted-model");
  EXPECT_EQ(reply.finish, "stop");
  EXPECT_EQ(reply.tokens_out, 6U);
}

TEST_P(EveryFormat, SendsTheKeyInItsFieldAndNowhereElse) {
  ask("answer");
  const auto request = server_.requests().at(0);
  EXPECT_THAT(request.head.substr(0, request.head.find("\r\n")), Not(HasSubstr("CANARY")));
  EXPECT_THAT(request.head, HasSubstr(": " + std::string(chat() || GetParam() == ApiFormat::ollama ? "Bearer " : "") + canary + "\r\n"));
  EXPECT_THAT(request.body, Not(HasSubstr("CANARY")));
}

TEST_P(EveryFormat, Streams) {
  for (const char* behaviour : {"answer", "trickle", "late_end"}) {
    const auto reply = ask(behaviour, true);
    ASSERT_EQ(reply.outcome, Outcome::answered) << behaviour << ": " << reply.why;
    EXPECT_EQ(reply.text, answer) << behaviour;
    EXPECT_EQ(streamed_, answer) << behaviour;
    EXPECT_EQ(reply.tokens_out, 6U) << behaviour;
    EXPECT_EQ(reply.finish, "stop");
  }
}

TEST_P(EveryFormat, GivesJsonWhereASchemaIsAskedFor) {
  for (const bool stream : {false, true}) {
    // Groq tells this model's schema in words, which the scripted endpoint does not read.
    const auto reply = ask(GetParam() == ApiFormat::groq ? R"(text:{"query":"scripted query"})" : "answer", stream, schema);
    ASSERT_EQ(reply.outcome, Outcome::answered) << reply.why;
    EXPECT_EQ(reply.text, R"({"query":"scripted query"})");
  }
}

TEST_P(EveryFormat, SaysWhenTheTokenLimitCutAReply) {
  EXPECT_EQ(ask("length").finish, "length");
  EXPECT_EQ(ask("length", true).finish, "length");
}

TEST_P(EveryFormat, TakesNoReplyThatIsNotWhole) {
  for (const char* behaviour : {"cut_body", "no_choices", "refusal", "tool_call", "not_json", "cut_tls", "junk", "both_framings"}) {
    const auto reply = ask(behaviour);
    EXPECT_EQ(reply.outcome, Outcome::invalid) << behaviour;
    EXPECT_EQ(reply.text, "");
  }
  for (const char* behaviour : {"cut_body", "refusal", "error_event", "half_event"}) EXPECT_EQ(ask(behaviour, true).outcome, Outcome::invalid) << behaviour;
  // After Anthropic's and Ollama's end nothing is read that could follow it.
  EXPECT_EQ(ask("no_done", true).outcome, Outcome::invalid);
}

TEST_P(EveryFormat, EndsAStalledCallAtItsDeadline) {
  for (const bool stream : {false, true}) EXPECT_EQ(ask("stall_body", stream, {}, 300ms).outcome, Outcome::timed_out);
}

TEST_P(EveryFormat, WithoutSoundUsageSaysNoTokens) {
  for (const char* behaviour : {"no_usage", "wrong_usage", "huge_usage"}) {
    const auto reply = ask(behaviour);
    ASSERT_EQ(reply.outcome, Outcome::answered) << behaviour << reply.why;
    EXPECT_EQ(reply.tokens_in, std::nullopt) << behaviour;
  }
}

TEST_P(EveryFormat, TellsRefusalsApart) {
  EXPECT_EQ(ask("status:401").refused_for, RefusedFor::key);
  EXPECT_EQ(ask("status:404").refused_for, RefusedFor::model);
  EXPECT_EQ(ask("status:400").refused_for, RefusedFor::request);
  EXPECT_EQ(ask("status:400").outcome, Outcome::refused_us);
  EXPECT_EQ(ask("status:503").outcome, Outcome::unavailable);
  EXPECT_EQ(ask("status:529").outcome, Outcome::unavailable);
  EXPECT_EQ(ask("too_large").outcome, Outcome::too_large);
  EXPECT_EQ(ask("redirect").outcome, Outcome::refused_us);
}

TEST_P(EveryFormat, NeverRepeatsTheKeyThatAnEndpointRepeats) {
  EXPECT_EQ(ask("echo_key").refused_for, RefusedFor::key);
  ask("echo_key_400");
  EXPECT_EQ(ask("answer_key").outcome, Outcome::invalid);
  EXPECT_EQ(ask("answer_key", true).outcome, Outcome::invalid);
  EXPECT_THAT(streamed_, Not(HasSubstr("CANARY")));
}

TEST_P(EveryFormat, KnowsA429) {
  const auto reply = ask("limited_tpm:38");
  EXPECT_EQ(reply.outcome, Outcome::limited);
  if (GetParam() != ApiFormat::ollama) {
    EXPECT_EQ(reply.rate_limits.retry_after, 38s);
  }
  if (chat() || GetParam() == ApiFormat::gemini) {
    EXPECT_EQ(reply.limit, UpstreamLimit::tokens_minute);
    EXPECT_EQ(ask("limited_rpd:600").limit, UpstreamLimit::requests_day);
    EXPECT_EQ(ask("limited_tpd:600").limit, UpstreamLimit::tokens_day);
    EXPECT_EQ(ask("limited_rpm:2").limit, UpstreamLimit::requests_minute);
    EXPECT_EQ(ask("limited:2").limit, UpstreamLimit::unknown);
  }
}

TEST_P(EveryFormat, ListsModels) {
  const auto reply = list();
  ASSERT_EQ(reply.outcome, Outcome::answered) << reply.why;
  ASSERT_EQ(reply.models.size(), 2U);
  EXPECT_THAT(reply.models[0].id, HasSubstr("scripted-large"));
  EXPECT_THAT(server_.requests().at(0).head, ::testing::StartsWith("GET "));
  EXPECT_EQ(list("status:401").refused_for, RefusedFor::key);
  EXPECT_EQ(list("not_json").outcome, Outcome::invalid);
}

TEST_P(EveryFormat, GivesTokenProbabilitiesWhereTheApiHasThem) {
  const auto reply = ask("text:4", false, {}, 20s, 5);
  ASSERT_EQ(reply.outcome, Outcome::answered) << reply.why;
  if (GetParam() == ApiFormat::openai || GetParam() == ApiFormat::gemini) {
    ASSERT_EQ(reply.probabilities.size(), 1U);
    EXPECT_EQ(reply.probabilities[0].token, "4");
    EXPECT_EQ(reply.probabilities[0].top.at(1), (TokenChoice{"other", -1.5}));
  } else {
    EXPECT_TRUE(reply.probabilities.empty());
  }
}

std::string name_of(const ::testing::TestParamInfo<ApiFormat>& each) {
  constexpr const char* names[] = {"openai", "groq", "anthropic", "gemini", "ollama"};
  return names[static_cast<std::size_t>(each.param)];
}

INSTANTIATE_TEST_SUITE_P(Api, EveryFormat, ::testing::Values(ApiFormat::openai, ApiFormat::groq, ApiFormat::anthropic, ApiFormat::gemini, ApiFormat::ollama), name_of);

}  // namespace
}  // namespace polygraph::proxy
