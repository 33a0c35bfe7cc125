// Pipelines through the command line: every way in which one can go wrong, with its message and status, and every option that says
// how it is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"

namespace polygraph::cli::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* golden = R"({"name": "g", "version": "1", "samples": [
  {"id": "one", "query": "first", "expected_answer": "a", "relevant_chunk_ids": ["c1"], "query_type": "factual"},
  {"id": "two", "query": "second", "expected_answer": "a", "relevant_chunk_ids": ["c2"], "query_type": "reasoning"},
  {"id": "three", "query": "third", "expected_answer": "a", "relevant_chunk_ids": ["c1"], "query_type": "multi-hop"}]})";

constexpr const char* sound = R"(
def retrieve(query):
    return [{"id": "c1", "text": "t"}, {"id": "c2", "text": "t"}]

def generate(query, chunks):
    return "Sorry, I do not know." if query == "second" else "a"
)";

class PipelineRun : public ProgramTest {
 protected:
  Outcome evaluate(const std::string& pipeline, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"run", "--pipeline", pipeline, "--dataset", write("golden.json", golden), "--out", out()};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  Outcome evaluate_file(const std::string& name, const std::string& source, const std::vector<std::string>& more = {}) { return evaluate(write(name, source), more); }
  std::string out() const { return (folder() / "run.jsonl").string(); }
  /// The results of the run, by item.
  std::map<std::string, json> results() const {
    std::map<std::string, json> found;
    for (const json& line : json_lines(read(out()))) {
      if (line.contains("result")) found[line["item"]] = line["result"];
    }
    return found;
  }
  std::string error_of(const std::string& item) const {
    auto all = results();
    return all[item]["error"].is_string() ? all[item]["error"].get<std::string>() : "";
  }
};

TEST_F(PipelineRun, AFileThatDoesNotLoadIsNamedWithItsLine) {
  struct Case {
    std::string name, source, message;
  };
  for (const auto& [name, source, message] : std::vector<Case>{
           {"syntax.py", "def retrieve(query) return\n", "syntax.py:1: "},
           {"import.py", "\nimport nowhere_at_all\n", "import.py:2: "},
           {"nothing.py", "x = 1\n", "the file defines neither `pipeline` nor a function `retrieve(query)`"},
           {"number.py", "pipeline = 7\n", "number.py"},
           {"syntax.mjs", "export function retrieve( {\n", "SyntaxError"},
       }) {
    const auto refused = evaluate_file(name, source);
    EXPECT_EQ(refused.status, 3) << name << refused.err;
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, HasSubstr(message)) << name;
    EXPECT_FALSE(fs::exists(out())) << "no run is begun";
  }
}

TEST_F(PipelineRun, WhatIsNoPipelineIsRefusedWithWhatIsOne) {
  const auto status = [&](const std::string& pipeline, const char* message, const std::vector<std::string>& more = {}) {
    const auto refused = evaluate(pipeline, more);
    EXPECT_THAT(refused.err, HasSubstr(message));
    EXPECT_EQ(refused.out, "");
    return refused.status;
  };
  EXPECT_EQ(status("foo", "`foo` is no pipeline: it is `cmd:COMMAND`, a file .py, .mjs or .js, an http:// or https:// address"), 2);
  EXPECT_EQ(status("cmd: ", "cmd: is followed by no command"), 2);
  EXPECT_EQ(status("none.py", "the pipeline's file none.py is not there"), 3);
  EXPECT_EQ(status("cmd:exit 3", "the pipeline exit 3 exited with status 3 before it said hello"), 3);
  EXPECT_EQ(status(write("sound.py", sound), "--python names another", {"--python", "python-of-nowhere"}), 3);
  EXPECT_EQ(status((folder() / "sound.py").string(), "\"(\" is no regular expression", {"--refusal-pattern", "("}), 2);
  EXPECT_EQ(status((folder() / "sound.py").string(), "--config", {"--config", "full"}), 2);
  for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{{"--concurrency", "0"}, {"--call-limit", "0"}, {"--k", "0"}, {"--repeats", "0"}, {"--limit", "x"}}) {
    EXPECT_EQ(status((folder() / "sound.py").string(), option.c_str(), {option, value}), 2) << option;
  }
}

