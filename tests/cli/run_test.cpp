// `run`, `matrix`, `merge`, `report`, `gate`: evaluated, stopped, continued, shown and held to thresholds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <regex>

#include "tests/cli/program.hpp"

namespace polygraph::cli::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* golden =
    R"({"id":"soup","type":"answerable","question":"At what temperature is the fish soup kept?","reference_answer":"65 degrees","relevant_chunk_ids":["galley/soup#000"],"should_refuse":false}
{"id":"kyoto","type":"unanswerable","question":"How do I refund a cancelled train ticket in Kyoto?","should_refuse":true}
{"id":"gold","type":"answerable","question":"How warm must the soup stay?","reference_answer":"65 degrees","relevant_chunk_ids":["galley/soup#000"],"should_refuse":false}
{"id":"tax","type":"unanswerable","question":"What is the income tax rate of Portugal?","should_refuse":true}
{"id":"fish","type":"vague","question":"fish","reference_answer":"The soup is kept at 65 degrees","relevant_chunk_ids":["galley/soup#000"],"should_refuse":false}
)";

class Run : public ProgramTest {
 protected:
  /// Lexically, so that no model is needed.
  Outcome evaluate(std::vector<std::string> arguments, const std::string& command = "run", const Surroundings& surroundings = {}) {
    return run(whole(std::move(arguments), command), surroundings);
  }
  std::vector<std::string> whole(std::vector<std::string> arguments, const std::string& command = "run") {
    const auto dataset = write("golden.jsonl", golden);
    std::vector<std::string> all = {command, "--index", lexical_index(), "--dataset", dataset.string(), "--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }
  std::string digest(const fs::path& file) {
    const auto printed = run({"run", "--digest", file.string()});
    EXPECT_EQ(printed.status, 0) << printed.err;
    return printed.out;
  }
};

TEST_F(Run, EvaluatesEachItemAndPrintsTheFile) {
  const auto done = evaluate({});
  ASSERT_EQ(done.status, 0) << done.err;
  ASSERT_EQ(lines(done.out).size(), 1U) << done.out;
  const auto rows = json_lines(read(lines(done.out)[0]));
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0]["kind"], "run");
  EXPECT_EQ(rows[0]["items"], 5);
  EXPECT_EQ(rows[1]["item"], "soup");
  EXPECT_EQ(rows[1]["result"]["status"], "completed");
  EXPECT_EQ(rows[1]["result"]["retrieved_chunks"][0]["id"], "galley/soup#000");
  EXPECT_EQ(rows[1]["result"]["refused"], false);
  EXPECT_EQ(rows[2]["result"]["refused"], true);
  EXPECT_EQ(rows[2]["golden"]["type"], "unanswerable");
  EXPECT_EQ(rows[1]["result"]["trace"]["status"], "answered");
}

TEST_F(Run, AFinishedRunIsNotRunAgain) {
  const auto first = evaluate({});
  const auto file = lines(first.out).at(0);
  const auto bytes = read(file);
  const auto again = evaluate({});
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.err, HasSubstr("nothing to do"));
  EXPECT_EQ(lines(again.out).at(0), file);
  EXPECT_EQ(read(file), bytes);
}

TEST_F(Run, WhatAnotherBuildOfTheProgramAnsweredIsRunAgain) {
  const auto file = folder() / "run.jsonl";
  ASSERT_EQ(evaluate({"--out", file.string()}).status, 0);
  auto bytes = read(file);
  const auto at = bytes.find("\"program\":\"xxh128:") + 18;
  bytes[at] = bytes[at] == '0' ? '1' : '0';
  write("run.jsonl", bytes);
  const auto again = evaluate({"--out", file.string()});
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.err, HasSubstr("another build of this program"));
  EXPECT_THAT(again.err, HasSubstr("done: 5 items"));
  EXPECT_THAT(evaluate({"--out", file.string()}).err, HasSubstr("nothing to do"));
}

