// diagnose, compare and history as people and scripts meet them.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"

namespace polygraph::cli::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Diagnose : public ProgramTest {
 protected:
  /// `n` results as JSON Lines; of the last `wrong` nothing expected was retrieved.
  static std::string results(int n, int wrong = 0) {
    std::string out;
    for (int i = 0; i < n; ++i) {
      out += nlohmann::json({{"query_id", "q" + std::to_string(i)}, {"query", "Why?"}, {"expected_chunk_ids", {"a"}},
                             {"retrieved_chunks", {{{"id", i < n - wrong ? "a" : "x"}, {"text", "t"}}}}, {"latency", {{"retrieval_ms", 20}}}})
                 .dump() +
             "\n";
    }
    return out;
  }
  fs::path kept(const char* kind) const { return folder() / "home" / kind; }
  static std::vector<fs::path> files(const fs::path& in) {
    std::vector<fs::path> out;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(in, error)) out.push_back(entry.path());
    return out;
  }
};

TEST_F(Diagnose, ExplainsResultsInWordsAndAsJson) {
  const auto file = write("some results.jsonl", results(4, 1));
  const auto text = run({"diagnose", file});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("4 queries: 3 passed, 1 failed."));
  EXPECT_THAT(text.out, HasSubstr("WRONG_CHUNK_RETRIEVED"));
  EXPECT_THAT(text.out, Not(HasSubstr("\x1b")));
  const auto json = run({"diagnose", file, "--json"});
  const auto document = one_json(json.out);
  EXPECT_EQ(schema_errors(document, "diagnosis"), "");
  EXPECT_EQ(document["failed_queries"], 1);
  EXPECT_EQ(document["important_queries"][0]["query_id"], "q3");
}

TEST_F(Diagnose, ReadsStdin) {
  const auto found = run({"diagnose", "-", "--json"}, {.input = results(2)});
  EXPECT_EQ(found.status, 0) << found.err;
  EXPECT_EQ(one_json(found.out)["passed_queries"], 2);
}

TEST_F(Diagnose, SaysFileFieldAndIdOfWhatItCantReadAndNothingOnStdout) {
  const auto file = write("bad.jsonl", results(1) + R"({"query_id":"q9","query":"?","latency":{"retrieval_ms":"fast"}})" + "\n");
  const auto found = run({"diagnose", file, "--json"});
  EXPECT_EQ(found.status, 3);
  EXPECT_EQ(found.out, "");
  EXPECT_THAT(found.err, HasSubstr("bad.jsonl:2: latency.retrieval_ms: query \"q9\": expected a number, found a string"));
  EXPECT_EQ(run({"diagnose", folder() / "missing.json"}).status, 3);
  EXPECT_EQ(run({"diagnose", write("other.json", "{\"pipeline_a_report\":{}}")}).status, 3);
  EXPECT_EQ(run({"diagnose"}).status, 2);
}

TEST_F(Diagnose, KeepsWhatItDiagnosedTwice) {
  EXPECT_EQ(run({"diagnose", write("r.jsonl", results(3))}).status, 0);
  const auto latest = one_json(read(kept("diagnoses") / "latest.json"));
  EXPECT_EQ(schema_errors(latest, "evaluation_report"), "");
  EXPECT_EQ(latest["results"].size(), 3U);
  EXPECT_THAT(read(kept("diagnoses") / "latest.json"), HasSubstr("\n  \"total_queries\": 3,"));
  EXPECT_THAT(read(kept("diagnoses") / "latest.md"), HasSubstr("# Diagnosis"));
  const auto history = files(kept("diagnoses") / "history");
  ASSERT_EQ(history.size(), 2U);
  for (const auto& one : history) EXPECT_THAT(one.filename().string(), testing::MatchesRegex("[0-9]{8}_[0-9]{6}_[0-9a-f]{6}\\.(json|md)"));
  EXPECT_EQ(files(kept("diagnoses")).size(), 3U) << "nothing half-written is left";
}

TEST_F(Diagnose, GivesItsResultWhereNothingCanBeKept) {
  write("home", "a file where the folder should be");
  const auto found = run({"diagnose", write("r.jsonl", results(3)), "--json"});
  EXPECT_EQ(found.status, 0);
  EXPECT_EQ(one_json(found.out)["total_queries"], 3);
  EXPECT_THAT(found.err, HasSubstr("warning: this result is not kept"));
}

