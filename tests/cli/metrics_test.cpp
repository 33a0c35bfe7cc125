// `metrics`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Metrics : public ProgramTest {
 protected:
  std::string qrels = write("the qrels.txt", "q1 0 a 1\nq1 0 b 2\nq2 0 a 1\n").string();
  std::string ranked = write("run.txt", "q1 Q0 b 1 2 t\nq1 Q0 c 2 1 t\nq3 Q0 c 1 1 t\n").string();
};

TEST_F(Metrics, PrintsOneJsonValueWithMeansQueriesAndCounts) {
  const auto measured = run({"metrics", "--qrels", qrels, "--run", ranked, "--k", "5,1,5", "--json"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  const auto document = one_json(measured.out);
  EXPECT_EQ(document["k"], nlohmann::json({1, 5}));
  EXPECT_EQ(document["mean"]["recall@5"], 0.25);
  EXPECT_EQ(document["queries"]["q1"]["mrr@1"], 1.0);
  EXPECT_EQ(document["queries"].size(), 2U);
  EXPECT_EQ(document["counts"], (nlohmann::json{{"queries", 2}, {"not_in_run", 1}, {"no_relevant", 0}, {"only_in_run", 1}}));
}

TEST_F(Metrics, PrintsATableThatSaysWhatItIsOver) {
  const auto measured = run({"metrics", "--qrels", qrels, "--run", "-"}, {.input = "q1 Q0 b 1 2 t\nq3 Q0 c 1 1 t\n"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  EXPECT_THAT(measured.out, HasSubstr("recall       0.2500"));
  EXPECT_THAT(measured.out, HasSubstr("over 2 queries; 1 not in the run: 0; 1 only in the run, left out"));
  EXPECT_THAT(measured.err, HasSubstr("query q3 has no judgement"));
}

TEST_F(Metrics, NamesFileLineAndColumnOfBadInput) {
  const auto bad = write("bad.txt", "q1 Q0 b 1 2 t\nq1 Q0 c 2 high t\n").string();
  const auto refused = run({"metrics", "--qrels", qrels, "--run", bad, "--json"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, HasSubstr("bad.txt:2"));
  EXPECT_THAT(refused.err, HasSubstr("score"));
  EXPECT_THAT(refused.err, HasSubstr("\"high\""));
  EXPECT_EQ(run({"metrics", "--qrels", "nowhere.txt", "--run", ranked}).status, 3);
}

TEST_F(Metrics, RefusesWrongUse) {
  EXPECT_EQ(run({"metrics", "--qrels", qrels}).status, 2);
  EXPECT_EQ(run({"metrics", "--qrels", qrels, "--run", ranked, "--k", "0"}).status, 2);
  EXPECT_EQ(run({"metrics", "--qrels", "-", "--run", "-"}).status, 2);
}

}  // namespace
}  // namespace polygraph::cli::test