TEST_F(Run, AnotherConfigurationIsAnotherRun) {
  const auto one = evaluate({}), other = evaluate({"--set", "TOP_K=2"});
  EXPECT_NE(lines(one.out).at(0), lines(other.out).at(0));
  const auto forced = evaluate({"--set", "TOP_K=2", "--out", lines(one.out).at(0)});
  EXPECT_EQ(forced.status, 3);
  EXPECT_THAT(forced.err, HasSubstr("another configuration, index or golden set"));
}

TEST_F(Run, StoppedBySignalsItEndsWithTheDigestOfARunThatWasNot) {
  const auto whole_file = folder() / "whole.jsonl", stopped = folder() / "stopped.jsonl";
  ASSERT_EQ(evaluate({"--out", whole_file.string(), "--repeats", "40"}).status, 0);
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  const auto arguments = whole({"--out", stopped.string(), "--repeats", "40"});
  const auto written = [&] { return fs::exists(stopped) ? fs::file_size(stopped) : 0; };
  int kills = 0;
  useconds_t longest = 120'000;  // grows while nothing is written, so that slow builds get on too
  for (bool over = false; !over && kills < 500;) {
    const auto before = written();
    auto program = start(arguments);
    ::usleep(std::uniform_int_distribution<useconds_t>(5'000, longest)(random));
    program->signal(random() % 2 == 0 ? SIGKILL : SIGINT);
    const int status = program->wait().status;
    over = status == 0;
    if (!over) ++kills;
    if (written() <= before) longest += longest / 4;
    ASSERT_THAT(status, ::testing::AnyOf(0, 128 + SIGKILL, 130)) << "seed " << seed;
  }
  EXPECT_EQ(digest(stopped), digest(whole_file)) << "seed " << seed << ", stopped " << kills << " times";
}

TEST_F(Run, PartsThatAreMergedAreTheWholeRun) {
  const auto whole_file = folder() / "whole.jsonl", a = folder() / "a.jsonl", b = folder() / "b.jsonl", merged = folder() / "merged.jsonl";
  ASSERT_EQ(evaluate({"--out", whole_file.string()}).status, 0);
  ASSERT_EQ(evaluate({"--shard", "1/2", "--out", a.string()}).status, 0);
  ASSERT_EQ(evaluate({"--shard", "2/2", "--out", b.string()}).status, 0);
  const auto joined = run({"merge", b.string(), a.string(), "--out", merged.string()});
  ASSERT_EQ(joined.status, 0) << joined.err;
  EXPECT_EQ(digest(merged), digest(whole_file));
  const auto half = run({"merge", a.string(), "--out", merged.string()});
  EXPECT_EQ(half.status, 3);
  EXPECT_THAT(half.err, HasSubstr("1 of 2 parts"));
}

TEST_F(Run, GoldThatTheIndexLacksStopsItUnlessItIsLeftOut) {
  const auto dataset = write("other.jsonl",
                             R"({"id":"moved","type":"answerable","question":"Where is the anchor?","reference_answer":"Forward","relevant_chunk_ids":["deck/anchor#007"],"should_refuse":false})"
                             "\n" +
                                 std::string(golden));
  const auto stopped = evaluate({"--dataset", dataset.string()});
  EXPECT_EQ(stopped.status, 2) << "a dataset is given twice";
  std::vector<std::string> call = {"run", "--index", lexical_index(), "--dataset", dataset.string(), "--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false"};
  const auto refused = run(call);
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("moved"));
  call.emplace_back("--skip-unknown");
  const auto skipped = run(call);
  EXPECT_EQ(skipped.status, 0) << skipped.err;
  EXPECT_THAT(skipped.err, HasSubstr("left out"));
}

TEST_F(Run, AConfigurationWhoseModelsAreMissingIsNotEvaluatedWithoutThem) {
  const auto dataset = write("golden.jsonl", golden);
  const auto stopped = run({"run", "--index", lexical_index(), "--dataset", dataset.string(), "--config", "baseline"});
  EXPECT_EQ(stopped.status, 5) << stopped.err;
  EXPECT_EQ(stopped.out, "");
}

TEST_F(Run, BadInputIsNamed) {
  const auto status = [&](std::vector<std::string> arguments) { return run(std::move(arguments)); };
  const auto missing = status({"run", "--index", lexical_index(), "--dataset", (folder() / "none.jsonl").string()});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err, HasSubstr("none.jsonl"));
  const auto broken = status({"run", "--index", lexical_index(), "--dataset", write("broken.jsonl", "{\"id\":\"a\"}\n").string()});
  EXPECT_EQ(broken.status, 3);
  EXPECT_THAT(broken.err, HasSubstr("broken.jsonl:1"));
  EXPECT_EQ(evaluate({"--shard", "3/2"}).status, 2);
  EXPECT_EQ(evaluate({"--config", "none"}).status, 2);
  EXPECT_EQ(evaluate({"--golden-source", "some"}).status, 2);
  EXPECT_EQ(evaluate({"--judge", "nobody"}).status, 2);
  const auto read_only = folder() / "closed";
  fs::create_directory(read_only);
  const auto no_folder = evaluate({"--out", (write("file", "") / "run.jsonl").string()});
  EXPECT_EQ(no_folder.status, 3);
}

