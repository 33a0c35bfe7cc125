#include "wasm/json/cursor.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace polygraph::json {
namespace {

/// What the cursor says of a whole text; empty when it takes it.
std::string refusal(std::string_view text) {
  Cursor at(text);
  at.raw();
  at.finish();
  return at.failed() ? at.error().message : "";
}

TEST(JsonCursor, ReadsEveryKindOfValue) {
  Cursor at(R"({"a":"x\u00e9\ud83d\ude00\n\"","b":[1,-0.5,2.5e-3],"c":true,"d":null,"e":{"f":[]},"g":12})");
  std::string text;
  std::vector<double> numbers;
  bool flag = false, null = false;
  std::string_view rest;
  std::uint64_t count = 0;
  at.object([&](std::string_view key) {
    if (key == "a") text = at.string();
    if (key == "b") at.array([&](std::size_t) { numbers.push_back(at.number()); });
    if (key == "c") flag = at.boolean();
    if (key == "d") null = at.take_null();
    if (key == "e") rest = at.raw();
    if (key == "g") count = at.count(100);
  });
  at.finish();
  ASSERT_FALSE(at.failed()) << at.error().message;
  EXPECT_EQ(text, "x\xc3\xa9\xf0\x9f\x98\x80\n\"");
  EXPECT_EQ(numbers, (std::vector<double>{1, -0.5, 0.0025}));
  EXPECT_TRUE(flag);
  EXPECT_TRUE(null);
  EXPECT_EQ(rest, R"({"f":[]})");
  EXPECT_EQ(count, 12U);
}

TEST(JsonCursor, NamesPathAndLineOfAWrongType) {
  Cursor at("{\"chunks\": [\n {\"id\": \"a\"},\n {\"id\": 7}]}");
  at.object([&](std::string_view) {
    at.array([&](std::size_t) {
      at.object([&](std::string_view) { at.string(); });
    });
  });
  ASSERT_TRUE(at.failed());
  EXPECT_EQ(at.error().field, "chunks[1].id");
  EXPECT_EQ(at.error().line, 3U);
  EXPECT_EQ(at.error().message, "expected a string, found a number");
}

TEST(JsonCursor, StaysAtTheFirstFailure) {
  Cursor at("[true, 1]");
  int seen = 0;
  at.array([&](std::size_t) {
    at.number();
    ++seen;
  });
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(at.failed());
  EXPECT_EQ(at.number(), 0);
  EXPECT_EQ(at.string(), "");
  EXPECT_EQ(at.kind(), Kind::nothing);
}

TEST(JsonCursor, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "01", "-", "1.", "1e", "+1", ".5", "nul", "tru", "\"a",
                           "\"\\x\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"a\nb\"", "[1]]", "1 1", "]", "{\"a\":1]", "[1}", "\"\xff\"",
                           "\"\xed\xa0\x80\"", "{1:2}"}) {
    EXPECT_NE(refusal(text), "") << text;
  }
}

TEST(JsonCursor, RefusesNumbersThatADoubleCantHold) {
  EXPECT_EQ(refusal("NaN"), "NaN is not JSON");
  EXPECT_EQ(refusal("[Infinity]"), "Infinity is not JSON");
  EXPECT_EQ(refusal("-Infinity"), "-Infinity is not JSON");
  EXPECT_EQ(refusal("1e309"), "is a number beyond double: 1e309");
  EXPECT_EQ(refusal("-1.8e308"), "is a number beyond double: -1.8e308");
  EXPECT_NE(refusal(std::string(310, '9')), "");
  EXPECT_EQ(refusal("1.7976931348623157e308"), "");
  EXPECT_EQ(refusal("1e-999"), "");
  Cursor tiny("1e-999");
  EXPECT_EQ(tiny.number(), 0);
}

TEST(JsonCursor, RefusesNestingThatNobodyWrites) {
  EXPECT_EQ(refusal(std::string(max_depth, '[') + std::string(max_depth, ']')), "");
  EXPECT_NE(refusal(std::string(max_depth + 1, '[') + std::string(max_depth + 1, ']')), "");
  EXPECT_NE(refusal(std::string(1'000'000, '[')), "");
}

TEST(JsonCursor, AgreesWithAnotherReaderOnDamagedDocuments) {
  const std::string sound = R"({"a": [1, -2.5e3, 0.0, true, false, null], "b\n\u0041": {"c": "é€😀", "d": [[], {}, ""]}, "e": 1E+2})";
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int refused = 0;
  constexpr std::string_view alphabet = "{}[],:\"0123456789.eE+-\\untrfal \n\x80\xff";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = sound;
    for (auto edits = 1 + random() % 2; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = alphabet[random() % alphabet.size()]; break;
        case 1: text.erase(at, 1 + random() % 3); break;
        default: text.insert(at, 1, text[random() % text.size()]);
      }
    }
    const bool other = nlohmann::json::accept(text);
    refused += other ? 0 : 1;
    ASSERT_EQ(refusal(text).empty(), other) << text << "\n" << refusal(text);
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 19'000);
}

}  // namespace
}  // namespace polygraph::json
