#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proxy/upstream/format.hpp"

namespace polygraph::proxy {
namespace {

using nlohmann::json;

constexpr const char* schema = R"({"type":"object","properties":{"ok":{"type":"boolean"}}})";

TEST(OllamaFormat, AsksWithFormatAndAContextThatHoldsThePrompt) {
  ModelRequest request{.role = "judge", .model = "gemma3", .system = "Judge.", .user = {"Is it?"}, .schema = schema, .max_tokens = 99};
  auto body = json::parse(ollama_format().body(request).value());
  EXPECT_EQ(body["format"], json::parse(schema));
  EXPECT_EQ(body["stream"], false) << "the default would be a stream";
  EXPECT_EQ(body["options"], json({{"temperature", 0.0}, {"num_predict", 99}, {"num_ctx", 4096}}));
  // 20,000 bytes may be 10,000 tokens; with 99 of reply and 256 of template the next power of two is 16,384.
  request.user = {std::string(20'000, 'x')};
  EXPECT_EQ(json::parse(ollama_format().body(request).value())["options"]["num_ctx"], 16384);
}

TEST(OllamaFormat, ReadsAReply) {
  const auto read = ollama_format().read(R"({"model":"gemma3","message":{"role":"assistant","content":"Yes","thinking":"hm"},"done":true,"done_reason":"stop",
    "prompt_eval_count":26,"eval_count":3,"logprobs":[{"token":"Yes","logprob":-0.1,"top_logprobs":[{"token":"Yes","logprob":-0.1}]}]})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text, "Yes");
  EXPECT_EQ(read->usage, (Usage{26, 3}));
  EXPECT_EQ(read->probabilities.size(), 1U);
  EXPECT_EQ(ollama_format().read(R"({"message":{"content":"Ye"},"done":true,"done_reason":"length"})")->finish, "length");
  EXPECT_FALSE(ollama_format().read(R"({"message":{"content":"Ye"},"done":false})"));
  EXPECT_FALSE(ollama_format().read(R"({"error":"x"})"));
  EXPECT_FALSE(ollama_format().read(R"({"message":{"content":7},"done":true})"));
}

TEST(OllamaFormat, ReadsAStreamOfLines) {
  EXPECT_EQ(ollama_format().framing(), Framing::lines);
  const auto stream = ollama_format().stream();
  EXPECT_EQ(stream->add(R"({"message":{"content":"Ye"},"done":false})"), "Ye");
  EXPECT_FALSE(stream->finish());
  EXPECT_EQ(stream->add(R"({"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":1})"), "");
  EXPECT_EQ(stream->finish()->text, "Ye");
  EXPECT_FALSE(stream->add(R"({"message":{"content":"s"},"done":false})"));
}

TEST(OllamaFormat, AModelThatIsNotPulledIsNamed) {
  const auto refusal = ollama_format().read_refusal(404, R"({"error":"model 'x' not found"})", {});
  EXPECT_EQ(refusal.refused_for, RefusedFor::model);
  EXPECT_EQ(refusal.message, "model 'x' not found");
}

TEST(OllamaFormat, ListsModels) {
  const auto models = ollama_format().read_models(R"({"models":[{"name":"gemma3:latest","model":"gemma3:latest"},{"name":"old"}]})");
  ASSERT_TRUE(models);
  ASSERT_EQ(models->size(), 2U);
  EXPECT_EQ((*models)[1].id, "old");
}

}  // namespace
}  // namespace polygraph::proxy
