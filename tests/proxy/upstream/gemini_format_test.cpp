#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proxy/upstream/format.hpp"

namespace polygraph::proxy {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* schema = R"({"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]})";

ModelRequest question() { return {.role = "judge", .model = "gemini-3-flash", .system = "Judge.", .user = {"Is it?"}, .schema = schema, .max_tokens = 99}; }

TEST(GeminiFormat, HasTheModelInItsTargetAndTheKeyInAFieldNeverInTheUrl) {
  const auto& format = gemini_format();
  EXPECT_EQ(format.target("/v1beta", "gemini-3-flash", false), "/v1beta/models/gemini-3-flash:generateContent");
  EXPECT_EQ(format.target("/v1beta", "models/gemini-3-flash", true), "/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse");
  EXPECT_EQ(format.target("/v1beta", "a b/../c?d\r\n", false), "/v1beta/models/a%20b%2F..%2Fc%3Fd%0D%0A:generateContent") << "a name is one segment";
  EXPECT_EQ(format.fields("AIza1"), "x-goog-api-key: AIza1\r\n");
}

TEST(GeminiFormat, AsksWithInstructionSchemaAndLimits) {
  auto request = question();
  request.top_logprobs = 5;
  const auto body = json::parse(gemini_format().body(request).value());
  EXPECT_EQ(body["systemInstruction"], json::parse(R"({"parts":[{"text":"Judge."}]})"));
  EXPECT_EQ(body["contents"], json::parse(R"([{"role":"user","parts":[{"text":"Is it?"}]}])"));
  const auto& config = body["generationConfig"];
  EXPECT_EQ(config["responseMimeType"], "application/json");
  EXPECT_EQ(config["responseJsonSchema"], json::parse(schema));
  EXPECT_EQ(config["maxOutputTokens"], 99);
  EXPECT_EQ(config["temperature"], 0);
  EXPECT_EQ(config["responseLogprobs"], true);
  EXPECT_EQ(config["logprobs"], 5);
  EXPECT_FALSE(config.contains("thinkingConfig"));
}

TEST(GeminiFormat, ReadsTextWithoutThoughtsAndCountsThem) {
  const auto read = gemini_format().read(R"({"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true},{"text":"Ye"},{"text":"s"}]},"finishReason":"STOP",
    "logprobsResult":{"chosenCandidates":[{"token":"Yes","logProbability":-0.1}],"topCandidates":[{"candidates":[{"token":"Yes","logProbability":-0.1},
    {"token":"No","logProbability":-2}]}]}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2,"thoughtsTokenCount":4},"modelVersion":"gemini-3-flash-001"})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text, "Yes");
  EXPECT_EQ(read->usage, (Usage{9, 6})) << "2 written and 4 thought";
  EXPECT_EQ(read->model, "gemini-3-flash-001");
  ASSERT_EQ(read->probabilities.size(), 1U);
  EXPECT_EQ(read->probabilities[0].top[1], (TokenChoice{"No", -2}));
}

TEST(GeminiFormat, ReadsTheTokenLimitAsCutEvenWithoutText) {
  const auto cut = gemini_format().read(R"({"candidates":[{"finishReason":"MAX_TOKENS"}],"usageMetadata":{"promptTokenCount":9,"thoughtsTokenCount":99}})");
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(cut->finish, "length");
  EXPECT_EQ(cut->usage, (Usage{9, 99}));
}

TEST(GeminiFormat, BlockedOrFilteredTextIsNoReply) {
  EXPECT_FALSE(gemini_format().read(R"({"promptFeedback":{"blockReason":"SAFETY"}})"));
  EXPECT_FALSE(gemini_format().read(R"({"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"SAFETY"}]})"));
  EXPECT_FALSE(gemini_format().read(R"({"candidates":[{"content":{"parts":[{"text":"x"}]}}]})"));
  EXPECT_FALSE(gemini_format().read(R"({"candidates":[]})"));
  EXPECT_FALSE(gemini_format().read(R"([])"));
}

TEST(GeminiFormat, ReadsAStreamWhoseEndIsTheBodys) {
  const auto stream = gemini_format().stream();
  EXPECT_EQ(stream->add(R"({"candidates":[{"content":{"parts":[{"text":"Ye"}]}}]})"), "Ye");
  EXPECT_FALSE(stream->finish());
  EXPECT_EQ(stream->add(R"({"candidates":[{"content":{"parts":[{"text":"s"}]},"finishReason":"STOP"}]})"), "s");
  EXPECT_FALSE(stream->done());
  EXPECT_EQ(stream->add(R"({"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2}})"), "");
  EXPECT_EQ(stream->finish()->text, "Yes");
  EXPECT_EQ(stream->finish()->usage, (Usage{9, 2}));
}

TEST(GeminiFormat, ReadsWhichQuotaIsSpentAndHowLongToWait) {
  const auto refusal = [](const char* details, std::vector<Field> fields = {}) {
    return gemini_format().read_refusal(429, std::string(R"({"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":)") + details + "}}", fields);
  };
  const auto minute = refusal(R"([{"@type":"x/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier"}]},
    {"@type":"x/google.rpc.RetryInfo","retryDelay":"38s"}])");
  EXPECT_EQ(minute.outcome, Outcome::limited);
  EXPECT_EQ(minute.limit, UpstreamLimit::tokens_minute);
  EXPECT_EQ(minute.retry_after, 38s);
  // 10:00 UTC: the next 08:00 UTC, midnight in California, is 22 hours away, whatever the retry's delay says.
  const auto day = refusal(R"([{"@type":"x/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"},
    {"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"@type":"x/google.rpc.RetryInfo","retryDelay":"38s"}])",
                           {{"date", "Mon, 30 Nov 2026 10:00:00 GMT"}});
  EXPECT_EQ(day.limit, UpstreamLimit::requests_day);
  EXPECT_EQ(day.retry_after, 22h);
  EXPECT_EQ(refusal("[]").limit, UpstreamLimit::unknown);
  EXPECT_EQ(refusal("7").outcome, Outcome::limited);
}

TEST(GeminiFormat, TellsRefusalsApart) {
  EXPECT_EQ(gemini_format().read_refusal(503, R"({"error":{"message":"overloaded","status":"UNAVAILABLE"}})", {}).outcome, Outcome::unavailable);
  EXPECT_EQ(gemini_format().read_refusal(404, "{}", {}).refused_for, RefusedFor::model);
  EXPECT_EQ(gemini_format().read_refusal(403, "{}", {}).refused_for, RefusedFor::key);
  EXPECT_EQ(gemini_format().read_refusal(400, R"({"error":{"message":"API key not valid","details":[{"reason":"API_KEY_INVALID"}]}})", {}).refused_for, RefusedFor::key);
  EXPECT_EQ(gemini_format().read_refusal(400, R"({"error":{"message":"The input token count (2000000) exceeds the maximum number of tokens allowed"}})", {}).outcome,
            Outcome::too_large);
  EXPECT_EQ(gemini_format().read_refusal(400, "junk", {}).refused_for, RefusedFor::request);
}

TEST(GeminiFormat, ListsTheModelsThatGenerate) {
  const auto models = gemini_format().read_models(R"({"models":[{"name":"models/a","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent"]},
    {"name":"models/embed","supportedGenerationMethods":["embedContent"]}]})");
  ASSERT_TRUE(models);
  ASSERT_EQ(models->size(), 1U);
  EXPECT_EQ((*models)[0], (ListedModel{"a", 1048576}));
}

}  // namespace
}  // namespace polygraph::proxy
