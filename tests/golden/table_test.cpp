#include "wasm/golden/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::golden {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Checked read_all(const std::string& text) {
  auto checked = read(text);
  EXPECT_TRUE(checked);
  return checked ? std::move(*checked) : Checked{};
}

TEST(Table, ReadsQuotedCellsListsAndCrLf) {
  const auto checked = read_all("\xef\xbb\xbfid,type,question,relevant_chunk_ids,verified\r\n"
                                "a,answerable,\"Which one, \"\"this\"\" or\r\nthat?\",p#000|p#001,TRUE\r\n"
                                "\r\nb,unanswerable,Really?,,no\r\n");
  EXPECT_THAT(checked.errors, IsEmpty());
  EXPECT_EQ(checked.set.form, Form::table);
  ASSERT_THAT(checked.set.items, SizeIs(2));
  EXPECT_EQ(checked.set.items[0].question, "Which one, \"this\" or\r\nthat?");
  EXPECT_THAT(checked.set.items[0].relevant_chunk_ids, ElementsAre("p#000", "p#001"));
  EXPECT_TRUE(checked.set.items[0].verified);
  EXPECT_TRUE(checked.set.items[1].should_refuse);
  EXPECT_EQ(checked.set.items[1].line, 5U) << "a quoted line end counts";
}

TEST(Table, ReadsTabsAndTheNamesOfSamples) {
  const auto checked = read_all("id\tquery\texpected_answer\trelevant_chunk_ids\tquery_type\ns1\tWhy, then?\tSo\tp#000\tfactual\n");
  EXPECT_THAT(checked.errors, IsEmpty());
  ASSERT_THAT(checked.set.items, SizeIs(1));
  EXPECT_EQ(checked.set.items[0].question, "Why, then?");
  EXPECT_EQ(checked.set.items[0].reference_answer, "So");
  EXPECT_EQ(checked.set.items[0].type, ItemType::answerable);
  EXPECT_EQ(checked.set.items[0].query_type, "factual");
}

TEST(Table, NamesRowsThatDoNotFit) {
  const auto checked = read_all("id,type,question,verified\na,vague,q,perhaps\nb,vague\nc,vague,q2,\"no\n");
  ASSERT_THAT(checked.errors, SizeIs(3));
  EXPECT_EQ(checked.errors[0].item, "a");
  EXPECT_EQ(checked.errors[0].field, "verified");
  EXPECT_EQ(checked.errors[0].line, 2U);
  EXPECT_THAT(checked.errors[1].message, HasSubstr("2 cells"));
  EXPECT_EQ(checked.errors[1].line, 3U);
  EXPECT_THAT(checked.errors[2].message, HasSubstr("no closing quote"));
}

TEST(Table, NamesAColumnThatStandsTwice) {
  const auto checked = read_all("id,question,id\n");
  ASSERT_THAT(checked.errors, SizeIs(1));
  EXPECT_THAT(checked.errors[0].message, HasSubstr("two columns"));
}

TEST(Table, ComesBackFromWhatIsWritten) {
  const auto set = parse(
      R"({"id":"a","type":"answerable","question":"Is \"it\", so?","reference_answer":"one\ntwo","relevant_chunk_ids":["p#000","q#001"],"should_refuse":false,"relevance":{"p#000":2},"mine":"x","extra":{"query_type":"factual","golden_set":{"name":"n"}}})" "\n"
      R"({"id":"b","type":"unanswerable","question":" spaced ","should_refuse":true,"notes":"n"})");
  ASSERT_TRUE(set) << set.error().message;
  for (const char delimiter : {',', '\t'}) {
    const auto written = write_table(*set, delimiter);
    EXPECT_THAT(written.left_out, IsEmpty());
    const auto back = parse(written.text);
    ASSERT_TRUE(back) << back.error().message << written.text;
    EXPECT_EQ(write_items(*back), write_items(*set)) << written.text;
  }
}

TEST(Table, NamesIdsThatAListCannotHold) {
  const auto set = parse(R"({"id":"a","type":"vague","question":"q","relevant_chunk_ids":["p|q#000","r#000"]})");
  ASSERT_TRUE(set);
  const auto written = write_table(*set);
  ASSERT_THAT(written.left_out, SizeIs(1));
  EXPECT_EQ(written.left_out[0].field, "relevant_chunk_ids");
  EXPECT_THAT(written.text, HasSubstr(",r#000"));
}

}  // namespace
}  // namespace polygraph::golden
