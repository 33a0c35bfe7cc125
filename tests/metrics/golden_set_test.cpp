#include "wasm/metrics/golden_set.hpp"

#include <gtest/gtest.h>

namespace polygraph::metrics {
namespace {

TEST(GoldenSet, ReadsEveryFieldOfAnItem) {
  const auto items = parse_golden_set(
      R"({"id":"a1","type":"vague","question":"Why?","reference_answer":"So","relevant_chunk_ids":["p#000"],"relevant_pages":["p"],"should_refuse":false,"kind":"how"})");
  ASSERT_TRUE(items) << items.error().message;
  ASSERT_EQ(items->size(), 1U);
  const auto& item = items->front();
  EXPECT_EQ(item.id, "a1");
  EXPECT_EQ(item.type, ItemType::vague);
  EXPECT_EQ(item.question, "Why?");
  EXPECT_EQ(item.reference_answer, "So");
  EXPECT_EQ(item.relevant_chunk_ids, std::vector<std::string>{"p#000"});
  EXPECT_EQ(item.relevant_pages, std::vector<std::string>{"p"});
  EXPECT_FALSE(item.should_refuse);
  EXPECT_EQ(item.kind, "how");
  EXPECT_EQ(item.line, 1U);
}

TEST(GoldenSet, TakesByteOrderMarkCarriageReturnsAndBlankLines) {
  const auto items = parse_golden_set("\xef\xbb\xbf{\"id\":\"a\",\"type\":\"answerable\",\"question\":\"q\"}\r\n\r\n"
                                      "{\"id\":\"b\",\"type\":\"unanswerable\",\"question\":\"q\",\"should_refuse\":true}\n");
  ASSERT_TRUE(items) << items.error().message;
  ASSERT_EQ(items->size(), 2U);
  EXPECT_EQ((*items)[1].line, 3U);
  EXPECT_TRUE((*items)[1].should_refuse);
}

struct BadItem {
  const char* line;
  const char* field;
};

class GoldenSetRejects : public testing::TestWithParam<BadItem> {};

TEST_P(GoldenSetRejects, NamingLineAndField) {
  const std::string text = std::string("{\"id\":\"ok\",\"type\":\"answerable\",\"question\":\"q\"}\n") + GetParam().line;
  const auto items = parse_golden_set(text);
  ASSERT_FALSE(items);
  EXPECT_EQ(items.error().code, ErrorCode::invalid_json);
  EXPECT_EQ(items.error().field, GetParam().field);
  EXPECT_EQ(items.error().line, 2U);
}

INSTANTIATE_TEST_SUITE_P(Items, GoldenSetRejects,
                         testing::Values(BadItem{"[]", ""}, BadItem{"{\"id\":", ""},
                                         BadItem{R"({"type":"answerable","question":"q"})", "id"},
                                         BadItem{R"({"id":"ok","type":"answerable","question":"q"})", "id"},
                                         BadItem{R"({"id":"b","type":"answerable"})", "question"},
                                         BadItem{R"({"id":"b","type":"maybe","question":"q"})", "type"},
                                         BadItem{R"({"id":7,"type":"answerable","question":"q"})", "id"},
                                         BadItem{R"({"id":"b","type":"answerable","question":"q","relevant_pages":"p"})", "relevant_pages"},
                                         BadItem{R"({"id":"b","type":"answerable","question":"q","relevant_chunk_ids":[1]})", "relevant_chunk_ids"},
                                         BadItem{R"({"id":"b","type":"answerable","question":"q","should_refuse":"no"})", "should_refuse"}));

}  // namespace
}  // namespace polygraph::metrics
