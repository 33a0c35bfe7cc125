// compare and matrix as CI uses them: the shipped pipelines over the real index and models, held against the plain rules; stored
// documents of every kind, and those that can't be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"
#include "tests/diagnosis/plain_rules.hpp"

namespace polygraph::cli::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

// ------------------------------------------------------------------------------------------------------ shipped pipelines

class ShippedPipelines : public ProgramTest {
 protected:
  void SetUp() override {
    const char *const index = std::getenv("POLYGRAPH_TEST_INDEX"), *const models = std::getenv("POLYGRAPH_TEST_MODELS");
    if (index == nullptr || models == nullptr) GTEST_SKIP() << "POLYGRAPH_TEST_INDEX and POLYGRAPH_TEST_MODELS name no index and models; `./polygraph test` does";
    fs::create_directories(folder() / "home");
    fs::create_symlink(models, folder() / "home" / "models");
    surroundings_.environment = {{"POLYGRAPH_INDEX", index}};
    if (const char* dist = std::getenv("POLYGRAPH_DIST")) surroundings_.environment.emplace("POLYGRAPH_DIST", dist);
  }
  Outcome call(std::vector<std::string> words) {
    words.insert(words.end(), {"--limit", "6", "--json"});
    return run(words, surroundings_);
  }
  /// Results as the plain rules read them, from a run that the program kept.
  json kept_results(const std::string& pipeline) const {
    json file = {{"pipeline_name", pipeline}, {"k", 5}, {"results", json::array()}};
    for (const auto& entry : fs::directory_iterator(folder() / "home" / "runs")) {
      if (entry.path().filename().string().rfind(pipeline + "-", 0) != 0) continue;
      for (const json& line : json_lines(read(entry.path()))) {
        if (line.contains("result")) file["results"].push_back(line["result"]);
      }
    }
    EXPECT_EQ(file["results"].size(), 6U) << pipeline;
    return file;
  }
  /// What the comparison says, held against the plain rules over the runs behind it.
  void expect_by_the_rules(const json& comparison, const std::string& a, const std::string& b) const {
    json expected = plain::comparison(kept_results(a), kept_results(b));
    for (const char* field : {"metric_deltas", "diagnosis_deltas", "query_type_deltas", "query_outcomes", "queries_improved", "queries_regressed", "queries_unchanged", "winner_side",
                              "trade_off", "regression_analysis"}) {
      EXPECT_EQ(plain::difference(expected[field], comparison[field], field), "");
    }
  }

  Surroundings surroundings_;
};

TEST_F(ShippedPipelines, DenseAgainstHybridIsComparedByTheRules) {
  const auto done = call({"compare", "--pipeline-a", "dense", "--pipeline-b", "hybrid"});
  ASSERT_EQ(done.status, 0) << done.err;
  const json comparison = one_json(done.out);
  EXPECT_EQ(schema_errors(comparison, "comparison_report"), "");
  EXPECT_EQ(comparison["pipeline_a_name"], "dense");
  EXPECT_EQ(comparison["pipeline_b_name"], "hybrid");
  expect_by_the_rules(comparison, "dense", "hybrid");
  EXPECT_EQ(comparison["tests"]["latency_ms"]["n"], 6);
  EXPECT_EQ(comparison["pipeline_a_report"]["completed_queries"], 6);
  EXPECT_EQ(one_json(read(folder() / "home" / "comparisons" / "latest.json")), comparison);
}