TEST_F(PipelineRun, AWrongShapeIsTheResultOfItsQuery) {
  const auto done = evaluate_file("shape.py", "def retrieve(query):\n    return [{\"id\": \"c1\"}] if query == \"second\" else [{\"id\": \"c1\", \"text\": \"t\"}]\n");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("shape: done: 3 items in " + out() + "; 1 failed, the first was two: retrieve: WrongShape: chunks[0].text"));
  auto all = results();
  EXPECT_EQ(all["one"]["status"], "completed");
  EXPECT_EQ(all["two"]["status"], "failed");
  EXPECT_THAT(error_of("two"), StartsWith("retrieve: WrongShape: chunks[0].text"));
  const auto none = evaluate_file("none.py", "def retrieve(query):\n    return None\n");
  EXPECT_EQ(none.status, 3) << "another pipeline's run is not overwritten";
  EXPECT_THAT(none.err, HasSubstr("another configuration, index or golden set"));
}

TEST_F(PipelineRun, WhatItPrintsIsKeptWithItsQueryAndDisturbsNothing) {
  const auto done = evaluate_file("noisy.py", R"(import sys
print("loading")
def retrieve(query):
    print('{"id": 1, "chunks": []}')
    print("to stderr", file=sys.stderr)
    return [{"id": "c1", "text": "t"}]
)");
  ASSERT_EQ(done.status, 0) << done.err;
  auto all = results();
  EXPECT_EQ(all["one"]["retrieved_chunks"][0]["id"], "c1");
  EXPECT_THAT(all["one"]["log"]["stderr"].get<std::string>(), HasSubstr("to stderr"));
  // A command that speaks the protocol itself and prints beside it.
  write("raw.sh", "read hello\necho loading\necho '{\"id\":0,\"name\":\"raw\",\"ops\":[\"retrieve\"]}'\ni=0\nwhile read line; do i=$((i+1)); echo stray; echo \"{\\\"id\\\":$i,\\\"chunks\\\":[]}\"; done\n");
  fs::remove(out());
  const auto raw = evaluate("cmd:sh raw.sh");
  ASSERT_EQ(raw.status, 0) << raw.err;
  EXPECT_EQ(results()["two"]["log"]["stray_stdout"], "stray");
  EXPECT_EQ(results()["two"]["log"]["stray_lines"], 1);
}

TEST_F(PipelineRun, OneThatNeverAnswersIsGivenUpAndAskedTheNext) {
  const auto begun = std::chrono::steady_clock::now();
  const auto done = evaluate_file("hang.py", "import time\ndef retrieve(query):\n    if query == \"second\":\n        time.sleep(600)\n    return [{\"id\": \"c1\", \"text\": \"t\"}]\n",
                                  {"--call-limit", "2"});
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::minutes(5));
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(error_of("two"), StartsWith("retrieve: Timeout: "));
  EXPECT_THAT(error_of("two"), HasSubstr("2 s"));
  EXPECT_EQ(results()["three"]["status"], "completed") << "by a process of its own";
}

TEST_F(PipelineRun, OneThatEndsHalfwayIsStartedAgain) {
  const auto done = evaluate_file("half.py", "import os, sys\ndef retrieve(query):\n    if query == \"second\":\n        print(\"out of memory\", file=sys.stderr)\n        os._exit(7)\n"
                                             "    return [{\"id\": \"c1\", \"text\": \"t\"}]\n");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("1 failed, the first was two: retrieve: Crash: the pipeline exited with status 7 before it replied; it wrote: out of memory"));
  EXPECT_EQ(results()["three"]["status"], "completed");
  const json diagnosis = one_json(run({"diagnose", out(), "--json"}).out);
  EXPECT_EQ(diagnosis["failed_queries"], 1);
  EXPECT_EQ(diagnosis["report"]["diagnosis_counts"]["UNKNOWN"], 1);
}

