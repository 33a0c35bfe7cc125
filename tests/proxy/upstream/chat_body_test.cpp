#include "proxy/upstream/chat_body.hpp"

#include <gtest/gtest.h>

#include <string>

namespace polygraph::proxy {
namespace {

std::string with_choice(const std::string& choice, const std::string& usage = R"({"prompt_tokens":12,"completion_tokens":3,"total_tokens":15})") {
  return R"({"model":"m","choices":[)" + choice + R"(],"usage":)" + usage + "}";
}
const std::string sound = R"({"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"})";

TEST(ChatCompletion, IsRead) {
  const auto read = read_completion(with_choice(sound));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text, "Hi");
  EXPECT_EQ(read->model, "m");
  EXPECT_EQ(read->finish, "stop");
  EXPECT_EQ(read->usage, (Usage{12, 3}));
  const auto cut = read_completion(with_choice(R"({"message":{"content":""},"finish_reason":"length"})", R"({"prompt_tokens":1,"completion_tokens":0})"));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->finish, "length");
  EXPECT_EQ(cut->usage, (Usage{1, 0}));
}

TEST(ChatCompletion, IsInvalidWithoutAnAnswer) {
  for (const auto* choice : {"", "null", "7", "{}", R"({"message":null,"finish_reason":"stop"})", R"({"message":{"content":null},"finish_reason":"stop"})",
                             R"({"message":{"content":7},"finish_reason":"stop"})", R"({"message":{"content":"a","refusal":"no"},"finish_reason":"stop"})",
                             R"({"message":{"content":"a"},"finish_reason":"content_filter"})", R"({"message":{"content":"a"},"finish_reason":"tool_calls"})",
                             R"({"message":{"content":"a"},"finish_reason":null})", R"({"message":{"content":"a"}})"}) {
    EXPECT_FALSE(read_completion(with_choice(choice))) << choice;
  }
  for (const auto* body : {"", "nonsense", "[]", "{}", "null", R"({"choices":{}})", R"({"error":{"message":"no"}})", "{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}"}) {
    EXPECT_FALSE(read_completion(body)) << body;
  }
  EXPECT_FALSE(read_completion(with_choice(sound).substr(0, 60))) << "cut";
  EXPECT_FALSE(read_completion(with_choice(sound) + "{}")) << "more than one";
}

TEST(ChatCompletion, IsInvalidWhereItNestsWithoutEnd) {
  EXPECT_FALSE(read_completion(with_choice(sound + "," + std::string(100, '[') + std::string(100, ']'))));
  EXPECT_TRUE(read_completion(with_choice(sound + "," + std::string(10, '[') + std::string(10, ']'))));
  EXPECT_TRUE(read_completion(with_choice(sound + ",\"\\\"" + std::string(100, '[') + "\""))) << "brackets in a text nest nothing";
}

TEST(ChatCompletion, HasNoUsageThatCannotBeTrue) {
  for (const auto* usage : {"null", "{}", "7", R"({"prompt_tokens":12})", R"({"prompt_tokens":-5,"completion_tokens":3})", R"({"prompt_tokens":"12","completion_tokens":3})",
                            R"({"prompt_tokens":12.0,"completion_tokens":3})", R"({"prompt_tokens":0,"completion_tokens":3})", R"({"prompt_tokens":12,"completion_tokens":0})",
                            R"({"prompt_tokens":12,"completion_tokens":3,"total_tokens":99})", R"({"prompt_tokens":18446744073709551615,"completion_tokens":3})",
                            R"({"prompt_tokens":99999999999999999999999,"completion_tokens":3})"}) {
    const auto read = read_completion(with_choice(sound, usage));
    ASSERT_TRUE(read) << usage;
    EXPECT_EQ(read->usage, std::nullopt) << usage;
  }
}

std::string delta(const std::string& text, const std::string& reason = "null", const std::string& more = "") {
  return R"({"model":"m","choices":[{"index":0,"delta":{"content":")" + text + R"("},"finish_reason":)" + reason + "}]" + more + "}";
}

TEST(CompletionStream, GathersTextFinishAndUsageOfEitherKind) {
  const std::string usage = R"("usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15})";
  for (const bool groq : {false, true}) {
    CompletionStream stream;
    EXPECT_EQ(stream.add(R"({"model":"m","choices":[{"delta":{"role":"assistant","content":null}}]})").value(), "");
    EXPECT_EQ(stream.add(delta("Hello")).value(), "Hello");
    EXPECT_EQ(stream.add(R"({"choices":[{"delta":{"reasoning":"hm"}}]})").value(), "");
    EXPECT_EQ(stream.add(delta(" you")).value(), " you");
    if (groq) {
      EXPECT_EQ(stream.add(delta("", "\"stop\"", R"(,"x_groq":{"id":"r",)" + usage + "}")).value(), "");
    } else {
      EXPECT_EQ(stream.add(delta("", "\"stop\"")).value(), "");
      EXPECT_EQ(stream.add(R"({"choices":[],)" + usage + "}").value(), "");
    }
    EXPECT_FALSE(stream.finish()) << "not before it said so";
    EXPECT_EQ(stream.add("[DONE]").value(), "");
    const auto read = stream.finish();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->text, "Hello you");
    EXPECT_EQ(read->finish, "stop");
    EXPECT_EQ(read->usage, (Usage{12, 3}));
  }
}

TEST(CompletionStream, IsNoAnswerWhenItIsCut) {
  CompletionStream nothing, unfinished;
  EXPECT_EQ(nothing.finish().error().code, ErrorCode::truncated);
  ASSERT_TRUE(unfinished.add(delta("a")));
  ASSERT_TRUE(unfinished.add("[DONE]"));
  EXPECT_EQ(unfinished.finish().error().code, ErrorCode::truncated);
}

TEST(CompletionStream, RefusesWhatIsUnsound) {
  for (const auto& data : {std::string("nonsense"), std::string("{}"), std::string("[]"), std::string(R"({"error":{"message":"no"}})"), std::string(R"({"x_groq":{"error":"no"},"choices":[]})"),
                           std::string(R"({"choices":[{"delta":{"content":7}}]})"), std::string(R"({"choices":[{"delta":{"refusal":"no"}}]})"), delta("", "\"content_filter\""), delta("", "7")}) {
    CompletionStream stream;
    EXPECT_FALSE(stream.add(data)) << data;
  }
  CompletionStream after_finish, after_end;
  ASSERT_TRUE(after_finish.add(delta("", "\"stop\"")));
  EXPECT_FALSE(after_finish.add(delta("more")));
  ASSERT_TRUE(after_end.add("[DONE]"));
  EXPECT_FALSE(after_end.add(delta("more")));
}

TEST(EndpointError, IsReadInItsThreeForms) {
  EXPECT_EQ(read_endpoint_error(R"({"error":{"message":"no","code":"x"}})").message, "no");
  EXPECT_EQ(read_endpoint_error(R"({"error":{"message":"no","code":"x"}})").code, "x");
  EXPECT_EQ(read_endpoint_error(R"({"error":"no"})").message, "no");
  EXPECT_EQ(read_endpoint_error(R"({"message":"no"})").message, "no");
  for (const auto* body : {"", "<html>", "[]", "7", R"({"error":7})", R"({"error":{"message":7}})"}) EXPECT_EQ(read_endpoint_error(body).message, "") << body;
}

}  // namespace
}  // namespace polygraph::proxy
