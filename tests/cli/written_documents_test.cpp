// The documents that evaluation writes, against their published JSON Schemas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"

namespace polygraph::cli::test {
namespace {

using nlohmann::json;
using ::testing::Not;

constexpr const char* items =
    R"({"id":"soup","type":"answerable","question":"At what temperature is the fish soup kept?","reference_answer":"65 degrees","relevant_chunk_ids":["galley/soup#000"],"pool_ids":["galley/soup#000"],"should_refuse":false}
{"id":"tax","type":"unanswerable","question":"What is the income tax rate of Portugal?","should_refuse":true}
)";

const std::filesystem::path source = POLYGRAPH_SOURCE_DIR;

/// That the document fits, and that it would not without any of its required fields.
void expect_fits(const json& document, const std::string& schema, const std::vector<std::string>& required) {
  EXPECT_EQ(schema_errors(document, schema), "") << document.dump().substr(0, 500);
  for (const auto& field : required) {
    json without = document;
    ASSERT_EQ(without.erase(field), 1U) << schema << " lacks " << field;
    EXPECT_THAT(schema_errors(without, schema), Not("")) << schema << " does not miss " << field;
  }
}

class WrittenDocuments : public ProgramTest {
 protected:
  std::string evaluated(const std::string& name, const std::vector<std::string>& more = {}) {
    const auto file = (folder() / (name + ".jsonl")).string();
    std::vector<std::string> call = {"run", "--index", lexical_index(), "--dataset", write("golden.jsonl", items).string(), "--config", name, "--set", "RETRIEVAL_MODE=bm25",
                                     "--set", "USE_RERANKER=false", "--out", file};
    call.insert(call.end(), more.begin(), more.end());
    const auto done = run(call);
    EXPECT_EQ(done.status, 0) << done.err;
    return file;
  }
};

TEST_F(WrittenDocuments, EachLineOfARun) {
  const auto lines = json_lines(read(evaluated("full")));
  ASSERT_EQ(lines.size(), 3U);
  expect_fits(lines[0], "run", {"kind", "schema", "digest", "identity", "items", "created_at", "program"});
  for (const auto& line : {lines[1], lines[2]}) {
    expect_fits(line, "run", {"bytes", "item", "golden", "result", "judgement", "repeat", "finished_at", "check"});
    EXPECT_EQ(schema_errors(line["golden"], "golden_items"), "");
    EXPECT_EQ(schema_errors(line["result"], "query_result"), "");
    EXPECT_EQ(schema_errors(line["result"]["trace"]), "");
  }
  EXPECT_EQ(schema_errors(json_lines(read(evaluated("tuned", {"--shard", "1/2"})))[0], "run"), "");
}

TEST_F(WrittenDocuments, AnEvaluation) {
  const auto shown = run({"report", evaluated("full"), "--json"});
  const auto evaluation = one_json(shown.out);
  expect_fits(evaluation, "evaluation_report", {"dataset_name", "retrieval", "diagnosis_counts", "health_profile"});
  for (const auto* field : {"metrics", "golden", "judge", "complete", "unjudged", "generation_latency"}) EXPECT_TRUE(evaluation.contains(field)) << field;
  json wrong = evaluation;
  wrong["metrics"]["recall@4"].erase("n");
  EXPECT_THAT(schema_errors(wrong, "evaluation_report"), Not(""));
  for (const auto& result : evaluation["results"]) EXPECT_EQ(schema_errors(result, "query_result"), "");
}

TEST_F(WrittenDocuments, Thresholds) {
  const auto made = run({"gate", "--make-thresholds", evaluated("full")});
  expect_fits(one_json(made.out), "thresholds", {"kind", "schema", "subset", "source", "margin", "min", "max"});
  expect_fits(json::parse(read(source / "assets/golden/docker-doc.thresholds.json")), "thresholds", {});
}

TEST_F(WrittenDocuments, AMatrixOnItsPage) {
  if (!std::filesystem::exists(source / "dist/report.html")) GTEST_SKIP() << "dist/report.html is not built: `node web/build.mjs pages`";
  const auto page = (folder() / "page.html").string();
  const auto shown = run({"report", evaluated("full"), evaluated("tuned"), "--html", page}, {.environment = {{"POLYGRAPH_DIST", (source / "dist").string()}}});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto html = read(page);
  const std::string begin = "class=\"report-data\">";
  const auto at = html.find(begin) + begin.size();
  const auto matrix = json::parse(html.substr(at, html.find("</script>", at) - at));
  expect_fits(matrix, "matrix", {"kind", "schema", "names", "reports", "ranking", "pairs"});
  for (const auto& report : matrix["reports"]) EXPECT_EQ(schema_errors(report, "evaluation_report"), "");
}

TEST_F(WrittenDocuments, JudgeLabels) {
  const json result = {{"query_id", "q"}, {"query", "How?"}, {"expected_answer", "So."}, {"generated_answer", "So."}, {"status", "completed"}, {"metrics", {{"answer_correct", true}}}};
  const auto labels = folder() / "labels.jsonl";
  const auto labelled = run({"calibrate", "label", "--results", write("results.jsonl", result.dump() + "\n").string(), "--labels", labels.string()}, {.input = "y\n"});
  EXPECT_EQ(labelled.status, 0) << labelled.err;
  const auto lines = json_lines(read(labels));
  ASSERT_EQ(lines.size(), 2U);
  expect_fits(lines[0], "judge_labels", {"kind", "schema", "metric", "seed", "ids"});
  expect_fits(lines[1], "judge_labels", {"id", "label", "answer_digest", "labelled_at"});
}

TEST_F(WrittenDocuments, TheShippedGoldenSetsAndTheirReviews) {
  for (const auto* name : {"docker-doc", "fastify"}) {
    const auto file = source / "assets/golden" / name;
    for (const auto& item : json_lines(read(file.string() + ".jsonl"))) EXPECT_EQ(schema_errors(item, "golden_items"), "") << name << ' ' << item["id"];
    expect_fits(json::parse(read(file.string() + ".review.json")), "golden_review", {"items"});
  }
}

}  // namespace
}  // namespace polygraph::cli::test
