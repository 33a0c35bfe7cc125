// Between the two forms nothing is lost, and what is written keeps its published schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/cli/trace_schema.hpp"
#include "wasm/golden/golden_set.hpp"

namespace polygraph::golden {
namespace {

using Json = nlohmann::ordered_json;
using cli::test::schema_errors;

Json line_of(const std::string& json_lines) { return Json::parse(json_lines); }

/// Equal whatever the order of the keys.
nlohmann::json content(const std::string& text) { return nlohmann::json::parse(text); }

std::string to_samples(const std::string& text) {
  const auto set = parse(text);
  EXPECT_TRUE(set) << set.error().message << " in " << text;
  return set ? write_samples(*set) : std::string();
}
std::string to_items(const std::string& text) {
  const auto set = parse(text);
  EXPECT_TRUE(set) << set.error().message << " in " << text;
  return set ? write_items(*set) : std::string();
}

TEST(Convert, MakesASampleAnAnswerableItem) {
  const auto item = line_of(to_items(R"({"name":"n","version":"2","samples":[{"id":"a","query":"q","expected_answer":"x","relevant_chunk_ids":["p#000"],"query_type":"reasoning"}]})"));
  EXPECT_EQ(item["type"], "answerable");
  EXPECT_EQ(item["should_refuse"], false);
  EXPECT_EQ(item["question"], "q");
  EXPECT_EQ(item["reference_answer"], "x");
  EXPECT_EQ(item["relevant_chunk_ids"], Json::array({"p#000"}));
  EXPECT_EQ(item["extra"], Json::parse(R"({"query_type":"reasoning","golden_set":{"name":"n","version":"2"}})"));
}

TEST(Convert, MakesAnItemsTypeItsQueryTypeAndKeepsTheRestInExtra) {
  const auto set = Json::parse(to_samples(R"({"id":"a","type":"vague","question":"q","relevant_pages":["p"],"should_refuse":false,"notes":"n","mine":{"x":1}})"));
  EXPECT_EQ(set["samples"], Json::parse(R"([{"id":"a","query":"q","query_type":"vague","extra":{"relevant_pages":["p"],"notes":"n","mine":{"x":1}}}])"));
}

TEST(Convert, BringsFieldsBackToTheirPlaceWhateverTheyAreCalled) {
  // Each form's own names inside the other's extra, which would collide if they were only moved.
  const std::string item = R"({"id":"a","type":"vague","question":"q","query":"mine","extra":{"id":1,"query":2,"samples":3,"query_type":"zig","extra":{"question":4}}})";
  EXPECT_EQ(content(to_items(to_samples(item))), content(item));
  const std::string sample = R"({"name":"n","version":"1","samples":[{"id":"a","query":"q","expected_answer":"x","query_type":"factual","type":1,"extra":{"id":2,"question":3,"extra":{"query":4}}}]})";
  EXPECT_EQ(content(to_samples(to_items(sample))), content(sample));
}

TEST(Convert, KeepsAMissingFieldMissingANullOneNullAndAnEmptyOneEmpty) {
  const std::string item = R"({"id":"a","type":"vague","question":"q","relevant_chunk_ids":[],"kind":"","verified":false,"reviewer":null})";
  EXPECT_EQ(content(to_items(to_samples(item))), content(item));
}

TEST(Convert, TrimsASamplesStringsAndBringsAnItemsBackAsTheyWere) {
  const std::string item = R"({"id":"a ","type":"vague","question":" q\n","relevant_chunk_ids":["p","q "]})";
  const auto samples = to_samples(item);
  EXPECT_EQ(Json::parse(samples)["samples"][0]["query"], "q");
  EXPECT_EQ(Json::parse(samples)["samples"][0]["relevant_chunk_ids"], Json::array({"p", "q"}));
  EXPECT_EQ(Json::parse(to_items(samples)), Json::parse(item));
  auto changed = Json::parse(samples);
  changed["samples"][0]["query"] = "another";
  EXPECT_EQ(line_of(to_items(changed.dump()))["question"], "another");
}

TEST(Convert, LeavesOutForRagdiagWhatItRefusesAndSaysWhy) {
  const auto set = parse(R"({"name":"n","version":"1","samples":[{"id":"ok","query":"one","expected_answer":"x","relevant_chunk_ids":["p#000"],"query_type":"factual"},)"
                         R"({"id":"ids","query":"two","expected_answer":"x","query_type":"factual"},{"id":"answer","query":"three","relevant_chunk_ids":["p#000"],"query_type":"factual"},)"
                         R"({"id":"type","query":"four","expected_answer":"x","relevant_chunk_ids":["p#000"],"query_type":"zig"}]})");
  ASSERT_TRUE(set) << set.error().message;
  const auto fitting = for_ragdiag(*set);
  ASSERT_EQ(fitting.set.items.size(), 1U);
  EXPECT_EQ(fitting.set.items[0].id, "ok");
  ASSERT_EQ(fitting.left_out.size(), 3U);
  EXPECT_EQ(fitting.left_out[0].reason, "no relevant_chunk_ids");
  EXPECT_EQ(fitting.left_out[1].reason, "no expected answer");
  EXPECT_THAT(fitting.left_out[2].reason, testing::HasSubstr("\"zig\""));
}

/// Sets drawn at random: every field given or not, odd names and texts, values of every type where any is allowed.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}

  std::string items() {
    std::string out;
    for (std::size_t i = 0, n = 1 + below(5); i < n; ++i) {
      Json item = {{"id", "i" + std::to_string(i) + word()}, {"type", pick({"answerable", "vague", "unanswerable"})}, {"question", "q" + word()}};
      const bool unanswerable = item["type"] == "unanswerable";
      if (item["type"] == "answerable" || chance()) item["reference_answer"] = "r" + word();
      if (!unanswerable && chance()) {
        item["relevant_chunk_ids"] = ids();
        if (chance()) {
          const bool none = item["relevant_chunk_ids"].empty();
          item["relevance"][none ? "z" : item["relevant_chunk_ids"][0].get<std::string>()] = none ? 0 : 3;
        }
      }
      if (!unanswerable && chance()) item["relevant_pages"] = ids();
      if (chance()) item["should_refuse"] = unanswerable;
      for (const char* field : {"kind", "evidence", "source_chunk_id", "reviewer", "reviewed_at", "notes"}) {
        if (chance()) item[field] = chance() ? Json(word()) : Json(nullptr);
      }
      if (chance()) item["pool_ids"] = ids();
      if (chance()) item["chunk_digests"][word() + "k"] = word();
      if (chance()) item["verified"] = chance();
      if (chance()) item["rejected"] = false;
      fields(item, {"query", "expected_answer", "query_type", "name"});
      if (chance()) {
        Json extra = Json::object();
        fields(extra, {"id", "query", "expected_answer", "relevant_chunk_ids"});
        if (chance()) extra["query_type"] = "qt" + word();
        if (chance()) extra["extra"][pick({"id", "question", "reference_answer"})] = value();
        if (!extra.empty()) item["extra"] = extra;
      }
      // A line with query and without question would be a sample; every line here has a question.
      out += item.dump() + "\n";
    }
    return out;
  }

  std::string samples() {
    Json document = {{"name", "n" + word() + "."}, {"version", "v" + word() + "."}};
    fields(document, {"kind", "schema", "owner"});
    document["samples"] = Json::array();
    for (std::size_t i = 0, n = 1 + below(5); i < n; ++i) {
      Json sample = {{"id", "s" + std::to_string(i)}, {"query", "q" + word() + "."}, {"expected_answer", "a" + word() + "."}};
      if (chance()) sample["relevant_chunk_ids"] = Json::array({"c#001", "c#002"});
      sample["query_type"] = pick({"factual", "reasoning", "multi-hop", "vague", "answerable", "zig zag"});
      fields(sample, {"question", "type", "notes", "should_refuse"});
      if (chance()) {
        Json extra = Json::object();
        if (chance()) extra["notes"] = word();
        fields(extra, {"id", "question", "reference_answer", "mine"});
        if (chance()) extra["extra"][pick({"id", "query", "expected_answer"})] = value();
        if (!extra.empty()) sample["extra"] = extra;
      }
      document["samples"].push_back(sample);
    }
    return document.dump();
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance() { return below(2) == 0; }
  const char* pick(std::initializer_list<const char*> from) { return *(from.begin() + below(from.size())); }
  std::string word() {
    static const std::vector<std::string> parts{"a", "Z", "0", " ", "\"", "\\", "é", "漢", "😀", "|", ",", "\t", "</script>", "null", "\u2028"};
    std::string out;
    for (auto n = below(4); n > 0; --n) out += parts[below(parts.size())];
    return out;
  }
  Json ids() {
    Json out = Json::array();
    for (std::uint64_t i = 0, n = below(4); i < n; ++i) out.push_back("p" + std::to_string(i) + word());
    return out;
  }
  Json value() {
    switch (below(7)) {
      case 0: return nullptr;
      case 1: return chance();
      case 2: return static_cast<std::int64_t>(random_()) / 3;
      case 3: return static_cast<double>(below(1000)) / 7;
      case 4: return word();
      case 5: return Json::array({1, word(), Json::object()});
      default: return Json::object({{word() + "k", nullptr}, {"extra", 1}});
    }
  }
  void fields(Json& object, std::initializer_list<const char*> names) {
    for (auto n = below(3); n > 0; --n) {
      const std::string name = chance() ? pick(names) : "x" + word();
      if (!object.contains(name)) object[name] = value();
    }
  }
  std::mt19937_64 random_;
};

class Lossless : public testing::Test {
 protected:
  std::uint64_t seed_ = std::random_device{}();
};

TEST_F(Lossless, ItemsThroughSamplesAndBack) {
  Drawn drawn(seed_);
  for (int round = 0; round < 150; ++round) {
    const std::string items = drawn.items();
    SCOPED_TRACE("seed " + std::to_string(seed_) + ", round " + std::to_string(round) + ": " + items);
    const std::string back = to_items(to_samples(items));
    std::istringstream before(items), after(back);
    for (std::string a, b; std::getline(before, a);) {
      ASSERT_TRUE(std::getline(after, b));
      ASSERT_EQ(content(a), content(b));
      if (round % 10 == 0) {
        ASSERT_EQ(schema_errors(content(b), "golden_items"), "");
      }
    }
    ASSERT_EQ(to_items(to_samples(back)), back) << "the second round trip changes no byte";
    ASSERT_EQ(to_items(back), back);
    ASSERT_EQ(digest(*parse(items)), digest(*parse(to_samples(items)))) << "both forms are one set";
  }
}

TEST_F(Lossless, SamplesThroughItemsAndBack) {
  Drawn drawn(seed_);
  for (int round = 0; round < 150; ++round) {
    const std::string samples = drawn.samples();
    SCOPED_TRACE("seed " + std::to_string(seed_) + ", round " + std::to_string(round) + ": " + samples);
    const std::string back = to_samples(to_items(samples));
    ASSERT_EQ(content(samples), content(back));
    if (round % 10 == 0) {
      ASSERT_EQ(schema_errors(content(back), "golden_samples"), "");
    }
    ASSERT_EQ(to_samples(to_items(back)), back) << "the second round trip changes no byte";
    ASSERT_EQ(to_samples(back), back);
  }
}

TEST(Schemas, RefuseWhatTheProgramRefuses) {
  const auto errors = [](const char* json) { return schema_errors(nlohmann::json::parse(json), "golden_items"); };
  EXPECT_EQ(errors(R"({"id":"a","type":"answerable","question":"q"})"), "");
  EXPECT_NE(errors(R"({"id":"a","type":"maybe","question":"q"})"), "");
  EXPECT_NE(errors(R"({"id":"a","type":"unanswerable","question":"q","relevant_chunk_ids":["x"]})"), "");
  EXPECT_NE(errors(R"({"id":"a","type":"answerable","question":"q","should_refuse":true})"), "");
  EXPECT_NE(errors(R"({"id":"a","type":"vague","question":"q","verified":true,"rejected":true})"), "");
  EXPECT_NE(errors(R"({"id":"a","type":"vague","question":" "})"), "");
  EXPECT_NE(schema_errors(nlohmann::json::parse(R"({"name":"n","version":1.0,"samples":[{"id":"a","query":"q"}]})"), "golden_samples"), "");
}

}  // namespace
}  // namespace polygraph::golden