TEST_F(PipelineRun, WhereNothingCompletedTheFirstReasonIsSaid) {
  const auto done = evaluate_file("broken.py", "def retrieve(query):\n    raise ValueError(\"no index\")\n");
  EXPECT_EQ(done.status, 5);
  EXPECT_THAT(done.err, HasSubstr("3 failed, the first was one: retrieve: ValueError: no index ("));
  EXPECT_THAT(done.err, HasSubstr("broken.py:2)"));
  fs::remove(out());
  const auto nobody = evaluate("http://127.0.0.1:1/rag");
  EXPECT_EQ(nobody.status, 5);
  EXPECT_THAT(nobody.err, HasSubstr("3 failed, the first was one: retrieve: ConnectionFailed: "));
}

TEST_F(PipelineRun, ARefusalIsRecognisedByItsPattern) {
  const auto file = write("sound.py", sound);
  ASSERT_EQ(evaluate(file).status, 0);
  EXPECT_FALSE(results()["two"].contains("refused")) << "a bare string says nothing of refusing";
  const json unknown = one_json(run({"report", out(), "--json"}).out)["metrics"]["false_refusal_rate"];
  EXPECT_TRUE(unknown["value"].is_null()) << "so it is no answer, either";
  EXPECT_EQ(unknown["unscorable"], 3);
  fs::remove(out());
  ASSERT_EQ(evaluate(file, {"--refusal-pattern", "^sorry\\b"}).status, 0);
  auto all = results();
  EXPECT_EQ(all["two"]["refused"], true) << "whatever the case";
  EXPECT_EQ(all["two"]["refusal_outcome"], "false") << "the golden item has an answer";
  EXPECT_EQ(all["one"]["refused"], false);
  const json diagnosis = one_json(run({"diagnose", out(), "--json"}).out);
  EXPECT_EQ(diagnosis["report"]["results"][1]["diagnosis"]["category"], "ANSWER_INCORRECT");
  const json evaluation = one_json(run({"report", out(), "--json"}).out);
  EXPECT_DOUBLE_EQ(evaluation["metrics"]["false_refusal_rate"]["value"].get<double>(), 1.0 / 3);
}

TEST_F(PipelineRun, OptionsSayWhatIsAsked) {
  const auto file = write("counting.py", R"(
import os
def retrieve(query, k=5):
    with open("asked", "a") as asked:
        asked.write("%s %d\n" % (query, k))
    return [{"id": "c%d" % i, "text": "t"} for i in range(9)][:k]
)");
  const auto asked = [&](const std::vector<std::string>& more) {
    fs::remove(folder() / "asked");
    const auto done = evaluate(file, more);
    EXPECT_EQ(done.status, 0) << done.err;
    return lines(read(folder() / "asked"));
  };
  EXPECT_THAT(asked({"--fresh", "--k", "2", "--limit", "1"}), ElementsAre("first 2"));
  EXPECT_EQ(results()["one"]["metrics"]["recall_at_2"], 1.0);
  EXPECT_FALSE(results()["one"]["metrics"].contains("recall_at_5"));
  fs::remove(out());
  EXPECT_THAT(asked({"--ids", write("ids", "three\none\n")}), ElementsAre("first 5", "third 5"));
  fs::remove(out());
  EXPECT_EQ(asked({"--repeats", "3", "--limit", "2"}).size(), 6U);
  fs::remove(out());
  EXPECT_EQ(asked({"--warm-up", "2", "--limit", "2"}).size(), 4U);
  fs::remove(out());
  EXPECT_EQ(asked({"--concurrency", "3"}).size(), 3U);
  const auto order = json_lines(read(out()));
  EXPECT_EQ(order[1]["item"], "one") << "in the golden set's order, whoever was ready first";
  EXPECT_EQ(asked({"--concurrency", "3"}).size(), 3U) << "a pipeline's code may have changed: its finished run is run again";
  fs::remove(out());
  const auto one = evaluate(file, {"--shard", "1/2", "--json"});
  EXPECT_EQ(one_json(one.out)["complete"], true) << one.err;
  EXPECT_EQ(one_json(one.out)["run"], out());
}

