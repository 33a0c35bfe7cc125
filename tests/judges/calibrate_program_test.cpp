// `calibrate label` and `calibrate report`: a person's labels beside the judge's verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"

namespace polygraph::cli::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CalibrateJudge : public ProgramTest {
 protected:
  /// `correct` right answers and `wrong` wrong ones by the judge, who gives a telling reason.
  std::string results(int correct, int wrong) const {
    std::string out;
    for (int i = 0; i < correct + wrong; ++i) out += result("q" + std::to_string(i), i < correct).dump() + "\n";
    return write("results.jsonl", out).string();
  }
  static json result(const std::string& id, bool correct) {
    return {{"query_id", id},
            {"query", "Question of " + id},
            {"expected_answer", "Reference of " + id},
            {"generated_answer", "Answer of " + id},
            {"retrieved_chunks", {{{"id", "a#000"}, {"text", "Passage of " + id}}}},
            {"status", "completed"},
            {"metrics", {{"answer_correct", correct}, {"grounded", true}, {"judge_reason", "canary-verdict"}, {"judge_confidence", 0.875}}}};
  }
  std::string labels() const { return (folder() / "labels.jsonl").string(); }

  Outcome label(const std::string& file, const std::string& keys, std::vector<std::string> more = {}) {
    std::vector<std::string> call = {"calibrate", "label", "--results", file, "--labels", labels()};
    call.insert(call.end(), more.begin(), more.end());
    return run(call, {.input = keys});
  }
  json report(const std::string& file) { return one_json(run({"calibrate", "report", "--json", "--results", file, "--labels", labels()}).out); }
  std::vector<json> written() const { return json_lines(read(labels())); }
};

TEST_F(CalibrateJudge, ShowsWhatTheJudgeSawAndNothingOfWhatItSaid) {
  const auto shown = label(results(2, 2), "y\n");
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("Question of q"), HasSubstr("Reference of q"), HasSubstr("Answer of q"), Not(HasSubstr("Passage"))));
  for (const auto* tell : {"canary-verdict", "0.875", "correct\":", "true"}) {
    EXPECT_THAT(shown.out, Not(HasSubstr(tell)));
    EXPECT_THAT(shown.err, Not(HasSubstr(tell)));
  }
  EXPECT_THAT(shown.err, HasSubstr("1 of 4 labelled"));
  const auto grounded = run({"calibrate", "label", "--metric", "groundedness", "--results", results(2, 2), "--labels", (folder() / "other").string()}, {.input = "q\n"});
  EXPECT_THAT(grounded.out, AllOf(HasSubstr("Passage of q"), Not(HasSubstr("Reference of"))));
}

TEST_F(CalibrateJudge, GoesOnWhereItStopped) {
  const auto file = results(3, 3);
  EXPECT_THAT(label(file, "y\nn\nq\n").err, HasSubstr("2 of 6 labelled"));
  const auto ids = written()[0]["ids"];
  const auto second = label(file, "?\n");
  EXPECT_THAT(second.out, HasSubstr("Answer of " + ids[2].get<std::string>()));
  EXPECT_THAT(second.out, Not(HasSubstr("Answer of " + ids[0].get<std::string>())));
  const auto lines = written();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1]["label"], true);
  EXPECT_EQ(lines[2]["label"], false);
  EXPECT_TRUE(lines[3]["label"].is_null());
  EXPECT_EQ(lines[3]["id"], ids[2]);
}

TEST_F(CalibrateJudge, ALineCutByACrashIsDroppedAndItsItemAskedAgain) {
  const auto file = results(2, 2);
  label(file, "y\nn\n");
  auto text = read(labels());
  const auto ids = written()[0]["ids"];
  text.resize(text.size() - 20);
  write("labels.jsonl", text);
  EXPECT_THAT(label(file, "y\n").out, HasSubstr("Answer of " + ids[1].get<std::string>()));
  ASSERT_EQ(written().size(), 3U);
  EXPECT_EQ(written()[2]["label"], true);
}

TEST_F(CalibrateJudge, BackAsksAgainAndTheLastLabelCounts) {
  const auto two = results(2, 0);
  label(two, "y\nb\nn\ny\n");
  EXPECT_EQ(written().size(), 4U);
  const auto said = report(two);
  EXPECT_EQ(said["confusion"]["person_no"]["judge_yes"], 1);
  EXPECT_EQ(said["confusion"]["person_yes"]["judge_yes"], 1);
}