TEST_F(Diagnose, GivesItsResultWhereTheDiskIsFull) {
  const auto found = run({"diagnose", write("r.jsonl", results(300)), "--json"}, {.stdout_path = "/dev/null", .max_file_bytes = 4096});
  EXPECT_EQ(found.status, 0);
  EXPECT_THAT(found.err, HasSubstr("warning: this result is not kept"));
  for (const auto& one : files(kept("diagnoses") / "history")) ADD_FAILURE() << one << " is left";
}

TEST_F(Diagnose, ComparesKeptResultsByName) {
  EXPECT_EQ(run({"diagnose", write("good.jsonl", results(10))}).status, 0);
  EXPECT_EQ(run({"diagnose", write("worse.jsonl", results(10, 4))}).status, 0);
  const auto found = run({"compare", "--report-a", "HEAD~1", "--report-b", "latest", "--json"});
  ASSERT_EQ(found.status, 0) << found.err;
  const auto document = one_json(found.out);
  EXPECT_EQ(schema_errors(document, "comparison_report"), "");
  EXPECT_EQ(document["winner_side"]["overall"], "A");
  EXPECT_EQ(document["regression_analysis"]["verdict"], "quality");
  EXPECT_TRUE(fs::exists(kept("comparisons") / "latest.json"));
  const auto gone = run({"compare", "--report-a", "HEAD~9", "--report-b", "latest"});
  EXPECT_EQ(gone.status, 3);
  EXPECT_THAT(gone.err, HasSubstr("2 results are kept"));
}

TEST_F(Diagnose, FailsOnARegressionOnlyWhenAsked) {
  const auto good = write("good.jsonl", results(10)), worse = write("worse.jsonl", results(10, 4));
  EXPECT_EQ(run({"compare", "--report-a", good, "--report-b", worse}).status, 0);
  EXPECT_EQ(run({"compare", "--report-a", good, "--report-b", worse, "--fail-on-regression"}).status, 1);
  EXPECT_EQ(run({"compare", "--report-a", worse, "--report-b", good, "--fail-on-regression"}).status, 0);
  EXPECT_EQ(run({"compare", "--report-a", good}).status, 2);
}

TEST_F(Diagnose, TakesTheResultsBesideAReportThatHasNone) {
  const auto report = write("ragdiag.json", R"({"dataset_name":"d","pipeline_name":"mine","total_queries":4,"completed_queries":4,"retrieval":{"k":5}})");
  const auto found = run({"compare", "--report-a", report, "--results-a", write("a.jsonl", results(4)), "--report-b", write("b.jsonl", results(4, 2)), "--json"});
  ASSERT_EQ(found.status, 0) << found.err;
  const auto document = one_json(found.out);
  EXPECT_EQ(document["pipeline_a_name"], "mine");
  EXPECT_EQ(document["query_outcomes"].size(), 4U);
  EXPECT_EQ(one_json(run({"compare", "--report-a", report, "--report-b", report, "--json"}).out)["warnings"][0], "no_query_results");
}

TEST_F(Diagnose, ListsPrunesAndPlotsItsHistory) {
  for (int wrong = 0; wrong < 3; ++wrong) EXPECT_EQ(run({"diagnose", write("r.jsonl", results(4, wrong))}).status, 0);
  auto listed = one_json(run({"history", "list", "diagnoses", "--json"}).out);
  ASSERT_EQ(listed["diagnoses"].size(), 3U);
  EXPECT_EQ(listed["diagnoses"][1]["name"], "HEAD~1");
  const auto trend = one_json(run({"history", "trend", "--json"}).out);
  ASSERT_EQ(trend.size(), 3U);
  EXPECT_EQ(trend[0]["recall"], 1.0);
  EXPECT_EQ(trend[2]["recall"], 0.5);
  EXPECT_THAT(run({"history", "trend"}).out, HasSubstr("recall"));
  EXPECT_EQ(run({"history", "prune", "diagnoses", "--keep", "1"}).status, 0);
  listed = one_json(run({"history", "list", "--json"}).out);
  EXPECT_EQ(listed["diagnoses"].size(), 1U);
  EXPECT_EQ(files(kept("diagnoses") / "history").size(), 2U);
}

}  // namespace
}  // namespace polygraph::cli::test
