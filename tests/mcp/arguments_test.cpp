#include "cli/mcp/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::cli::mcp {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

const Json schema = Json::parse(R"({"type": "object", "required": ["query"], "additionalProperties": false, "properties": {
  "query": {"type": "string", "minLength": 1, "maxLength": 5}, "top": {"type": "integer", "minimum": 1, "maximum": 50}, "mode": {"type": "string", "enum": ["a", "b"]}}})");

std::string wrong(const char* arguments) { return fault(schema, Json::parse(arguments)).value_or(""); }

TEST(Arguments, ThatFollowTheSchemaPass) {
  EXPECT_EQ(wrong(R"({"query": "x"})"), "");
  EXPECT_EQ(wrong(R"({"query": "日本語日本", "top": 50, "mode": "b"})"), "") << "lengths are in code points";
  EXPECT_EQ(wrong(R"({"query": "x", "top": 4.0})"), "") << "4.0 is an integer of JSON Schema";
}

TEST(Arguments, ThatDoNotAreNamedWithWhatWasExpected) {
  EXPECT_EQ(wrong("{}"), "query is missing");
  EXPECT_EQ(wrong(R"({"query": ""})"), "query is empty");
  EXPECT_THAT(wrong(R"({"query": "日本語日本語"})"), HasSubstr("query has 6 characters; at most 5"));
  EXPECT_THAT(wrong(R"({"query": null})"), HasSubstr("query is null; it must be a string"));
  EXPECT_THAT(wrong(R"({"query": {"a": 1}})"), HasSubstr("query is an object"));
  EXPECT_THAT(wrong(R"({"query": "x", "top": 0})"), HasSubstr("top is 0; it must be a whole number from 1 to 50"));
  EXPECT_THAT(wrong(R"({"query": "x", "top": 51})"), HasSubstr("from 1 to 50"));
  EXPECT_THAT(wrong(R"({"query": "x", "top": 1.5})"), HasSubstr("from 1 to 50"));
  EXPECT_THAT(wrong(R"({"query": "x", "top": 1e300})"), HasSubstr("from 1 to 50"));
  EXPECT_THAT(wrong(R"({"query": "x", "top": "5"})"), HasSubstr("top is \"5\""));
  EXPECT_THAT(wrong(R"({"query": "x", "mode": "c"})"), HasSubstr("one of a, b"));
  EXPECT_THAT(wrong(R"({"query": "x", "qeury": 1})"), HasSubstr("\"qeury\" is no argument of this tool; there are query, top, mode"));
  EXPECT_THAT(wrong("[]"), HasSubstr("must be an object"));
}

TEST(Arguments, ALongValueIsNotRepeatedWhole) {
  const std::string long_value(10'000, 'x');
  EXPECT_LT(fault(schema, {{"query", "x"}, {"mode", long_value}})->size(), 200U);
}

}  // namespace
}  // namespace polygraph::cli::mcp