TEST_F(ShippedPipelines, ARerankerIsSlowerAndFailsTheBuildWhereItIsNotBetterEnough) {
  const auto done = call({"compare", "--pipeline-a", "hybrid", "--pipeline-b", "hybrid_rerank", "--fail-on-regression"});
  const json comparison = one_json(done.out);
  expect_by_the_rules(comparison, "hybrid", "hybrid_rerank");
  EXPECT_EQ(comparison["winner_side"]["latency"], "A") << "ten pairs through a cross-encoder take more than 10 ms";
  EXPECT_EQ(done.status, comparison["regression_analysis"]["overall_regression"] == true ? 1 : 0) << done.err;
  // With a tolerance that no quality difference exceeds, speed decides, and the slower one fails the build.
  const auto reports = [&](const std::string& which) { return (folder() / "home" / "runs" / which).string(); };
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder() / "home" / "runs")) {
    const auto name = entry.path().filename().string();
    files[name.substr(0, name.rfind('-'))] = reports(name);
  }
  const auto equal = run({"compare", "--report-a", files["hybrid"], "--report-b", files["hybrid_rerank"], "--quality-tolerance", "1", "--fail-on-regression", "--json"}, surroundings_);
  EXPECT_EQ(one_json(equal.out)["winner_side"]["overall"], "A");
  EXPECT_EQ(one_json(equal.out)["trade_off"], "same_quality_faster");
  EXPECT_EQ(equal.status, 1);
  const auto back = run({"compare", "--report-a", files["hybrid_rerank"], "--report-b", files["hybrid"], "--quality-tolerance", "1", "--fail-on-regression", "--json"}, surroundings_);
  EXPECT_EQ(one_json(back.out)["winner_side"]["overall"], "B");
  EXPECT_EQ(back.status, one_json(back.out)["regression_analysis"]["overall_regression"] == true ? 1 : 0);
  const auto slow = run({"compare", "--report-a", files["hybrid"], "--report-b", files["hybrid_rerank"], "--quality-tolerance", "1", "--latency-tolerance-ms", "1e8", "--json"}, surroundings_);
  EXPECT_EQ(one_json(slow.out)["winner"], "TIE");
}

TEST_F(ShippedPipelines, AMatrixRanksThemAndComparesEveryPair) {
  const auto done = call({"matrix", "--pipeline", "dense", "--pipeline", "hybrid", "--pipeline", "hybrid_rerank"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto documents = json_lines(done.out);
  ASSERT_EQ(documents.size(), 4U) << "three evaluations and the matrix";
  const json& matrix = documents[3];
  EXPECT_EQ(matrix["kind"], "matrix");
  ASSERT_EQ(matrix["pairs"].size(), 3U);
  std::map<std::string, int> points;
  for (const json& pair : matrix["pairs"]) {
    const json expected = plain::comparison(kept_results(pair["a"]), kept_results(pair["b"]));
    EXPECT_EQ(pair["winner_side"], expected["winner_side"]);
    EXPECT_EQ(pair["trade_off"], expected["trade_off"]);
    EXPECT_EQ(pair["verdict"], expected["regression_analysis"]["verdict"]);
    EXPECT_EQ(pair["queries_improved"], expected["queries_improved"]);
    EXPECT_EQ(pair["tests"]["recall@5"]["n"], 6) << "every pair is tested";
    const json& overall = pair["winner_side"]["overall"];
    if (overall != "TIE") {
      points[pair[overall == "A" ? "a" : "b"]] += 1;
      points[pair[overall == "A" ? "b" : "a"]] -= 1;
    }
  }
  ASSERT_EQ(matrix["ranking"].size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const json& one = matrix["ranking"][i];
    EXPECT_EQ(one["wins"].get<int>() - one["losses"].get<int>(), points[one["pipeline"]]);
    if (i > 0) EXPECT_LE(points[one["pipeline"]], points[matrix["ranking"][i - 1]["pipeline"]]);
    // On the front stands who is beaten in nothing: quality and latency were measured of all three.
    bool beaten = false;
    for (const json& other : matrix["ranking"]) {
      beaten = beaten || (other["quality"] >= one["quality"] && other["mean_retrieval_ms"] <= one["mean_retrieval_ms"] &&
                          (other["quality"] > one["quality"] || other["mean_retrieval_ms"] < one["mean_retrieval_ms"]));
    }
    EXPECT_EQ(one["on_front"], !beaten) << one;
  }
}

// ------------------------------------------------------------------------------------------------------ stored documents

class StoredDocuments : public ProgramTest {
 protected:
  static json result(const std::string& id, bool found = true) {
    return {{"query_id", id}, {"query", "Why?"}, {"expected_chunk_ids", {"a"}}, {"retrieved_chunks", {{{"id", found ? "a" : "x"}, {"text", "t"}}}}, {"latency", {{"retrieval_ms", 20}}}};
  }
  std::string stored(const std::string& name, const json& document) const { return write(name, document.dump()).string(); }
  void expect_refused(const std::vector<std::string>& words, const std::string& message, int status = 3) {
    const auto refused = run(words);
    EXPECT_EQ(refused.status, status) << message << refused.err;
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, HasSubstr(message));
  }
};

TEST_F(StoredDocuments, ThatCanNotBeReadAreNamedWithFileFieldAndId) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "ends where results or an evaluation report should stand"},
      {"null", "expected results or an evaluation report"},
      {R"({"total_queries":1)", "cut off"},
      {R"([{"query_id":"a","query":"?"},{"query_id":"b","query":"?")", "cut off"},
      {"{\"query_id\":\"a\",\"query\":\"?\"}\n{\"query_id\":\"b\",\"que", ":2: "},
      {R"([{"query_id":"a","query":"?"},{"query_id":"a","query":"?"}])", "query_id: result 1: query id \"a\" occurs twice"},
      {R"([{"query_id":"","query":"?"}])", "query_id"},
      {R"([{"query_id":"a"}])", "query: result 0: query \"a\": is missing"},
      {R"([{"query_id":"a","query":"?","expected_chunk_ids":"a"}])", "expected_chunk_ids: result 0: query \"a\": expected an array, found a string"},
      {R"([{"query_id":"a","query":"?","latency":{"retrieval_ms":NaN}}])", "latency.retrieval_ms: result 0: query \"a\": NaN"},
      {R"([{"query_id":"a","query":"?","latency":{"retrieval_ms":1e999}}])", "latency.retrieval_ms"},
      {R"({"k":0,"results":[]})", "k: must be at least 1"},
      {R"({"k":5,"results":{}})", "results: expected an array"},
      {R"({"retrieval":{"k":0},"total_queries":1})", "retrieval.k: must be at least 1"},
      {R"({"retrieval":{"mrr":"high"}})", "retrieval.mrr: expected a number, found a string"},
      {R"({"kind":"evaluation","schema":2,"total_queries":1})", "schema: has version 2"},
      {R"({"pipeline_a_report":{},"pipeline_b_report":{}})", "is a comparison; give one of the reports it compares, or results"},
      {R"({"name":"g","version":"1","samples":[]})", "holds neither results nor an evaluation report"},
      {"\xff\xfe{}", "bad.json"},
  };
  const auto good = stored("good.json", {result("a")});
  for (const auto& [text, message] : bad) {
    const auto file = write("bad.json", text).string();
    expect_refused({"diagnose", file, "--json"}, message);
    expect_refused({"compare", "--report-a", file, "--report-b", good, "--json"}, message);
    expect_refused({"compare", "--report-a", good, "--report-b", file, "--json"}, message);
    EXPECT_THAT(run({"diagnose", file}).err, HasSubstr("bad.json"));
  }
  EXPECT_FALSE(fs::exists(folder() / "home" / "diagnoses")) << "nothing is kept of what could not be read";
}