TEST_F(Run, AMatrixShowsConfigurationsSideBySideAndReportShowsThemAgain) {
  const auto matrix = evaluate({"--config", "full", "--config", "tuned"}, "matrix");
  ASSERT_EQ(matrix.status, 0) << matrix.err;
  EXPECT_THAT(matrix.out, HasSubstr("full"));
  EXPECT_THAT(matrix.out, HasSubstr("recall@4"));
  EXPECT_THAT(matrix.out, HasSubstr("correct_refusal_rate"));
  const auto page = folder() / "results.md", readme = write("README.md", "# Mine\n\n<!-- polygraph:results -->\nwhat stood here\n<!-- /polygraph:results -->\n\nafter\n");
  const auto shown = run({"report", "--md", page.string(), "--readme", readme.string()});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_EQ(shown.out, matrix.out);
  EXPECT_THAT(read(readme), HasSubstr("| recall@4 |"));
  EXPECT_THAT(read(readme), Not(HasSubstr("what stood here")));
  EXPECT_THAT(read(readme), HasSubstr("after\n"));
  EXPECT_THAT(read(page), HasSubstr("| metric | full | tuned |"));
  const auto evaluations = run({"report", "--json"});
  ASSERT_EQ(json_lines(evaluations.out).size(), 3U);
  EXPECT_EQ(json_lines(evaluations.out)[2]["kind"], "matrix") << "behind the evaluations: ranking and pairs";
  const auto first = json_lines(evaluations.out)[0];
  EXPECT_EQ(first["kind"], "evaluation");
  EXPECT_EQ(first["total_queries"], 5);
  EXPECT_EQ(first["complete"], true);
  EXPECT_EQ(first["metrics"]["recall@4"]["n"], 3) << "two unanswerable items have no gold";
  EXPECT_TRUE(first["metrics"]["faithfulness"]["value"].is_null());
}

