// A judgement is stored and read back whole, so that nobody need be asked again.
#include "wasm/judges/judgement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judges/scripted_judge.hpp"

namespace polygraph::judges {
namespace {

using namespace test;

Judgement judged(bool sound) {
  return run(two_sentences(), [sound](const JudgeCall& call) -> RequestResult {
    if (!sound && call.task == JudgeTask::correctness) return JudgeReply{"no", "stop", {}};
    return reply(content(call));
  }).judgement;
}

TEST(StoredJudgement, IsReadBackAsItWas) {
  auto refused = two_sentences();
  refused.status = AnswerStatus::refused;
  for (const Judgement& each : {judged(true), judged(false), run(refused, {}).judgement, Judgement{}}) {
    const auto read = judgement_from_json(to_json(each));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, each);
    EXPECT_EQ(to_json(*read), to_json(each));
    EXPECT_EQ(result_fields(*read), result_fields(each));
  }
}

TEST(StoredJudgement, KeepsFieldsThatItDoesNotKnow) {
  auto stored = json::parse(to_json(judged(true)));
  stored["model"] = "somebody/judge-1";
  const auto read = judgement_from_json(stored.dump());
  ASSERT_TRUE(read);
  EXPECT_EQ(json::parse(to_json(*read)), stored);
}

TEST(StoredJudgement, UndefinedIsNull) {
  const auto stored = json::parse(to_json(judged(false)));
  EXPECT_EQ(stored["kind"], "judgement");
  EXPECT_EQ(stored["schema"], 1);
  EXPECT_EQ(stored["metrics"]["correctness"]["state"], "judge_error");
  EXPECT_TRUE(stored["metrics"]["correctness"]["value"].is_null());
  EXPECT_TRUE(stored["metrics"]["correctness"]["verdict"].is_null());
}

TEST(StoredJudgement, ThatIsDamagedIsRefusedWithItsField) {
  const auto good = json::parse(to_json(judged(true)));
  const auto with = [&](const char* pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    const auto read = judgement_from_json(changed.dump());
    return read ? std::string("accepted") : read.error().field;
  };
  EXPECT_EQ(with("/metrics/correctness/value", nullptr), "metrics.correctness.value");
  EXPECT_EQ(with("/metrics/correctness/value", 1.5), "metrics.correctness.value");
  EXPECT_EQ(with("/metrics/correctness/state", "great"), "metrics.correctness.state");
  EXPECT_EQ(with("/metrics/groundedness/verdict", "yes"), "metrics.groundedness.verdict");
  EXPECT_EQ(with("/metrics/faithfulness/statements/0/verdict", "SUPPORTED!"), "metrics.faithfulness.statements[0].verdict");
  EXPECT_EQ(with("/metrics/answer_relevancy/cosines", {"a"}), "metrics.answer_relevancy.cosines");
  EXPECT_EQ(with("/sentences/0/begin", -1), "sentences[0].begin");
  EXPECT_EQ(with("/schema", 2), "schema");
  EXPECT_FALSE(judgement_from_json("[]"));
  EXPECT_FALSE(judgement_from_json("{"));
}

}  // namespace
}  // namespace polygraph::judges
