#include "proxy/calls/json_reply.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::proxy {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(LastJson, IsTheLastCompleteValueOfAReply) {
  EXPECT_EQ(last_json(R"(First {"a": 1}, no: {"a": 2}. Done.)"), R"({"a": 2})");
  EXPECT_EQ(last_json("```json\n{\"a\": [1, {\"b\": \"}\"}]}\n```"), R"({"a": [1, {"b": "}"}]})");
  EXPECT_EQ(last_json(R"({"a": 1} {"a": )"), R"({"a": 1})") << "what is cut is not complete";
  EXPECT_EQ(last_json(R"({oops} [1])"), "[1]");
  EXPECT_EQ(last_json("no JSON"), "");
  EXPECT_EQ(last_json(""), "");
}

TEST(LastJson, OfNothingButBracketsIsFoundOutInTime) { EXPECT_EQ(last_json(std::string(1'000'000, '[')), ""); }

constexpr const char* verdicts = R"({"type":"object","properties":{
  "verdicts":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"string","enum":["CORRECT","INCORRECT"]}},
  "score":{"type":"integer","minimum":1,"maximum":5},"why":{"type":["string","null"]}},"required":["verdicts","score"],"additionalProperties":false})";

TEST(SchemaFault, IsNothingForWhatWasAskedFor) {
  EXPECT_EQ(schema_fault(R"({"verdicts":["CORRECT","INCORRECT"],"score":5,"why":null})", verdicts), std::nullopt);
  EXPECT_EQ(schema_fault(R"({"verdicts":["CORRECT","CORRECT"],"score":4.0})", verdicts), std::nullopt) << "4.0 is an integer in JSON Schema";
}

TEST(SchemaFault, NamesThePlaceWhatWasExpectedAndWhatIsThere) {
  EXPECT_THAT(schema_fault(R"([1])", verdicts), Optional(HasSubstr("must be \"object\", and is [1]")));
  EXPECT_THAT(schema_fault(R"({"score":1})", verdicts), Optional(HasSubstr("lacks \"verdicts\"")));
  EXPECT_THAT(schema_fault(R"({"verdicts":["CORRECT"],"score":1})", verdicts), Optional(HasSubstr("verdicts must hold 2 items, and holds 1")));
  EXPECT_THAT(schema_fault(R"({"verdicts":["CORRECT","MAYBE"],"score":1})", verdicts), Optional(HasSubstr("verdicts[1] must be one of")));
  EXPECT_THAT(schema_fault(R"({"verdicts":["CORRECT","INCORRECT "],"score":1})", verdicts), Optional(HasSubstr("verdicts[1]"))) << "labels are compared whole";
  EXPECT_THAT(schema_fault(R"({"verdicts":["CORRECT","CORRECT"],"score":"5"})", verdicts), Optional(HasSubstr("score must be \"integer\"")));
  EXPECT_THAT(schema_fault(R"({"verdicts":["CORRECT","CORRECT"],"score":6})", verdicts), Optional(HasSubstr("at most 5")));
  EXPECT_THAT(schema_fault(R"({"verdicts":["CORRECT","CORRECT"],"score":2.5})", verdicts), Optional(HasSubstr("integer")));
  EXPECT_THAT(schema_fault(R"({"verdicts":["CORRECT","CORRECT"],"score":2,"x":1})", verdicts), Optional(HasSubstr("\"x\"")));
  EXPECT_THAT(schema_fault("{", verdicts), Optional(HasSubstr("no JSON")));
}

TEST(ReplyFault, LooksAtTheLastValue) {
  EXPECT_EQ(reply_fault(R"(Thinking {"score": 9}… {"verdicts":["CORRECT","CORRECT"],"score":2})", verdicts), std::nullopt);
  EXPECT_THAT(reply_fault(R"({"verdicts":["CORRECT","CORRECT"],"score":2} or rather {"score": 9})", verdicts), Optional(HasSubstr("lacks")));
  EXPECT_THAT(reply_fault("I'd say 5.", verdicts), Optional(HasSubstr("no complete JSON")));
}

TEST(SchemaFault, OfHugeNumbersIsNoTrap) { EXPECT_TRUE(schema_fault(R"({"verdicts":["CORRECT","CORRECT"],"score":1e300})", verdicts)); }

}  // namespace
}  // namespace polygraph::proxy
