#include "wasm/json/writer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace polygraph::json {
namespace {

template <class Write>
std::string written(unsigned indent, Write&& write) {
  std::string out;
  {
    Writer writer([&](std::string_view piece) { out += piece; }, indent);
    write(writer);
  }
  return out;
}

void sample(Writer& writer) {
  writer.begin_object();
  writer.field("a", 0.1);
  writer.field("b", "x\"\\\n\x01");
  writer.key("c").begin_array();
  writer.value(true);
  writer.null();
  writer.count(7);
  writer.begin_object();
  writer.end_object();
  writer.end_array();
  writer.key("d").raw("{ \"e\" :[1 ,{\"f\":\"g : {\\\"\" } ,[] ] }");
  writer.key("h").begin_array();
  writer.end_array();
  writer.field("i", std::optional<double>());
  writer.end_object();
}

TEST(JsonWriter, WritesOnOneLine) {
  EXPECT_EQ(written(0, sample), R"({"a":0.1,"b":"x\"\\\n\u0001","c":[true,null,7,{}],"d":{"e":[1,{"f":"g : {\""},[]]},"h":[],"i":null})");
}

TEST(JsonWriter, IndentsLikeEveryOtherDocument) {
  const std::string text = written(2, sample);
  EXPECT_EQ(text, nlohmann::ordered_json::parse(text).dump(2));
}

TEST(JsonWriter, SpellsNumbersSoThatTheyReadBackTheSame) {
  EXPECT_EQ(to_text(5), "5.0");
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(1e30), "1e+30");
  EXPECT_EQ(to_text(1.0 / 3), "0.3333333333333333");
}

}  // namespace
}  // namespace polygraph::json