TEST_F(PipelineRun, ItemsAreChosenBySubsetSourceAndReview) {
  const auto file = write("sound.py", sound);
  const auto items = [&](const std::vector<std::string>& more) {
    fs::remove(out());
    const auto done = evaluate(file, more);
    EXPECT_EQ(done.status, 0) << done.err;
    std::vector<std::string> found;
    for (const auto& [id, result] : results()) found.push_back(id);
    return found;
  };
  const auto refused = [&](const std::vector<std::string>& more, const char* message) {
    fs::remove(out());
    const auto done = evaluate(file, more);
    EXPECT_THAT(done.err, HasSubstr(message));
    EXPECT_EQ(done.out, "");
    EXPECT_FALSE(fs::exists(out()));
    return done.status;
  };
  const auto review = write("opinions.json", R"({"items": {"one": {"decision": "accept"}, "two": {"decision": "reject"},
    "three": {"decision": "edit", "edit": {"question": "third, said better"}}}})");
  EXPECT_THAT(items({"--subset", "gate"}), ElementsAre("one", "three", "two")) << "the gate's are at most twenty";
  EXPECT_THAT(items({"--golden-source", "all"}), ElementsAre("one", "three", "two"));
  EXPECT_THAT(items({"--review", review}), ElementsAre("one", "three"));
  EXPECT_EQ(results()["three"]["query"], "third, said better");
  EXPECT_THAT(items({"--skip-unknown", "--limit", "2"}), ElementsAre("one", "two")) << "a pipeline's ids are its own";

  EXPECT_EQ(refused({"--golden-source", "verified"}, "none of the 3 items counts as verified"), 3);
  EXPECT_EQ(refused({"--golden-source", "ai_reviewed"}, "golden.review.json"), 3);
  EXPECT_EQ(refused({"--golden-source", "all", "--review", review}, "--review: a review decides about ai_reviewed, not about all"), 2);
  EXPECT_EQ(refused({"--review", write("odd.json", R"({"items": {"one": {"decision": "acept"}}})")}, "odd.json: items.one.decision: "), 3);
  EXPECT_EQ(refused({"--subset", "best"}, "--subset"), 2);
  EXPECT_EQ(refused({"--shard", "4/4"}, "--shard: 4/4 holds none of 3 items"), 2);
}

TEST_F(PipelineRun, PartsAreJoinedToTheRunOfTheWhole) {
  const auto file = write("sound.py", sound);
  ASSERT_EQ(evaluate(file).status, 0);
  const auto part = [&](const std::string& shard, const std::string& to) {
    const auto done = run({"run", "--pipeline", file, "--dataset", "golden.json", "--shard", shard, "--out", to, "--wait"});
    EXPECT_EQ(done.status, 0) << done.err;
  };
  part("1/2", "a.jsonl");
  part("2/2", "b.jsonl");
  const auto joined = run({"merge", "b.jsonl", "a.jsonl", "--out", "joined.jsonl"});
  ASSERT_EQ(joined.status, 0) << joined.err;
  EXPECT_EQ(run({"run", "--digest", "joined.jsonl"}).out, run({"run", "--digest", out()}).out);
  EXPECT_EQ(run({"merge", "a.jsonl", "b.jsonl", "--out", "a.jsonl"}).status, 2) << "a part is not written over";
  const auto foreign = run({"merge", "a.jsonl", "golden.json", "--out", "joined.jsonl"});
  EXPECT_EQ(foreign.status, 3);
  EXPECT_THAT(foreign.err, HasSubstr("golden.json:1: kind: is no run"));
}

