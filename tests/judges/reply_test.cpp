// Replies of judges: which JSON value counts, what is an error, and where a score stands.
#include "wasm/judges/reply.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>

#include "wasm/metrics/random.hpp"

namespace polygraph::judges {
namespace {

using nlohmann::json;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::string_view nonce = "0badcafe";

JudgeReply said(std::string text) { return {std::move(text), "stop", {}}; }

std::vector<Claim> claims(std::size_t count) {
  std::vector<Claim> out;
  for (std::size_t i = 1; i <= count; ++i) out.push_back({"c" + std::to_string(i) + "-ab", "claim", ""});
  return out;
}

json verdicts(const std::vector<std::pair<std::string, json>>& list) {
  json out = {{"id", nonce}, {"verdicts", json::array()}};
  for (const auto& [id, verdict] : list) out["verdicts"].push_back({{"id", id}, {"reason", ""}, {"verdict", verdict}});
  return out;
}

std::string error_of(const auto& result) { return result ? "" : result.error().message; }

TEST(JudgeReply, IsTheLastCompleteJsonValueNotTheFirst) {
  const auto read = read_rubric(said(R"(First I thought {"id":"0badcafe","reason":"good","score":5}. But the port is wrong:
```json
{"id":"0badcafe","reason":"wrong port","score":2}
```
That is my grade.)"), nonce);
  ASSERT_TRUE(read) << error_of(read);
  EXPECT_EQ(read->stated, 2);
}

TEST(JudgeReply, AnUnfinishedValueAfterItDoesNotHideTheLastCompleteOne) {
  EXPECT_TRUE(read_rubric(said(R"({"id":"0badcafe","reason":"x","score":2} and {"id":"0badca)"), nonce));
}

TEST(JudgeReply, AnArrayWhereAnObjectWasAskedForIsAnError) {
  EXPECT_THAT(error_of(read_rubric(said(R"([{"id":"0badcafe","reason":"x","score":2}])"), nonce)), HasSubstr("is an array"));
  EXPECT_THAT(error_of(read_rubric(said(R"({"id":"0badcafe","reason":"x","score":2} [1])"), nonce)), HasSubstr("is an array"));
}

TEST(JudgeReply, CutByTheTokenLimitIsReportedAsThatEvenWhereAValueIsComplete) {
  const auto read = read_rubric({R"({"id":"0badcafe","reason":"x","score":2} On second thought)", "length", {}}, nonce);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::truncated);
  EXPECT_THAT(read.error().message, HasSubstr("token limit"));
}

TEST(JudgeReply, WithoutTheTasksIdIsSomebodyElses) {
  for (const auto* text : {R"({"reason":"x","score":5})", R"({"id":"other","reason":"x","score":5})", R"({"id":7,"reason":"x","score":5})"}) {
    EXPECT_FALSE(read_rubric(said(text), nonce)) << text;
  }
}

TEST(JudgeReply, FieldsThatWereNotAskedForOrStandTwiceAreErrors) {
  EXPECT_THAT(error_of(read_rubric(said(R"({"id":"0badcafe","reason":"x","score":2,"grade":5})"), nonce)), HasSubstr("\"grade\""));
  EXPECT_THAT(error_of(read_rubric(said(R"({"id":"0badcafe","reason":"x","score":2,"score":5})"), nonce)), HasSubstr("twice"));
  EXPECT_THAT(error_of(read_verdicts(said(R"({"id":"0badcafe","verdicts":[{"id":"c1-ab","verdict":"supported","verdict":"unsupported"}]})"), nonce, claims(1))),
              HasSubstr("twice"));
  EXPECT_TRUE(read_verdicts(said(verdicts({{"c1-ab", "supported"}, {"c2-ab", "supported"}}).dump()), nonce, claims(2))) << "the same field of two objects";
}

TEST(JudgeReply, OneVerdictForFiveStatementsIsAnError) {
  EXPECT_THAT(error_of(read_verdicts(said(verdicts({{"c1-ab", "supported"}}).dump()), nonce, claims(5))), HasSubstr("1 verdicts; 5 were asked for"));
  EXPECT_THAT(error_of(read_verdicts(said(verdicts({}).dump()), nonce, claims(5))), HasSubstr("0 verdicts"));
  EXPECT_FALSE(read_verdicts(said(verdicts({{"c1-ab", "supported"}, {"c2-ab", "supported"}}).dump()), nonce, claims(1)));
}

TEST(JudgeReply, VerdictsAreMatchedByIdNotByPlace) {
  const auto read = read_verdicts(said(verdicts({{"c2-ab", "unsupported"}, {"c1-ab", "supported"}}).dump()), nonce, claims(2));
  ASSERT_TRUE(read) << error_of(read);
  EXPECT_EQ((*read)[0].label, Label::supported);
  EXPECT_EQ((*read)[1].label, Label::unsupported);
}

TEST(JudgeReply, AnUnknownOrRepeatedIdIsAnError) {
  EXPECT_FALSE(read_verdicts(said(verdicts({{"c1-ab", "supported"}, {"c1-ab", "supported"}}).dump()), nonce, claims(2)));
  EXPECT_FALSE(read_verdicts(said(verdicts({{"c1-ab", "supported"}, {"c2-cd", "supported"}}).dump()), nonce, claims(2)));
  EXPECT_FALSE(read_verdicts(said(verdicts({{"1", "supported"}}).dump()), nonce, claims(1)));
}

TEST(JudgeReply, LabelsAreComparedWhole) {
  EXPECT_EQ((*read_verdicts(said(verdicts({{"c1-ab", "UNSUPPORTED"}}).dump()), nonce, claims(1)))[0].label, Label::unsupported);
  EXPECT_EQ((*read_verdicts(said(verdicts({{"c1-ab", " Supported\n"}}).dump()), nonce, claims(1)))[0].label, Label::supported);
  for (const auto& label : {json("not supported"), json("supported."), json("partially supported"), json("yes"), json(""), json(true), json(1)}) {
    EXPECT_FALSE(read_verdicts(said(verdicts({{"c1-ab", label}}).dump()), nonce, claims(1))) << label;
  }
}

TEST(JudgeReply, AVerdictWithoutLabelIsMissing) {
  const auto read = read_verdicts(said(R"({"id":"0badcafe","verdicts":[{"id":"c1-ab","reason":"?"},{"id":"c2-ab","verdict":null}]})"), nonce, claims(2));
  ASSERT_TRUE(read) << error_of(read);
  EXPECT_EQ((*read)[0].label, Label::missing);
  EXPECT_EQ((*read)[1].label, Label::missing);
}

TEST(JudgeReply, StatementsMustBeThereAndNotBlank) {
  EXPECT_THAT(*read_statements(said(R"({"id":"0badcafe","statements":["a","b"]})"), nonce), ElementsAre("a", "b"));
  for (const auto* list : {"[]", "[\"a\",\" \"]", "[1]", "\"a\"", "null"}) {
    EXPECT_FALSE(read_statements(said(R"({"id":"0badcafe","statements":)" + std::string(list) + "}"), nonce)) << list;
  }
  EXPECT_FALSE(read_statements(said(json({{"id", nonce}, {"statements", std::vector<std::string>(most_statements + 1, "x")}}).dump()), nonce));
}

TEST(JudgeReply, ThreeQuestionsAreThreeUnlessTheAnswerIsNoncommittal) {
  EXPECT_TRUE(read_questions(said(R"({"id":"0badcafe","noncommittal":false,"questions":["a?","b?","c?"]})"), nonce));
  EXPECT_FALSE(read_questions(said(R"({"id":"0badcafe","noncommittal":false,"questions":["a?","b?"]})"), nonce));
  EXPECT_FALSE(read_questions(said(R"({"id":"0badcafe","noncommittal":false,"questions":["a?","b?","c?","d?"]})"), nonce));
  EXPECT_TRUE(read_questions(said(R"({"id":"0badcafe","noncommittal":true,"questions":[]})"), nonce));
  EXPECT_FALSE(read_questions(said(R"({"id":"0badcafe","noncommittal":"no","questions":["a?","b?","c?"]})"), nonce));
}

TEST(JudgeReply, AScoreIsAWholeNumberFromOneToFive) {
  for (const auto* score : {"0", "6", "4.5", "\"4\"", "null", "-1", "1e9"}) {
    EXPECT_FALSE(read_rubric(said(R"({"id":"0badcafe","reason":"x","score":)" + std::string(score) + "}"), nonce)) << score;
  }
  EXPECT_EQ(read_rubric(said(R"({"id":"0badcafe","reason":"x","score":4.0})"), nonce)->stated, 4);
}

TEST(JudgeReply, AConfidenceOutsideOfZeroToOneIsNone) {
  EXPECT_EQ(read_rubric(said(R"({"id":"0badcafe","reason":"x","confidence":0.7,"score":4})"), nonce)->confidence, 0.7);
  for (const auto* confidence : {"7", "-0.1", "null", "\"0.5\""}) {
    EXPECT_EQ(read_rubric(said(R"({"id":"0badcafe","reason":"x","confidence":)" + std::string(confidence) + R"(,"score":4})"), nonce)->confidence, std::nullopt);
  }
}

TEST(JudgeReply, GroundedAndItsUnsupportedClaimsMustAgree) {
  const auto reply = [](const char* claims, const char* grounded) {
    return said(R"({"id":"0badcafe","reason":"x","unsupported_claims":)" + std::string(claims) + R"(,"confidence":1,"grounded":)" + grounded + "}");
  };
  EXPECT_TRUE(read_grounding(reply("[]", "true"), nonce)->grounded);
  EXPECT_THAT(read_grounding(reply("[\"a\"]", "false"), nonce)->unsupported_claims, ElementsAre("a"));
  EXPECT_FALSE(read_grounding(reply("[\"a\"]", "true"), nonce));
  EXPECT_FALSE(read_grounding(reply("[]", "false"), nonce));
  EXPECT_FALSE(read_grounding(reply("[]", "\"true\""), nonce));
}

// Token probabilities: natural logarithms.
ReplyToken token(std::string text, std::vector<std::pair<std::string, double>> probabilities = {}) {
  for (auto& [name, p] : probabilities) p = std::log(p);
  return {std::move(text), std::move(probabilities)};
}

TEST(ExpectedScore, IsTheMeanOverScoreTokensOfOnePercentAndMore) {
  // (4·0.6 + 5·0.3 + 3·0.05) / 0.95; "2" has 0.5 %, "{" and "45" are no scores.
  EXPECT_THAT(expected_score(token("4", {{"4", 0.6}, {" 5", 0.3}, {"3", 0.05}, {"2", 0.005}, {"{", 0.03}, {"45", 0.01}})), Optional(DoubleNear(4.05 / 0.95, 1e-12)));
  EXPECT_EQ(expected_score(token("4", {{"4", 0.009}})), std::nullopt);
  EXPECT_EQ(expected_score(token("4")), std::nullopt);
}

TEST(ExpectedScore, OfFiguresThatAreNoProbabilitiesIsNone) {
  EXPECT_EQ(expected_score({"4", {{"4", 0.5}}}), std::nullopt) << "a positive logarithm";
  EXPECT_EQ(expected_score({"4", {{"4", std::nan("")}}}), std::nullopt);
  EXPECT_EQ(expected_score(token("4", {{"4", 0.9}, {"5", 0.9}})), std::nullopt) << "sum over 1";
}

TEST(ExpectedScore, IsTakenAtTheLastPlaceWhereTheScoreStands) {
  JudgeReply reply;
  reply.tokens = {token("{\"id\":\"0badcafe\",\"reason\":\"of "), token("4", {{"4", 1.0}}), token(" ports, 4 are right\",\"score\": "), token("4", {{"4", 0.5}, {"2", 0.5}}),
                  token("} done, "), token("4", {{"4", 1.0}})};
  for (const auto& each : reply.tokens) reply.text += each.text;
  const auto read = read_rubric(reply, nonce);
  ASSERT_TRUE(read) << error_of(read);
  EXPECT_EQ(read->stated, 4);
  EXPECT_TRUE(read->weighted);
  EXPECT_NEAR(read->score, 3.0, 1e-12) << "of the field, not of the prose before or behind it";
}

TEST(ExpectedScore, WithOtherTokensThanTheTextIsTakenAtTheLastTokenThatIsTheScore) {
  JudgeReply reply = said(R"({"id":"0badcafe","reason":"x","score":4})");
  reply.tokens = {token("hidden "), token("4", {{"4", 1.0}}), token("{...\"score\":"), token(" 4", {{"4", 0.75}, {"3", 0.25}}), token("}")};
  EXPECT_NEAR(read_rubric(reply, nonce)->score, 3.75, 1e-12);
}

TEST(ExpectedScore, WithoutATokenOfItsOwnTheStatedScoreCounts) {
  JudgeReply reply;
  reply.tokens = {token("{\"id\":\"0badcafe\",\"reason\":\"x\",\"score\""), token(":4}", {{":4}", 1.0}})};
  for (const auto& each : reply.tokens) reply.text += each.text;
  EXPECT_FALSE(read_rubric(reply, nonce)->weighted);
  EXPECT_EQ(read_rubric(reply, nonce)->score, 4);
}

TEST(LastJson, IsFoundInTheMidstOfAnyProse) {
  // Prose without a bracket that could open or swallow a value after it, and any prose before it.
  constexpr std::string_view before_bytes = "ab \"\\{}[],:0.n\n\xC3\xA9'`", behind_bytes = "ab \"\\}],:0.n\n\xC3\xA9'`";
  metrics::Random random(20261201);
  const auto prose = [&](std::string_view bytes, std::size_t longest) {
    std::string out;
    for (auto length = random.below(longest); length > 0; --length) out += bytes[random.below(bytes.size())];
    return out;
  };
  std::size_t found = 0;
  for (int round = 0; round < 5'000; ++round) {
    const std::string value = json({{"id", nonce}, {"reason", prose("ab{}[]\"\\,: ", 12)}, {"list", {1, -2.5e3, true, nullptr, prose("{[\"", 3)}}}).dump();
    const std::string before = prose(before_bytes, 30);
    const std::string text = before + value + prose(behind_bytes, 30);
    const auto span = last_json(text);
    ASSERT_TRUE(span) << text;
    const std::string read = text.substr(span->begin, span->end - span->begin);
    ASSERT_TRUE(json::accept(read)) << read;
    // Before it an open bracket of prose may make one larger value of it, never a smaller or an earlier one.
    ASSERT_LE(span->begin, before.size()) << text;
    ASSERT_GE(span->end, before.size() + value.size()) << text;
    if (span->begin == before.size()) ++found;
  }
  EXPECT_GT(found, 4'500U);
}

TEST(LastJson, AgreesWithAJsonParserAboutWhatAValueIs) {
  for (const auto* text : {"{}", "[]", "[1,2]", "[01]", "[1.]", "[.5]", "[1e5]", "[1e]", "[-]", "[-0]", "[+1]", "{\"a\":}", "{\"a\" 1}", "{a:1}", "{\"a\":1,}", "[1,]", "[,1]",
                           "[\"\\u12g4\"]", "[\"\\u12f4\"]", "[\"\\x\"]", "[\"a\nb\"]", "[true]", "[tru]", "[nul]", "[null]", "{\"a\":{\"b\":[{}]}}", "[\"", "[[]", "[ 1 , 2 ]", "{ }"}) {
    const auto span = last_json(text);
    const bool whole = span && span->begin == 0 && span->end == std::string_view(text).size();
    EXPECT_EQ(whole, json::accept(text)) << text;
  }
}

TEST(LastJson, OfNothingButBracketsEndsSoon) {
  // Quadratic work over this much would take minutes.
  for (const std::string part : {"[", "{", "[[1],", "{\"\":", "[\"", "[{\"a\":[", "[ "}) {
    std::string text;
    while (text.size() < 200'000) text += part;
    last_json(text);
  }
  SUCCEED();
}

}  // namespace
}  // namespace polygraph::judges
