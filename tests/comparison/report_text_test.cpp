// Text and Markdown of diagnoses and comparisons.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/diagnosis/plain_rules.hpp"
#include "wasm/report/comparison_text.hpp"
#include "wasm/report/diagnosis_text.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::report {
namespace {

void expect_fits(const std::string& text) {
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    EXPECT_LE(text::code_points(line), columns) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
    start = end + 1;
  }
}

TEST(ReportText, FitsEightyColumnsWhateverTheNamesAre) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 30; ++round) {
    plain::Json a = plain::random_file(random, 20, std::string(100, 'n') + "\x1b[31m"), b = plain::random_file(random, 20, "é\nü");
    b["k"] = a["k"];
    for (auto* file : {&a, &b}) {
      for (auto& one : (*file)["results"]) {
        one["query_id"] = one["query_id"].get<std::string>() + std::string(120, 'x');
        one["query"] = "a question with a_word_that_is_far_longer_than_the_line_of_eighty_columns_in_which_it_is_to_be_printed_for_people and more";
      }
    }
    const std::string text_a = a.dump(), text_b = b.dump();
    const auto left = diagnosis::read_document(text_a), right = diagnosis::read_document(text_b);
    ASSERT_TRUE(left && right);
    expect_fits(diagnosis_text(left->report));
    const auto compared = comparison::compare(*left, *right);
    ASSERT_TRUE(compared);
    expect_fits(comparison_text(*compared));
  }
}

TEST(ReportText, UsesNoColourUnlessItIsGiven) {
  const auto document = diagnosis::read_document("[{\"query_id\":\"a\",\"query\":\"q\",\"status\":\"failed\"}]");
  EXPECT_EQ(diagnosis_text(document->report).find('\x1b'), std::string::npos);
  EXPECT_NE(diagnosis_text(document->report, {"\x1b[1m", "", "", "\x1b[31m", "\x1b[0m"}).find("\x1b[31mUNKNOWN"), std::string::npos);
}

TEST(ReportMarkdown, EscapesNamesAndIds) {
  const auto document = diagnosis::read_document(R"([{"query_id":"a|b","query":"<img src=x> `x` [y](z)\nnew","status":"failed","error":"*"}])");
  const std::string text = diagnosis_markdown(document->report);
  EXPECT_NE(text.find("a\\|b"), std::string::npos);
  EXPECT_NE(text.find("\\<img src=x\\>"), std::string::npos) << text;
  EXPECT_EQ(text.find("[y](z)"), std::string::npos);
}

TEST(Layout, PadsAndCutsByCodePoints) {
  EXPECT_EQ(left("é", 3), "é  ");
  EXPECT_EQ(right("é", 3), "  é");
  EXPECT_EQ(shortened("äöü", 2), "ä…");
  EXPECT_EQ(fixed(0.5, 3), "0.500");
  EXPECT_EQ(fixed(12.0, 0), "12");
  EXPECT_EQ(signed_fixed(0.12, 1), "+0.1");
  EXPECT_EQ(signed_fixed(-0.00001, 2), "0.00");
  EXPECT_EQ(fixed(std::nullopt, 2), "—");
}

}  // namespace
}  // namespace polygraph::report
