#include "wasm/gaps/gaps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wasm/text/utf8.hpp"

namespace polygraph::gaps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const Page run_page{"Run", "https://docs.example/run"}, log_page{"Logs", "https://docs.example/logs"};

std::vector<Refusal> some() {
  return {{"How do I ship logs to Loki?", "2026-11-03", "no page says it", "not there: loki", {log_page, run_page}},
          {"how do I ship  logs to loki", "2026-11-01", "no page says it", "", {log_page}},
          {"Loki as log target?", "2026-11-09", "declined", "", {run_page}},
          {"Is there a FreeBSD build?", "", "no page says it", "", {}}};
}

std::vector<Gap> gaps_of_some() {
  const auto refusals = some();
  const auto questions = distinct_questions(refusals);
  return gaps_of(refusals, questions, {{0, 1}, {2}}, [](std::uint32_t a, std::uint32_t b) { return a == b ? 1.0 : 0.8; });
}

TEST(Gaps, CaseBlanksAndEndPunctuationDoNotMakeAnotherQuestion) {
  const auto questions = distinct_questions(some());
  ASSERT_EQ(questions.size(), 3U);
  EXPECT_EQ(questions[0].text, "How do I ship logs to Loki?") << "as it was asked first";
  EXPECT_EQ(questions[0].count, 2U);
  EXPECT_EQ(questions[0].first_seen, "2026-11-01");
  EXPECT_EQ(questions[0].last_seen, "2026-11-03");
  EXPECT_THAT(questions[0].refusals, ElementsAre(0, 1));
}

TEST(Gaps, AGroupSaysHowOftenSinceWhenWhyAndWhatWasFoundInstead) {
  const auto gaps = gaps_of_some();
  ASSERT_EQ(gaps.size(), 2U);
  const Gap& loki = gaps[0];
  EXPECT_EQ(loki.count, 3U);
  EXPECT_EQ(loki.label, "Loki as log target?") << "the one most like the others, each as often as it was asked";
  EXPECT_EQ(loki.first_seen, "2026-11-01");
  EXPECT_EQ(loki.last_seen, "2026-11-09");
  ASSERT_EQ(loki.reasons.size(), 2U);
  EXPECT_EQ(loki.reasons[0].thing, "no page says it");
  EXPECT_EQ(loki.reasons[0].count, 2U);
  ASSERT_EQ(loki.closest.size(), 2U);
  EXPECT_EQ(loki.closest[0].count, 2U);
  EXPECT_EQ(gaps[1].first_seen, "");
  EXPECT_EQ(gaps[1].kind, Kind::unknown);
}

TEST(Gaps, TheLabelIsTheQuestionInTheMiddle) {
  std::vector<Refusal> refusals;
  for (const char* text : {"a", "b", "c"}) refusals.push_back({text, {}, {}, {}, {}});
  const auto questions = distinct_questions(refusals);
  const double likeness[3][3] = {{1, 0.9, 0.5}, {0.9, 1, 0.9}, {0.5, 0.9, 1}};
  const auto gaps = gaps_of(refusals, questions, {{0, 1, 2}}, [&](std::uint32_t a, std::uint32_t b) { return likeness[a][b]; });
  EXPECT_EQ(gaps[0].label, "b");
  EXPECT_EQ(gaps[0].questions[0].thing, "b");
}

TEST(Gaps, TheOrderIsByCountThenQuestionsThenTheLatestThenLabel) {
  std::vector<Refusal> refusals;
  const auto ask = [&](const char* text, const char* day) { refusals.push_back({text, day, {}, {}, {}}); };
  ask("z", "2026-01-01"), ask("y", "2026-01-02"), ask("x", "2026-01-01"), ask("w", ""), ask("w", ""), ask("v", ""), ask("u", "");
  const auto questions = distinct_questions(refusals);
  const auto gaps = gaps_of(refusals, questions, {{0}, {1}, {2}, {3}, {4, 5}}, [](std::uint32_t, std::uint32_t) { return 1.0; });
  std::vector<std::string> labels;
  for (const auto& gap : gaps) labels.push_back(gap.label);
  EXPECT_THAT(labels, ElementsAre("v", "w", "y", "x", "z"));
}

Report report_of_some() {
  Report report;
  report.corpus = "Docs";
  report.index_digest = "xxh128:00";
  report.asked = 9;
  report.refused = 4;
  report.distinct = 3;
  report.gaps = gaps_of_some();
  report.gaps[0].kind = Kind::near_miss;
  report.gaps[0].nearness = {0.7, Measure::meaning};
  report.gaps[1].kind = Kind::out_of_scope;
  return report;
}

TEST(Gaps, TheTerminalShowsThemWithinEightyColumnsAndWithoutControlCharacters) {
  Report report = report_of_some();
  report.gaps[0].label = "A very long question " + std::string(200, 'x') + "\x1b[2J\n> with \xe2\x80\xae tricks";
  const auto text = to_text(report, 1, {});
  EXPECT_THAT(text, HasSubstr("9 questions asked, 4 refused: 2 gaps (1 near miss, 1 out of scope)."));
  EXPECT_THAT(text, HasSubstr("found: Logs https://docs.example/logs"));
  EXPECT_THAT(text, HasSubstr("1 more gap; --top shows more"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
  for (std::size_t start = 0; start < text.size();) {
    const auto end = text.find('\n', start);
    ASSERT_NE(end, std::string::npos);
    EXPECT_LE(text::code_points(text.substr(start, end - start)), 80U) << text.substr(start, end - start);
    start = end + 1;
  }
}

TEST(Gaps, MarkdownHoldsTextFromOutsideAsText) {
  Report report = report_of_some();
  report.gaps[0].closest[0].thing.title = "[x](javascript:alert(1))|<img src=x>\n# heading";
  const auto markdown = to_markdown(report);
  EXPECT_THAT(markdown, HasSubstr("\\[x\\]\\(javascript\\:alert\\(1\\)\\)\\|\\<img src=x\\> \\# heading"));
  EXPECT_THAT(markdown, HasSubstr("## Loki as log target?"));
}

TEST(Gaps, NoRefusalsAreNoGaps) {
  Report report;
  report.asked = 2;
  EXPECT_THAT(to_text(report, 20, {}), HasSubstr("2 questions asked, 0 refused: 0 gaps."));
  EXPECT_TRUE(gaps_of({}, {}, {}, nullptr).empty());
}

}  // namespace
}  // namespace polygraph::gaps