TEST_F(CalibrateJudge, ReportsAccuracyKappaAndTheConfusionMatrix) {
  const auto file = results(20, 10);
  std::string keys;
  label(file, "");
  // The person says yes to q0 … q14 and no to the others: of the judge's 20 yes 15 stand, of its 10 no all.
  const json ids = written()[0]["ids"];
  for (const auto& id : ids) keys += std::stoi(id.get<std::string>().substr(1)) < 15 ? "y\n" : "n\n";
  EXPECT_THAT(label(file, keys).err, HasSubstr("30 of 30 labelled"));
  const auto said = report(file);
  EXPECT_EQ(said["labelled"], 30);
  EXPECT_EQ(said["confusion"], json::parse(R"({"person_no": {"judge_no": 10, "judge_yes": 5}, "person_yes": {"judge_no": 0, "judge_yes": 15}})"));
  EXPECT_NEAR(said["accuracy"]["value"].get<double>(), 25.0 / 30, 1e-12);
  // p_e = (15·10 + 15·20)/900 = 0.5; kappa = (5/6 - 1/2)/(1/2) = 2/3.
  EXPECT_NEAR(said["kappa"]["value"].get<double>(), 2.0 / 3, 1e-12);
  EXPECT_LT(said["kappa"]["low"].get<double>(), 2.0 / 3);
  EXPECT_EQ(said["disagreements"].size(), 5U);
  const auto text = run({"calibrate", "report", "--results", file, "--labels", labels()});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("accuracy  0.833 ["), HasSubstr("kappa     0.667 ["), HasSubstr("person: yes")));
}

TEST_F(CalibrateJudge, OfOneClassKappaIsNullAndADash) {
  const auto file = results(3, 0);
  label(file, "y\ny\ny\n");
  EXPECT_TRUE(report(file)["kappa"]["value"].is_null());
  EXPECT_EQ(report(file)["accuracy"]["value"], 1.0);
  EXPECT_THAT(run({"calibrate", "report", "--results", file, "--labels", labels()}).out, AllOf(HasSubstr("kappa     —"), HasSubstr("undefined")));
}

TEST_F(CalibrateJudge, ALabelDoesNotHoldForAnAnswerThatChanged) {
  const auto file = results(2, 0);
  label(file, "y\ny\n");
  auto changed = result("q0", true);
  changed["generated_answer"] = "Another answer";
  write("results.jsonl", changed.dump() + "\n" + result("q1", true).dump() + "\n");
  EXPECT_EQ(report(file)["answer_changed"], 1);
  EXPECT_EQ(report(file)["labelled"], 1);
}

TEST_F(CalibrateJudge, ReadsAnArrayAndAReportWithResultsAsWellAndLeavesOutWhatHasNoVerdict) {
  auto refused = result("r", true), failed = result("f", true), broken = result("e", true), unjudged = result("u", true);
  refused["refused"] = true;
  failed["status"] = "failed";
  broken["judge_error"] = "no JSON";
  unjudged["metrics"].erase("answer_correct");
  const json list = {result("q0", true), refused, failed, broken, unjudged};
  const auto array = write("array.json", list.dump(2)).string();
  EXPECT_THAT(label(array, "y\n").err, HasSubstr("1 of 1 labelled"));
  const auto whole = write("report.json", json({{"dataset_name", "x"}, {"results", list}}).dump()).string();
  EXPECT_EQ(report(whole)["labelled"], 1);
}

TEST_F(CalibrateJudge, BadFilesAreNamedWithLineAndField) {
  const auto wrong = write("results.jsonl", result("q0", true).dump() + "\n{\"query_id\": 7}\n").string();
  const auto refused = label(wrong, "");
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("results.jsonl:2"), HasSubstr("query_id")));
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(labels())) << "nothing is begun";

  write("labels.jsonl", "{\"kind\": \"something\"}\n");
  EXPECT_EQ(label(results(1, 1), "").status, 3);
  EXPECT_EQ(run({"calibrate", "report", "--results", results(1, 1), "--labels", "none"}).status, 3);
  EXPECT_EQ(label(results(1, 1), "", {"--metric", "beauty"}).status, 2);
}

TEST_F(CalibrateJudge, LabelsOfOneMetricAreNotMixedWithAnothers) {
  const auto file = results(1, 1);
  label(file, "y\n");
  const auto other = label(file, "y\n", {"--metric", "groundedness"});
  EXPECT_EQ(other.status, 3);
  EXPECT_THAT(other.err, HasSubstr("correctness"));
}

}  // namespace
}  // namespace polygraph::cli::test
