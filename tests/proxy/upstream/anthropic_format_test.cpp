#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proxy/upstream/format.hpp"

namespace polygraph::proxy {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* strict = R"({"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false})";

ModelRequest question() { return {.role = "judge", .model = "claude-sonnet-4-5", .system = "Judge.", .user = {"Is it?"}, .schema = strict, .max_tokens = 99}; }

TEST(AnthropicFormat, PutsTheSystemPromptBesideTheMessagesAndTheSchemaIntoTheOutputConfig) {
  const auto body = json::parse(anthropic_format().body(question()).value());
  EXPECT_EQ(body["system"], "Judge.");
  EXPECT_EQ(body["messages"], json::parse(R"([{"role":"user","content":"Is it?"}])"));
  EXPECT_EQ(body["max_tokens"], 99);
  EXPECT_EQ(body["output_config"]["format"], json({{"type", "json_schema"}, {"schema", json::parse(strict)}}));
  EXPECT_FALSE(body.contains("tools"));
}

TEST(AnthropicFormat, MakesModelsFromBeforeSchemasCallATool) {
  auto request = question();
  request.model = "claude-3-5-haiku-20241022";
  const auto body = json::parse(anthropic_format().body(request).value());
  EXPECT_FALSE(body.contains("output_config"));
  EXPECT_EQ(body["tools"][0]["input_schema"], json::parse(strict));
  EXPECT_EQ(body["tool_choice"], json({{"type", "tool"}, {"name", body["tools"][0]["name"]}}));
}

TEST(AnthropicFormat, SendsKeyAndVersionInFieldsOfItsOwn) {
  EXPECT_EQ(anthropic_format().fields("sk-ant-1"), "anthropic-version: 2023-06-01\r\nx-api-key: sk-ant-1\r\n");
  EXPECT_EQ(anthropic_format().target("", "m", false), "/v1/messages");
}

TEST(AnthropicFormat, ReadsTextAndCountsWhatCameFromTheCache) {
  const auto read = anthropic_format().read(R"({"type":"message","model":"claude-x","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Yes"},
    {"type":"text","text":"."}],"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":3}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text, "Yes.");
  EXPECT_EQ(read->model, "claude-x");
  EXPECT_EQ(read->finish, "stop");
  EXPECT_EQ(read->usage, (Usage{17, 3}));
}

TEST(AnthropicFormat, ReadsTheToolsInputAsTheReply) {
  const auto read = anthropic_format().read(R"({"type":"message","content":[{"type":"text","text":"I will answer."},
    {"type":"tool_use","name":"reply","input":{"ok":true}}],"stop_reason":"tool_use"})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(json::parse(read->text), json({{"ok", true}}));
  EXPECT_EQ(read->usage, std::nullopt);
}

TEST(AnthropicFormat, ReadsTheTokenLimitAsCutAndARefusalAsNoReply) {
  const auto cut = anthropic_format().read(R"({"content":[{"type":"text","text":"Ye"}],"stop_reason":"max_tokens"})");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->finish, "length");
  EXPECT_FALSE(anthropic_format().read(R"({"content":[{"type":"text","text":"I can't."}],"stop_reason":"refusal"})"));
  EXPECT_FALSE(anthropic_format().read(R"({"content":[],"stop_reason":"end_turn"})"));
  EXPECT_FALSE(anthropic_format().read(R"({"type":"error","error":{"type":"api_error","message":"x"}})"));
  EXPECT_FALSE(anthropic_format().read(R"({"content":"text","stop_reason":"end_turn"})"));
}

TEST(AnthropicFormat, ReadsAStream) {
  const auto stream = anthropic_format().stream();
  EXPECT_EQ(stream->add(R"({"type":"message_start","message":{"model":"claude-x","usage":{"input_tokens":7,"output_tokens":1}}})"), "");
  EXPECT_EQ(stream->add(R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})"), "");
  EXPECT_EQ(stream->add(R"({"type":"ping"})"), "");
  EXPECT_EQ(stream->add(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Ye"}})"), "Ye");
  EXPECT_EQ(stream->add(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"s"}})"), "s");
  EXPECT_EQ(stream->add(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}})"), "");
  EXPECT_FALSE(stream->finish()) << "its end was not there yet";
  EXPECT_EQ(stream->add(R"({"type":"message_stop"})"), "");
  ASSERT_TRUE(stream->done());
  EXPECT_EQ(stream->finish()->text, "Yes");
  EXPECT_EQ(stream->finish()->usage, (Usage{7, 2}));
}

TEST(AnthropicFormat, AnErrorWithinAStreamEndsIt) {
  const auto stream = anthropic_format().stream();
  ASSERT_TRUE(stream->add(R"({"type":"message_start","message":{"model":"m"}})"));
  EXPECT_FALSE(stream->add(R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})"));
}

TEST(AnthropicFormat, TellsRefusalsApart) {
  const auto refusal = [](unsigned status, const char* type, const char* message) {
    return anthropic_format().read_refusal(status, json({{"type", "error"}, {"error", {{"type", type}, {"message", message}}}}).dump(), {});
  };
  EXPECT_EQ(refusal(429, "rate_limit_error", "").outcome, Outcome::limited);
  EXPECT_EQ(refusal(529, "overloaded_error", "Overloaded").outcome, Outcome::unavailable);
  EXPECT_EQ(refusal(500, "api_error", "").outcome, Outcome::unavailable);
  EXPECT_EQ(refusal(413, "request_too_large", "").outcome, Outcome::too_large);
  EXPECT_EQ(refusal(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum").outcome, Outcome::too_large);
  EXPECT_EQ(refusal(401, "authentication_error", "").refused_for, RefusedFor::key);
  EXPECT_EQ(refusal(404, "not_found_error", "model: x").refused_for, RefusedFor::model);
  EXPECT_EQ(refusal(400, "invalid_request_error", "temperature").refused_for, RefusedFor::request);
}

TEST(AnthropicFormat, ReadsItsLimitsByTheClockOfTheAnswer) {
  const std::vector<Field> fields = {{"Date", "Mon, 30 Nov 2026 10:00:00 GMT"},
                                     {"anthropic-ratelimit-requests-limit", "50"},
                                     {"anthropic-ratelimit-requests-remaining", "0"},
                                     {"anthropic-ratelimit-requests-reset", "2026-11-30T10:00:42Z"},
                                     {"anthropic-ratelimit-tokens-limit", "30000"},
                                     {"anthropic-ratelimit-tokens-remaining", "12000"},
                                     {"retry-after", "17"}};
  const auto limits = anthropic_format().read_limits(fields);
  EXPECT_EQ(limits.remaining_requests, 0U);
  EXPECT_EQ(limits.limit_requests, 50U);
  EXPECT_EQ(limits.limit_tokens, 30000U);
  EXPECT_EQ(limits.reset_requests, 42s);
  EXPECT_EQ(limits.reset_tokens, std::nullopt);
  EXPECT_EQ(limits.retry_after, 17s);
  EXPECT_TRUE(limits.requests_of_minute);
}

TEST(AnthropicFormat, ListsModels) {
  const auto models = anthropic_format().read_models(R"({"data":[{"type":"model","id":"claude-a"},{"type":"model","id":"claude-b"}],"has_more":false})");
  ASSERT_TRUE(models);
  ASSERT_EQ(models->size(), 2U);
  EXPECT_EQ((*models)[1].id, "claude-b");
  EXPECT_FALSE(anthropic_format().read_models("[]"));
}

}  // namespace
}  // namespace polygraph::proxy
