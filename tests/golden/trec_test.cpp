#include "wasm/golden/trec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::golden {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Trec, ReadsQueriesWithTheirJudgements) {
  const auto read = read_trec("q1\tred lamp\r\nq2\tno judgement\r\nq3\tonly junk\n", "q1 0 p#001 2\r\nq1\t0\tp#000\t1\nq1 0 x 0\nq3 0 p#000 1\n");
  ASSERT_TRUE(read);
  EXPECT_THAT(read->checked.errors, IsEmpty());
  EXPECT_THAT(read->unjudged, ElementsAre("q2"));
  const auto& items = read->checked.set.items;
  ASSERT_THAT(items, SizeIs(2));
  EXPECT_EQ(items[0].type, ItemType::answerable);
  EXPECT_EQ(items[0].question, "red lamp");
  EXPECT_THAT(items[0].relevant_chunk_ids, ElementsAre("p#001", "p#000"));
  EXPECT_EQ(items[0].grade("p#001"), 2U);
  EXPECT_EQ(items[0].grade("x"), 0U);
  EXPECT_THAT(items[1].relevance, IsEmpty()) << "nothing is graded here";
}

TEST(Trec, NamesLinesOfEitherFile) {
  const auto read = read_trec("q1\tred lamp\nno tab\n", "q1 0 p#000 1\nq1 0 p#000 1\nq1 0 p#001 high\nq1 0\nq9 0 p#000 1\n");
  ASSERT_TRUE(read);
  std::vector<std::string> found;
  for (const auto& each : read->checked.errors) found.push_back(each.field + ":" + std::to_string(each.line));
  EXPECT_THAT(found, ElementsAre("queries:2", "qrels:2", "qrels:3", "qrels:4", "qrels:5"));
}

TEST(Trec, ComesBackFromWhatIsWrittenAndNamesWhatIsLost) {
  const auto set = parse(R"({"id":"a","type":"answerable","question":"one\ttwo","relevant_chunk_ids":["night watch#000","p#001"],"relevance":{"p#001":3,"z":0}})" "\n"
                         R"({"id":"b","type":"unanswerable","question":"never","should_refuse":true})" "\n"
                         R"({"id":"c","type":"vague","question":"hm","relevant_chunk_ids":["p#000"],"notes":"n"})");
  ASSERT_TRUE(set) << set.error().message;
  const auto written = write_trec(*set);
  EXPECT_EQ(written.queries, "a\tone two\nc\thm\n");
  EXPECT_EQ(written.qrels, "a 0 night%20watch#000 1\na 0 p#001 3\na 0 z 0\nc 0 p#000 1\n");
  ASSERT_THAT(written.left_out, SizeIs(2));
  EXPECT_EQ(written.left_out[0].item, "b");
  EXPECT_EQ(written.left_out[1].item, "c");
  EXPECT_THAT(written.left_out[1].message, HasSubstr("notes, type"));
  const auto back = read_trec(written.queries, written.qrels);
  ASSERT_TRUE(back);
  EXPECT_THAT(back->checked.errors, IsEmpty());
  EXPECT_EQ(back->checked.set.items[0].relevance, (std::map<std::string, std::uint32_t>{{"night%20watch#000", 1}, {"p#001", 3}, {"z", 0}}));
}

TEST(Beir, ReadsForeignQueriesWithTheirHeaderAndMetadata) {
  const auto read = read_beir("{\"_id\": \"1\", \"text\": \"red lamp\", \"metadata\": {\"url\": \"u\"}}\n{\"_id\": \"2\", \"text\": \"of another split\", \"metadata\": {}}\n",
                              "query-id\tcorpus-id\tscore\n1\tdoc 7\t1\n");
  ASSERT_TRUE(read);
  EXPECT_THAT(read->checked.errors, IsEmpty());
  EXPECT_THAT(read->checked.warnings, IsEmpty());
  EXPECT_THAT(read->unjudged, ElementsAre("2"));
  ASSERT_THAT(read->checked.set.items, SizeIs(1));
  EXPECT_THAT(read->checked.set.items[0].relevant_chunk_ids, ElementsAre("doc 7"));
  EXPECT_EQ(read->checked.set.items[0].extra, R"({"metadata":{"url":"u"}})");
}

TEST(Beir, LosesNothingOfASet) {
  const auto set = parse(R"({"id":"a","type":"answerable","question":"q","relevant_chunk_ids":["p#000"],"relevance":{"p#000":2,"z":0},"extra":{"golden_set":{"name":"n"},"metadata":{"url":"u"}}})" "\n"
                         R"({"id":"b","type":"unanswerable","question":"never","should_refuse":true,"mine":[1]})" "\n"
                         R"({"id":"c","type":"vague","question":"hm","relevant_pages":["p"],"notes":"n"})");
  ASSERT_TRUE(set) << set.error().message;
  const auto written = write_beir(*set);
  EXPECT_THAT(written.queries, HasSubstr(R"("metadata":{"url":"u","polygraph":{)"));
  EXPECT_EQ(written.qrels, "query-id\tcorpus-id\tscore\na\tp#000\t2\na\tz\t0\n");
  const auto back = read_beir(written.queries, written.qrels);
  ASSERT_TRUE(back);
  EXPECT_THAT(back->checked.errors, IsEmpty());
  EXPECT_THAT(back->unjudged, IsEmpty());
  EXPECT_EQ(write_items(back->checked.set), write_items(*set));
}

}  // namespace
}  // namespace polygraph::golden
