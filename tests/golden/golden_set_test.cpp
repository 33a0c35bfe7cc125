// Reading and checking a golden set.
#include "wasm/golden/golden_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace polygraph::golden {

// How a test prints a problem.
void PrintTo(const Problem& problem, std::ostream* out) {
  *out << problem.item << ":" << problem.line << ": " << problem.field << ": " << problem.message;
}

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

auto problem(const std::string& item, std::uint64_t line, const std::string& field, const std::string& words) {
  return AllOf(Field(&Problem::item, item), Field(&Problem::line, line), Field(&Problem::field, field), Field(&Problem::message, HasSubstr(words)));
}

Checked read_all(const std::string& text) {
  auto checked = read(text);
  EXPECT_TRUE(checked) << checked.error().message;
  return checked ? std::move(*checked) : Checked{};
}

constexpr const char* good = R"({"id":"ok","type":"answerable","question":"Where are ropes kept?","reference_answer":"in the locker"})" "\n";

TEST(GoldenSet, ReadsEveryFieldOfAnItem) {
  const auto set = parse(
      R"({"id":"a1","type":"vague","question":"Why?","reference_answer":"So","relevant_chunk_ids":["p#000","p#001"],"relevant_pages":["p"],)"
      R"("should_refuse":false,"kind":"how","evidence":"intro","source_chunk_id":"p#000","pool_ids":["p#000","q#003"],"relevance":{"p#000":2,"q#003":0},)"
      R"("chunk_digests":{"p#000":"xxh128:00"},"verified":true,"rejected":false,"reviewer":"Ada","reviewed_at":"2026-01-02T03:04:05Z","notes":"n"})");
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_THAT(set->items, SizeIs(1));
  const auto& item = set->items.front();
  EXPECT_EQ(item.id, "a1");
  EXPECT_EQ(item.type, ItemType::vague);
  EXPECT_EQ(item.question, "Why?");
  EXPECT_EQ(item.reference_answer, "So");
  EXPECT_THAT(item.relevant_chunk_ids, ElementsAre("p#000", "p#001"));
  EXPECT_THAT(item.relevant_pages, ElementsAre("p"));
  EXPECT_FALSE(item.should_refuse);
  EXPECT_EQ(item.kind, "how");
  EXPECT_EQ(item.evidence, "intro");
  EXPECT_EQ(item.source_chunk_id, "p#000");
  EXPECT_THAT(item.pool_ids, ElementsAre("p#000", "q#003"));
  EXPECT_EQ(item.grade("p#000"), 2U);
  EXPECT_EQ(item.grade("p#001"), 1U) << "gold without a grade";
  EXPECT_EQ(item.grade("q#003"), 0U);
  EXPECT_EQ(item.grade("elsewhere"), 0U);
  EXPECT_EQ(item.chunk_digests.at("p#000"), "xxh128:00");
  EXPECT_TRUE(item.verified);
  EXPECT_FALSE(item.rejected);
  EXPECT_EQ(item.reviewer, "Ada");
  EXPECT_EQ(item.reviewed_at, "2026-01-02T03:04:05Z");
  EXPECT_EQ(item.notes, "n");
  EXPECT_EQ(item.query_type, "vague") << "a type becomes its query type";
  EXPECT_EQ(item.line, 1U);
}

TEST(GoldenSet, TakesByteOrderMarkCarriageReturnsAndBlankLines) {
  const auto set = parse("\xef\xbb\xbf{\"id\":\"a\",\"type\":\"answerable\",\"question\":\"q\",\"reference_answer\":\"r\"}\r\n\r\n"
                         "{\"id\":\"b\",\"type\":\"unanswerable\",\"question\":\"q?\",\"should_refuse\":true}\n");
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_THAT(set->items, SizeIs(2));
  EXPECT_EQ(set->items[1].line, 3U);
  EXPECT_TRUE(set->items[1].should_refuse);
}

TEST(GoldenSet, TakesTheRefusalFromTheTypeWhereNothingIsSaid) {
  const auto set = parse(R"({"id":"b","type":"unanswerable","question":"q"})");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_TRUE(set->items[0].should_refuse);
}

TEST(GoldenSet, ReadsSamplesWithTheLinesOfTheirFields) {
  const auto checked = read_all("\xef\xbb\xbf{\r\n  \"name\": \"demo\",\r\n  \"version\": \"3\",\r\n  \"samples\": [\r\n"
                                "    {\"id\": \" s1 \", \"query\": \"Why, \\\"samples\\\": [{\", \"expected_answer\": \"a\", \"relevant_chunk_ids\": [\"p#000\"], \"query_type\": \"multi-hop\"},\r\n"
                                "    {\r\n      \"id\": \"s2\",\r\n      \"query\": 7\r\n    },\r\n 5\r\n  ]\r\n}\r\n");
  EXPECT_EQ(checked.set.form, Form::samples);
  EXPECT_EQ(checked.set.name, "demo");
  EXPECT_EQ(checked.set.version, "3");
  ASSERT_THAT(checked.set.items, SizeIs(2));
  const auto& first = checked.set.items[0];
  EXPECT_EQ(first.id, "s1") << "strings of samples are trimmed";
  EXPECT_EQ(first.type, ItemType::answerable);
  EXPECT_FALSE(first.should_refuse);
  EXPECT_EQ(first.query_type, "multi-hop");
  EXPECT_EQ(first.line, 5U);
  EXPECT_THAT(checked.errors, ElementsAre(problem("s2", 6, "relevant_chunk_ids", "needs gold"), problem("s2", 8, "query", "expected a string, found a number 7"),
                                          problem("", 10, "samples[2]", "found number")));
}

TEST(GoldenSet, ReadsSamplesWithoutIdsOrAnswerAndWithAnyQueryType) {
  const auto set = parse(R"({"name":"n","version":"1","samples":[{"id":"a","query":"one thing","expected_answer":"x","query_type":"comparison"},)"
                         R"({"id":"b","query":"another matter","relevant_chunk_ids":["p#000"]},{"id":"c","query":"third","query_type":"unanswerable"}]})");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->items[0].query_type, "comparison");
  EXPECT_EQ(set->items[0].type, ItemType::answerable);
  EXPECT_EQ(set->items[1].query_type, "answerable");
  EXPECT_EQ(set->items[2].type, ItemType::unanswerable);
  EXPECT_TRUE(set->items[2].should_refuse);
}

TEST(GoldenSet, RefusesANumberAsVersion) {
  EXPECT_THAT(read_all("{\"name\":\"n\",\n\"version\": 1.0,\n\"samples\":[{\"id\":\"a\",\"query\":\"q\",\"expected_answer\":\"x\"}]}").errors,
              ElementsAre(problem("", 2, "version", "expected a string, found number 1.0")));
}

struct Bad {
  const char* name;
  const char* line;
  const char* item;
  const char* field;
  const char* words;
};

class GoldenSetRejects : public testing::TestWithParam<Bad> {};

TEST_P(GoldenSetRejects, NamingItemLineAndField) {
  const auto& bad = GetParam();
  EXPECT_THAT(read_all(std::string(good) + bad.line).errors, ElementsAre(problem(bad.item, 2, bad.field, bad.words)));
  const auto parsed = parse(std::string(good) + bad.line);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::invalid_json);
  EXPECT_EQ(parsed.error().field, bad.field);
  EXPECT_EQ(parsed.error().line, 2U);
}

INSTANTIATE_TEST_SUITE_P(
    Items, GoldenSetRejects,
    testing::Values(
        Bad{"NoObject", "[]", "", "", "found array"}, Bad{"BrokenJson", "{\"id\":", "", "", "is not JSON"},
        Bad{"NoId", R"({"type":"answerable","question":"q","reference_answer":"r"})", "", "id", "missing"},
        Bad{"BlankId", R"({"id":" ","type":"answerable","question":"q","reference_answer":"r"})", " ", "id", "empty"},
        Bad{"DuplicateId", R"({"id":"ok","type":"answerable","question":"q","reference_answer":"r"})", "ok", "id", "already, on line 1"},
        Bad{"NoQuestion", R"({"id":"b","type":"answerable","reference_answer":"r"})", "b", "question", "missing or empty"},
        Bad{"BlankQuestion", R"({"id":"b","type":"answerable","question":" \n","reference_answer":"r"})", "b", "question", "empty"},
        Bad{"UnknownType", R"({"id":"b","type":"maybe","question":"q"})", "b", "type", "found \"maybe\""},
        Bad{"NoType", R"({"id":"b","question":"q"})", "b", "type", "is missing"},
        Bad{"NumberAsId", R"({"id":7,"type":"answerable","question":"q","reference_answer":"r"})", "", "id", "expected a string, found a number 7"},
        Bad{"NumberAsQuestion", R"({"id":"b","type":"vague","question":7})", "b", "question", "expected a string"},
        Bad{"StringAsList", R"({"id":"b","type":"answerable","question":"q","relevant_pages":"p"})", "b", "relevant_pages", "expected an array of strings, found a string"},
        Bad{"NumberInList", R"({"id":"b","type":"answerable","question":"q","relevant_chunk_ids":["a#000",1]})", "b", "relevant_chunk_ids[1]", "expected a string"},
        Bad{"StringAsFlag", R"({"id":"b","type":"vague","question":"q","should_refuse":"no"})", "b", "should_refuse", "expected true or false"},
        Bad{"StringAsExtra", R"({"id":"b","type":"vague","question":"q","extra":"no"})", "b", "extra", "expected an object"},
        Bad{"NegativeGrade", R"({"id":"b","type":"vague","question":"q","relevance":{"x":-1}})", "b", "relevance.x", "whole number"},
        Bad{"GradeOfNoGold", R"({"id":"b","type":"vague","question":"q","relevance":{"x":1}})", "b", "relevance.x", "lacks the chunk"},
        Bad{"EmptyChunkId", R"({"id":"b","type":"answerable","question":"q","relevant_chunk_ids":["a#000",""]})", "b", "relevant_chunk_ids[1]", "is empty"},
        Bad{"DuplicateChunkId", R"({"id":"b","type":"answerable","question":"q","relevant_chunk_ids":["a#000","a#001","a#000"]})", "b", "relevant_chunk_ids[2]", "stands twice"},
        Bad{"NeitherGoldNorReference", R"({"id":"b","type":"answerable","question":"q","relevant_chunk_ids":[]})", "b", "relevant_chunk_ids", "needs gold"},
        Bad{"UnanswerableWithGold", R"({"id":"b","type":"unanswerable","question":"q","relevant_chunk_ids":["a#000"]})", "b", "relevant_chunk_ids", "can't have gold"},
        Bad{"UnanswerableWithPages", R"({"id":"b","type":"unanswerable","question":"q","relevant_pages":["a"]})", "b", "relevant_pages", "can't have gold"},
        Bad{"RefusesAnAnswerable", R"({"id":"b","type":"answerable","question":"q","reference_answer":"r","should_refuse":true})", "b", "should_refuse", "is true, but"},
        Bad{"AnswersAnUnanswerable", R"({"id":"b","type":"unanswerable","question":"q","should_refuse":false})", "b", "should_refuse", "is false, but"},
        Bad{"VerifiedAndRejected", R"({"id":"b","type":"vague","question":"q","verified":true,"rejected":true})", "b", "rejected", "at once"},
        Bad{"ASampleAmongItems", R"({"id":"b","query":"q","expected_answer":"a"})", "b", "query", "mixed forms"},
        Bad{"ADocumentAmongItems", R"({"name":"b","samples":[]})", "", "samples", "mixed forms"}),
    [](const auto& bad) { return bad.param.name; });

TEST(GoldenSet, NamesAllProblemsAtOnceInTheOrderOfTheirLines) {
  const auto checked = read_all("{\"id\":\"a\",\"type\":\"maybe\",\"question\":\"\",\"verified\":1}\nnothing\n{\"id\":\"a\",\"type\":\"vague\",\"question\":\"q\",\"typ\":1}\n");
  EXPECT_THAT(checked.errors, ElementsAre(problem("a", 1, "type", "maybe"), problem("a", 1, "verified", "expected true or false, found a number 1"),
                                          problem("a", 1, "question", "empty"), problem("", 2, "", "not JSON"), problem("a", 3, "id", "already")));
  EXPECT_THAT(checked.warnings, ElementsAre(problem("a", 3, "typ", "no field")));
}

TEST(GoldenSet, SaysHowManyMoreErrorsThereAre) {
  const auto set = parse("{\"id\":\"a\",\"type\":\"maybe\",\"question\":\"\"}\nnothing\n");
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().message, AllOf(HasSubstr("item \"a\""), HasSubstr("2 more errors")));
}

TEST(GoldenSet, RefusesAnEmptySetInEachForm) {
  for (const char* text : {"", " \n\r\n", "\xef\xbb\xbf", "{\"name\":\"n\",\"version\":\"1\",\"samples\":[]}", "id,question\n"}) {
    const auto checked = read_all(text);
    ASSERT_THAT(checked.errors, SizeIs(1)) << text;
    EXPECT_THAT(checked.errors[0].message, HasSubstr("empty"));
  }
}

TEST(GoldenSet, NamesAnItemAmongSamples) {
  const auto checked = read_all("{\"name\":\"n\",\"version\":\"1\",\"samples\":[\n{\"id\":\"a\",\"query\":\"q\",\"expected_answer\":\"x\"},\n{\"id\":\"b\",\"type\":\"vague\",\"question\":\"q\"}]}");
  EXPECT_THAT(checked.errors, ElementsAre(problem("b", 3, "samples[1]", "mixed forms")));
}

TEST(GoldenSet, SaysOnWhichLineADocumentStopsBeingJson) {
  const auto checked = read_all("{\n  \"name\": \"n\",\n  \"samples\": [\n    {\"id\": \"a\" \"query\": \"q\"}\n  ]\n}\n");
  EXPECT_THAT(checked.errors, ElementsAre(problem("", 4, "", "not JSON")));
}

TEST(GoldenSet, SaysWhatItExpectsWhereTheTextIsNoSetAtAll) {
  EXPECT_THAT(read_all("[{\"id\":\"a\"}]").errors, ElementsAre(problem("", 1, "", "JSON array")));
  EXPECT_THAT(read_all("once upon a time").errors, ElementsAre(problem("", 1, "", "no golden set")));
  EXPECT_THAT(read_all("{\"name\":\"n\",\"version\":\"1\",\"sampels\":[]}\n").errors, testing::Not(IsEmpty()));
}

TEST(GoldenSet, RefusesWhatIsNotText) {
  for (const std::string& bytes : {std::string("{\"id\":\"a\"}\n\xff\xfe"), std::string("ab\0cd", 5)}) {
    const auto checked = read(bytes);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::invalid_text);
  }
}

TEST(GoldenSet, SurvivesAValueNestedWithoutEnd) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_THAT(read_all(std::string(good) + "{\"id\":\"b\",\"type\":\"vague\",\"question\":\"q\",\"more\":" + deep + "}").errors,
              ElementsAre(problem("", 2, "", "nested too deep")));
}

TEST(GoldenSet, WarnsOfQuestionsThatSayNearlyTheSame) {
  const auto item = [](const char* id, const char* question, const char* more = "") {
    return std::string("{\"id\":\"") + id + "\",\"type\":\"vague\",\"question\":\"" + question + "\"" + more + "}\n";
  };
  const auto checked = read_all(item("a", "How do I limit the memory of a running container?") + item("b", "how can I limit memory for running containers") +
                                item("c", "How do I limit the processors of a running container?") + item("d", "What is it?") + item("e", "What is it?") +
                                item("f", "What is that?") + item("g", "How do I limit the memory of a running container?", ",\"rejected\":true"));
  EXPECT_THAT(checked.errors, IsEmpty());
  EXPECT_THAT(checked.warnings, ElementsAre(problem("b", 2, "question", "the same as \"a\" on line 1"), problem("e", 5, "question", "\"d\"")))
      << "3 of 5 terms in common are not enough, stop words alone must be the same, and a rejected item asks nothing";
}

TEST(GoldenSet, WarnsOfUnknownFieldsAndKeepsThem) {
  const auto items = read_all(R"({"id":"b","type":"vague","question":"q","quesiton":"r","extra":{"mine":1}})");
  EXPECT_TRUE(items.valid());
  EXPECT_THAT(items.warnings, ElementsAre(problem("b", 1, "quesiton", "kept")));
  EXPECT_EQ(items.set.items[0].unknown, R"({"quesiton":"r"})");
  const auto samples = read_all("{\"name\":\"n\",\"version\":\"1\",\"owner\":2,\"samples\":[\n{\"id\":\"a\",\"query\":\"q\",\"expected_answer\":\"x\",\n\"level\":3,\"extra\":{\"mine\":1}}]}");
  EXPECT_TRUE(samples.valid());
  EXPECT_THAT(samples.warnings, ElementsAre(problem("", 1, "owner", "kept"), problem("a", 3, "level", "kept")));
}

TEST(GoldenSet, ReportsAsTheDocumentSays) {
  const auto report = nlohmann::json::parse(report_json(read_all("{\"name\":\"n\",\"version\":\"1\",\"samples\":[\n{\"id\":\"a\",\"query\":\"q\",\"query_type\":\"zig\"},\n"
                                                                 "{\"id\":\"b\",\"query\":\"other\",\"expected_answer\":\"x\",\"query_type\":\"factual\"}]}")));
  EXPECT_EQ(report["valid"], false);
  EXPECT_EQ(report["name"], "n");
  EXPECT_EQ(report["version"], "1");
  EXPECT_EQ(report["counts"]["items"], 2);
  EXPECT_EQ(report["counts"]["answerable"], 2);
  EXPECT_EQ(report["counts"]["query_types"], (nlohmann::json{{"factual", 1}, {"zig", 1}}));
  ASSERT_EQ(report["errors"].size(), 1U);
  EXPECT_EQ(report["errors"][0]["item"], "a");
  EXPECT_EQ(report["errors"][0]["line"], 2);
  EXPECT_EQ(report["errors"][0]["field"], "relevant_chunk_ids");
  EXPECT_TRUE(report["errors"][0]["message"].is_string());
  EXPECT_EQ(report["warnings"], nlohmann::json::array());
}

TEST(GoldenSet, TakesAReportedSetWithoutALineOrName) {
  const auto report = nlohmann::json::parse(report_json(read_all("")));
  EXPECT_EQ(report["name"], nullptr);
  EXPECT_EQ(report["errors"][0]["line"], nullptr);
}

TEST(GoldenDigest, ChangesWithWhatAnEvaluationUsesAndWithNothingElse) {
  const auto base = parse(R"({"id":"a","type":"answerable","question":"q","relevant_chunk_ids":["p#000","p#001"],"reference_answer":"r"})");
  ASSERT_TRUE(base);
  const auto with = [&](auto change) {
    Set set = *base;
    change(set);
    return digest(set);
  };
  const std::string original = digest(*base);
  EXPECT_EQ(with([](Set& set) { set.items[0].notes = "n"; set.items[0].verified = true; set.items[0].line = 9; set.form = Form::samples; }), original);
  EXPECT_EQ(with([](Set& set) { std::swap(set.items[0].relevant_chunk_ids[0], set.items[0].relevant_chunk_ids[1]); }), original) << "gold is a set";
  EXPECT_NE(with([](Set& set) { set.items[0].question = "q?"; }), original);
  EXPECT_NE(with([](Set& set) { set.items[0].reference_answer += "."; }), original);
  EXPECT_NE(with([](Set& set) { set.items[0].relevant_chunk_ids.pop_back(); }), original);
  EXPECT_NE(with([](Set& set) { set.items[0].relevance["p#000"] = 2; }), original);
  EXPECT_NE(with([](Set& set) { set.items[0].relevant_pages.push_back("p"); }), original);
  EXPECT_NE(with([](Set& set) { set.items[0].type = ItemType::vague; }), original);
  EXPECT_NE(with([](Set& set) { set.items[0].id = "b"; }), original);
  EXPECT_NE(with([](Set& set) { set.version = "2"; }), original);
}

}  // namespace
}  // namespace polygraph::golden