TEST_F(Run, TheSitesDocumentHoldsFiguresItemsAndWhatModelsAnsweredButNoTextOfTheCorpus) {
  const auto full = folder() / "full.jsonl", tuned = folder() / "tuned.jsonl", site = folder() / "site.json", repeated = folder() / "repeated.jsonl";
  ASSERT_EQ(evaluate({"--config", "full", "--out", full.string()}).status, 0);
  ASSERT_EQ(evaluate({"--config", "tuned", "--out", tuned.string()}).status, 0);
  const auto written = run({"report", full.string(), tuned.string(), "--site", site.string()});
  ASSERT_EQ(written.status, 0) << written.err;
  const auto text = read(site);
  const auto document = nlohmann::json::parse(text);
  const auto answered = json_lines(read(full))[1]["result"];
  ASSERT_EQ(answered["refused"], false);
  EXPECT_THAT(text, Not(HasSubstr(answered["retrieved_chunks"][0]["text"].dump())));
  EXPECT_THAT(text, Not(HasSubstr(answered["generated_answer"].dump())));
  EXPECT_EQ(document["kind"], "matrix");
  EXPECT_EQ(document["names"], nlohmann::json({"full", "tuned"}));
  EXPECT_EQ(document["made"]["index_digest"], answered["trace"]["index_digest"]);
  EXPECT_EQ(document["golden"].size(), 5U);
  const auto& report = document["reports"][0];
  const auto& result = report["results"][0];
  EXPECT_EQ(result["query_id"], "soup");
  EXPECT_EQ(result["metrics"], answered["metrics"]);
  EXPECT_EQ(result["run"]["id"], answered["trace"]["id"]);
  EXPECT_EQ(result["run"]["status"], "answered");
  EXPECT_EQ(report["item_values"]["correct_refusal_rate"][0], "unscorable") << "an answerable item";
  EXPECT_EQ(report["item_values"]["correct_refusal_rate"][1], 1.0);
  EXPECT_EQ(report["item_values"]["recall@4"][0], 1.0);

  ASSERT_EQ(evaluate({"--repeats", "2", "--out", repeated.string()}).status, 0);
  const auto refused = run({"report", repeated.string(), "--site", site.string()});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("without repeats"));
  EXPECT_EQ(read(site), text) << "what stood there is left";
}

TEST_F(Run, PassagesThatNobodyJudgedAreCountedAndNamed) {
  const auto pooled = write("pooled.jsonl",
                            R"({"id":"soup","type":"answerable","question":"At what temperature is the fish soup kept, and the deck lights?","reference_answer":"65 degrees","relevant_chunk_ids":["galley/soup#000"],"pool_ids":["galley/soup#000"],"should_refuse":false})"
                            "\n");
  const auto file = (folder() / "run.jsonl").string();
  ASSERT_EQ(run({"run", "--index", lexical_index(), "--dataset", pooled.string(), "--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false", "--out", file}).status, 0);
  const auto evaluation = one_json(run({"report", file, "--json"}).out);
  ASSERT_EQ(evaluation["unjudged"].size(), 1U);
  EXPECT_EQ(evaluation["unjudged"][0]["query_id"], "soup");
  const auto& ids = evaluation["unjudged"][0]["chunk_ids"];
  ASSERT_GT(ids.size(), 0U);
  const auto retrieved = std::min<std::size_t>(4, json_lines(read(file))[1]["result"]["retrieved_chunks"].size());
  EXPECT_DOUBLE_EQ(evaluation["metrics"]["judged@4"]["value"].get<double>(), 1.0 - static_cast<double>(ids.size()) / static_cast<double>(retrieved));
  const auto shown = std::regex_replace(run({"report", file}).out, std::regex("\\s+"), " ");
  EXPECT_THAT(shown, HasSubstr("judged@4"));
  EXPECT_THAT(shown, HasSubstr("never judged and count as not relevant (soup " + ids[0].get<std::string>()));
}

