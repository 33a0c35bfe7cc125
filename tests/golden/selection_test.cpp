#include "wasm/golden/selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/trace_schema.hpp"

namespace polygraph::golden {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Set small_set() {
  auto set = parse(R"({"id":"a","type":"answerable","question":"qa","reference_answer":"r","verified":true})" "\n"
                   R"({"id":"b","type":"answerable","question":"qb","reference_answer":"r","relevant_chunk_ids":["p#000"],"relevance":{"p#000":2}})" "\n"
                   R"({"id":"c","type":"vague","question":"qc","rejected":true})" "\n"
                   R"({"id":"d","type":"unanswerable","question":"qd","should_refuse":true})");
  EXPECT_TRUE(set);
  return *set;
}

Set of_types(std::size_t answerable, std::size_t vague, std::size_t unanswerable) {
  Set set;
  for (std::size_t i = 0; i < answerable + vague + unanswerable; ++i) {
    Item item;
    item.id = "i" + std::to_string(i);
    item.type = i < answerable ? ItemType::answerable : i < answerable + vague ? ItemType::vague : ItemType::unanswerable;
    set.items.push_back(item);
  }
  return set;
}

std::vector<std::string> ids(const Set& set) {
  std::vector<std::string> out;
  for (const auto& item : set.items) out.push_back(item.id);
  return out;
}

std::map<ItemType, std::size_t> types(const Set& set, const std::vector<std::string>& chosen) {
  std::map<ItemType, std::size_t> out;
  const auto part = with_ids(set, chosen);
  for (const auto& item : part->items) ++out[item.type];
  return out;
}

TEST(Source, CountsWhatTheReviewingModelAcceptedOrEditedWithTheEdit) {
  const auto review = parse_review(R"({"kind":"golden_review","schema":1,"items":{
    "a":{"decision":"reject","reason":"too easy","reviewer":"m","reviewed_at":"2026-01-01T00:00:00Z"},
    "b":{"decision":"edit","edit":{"question":"better","relevant_chunk_ids":["q#001"]},"reason":null},
    "c":{"decision":"accept"},"d":{"decision":"accept","edit":null},"gone":{"decision":"accept"}}})");
  ASSERT_TRUE(review) << review.error().message;
  const auto selected = select(small_set(), Source::ai_reviewed, &*review);
  ASSERT_TRUE(selected) << selected.error().message;
  EXPECT_THAT(ids(selected->set), ElementsAre("b", "d"));
  EXPECT_EQ(selected->set.items[0].question, "better");
  EXPECT_THAT(selected->set.items[0].relevant_chunk_ids, ElementsAre("q#001"));
  EXPECT_EQ(selected->set.items[0].reference_answer, "r") << "what the edit doesn't name stays";
  EXPECT_EQ(selected->set.items[0].line, 2U);
  EXPECT_THAT(selected->left_out, ElementsAre("a", "c")) << "a person's rejection stands whatever a model accepts";
  EXPECT_THAT(selected->unknown_reviews, ElementsAre("gone"));
}

TEST(Source, TakesAPersonsVerificationOrEverythingNotRejected) {
  EXPECT_THAT(ids(select(small_set(), Source::verified, nullptr)->set), ElementsAre("a"));
  EXPECT_THAT(ids(select(small_set(), Source::all, nullptr)->set), ElementsAre("a", "b", "d"));
}

TEST(Source, SaysWhatIsMissing) {
  EXPECT_EQ(select(small_set(), Source::ai_reviewed, nullptr).error().code, ErrorCode::invalid_argument);
  const Review nothing;
  EXPECT_THAT(select(small_set(), Source::ai_reviewed, &nothing).error().message, HasSubstr("none of the 4 items counts as ai_reviewed"));
  EXPECT_THAT(parse_source("some").error().message, HasSubstr("verified"));
  EXPECT_EQ(*parse_source("verified"), Source::verified);
}

TEST(Source, RefusesAnEditThatBreaksItsItem) {
  for (const char* edit : {R"({"question":""})", R"({"type":"unanswerable"})", R"({"relevant_chunk_ids":"p"})", R"({"id":"z"})"}) {
    const auto review = parse_review(std::string(R"({"items":{"b":{"decision":"edit","edit":)") + edit + "}}}");
    ASSERT_TRUE(review) << review.error().message;
    const auto selected = select(small_set(), Source::ai_reviewed, &*review);
    ASSERT_FALSE(selected) << edit;
    EXPECT_THAT(selected.error().message, HasSubstr("\"b\"")) << edit;
    EXPECT_THAT(selected.error().field, HasSubstr("edit."));
  }
}

TEST(Review, NamesWhatIsWrong) {
  const auto field = [](const char* text) { return parse_review(text).error().field; };
  EXPECT_EQ(field("[]"), "items");
  EXPECT_EQ(field(R"({"items":[]})"), "items");
  EXPECT_EQ(field(R"({"items":{"a":1}})"), "items.a");
  EXPECT_EQ(field(R"({"items":{"a":{}}})"), "items.a.decision");
  EXPECT_EQ(field(R"({"items":{"a":{"decision":"ACCEPT"}}})"), "items.a.decision");
  EXPECT_EQ(field(R"({"items":{"a":{"decision":"edit"}}})"), "items.a.edit");
  EXPECT_EQ(field(R"({"items":{"a":{"decision":"edit","edit":[]}}})"), "items.a.edit");
  EXPECT_EQ(field(R"({"items":{"a":{"decision":"accept","reason":1}}})"), "items.a.reason");
  EXPECT_FALSE(parse_review("{"));
}

