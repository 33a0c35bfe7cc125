#include "proxy/upstream/format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace polygraph::proxy {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* strict = R"({"type":"object","properties":{"score":{"type":"integer"}},"required":["score"],"additionalProperties":false})";

ModelRequest question() { return {.role = "judge", .model = "m", .system = "Judge.", .user = {"Is it?"}, .schema = strict, .max_tokens = 99}; }

TEST(OpenAiFormat, AsksForTheSchemaWhereTheEndpointTakesOne) {
  const auto body = json::parse(openai_format().body(question()).value());
  EXPECT_EQ(body["messages"], json::parse(R"([{"role":"system","content":"Judge."},{"role":"user","content":"Is it?"}])"));
  EXPECT_EQ(body["response_format"], json({{"type", "json_schema"}, {"json_schema", {{"name", "reply"}, {"strict", true}, {"schema", json::parse(strict)}}}}));
  EXPECT_EQ(body["max_tokens"], 99);
  EXPECT_EQ(body["temperature"], 0);
  EXPECT_FALSE(body.contains("logprobs"));
}

TEST(OpenAiFormat, IsNotStrictWhereTheSchemaAllowsMore) {
  auto request = question();
  request.schema = R"({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}},"required":["a"],"additionalProperties":false})";
  EXPECT_EQ(json::parse(openai_format().body(request).value())["response_format"]["json_schema"]["strict"], false) << "the inner object requires nothing";
}

TEST(OpenAiFormat, TellsTheSchemaInWordsWhereOnlyJsonCanBeAskedFor) {
  auto request = question();
  request.model = "qwen/qwen3.8-27b";
  const auto body = json::parse(groq_format().body(request).value());
  EXPECT_EQ(body["response_format"], json({{"type", "json_object"}}));
  EXPECT_THAT(body["messages"][0]["content"].get<std::string>(), HasSubstr(strict));
  EXPECT_EQ(body["reasoning_format"], "hidden");
  request.describes_reply = true;
  EXPECT_EQ(json::parse(groq_format().body(request).value())["messages"][0]["content"], "Judge.");
}

TEST(OpenAiFormat, AsksForTokenProbabilitiesAndReadsThem) {
  auto request = question();
  request.top_logprobs = 5;
  const auto body = json::parse(openai_format().body(request).value());
  EXPECT_EQ(body["logprobs"], true);
  EXPECT_EQ(body["top_logprobs"], 5);
  EXPECT_FALSE(json::parse(groq_format().body(request).value()).contains("logprobs")) << "Groq refuses the request";
  const auto read = openai_format().read(R"({"model":"m","choices":[{"message":{"content":"4"},"finish_reason":"stop","logprobs":{"content":[
    {"token":"4","logprob":-0.1,"top_logprobs":[{"token":"4","logprob":-0.1},{"token":"5","logprob":-2.5}]}]}}]})");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->probabilities.size(), 1U);
  EXPECT_EQ(read->probabilities[0], (TokenPosition{"4", {{"4", -0.1}, {"5", -2.5}}}));
}

TEST(OpenAiFormat, ASchemaThatIsNoJsonIsNamed) {
  auto request = question();
  request.schema = "{";
  for (const auto format : {ApiFormat::openai, ApiFormat::groq, ApiFormat::anthropic, ApiFormat::gemini, ApiFormat::ollama}) {
    const auto body = format_of(format).body(request);
    ASSERT_FALSE(body);
    EXPECT_EQ(body.error().field, "schema");
  }
}

TEST(OpenAiFormat, TextThatIsNotUtf8DoesNotBreakTheRequest) {
  auto request = question();
  request.user = {"caf\xe9"};
  for (const auto format : {ApiFormat::openai, ApiFormat::groq, ApiFormat::anthropic, ApiFormat::gemini, ApiFormat::ollama}) {
    EXPECT_FALSE(json::parse(format_of(format).body(request).value(), nullptr, false).is_discarded());
  }
}

TEST(OpenAiFormat, AnAccountWithoutMoneyIsNoLimitThatTimeEnds) {
  const auto refusal = openai_format().read_refusal(429, R"({"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}})", {});
  EXPECT_EQ(refusal.outcome, Outcome::limited);
  EXPECT_EQ(refusal.limit, UpstreamLimit::balance);
}

TEST(OpenAiFormat, NamesItsLimits) {
  const std::vector<Field> fields = {{"x-ratelimit-limit-requests", "14400"}, {"X-RateLimit-Limit-Tokens", "250000"}, {"x-ratelimit-remaining-requests", "3"}};
  const auto groq = groq_format().read_limits(fields);
  EXPECT_EQ(groq.limit_requests, 14400U);
  EXPECT_EQ(groq.limit_tokens, 250000U);
  EXPECT_FALSE(groq.requests_of_minute);
  EXPECT_TRUE(openai_format().read_limits(fields).requests_of_minute);
}

}  // namespace
}  // namespace polygraph::proxy