TEST_F(Run, AGatePassesOnTheRunThatMadeItAndFailsOnAWorseOne) {
  const auto good = folder() / "good.jsonl", thresholds = folder() / "thresholds.json", junit = folder() / "gate.xml";
  ASSERT_EQ(evaluate({"--out", good.string()}).status, 0);
  ASSERT_EQ(run({"gate", "--make-thresholds", good.string(), "--margin", "0", "--out", thresholds.string()}).status, 0);
  auto limits = nlohmann::json::parse(read(thresholds));
  EXPECT_TRUE(limits["min"].contains("correct_refusal_rate")) << limits.dump(2);
  const auto passed = run({"gate", "--results", good.string(), "--thresholds", thresholds.string(), "--junit", junit.string()});
  EXPECT_EQ(passed.status, 0) << passed.out;
  EXPECT_THAT(passed.out, HasSubstr("passed: "));
  EXPECT_THAT(read(junit), HasSubstr("failures=\"0\""));
  limits["max"]["false_refusal_rate"] = 0.1;
  limits["min"]["recall@4"] = 1.0;
  write("thresholds.json", limits.dump());
  const auto failed = run({"gate", "--results", good.string(), "--thresholds", thresholds.string(), "--junit", junit.string()});
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.out, HasSubstr("FAIL false_refusal_rate is 0.333333, above its maximum 0.1"));
  EXPECT_THAT(failed.out, HasSubstr("FAILED: 1 of "));
  EXPECT_THAT(read(junit), HasSubstr("<failure message=\"false_refusal_rate is 0.333333"));
}

TEST_F(Run, AGateFailsOnAnIncompleteRunAndOnAMissingMetric) {
  const auto file = folder() / "run.jsonl";
  ASSERT_EQ(evaluate({"--out", file.string()}).status, 0);
  const auto thresholds = write("t.json", R"({"min": {"faithfulness": 0.1}})"), few = write("few.json", R"({"min": {"recall@4": 0}})");
  const auto undefined = run({"gate", "--results", file.string(), "--thresholds", thresholds.string()});
  EXPECT_EQ(undefined.status, 1);
  EXPECT_THAT(undefined.out, HasSubstr("faithfulness is"));
  EXPECT_EQ(run({"gate", "--results", file.string(), "--thresholds", few.string()}).status, 0);
  auto bytes = read(file);
  bytes.resize(bytes.rfind('\n', bytes.size() - 2) + 1);
  write("run.jsonl", bytes);
  const auto incomplete = run({"gate", "--results", file.string(), "--thresholds", few.string()});
  EXPECT_EQ(incomplete.status, 1);
  EXPECT_THAT(incomplete.out, HasSubstr("FAIL the run holds 4 of 5 items"));
  EXPECT_EQ(run({"gate", "--results", file.string()}).status, 2) << "held to nothing";
  const auto of_subset = write("subset.json", R"({"subset": "gate", "min": {"recall@4": 0}})");
  EXPECT_EQ(run({"gate", "--results", file.string(), "--thresholds", of_subset.string()}).status, 3);
}

TEST_F(Run, ADamagedRunIsNamedWithItsLine) {
  const auto file = folder() / "run.jsonl";
  ASSERT_EQ(evaluate({"--out", file.string()}).status, 0);
  auto bytes = read(file);
  bytes[bytes.find("\"refused\":true")] = '\'';
  write("run.jsonl", bytes);
  const auto shown = run({"report", file.string()});
  EXPECT_EQ(shown.status, 3);
  EXPECT_EQ(shown.out, "");
  EXPECT_THAT(shown.err, HasSubstr("run.jsonl:3"));
}

TEST_F(Run, AFullDiskKeepsWhatIsFinished) {
  const auto file = folder() / "run.jsonl", whole_file = folder() / "whole.jsonl";
  ASSERT_EQ(evaluate({"--out", whole_file.string()}).status, 0);
  const auto full = evaluate({"--out", file.string()}, "run", {.max_file_bytes = fs::file_size(whole_file) / 2});
  EXPECT_EQ(full.status, 3) << full.err;
  EXPECT_THAT(full.err, HasSubstr("are kept"));
  const auto kept = json_lines(read(file)).size();
  EXPECT_GT(kept, 1U) << "a header and at least one item";
  const auto done = evaluate({"--out", file.string()});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(digest(file), digest(whole_file));
}

}  // namespace
}  // namespace polygraph::cli::test