TEST(Review, ComesBackFromWhatIsWrittenWithUnknownFields) {
  const auto review = parse_review(R"({"model":"m","items":{"a":{"decision":"edit","edit":"new question","mine":1},"b":{"decision":"reject","reason":"r"}}})");
  ASSERT_TRUE(review);
  const std::string written = write_review(*review);
  EXPECT_EQ(cli::test::schema_errors(nlohmann::json::parse(written), "golden_review"), "");
  const auto back = parse_review(written);
  ASSERT_TRUE(back);
  EXPECT_EQ(write_review(*back), written);
  EXPECT_THAT(written, AllOf(HasSubstr("\"model\": \"m\""), HasSubstr("\"mine\": 1"), HasSubstr("\"edit\": \"new question\"")));
}

TEST(Ids, AreReadByLineOrAsAnArray) {
  EXPECT_THAT(*parse_ids("\xef\xbb\xbf" "b\r\n\r\n a \n"), ElementsAre("b", "a"));
  EXPECT_THAT(*parse_ids(R"( ["b", "a"] )"), ElementsAre("b", "a"));
  EXPECT_EQ(parse_ids("a\nb\na\n").error().line, 3U);
  EXPECT_FALSE(parse_ids("\n"));
  EXPECT_FALSE(parse_ids("[1]"));
}

TEST(Ids, SelectInTheSetsOrderAndAreAllFound) {
  EXPECT_THAT(ids(*with_ids(small_set(), {"d", "a"})), ElementsAre("a", "d"));
  const auto missing = with_ids(small_set(), {"a", "zig", "zag"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("\"zag\", \"zig\""));
}

TEST(Limit, TakesTheFirstItems) {
  EXPECT_THAT(ids(first_items(small_set(), 2)), ElementsAre("a", "b"));
  EXPECT_THAT(first_items(small_set(), 9).items, SizeIs(4));
}

TEST(GateSubset, HasTenThreeAndSevenAndNeverChanges) {
  const Set set = of_types(40, 10, 20);
  const auto chosen = gate_ids(set);
  EXPECT_EQ(types(set, chosen), (std::map<ItemType, std::size_t>{{ItemType::answerable, 10}, {ItemType::vague, 3}, {ItemType::unanswerable, 7}}));
  Set reversed = set;
  std::reverse(reversed.items.begin(), reversed.items.end());
  auto again = gate_ids(reversed);
  std::reverse(again.begin(), again.end());
  EXPECT_EQ(again, chosen) << "the hash of an id decides, not its place";
  EXPECT_THAT(gate_ids(of_types(4, 1, 0)), SizeIs(5));
}

TEST(StratifiedSubset, KeepsTheSharesOfTheTypes) {
  const Set set = of_types(40, 10, 20);
  // 30 of 70: 17.1 answerable, 4.3 vague, 8.6 unanswerable; the one left over goes to the largest remainder.
  const auto chosen = stratified_ids(set, 30, 1);
  EXPECT_EQ(types(set, chosen), (std::map<ItemType, std::size_t>{{ItemType::answerable, 17}, {ItemType::vague, 4}, {ItemType::unanswerable, 9}}));
  EXPECT_EQ(stratified_ids(set, 30, 1), chosen);
  EXPECT_NE(stratified_ids(set, 30, 2), chosen);
}

TEST(StratifiedSubset, HasAtLeastOneOfEachTypeAndNeverTooMany) {
  const Set set = of_types(1000, 1, 2);
  EXPECT_EQ(types(set, stratified_ids(set, 30, 1)), (std::map<ItemType, std::size_t>{{ItemType::answerable, 28}, {ItemType::vague, 1}, {ItemType::unanswerable, 1}}));
  for (std::size_t count = 0; count <= 20; ++count) {
    for (const auto& each : {of_types(5, 3, 4), of_types(0, 1, 9), of_types(12, 0, 0), of_types(7, 1, 1)}) {
      EXPECT_THAT(stratified_ids(each, count, 3), SizeIs(std::min(count, each.items.size()))) << count;
    }
  }
  EXPECT_THAT(stratified_ids(Set{}, 30, 1), IsEmpty());
}

TEST(Shards, HoldEachItemOnce) {
  const Set set = of_types(5, 3, 4);
  std::multiset<std::string> seen;
  for (std::size_t i = 1; i <= 5; ++i) {
    for (auto& id : ids(in_shard(set, {i, 5}))) seen.insert(id);
  }
  const auto all = ids(set);
  EXPECT_EQ(seen, std::multiset<std::string>(all.begin(), all.end()));
  EXPECT_EQ(parse_shard("2/5")->number, 2U);
  EXPECT_EQ(parse_shard("2/5")->of, 5U);
  for (const char* bad : {"", "2", "0/5", "6/5", "a/5", "1/", "-1/5", "1/5x", "1/99999999999"}) EXPECT_FALSE(parse_shard(bad)) << bad;
}

}  // namespace
}  // namespace polygraph::golden