TEST_F(PipelineRun, WhatIsNoRunIsNeverBegunAnew) {
  const auto file = write("sound.py", sound), dataset = write("golden.json", golden);
  const auto refused = run({"run", "--pipeline", file, "--dataset", dataset, "--out", dataset, "--fresh"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("golden.json:1: kind: is no run, so it is left as it is"));
  EXPECT_EQ(read(dataset), golden);
}

TEST_F(PipelineRun, WhatFailedBeforeItWasStoppedCountsAtItsEnd) {
  const auto file = write("broken.py", "def retrieve(query):\n    raise ValueError(\"no index\")\n");
  ASSERT_EQ(evaluate(file).status, 5);
  const auto whole = read(out());
  write("run.jsonl", whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));  // as if it was killed before its last item
  const auto early = run({"diagnose", out()});
  EXPECT_EQ(early.status, 0);
  EXPECT_THAT(early.err, HasSubstr("the run is incomplete, 2 of 3 items are there"));
  const auto again = evaluate(file, {"--json"});
  EXPECT_EQ(again.status, 5) << "nothing completed";
  EXPECT_THAT(again.err, HasSubstr("3 failed, the first was one: "));
  EXPECT_EQ(one_json(again.out)["failed"], 3);
}

TEST_F(PipelineRun, TwoPipelinesAreComparedAndTheWorseOneFailsTheBuild) {
  write("golden.json", golden);
  const auto good = write("good.py", sound), bad = write("bad.py", "def retrieve(query):\n    return []\n");
  const auto done = run({"compare", "--pipeline-a", good, "--pipeline-b", bad, "--dataset", "golden.json", "--json", "--fail-on-regression"});
  EXPECT_EQ(done.status, 1) << done.err;
  const json comparison = one_json(done.out);
  EXPECT_EQ(schema_errors(comparison, "comparison_report"), "");
  EXPECT_EQ(comparison["winner"], "good");
  EXPECT_EQ(comparison["metric_deltas"]["recall_at_k"], -1);
  EXPECT_EQ(comparison["queries_regressed"], 3);
  EXPECT_EQ(comparison["regression_analysis"]["verdict"], "quality");
  EXPECT_EQ(run({"compare", "--pipeline-a", bad, "--pipeline-b", good, "--dataset", "golden.json", "--fail-on-regression"}).status, 0);
  const auto broken = run({"compare", "--pipeline-a", good, "--pipeline-b", write("syntax.py", "def"), "--dataset", "golden.json", "--json"});
  EXPECT_EQ(broken.status, 3);
  EXPECT_EQ(broken.out, "");
  EXPECT_THAT(broken.err, HasSubstr("syntax.py:1"));
}

TEST_F(PipelineRun, AMatrixIsShownInEightyColumnsWithRankingAndEveryPair) {
  write("golden.json", golden);
  const auto done = run({"matrix", "--pipeline", write("good.py", sound), "--pipeline", write("bad.py", "def retrieve(query):\n    return []\n"), "--dataset", "golden.json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("\n1     good"));
  EXPECT_THAT(done.out, HasSubstr("\n2     bad"));
  EXPECT_THAT(done.out, HasSubstr("\ngood (A), bad (B): "));
  EXPECT_EQ(run({"report"}).out, done.out);
  EXPECT_THAT(done.out, ::testing::Not(HasSubstr("\x1b")));
  const auto report = run({"report", "--md", folder() / "results.md"});
  EXPECT_THAT(read(folder() / "results.md"), HasSubstr("## Ranking\n\n| Rank | Pipeline |"));
}

TEST_F(PipelineRun, AnyNumberOfRunsIsShownInEightyColumns) {
  ASSERT_EQ(evaluate_file("a_pipeline_whose_name_is_rather_long.py", sound).status, 0);
  for (const std::size_t count : {1, 2, 3, 5, 6}) {
    std::vector<std::string> words = {"report"};
    words.insert(words.end(), count, out());
    const auto shown = run(words);
    ASSERT_EQ(shown.status, 0) << shown.err;
    std::size_t values = 0;
    for (const std::string& line : lines(shown.out)) {
      EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }), 80) << line;
      if (!line.starts_with("mrr@5 ")) continue;
      for (std::size_t at = line.find("0.833"); at != std::string::npos; at = line.find("0.833", at + 1)) ++values;
    }
    EXPECT_EQ(values, count) << shown.out;
    EXPECT_THAT(shown.out, HasSubstr(count > 2 ? "n = 3" : "[0.500, 1.000] 3"));
  }
}

}  // namespace
}  // namespace polygraph::cli::test
