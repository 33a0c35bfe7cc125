#include "cli/gaps/refusals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string refused_trace = R"({"kind": "trace", "question": "q1", "status": "refused", "started_at": "2026-11-03T10:00:00.000Z", "steps": [
  {"node": "retrieve", "data": {}}, {"node": "refuse", "data": {"reason": "r", "last_grader_reason": "g", "closest": [{"title": "T", "url": "u"}]}}]})";
const std::string answered_trace = R"({"question": "q2", "status": "answered", "steps": []})";
const std::string failed_trace = R"({"question": "q3", "status": "failed", "steps": []})";

std::string logged(const std::string& question, const std::string& status, const std::string& day = "2026-12-01") {
  return R"({"kind":"question","schema":1,"day":")" + day + R"(","question":")" + question + R"(","status":")" + status + R"(","reason":"why","closest":[]})" + "\n";
}

std::vector<std::string> questions(const Refusals& refusals) {
  std::vector<std::string> out;
  for (const auto& each : refusals.refused) out.push_back(each.question);
  return out;
}

TEST(Refusals, AreReadFromTracesLaidOutOrOneALineOrInAnArray) {
  for (const auto& document : {refused_trace + "\n" + answered_trace + "\n\n" + failed_trace, "\xef\xbb\xbf[" + refused_trace + "," + answered_trace + ",\r\n" + failed_trace + "]"}) {
    Refusals refusals;
    const auto read = refusals.read(document);
    ASSERT_TRUE(read) << read.error().message;
    refusals.finish();
    EXPECT_EQ(refusals.asked, 3U);
    EXPECT_EQ(refusals.failed, 1U);
    ASSERT_EQ(refusals.refused.size(), 1U);
    EXPECT_EQ(refusals.refused[0].day, "2026-11-03");
    EXPECT_EQ(refusals.refused[0].reason, "r");
    EXPECT_EQ(refusals.refused[0].detail, "g");
    EXPECT_EQ(refusals.refused[0].closest, (std::vector<gaps::Page>{{"T", "u"}}));
  }
}

TEST(Refusals, AreReadFromRunsAndRecordings) {
  Refusals refusals;
  const auto read = refusals.read(R"({"kind":"run","schema":1})" "\n" R"({"item":"a","result":{"query_id":"a","query":"q1","status":"completed","trace":)" + refused_trace + "}}\n" +
                                  R"({"item":"b","result":{"query_id":"b","query":"q4","status":"completed","refused":true,"trace":null}})" "\n" +
                                  R"({"item":"c","result":{"query_id":"c","query":"q5","status":"failed","refused":null}})" "\n" + R"({"kind":"recording","trace":)" + refused_trace + "}");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(refusals.asked, 4U);
  EXPECT_EQ(refusals.failed, 1U);
  EXPECT_THAT(questions(refusals), ElementsAre("q1", "q4", "q1"));
}

TEST(Refusals, OfTheLogCountOnceADayAndNotWhereAnAnswerFollowed) {
  Refusals refusals;
  ASSERT_TRUE(refusals.read(logged("a", "not_relevant") + logged("a", "not_relevant") + logged("b", "not_relevant") + logged("b", "answered") + logged("c", "refused") +
                            logged("a", "not_relevant", "2026-12-02") + logged("d", "failed")));
  refusals.finish();
  EXPECT_THAT(questions(refusals), ElementsAre("c", "a", "a"));
  EXPECT_EQ(refusals.asked, 5U);
  EXPECT_EQ(refusals.failed, 1U);
}

TEST(Refusals, WhatIsNoneIsNamedWithItsLine) {
  const std::pair<std::string, const char*> cases[] = {
      {"junk", ""},
      {answered_trace + "\n{\"question\": 4, \"status\": \"refused\", \"steps\": []}", "question"},
      {answered_trace + "\n" + R"({"question": "q", "status": "refused", "steps": [{"node": "refuse", "data": {"reason": "r", "closest": [{"title": 5, "url": ""}]}}]})", "steps[0].data.closest[0].title"},
      {answered_trace + "\n{\"a\": 1}", "neither a trace"},
      {answered_trace + "\n5", "object"},
      {answered_trace + "\n[5]", "object"},
      {answered_trace + "\n{\"question\": \"caf\xe9\"}", ""},
      {answered_trace + "\n" + logged("a", "odd"), "odd"},
      {answered_trace + "\n{\"question\": \"q\",", ""},
  };
  for (const auto& [document, expected] : cases) {
    Refusals refusals;
    const auto read = refusals.read(document);
    ASSERT_FALSE(read) << document;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_json) << document;
    EXPECT_EQ(read.error().line, document == "junk" ? 1U : 2U) << document;
    EXPECT_THAT(read.error().message + " " + read.error().field, HasSubstr(expected)) << document;
  }
}

TEST(Refusals, NothingIsNoQuestion) {
  Refusals refusals;
  EXPECT_TRUE(refusals.read(""));
  EXPECT_TRUE(refusals.read("\n\n"));
  EXPECT_EQ(refusals.asked, 0U);
}

}  // namespace
}  // namespace polygraph::cli