TEST_F(StoredDocuments, OfSidesThatDoNotBelongTogetherAreRefused) {
  const auto five = stored("five.json", {{"k", 5}, {"results", {result("a")}}}), three = stored("three.json", {{"k", 3}, {"results", {result("a")}}}),
             others = stored("others.json", {{"k", 5}, {"results", {result("z")}}});
  expect_refused({"compare", "--report-a", five, "--report-b", three, "--json"}, "k: A was evaluated with K = 5, B with K = 3");
  expect_refused({"compare", "--report-a", five, "--report-b", others, "--json"}, "query_id: A and B share no query id");
  expect_refused({"compare", "--report-a", five, "--report-b", (folder() / "none.json").string()}, "none.json");
  expect_refused({"compare", "--report-a", five}, "give --report-b FILE", 2);
  expect_refused({"compare", "--pipeline-a", "dense"}, "give --pipeline-a and --pipeline-b", 2);
  expect_refused({"compare", "--report-a", five, "--report-b", five, "--quality-tolerance", "2"}, "--quality-tolerance", 2);
  expect_refused({"compare", "--report-a", five, "--report-b", five, "--latency-tolerance-ms", "-1"}, "--latency-tolerance-ms", 2);
}

TEST_F(StoredDocuments, OfGoldenSetsThatDifferAreComparedOverTheSharedIdsAndWarnedOf) {
  const auto a = stored("a.json", {{"dataset_name", "june"}, {"pipeline_name", "p"}, {"results", {result("one"), result("two", false), result("gone")}}});
  const auto b = stored("b.json", {{"dataset_name", "july"}, {"pipeline_name", "p"}, {"results", {result("two"), result("one"), result("new")}}});
  const auto done = run({"compare", "--report-a", a, "--report-b", b, "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const json comparison = one_json(done.out);
  EXPECT_EQ(comparison["warnings"], json({"items_differ", "datasets_differ"}));
  EXPECT_EQ(comparison["only_in_a"], json({"gone"}));
  EXPECT_EQ(comparison["only_in_b"], json({"new"}));
  EXPECT_EQ(comparison["pipeline_a_report"]["total_queries"], 2);
  EXPECT_EQ(comparison["winner"], "p (B)");
  const auto text = run({"compare", "--report-a", a, "--report-b", b});
  EXPECT_THAT(text.out, HasSubstr("different queries"));
  for (const auto& line : lines(text.out)) EXPECT_LE(line.size(), 82U) << line;  // a dash and a minus of three bytes each
}

TEST_F(StoredDocuments, OfRagdiagWithFieldsOfItsNextVersionAreReadAndKeptAsTheyAre) {
  const json report = {{"dataset_name", "d"}, {"pipeline_name", "theirs"}, {"total_queries", 4}, {"completed_queries", 4}, {"failed_queries", 0}, {"retrieval", {{"mean_recall_at_k", 0.75}, {"k", 5}, {"ndcg", 0.7}}},
                       {"diagnosis_counts", {{"PASS", 3}, {"WRONG_CHUNK_RETRIEVED", 1}, {"A_NEW_CATEGORY", 2}}}, {"new_field", {1, 2, {{"x", nullptr}}}}};
  const auto done = run({"diagnose", stored("theirs.json", report), "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const json diagnosis = one_json(done.out);
  EXPECT_EQ(plain::difference(report, diagnosis["report"]), "");
  EXPECT_EQ(diagnosis["failure_modes"][0]["count"], 1);
  EXPECT_TRUE(diagnosis["health_profile"]["score"].is_number());
  // A printed diagnosis is read like the report in it.
  const auto again = run({"diagnose", write("printed.json", done.out), "--json"});
  EXPECT_EQ(plain::difference(diagnosis, one_json(again.out)), "");
}

TEST_F(StoredDocuments, AreReadWithABomCarriageReturnsAndFromAPipe) {
  const std::string text = "\xef\xbb\xbf" + result("a").dump() + "\r\n\r\n" + result("b", false).dump() + "\r\n";
  const auto done = run({"diagnose", write("bom.jsonl", text), "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(one_json(done.out)["failed_queries"], 1);
  EXPECT_EQ(run({"diagnose", "-", "--json"}, {.input = text}).out, done.out);
}

TEST_F(StoredDocuments, AreWrittenWholeWhereverTheyAreWanted) {
  const auto file = stored("r.json", {result("a"), result("b", false)});
  const auto out = folder() / "d.json", markdown = folder() / "d.md";
  const auto done = run({"diagnose", file, "--json", "--out", out, "--md", markdown, "--k", "3", "--good-rank", "1", "--slow-ms", "10"});
  ASSERT_EQ(done.status, 0) << done.err;
  const json printed = one_json(done.out);
  EXPECT_EQ(one_json(read(out)), printed);
  EXPECT_EQ(one_json(read(folder() / "home" / "diagnoses" / "latest.json"))["results"], printed["report"]["results"]);
  EXPECT_EQ(printed["report"]["retrieval"]["k"], 3);
  EXPECT_EQ(printed["report"]["results"][0]["diagnosis"]["category"], "LATENCY_OUTLIER");
  EXPECT_EQ(read(markdown), read(folder() / "home" / "diagnoses" / "latest.md"));
  const auto nowhere = run({"diagnose", file, "--json", "--out", (folder() / "none" / "d.json").string()});
  EXPECT_EQ(nowhere.status, 3);
  EXPECT_THAT(nowhere.err, HasSubstr("none/d.json"));
  EXPECT_EQ(one_json(run({"diagnose", file, "--json", "--no-keep"}).out)["total_queries"], 2);
  for (const char* const wrong : {"--k", "--good-rank"}) expect_refused({"diagnose", file, wrong, "0"}, wrong, 2);
  const auto compared = run({"compare", "--report-a", file, "--report-b", out.string(), "--k", "3", "--json", "--out", (folder() / "c.json").string(), "--md", (folder() / "c.md").string(), "--no-keep"});
  ASSERT_EQ(compared.status, 0) << compared.err;
  EXPECT_EQ(one_json(read(folder() / "c.json")), one_json(compared.out));
  EXPECT_THAT(read(folder() / "c.md"), HasSubstr("**Winner: "));
  EXPECT_FALSE(fs::exists(folder() / "home" / "comparisons"));
}

}  // namespace
}  // namespace polygraph::cli::test
