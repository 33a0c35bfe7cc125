// diagnose --probe: generation asked again over the gold chunks, by the real program, a real pipeline in Python and a judge over
// a real socket, which calls an answer right where it holds the reference answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "scripted_upstream.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"

namespace polygraph::cli::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// Answers with the chunks it is given; some questions it spoils.
constexpr const char* pipeline = R"(
name = "echo"

def retrieve(query):
    raise RuntimeError("a probe retrieves nothing")

def generate(query, chunks):
    if query == "raise":
        raise ValueError("no model")
    if query == "stubborn":
        return "Nobody knows."
    if query == "shy":
        return {"answer": "I can't say.", "refused": True}
    return " ".join(chunk["text"] for chunk in chunks)
)";

class Probe : public ProgramTest {
 protected:
  static json result(const std::string& id, const std::string& query, std::vector<std::string> gold, std::vector<std::string> retrieved, json metrics = json::object()) {
    json chunks = json::array();
    for (const auto& chunk : retrieved) chunks.push_back({{"id", chunk}, {"text", "text of " + chunk}});
    return {{"query_id", id}, {"query", query}, {"expected_answer", "text of g1"}, {"generated_answer", "Something else."}, {"expected_chunk_ids", gold},
            {"retrieved_chunks", chunks}, {"latency", {{"retrieval_ms", 20}}}, {"metrics", metrics}};
  }
  std::filesystem::path results(const std::vector<json>& all) const {
    std::string text;
    for (const json& one : all) text += one.dump() + "\n";
    return write("results.jsonl", text);
  }
  std::vector<std::string> call(const std::filesystem::path& file, std::vector<std::string> more = {"--json"}) {
    std::vector<std::string> words = {"diagnose", file, "--probe", "--pipeline", write("echo.py", pipeline), "--judge", "openai", "--judge-model", "careful"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Surroundings endpoint() const {
    Surroundings surroundings;
    surroundings.environment = {{"OPENAI_BASE_URL", server_.plain_url()}, {"OPENAI_API_KEY", "sk-0123456789"}, {"POLYGRAPH_INDEX", (folder() / "none").string()}};
    return surroundings;
  }
  static json of(const json& diagnosis, const std::string& id) {
    for (const json& one : diagnosis["report"]["results"]) {
      if (one["query_id"] == id) return one["diagnosis"];
    }
    ADD_FAILURE() << "no result " << id;
    return {};
  }
  static json found(const json& diagnosis, const std::string& id) { return of(diagnosis, id).value("probe", json()); }

  proxy::testing::ScriptedUpstream server_;
};

TEST_F(Probe, TellsRetrievalFromGenerationAndKeepsTheRulesCategory) {
  const json wrong = {{"answer_correct", false}}, right = {{"answer_correct", true}};
  const auto file = results({
      result("fetched", "?", {"g1"}, {"g1"}, right),
      result("missed", "?", {"g1"}, {"x"}, wrong),
      result("spoilt", "stubborn", {"g1"}, {"g1"}, wrong),
      result("shy", "shy", {"g1"}, {"g1"}, wrong),
      result("broken", "raise", {"g1"}, {"x"}, wrong),
      result("unjudged", "other", {"g1"}, {"x"}),
      result("unknown", "?", {"g1", "g9"}, {"g1"}, wrong),
      result("open", "?", {}, {"x"}, wrong),
  });
  const auto done = run(call(file), endpoint());
  ASSERT_EQ(done.status, 0) << done.err;
  const json diagnosis = one_json(done.out);
  EXPECT_EQ(schema_errors(diagnosis, "diagnosis"), "");
  EXPECT_EQ(found(diagnosis, "missed")["points_at"], "retrieval");
  EXPECT_EQ(found(diagnosis, "missed")["answer"], "text of g1");
  EXPECT_EQ(found(diagnosis, "missed")["gold"], json({"g1"}));
  EXPECT_EQ(of(diagnosis, "missed")["category"], "WRONG_CHUNK_RETRIEVED");
  EXPECT_THAT(of(diagnosis, "missed")["evidence"].back().get<std::string>(), HasSubstr("right over the gold chunks: look at retrieval"));
  EXPECT_EQ(found(diagnosis, "spoilt")["points_at"], "generation");
  EXPECT_EQ(of(diagnosis, "spoilt")["category"], "ANSWER_INCORRECT");
  EXPECT_EQ(found(diagnosis, "shy")["points_at"], "generation") << "a refusal with the gold before it";
  EXPECT_EQ(found(diagnosis, "shy")["refused"], true);
  EXPECT_EQ(found(diagnosis, "broken")["points_at"], nullptr);
  EXPECT_THAT(found(diagnosis, "broken")["error"].get<std::string>(), HasSubstr("generate: ValueError: no model"));
  EXPECT_EQ(found(diagnosis, "unjudged")["before"], "wrong") << "asked of the judge now";
  EXPECT_EQ(found(diagnosis, "unjudged")["points_at"], "retrieval");
  for (const char* const not_asked : {"fetched", "unknown", "open"}) EXPECT_EQ(found(diagnosis, not_asked), json()) << not_asked;
  const json& sums = diagnosis["report"]["probe"];
  EXPECT_EQ(sums["subject"], "echo");
  EXPECT_EQ(sums["judge"]["model"], "careful");
  EXPECT_EQ(sums["probed"], 5);
  EXPECT_EQ(sums["retrieval"], 2);
  EXPECT_EQ(sums["generation"], 2);
  EXPECT_EQ(sums["undecided"], 1);
  EXPECT_EQ(sums["without_text"], json({"unknown"}));
  EXPECT_EQ(sums["complete"], true);
  // Of each answer only its correctness is asked, and of a known verdict nothing: missed, spoilt, unjudged before and after.
  EXPECT_EQ(server_.counts().calls, 4U);
}

TEST_F(Probe, TakesTextsOfGoldChunksFromAFile) {
  const auto file = results({result("q", "?", {"g1", "g9"}, {"x"}, {{"answer_correct", false}})});
  const auto chunks = write("chunks.jsonl", "{\"_id\":\"g1\",\"title\":\"T\",\"text\":\"text of\"}\r\n\n{\"id\":\"g9\",\"text\":\"g1\"}\n");
  const auto done = run(call(file, {"--json", "--chunks", chunks}), endpoint());
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(found(one_json(done.out), "q")["answer"], "T\ntext of g1");
  EXPECT_EQ(found(one_json(done.out), "q")["points_at"], "retrieval");
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{{"{\"id\":\"a\",\"text\":\"\"}\n{\"id\":\"b\"}\n", "bad.jsonl:2: text: is missing"},
                                                                                     {"[]", "bad.jsonl:1: expected a JSON object {id, text} on each line"},
                                                                                     {"{\"id\":\"a\",\"text\":\"\"}\n{\"id\":\"a\",\"text\":\"\"}\n", "bad.jsonl:2: id: this id stands there twice"},
                                                                                     {"{\"id\":1,\"text\":\"\"}", "bad.jsonl:1: id: expected a string"}}) {
    const auto refused = run(call(file, {"--json", "--chunks", write("bad.jsonl", text)}), endpoint());
    EXPECT_EQ(refused.status, 3);
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, HasSubstr(words));
  }
}

TEST_F(Probe, OfItsOwnOutputReplacesWhatItFound) {
  const auto file = results({result("fetched", "?", {"g1"}, {"g1"}, {{"answer_correct", true}}), result("missed", "?", {"g1"}, {"x"}, {{"answer_correct", false}})});
  const auto first = run(call(file), endpoint());
  ASSERT_EQ(first.status, 0) << first.err;
  const auto second = run(call(write("diagnosis.json", first.out)), endpoint());
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(of(one_json(second.out), "missed"), of(one_json(first.out), "missed"));
  // Without a probe it stays as it is, in what is kept, too.
  const auto plain = run({"diagnose", folder() / "diagnosis.json", "--json"});
  EXPECT_EQ(one_json(plain.out)["report"]["probe"], one_json(first.out)["report"]["probe"]);
  EXPECT_EQ(of(one_json(plain.out), "missed"), of(one_json(first.out), "missed"));
  EXPECT_EQ(one_json(read(folder() / "home" / "diagnoses" / "latest.json"))["probe"]["retrieval"], 1);
}

TEST_F(Probe, IsSaidInWordsOfEightyColumns) {
  const auto file = results({result("fetched", "?", {"g1"}, {"g1"}, {{"answer_correct", true}}), result("missed", "?", {"g1"}, {"x"}, {{"answer_correct", false}}),
                             result("spoilt", "stubborn", {"g1"}, {"g1"}, {{"answer_correct", false}})});
  const auto done = run(call(file, {"--md", folder() / "d.md"}), endpoint());
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("\nProbe\n  Generation by echo over the gold chunks alone, judged by openai careful\n"
                                  "  * 1 query wrong before, right over the gold chunks: retrieval is at fault\n"));
  for (const auto& line : lines(done.out)) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(read(folder() / "d.md"), HasSubstr("## Probe"));
}

TEST_F(Probe, KeepsWhatItFoundBeforeTheQuotaWasSpent) {
  const json wrong = {{"answer_correct", false}};
  const auto file = results({result("fetched", "?", {"g1"}, {"g1"}, {{"answer_correct", true}}), result("one", "?", {"g1"}, {"x"}, wrong), result("two", "two", {"g1"}, {"g1"}, wrong)});
  server_.next({"answer", "limited_rpd:7200"});
  const auto stopped = run(call(file), endpoint());
  EXPECT_EQ(stopped.status, 4) << stopped.err;
  const json diagnosis = one_json(stopped.out);
  EXPECT_EQ(diagnosis["report"]["probe"]["complete"], false);
  EXPECT_EQ(diagnosis["report"]["probe"]["left"], 1);
  EXPECT_EQ(found(diagnosis, "one")["points_at"], "retrieval");
  EXPECT_THAT(stopped.err, HasSubstr("1 asked, 1 not reached"));
}

TEST_F(Probe, NeedsSomebodyToAskAndSomebodyToJudge) {
  const auto file = results({result("q", "?", {"g1"}, {"x"}, {{"answer_correct", false}})});
  const auto status = [&](std::vector<std::string> words, const char* message) {
    const auto refused = run(words, endpoint());
    EXPECT_THAT(refused.err, HasSubstr(message));
    EXPECT_EQ(refused.out, "");
    return refused.status;
  };
  EXPECT_EQ(status({"diagnose", file, "--probe", "--judge", "openai"}, "Give --pipeline P or --config NAME"), 2);
  EXPECT_EQ(status({"diagnose", file, "--probe", "--pipeline", "dense"}, "give --judge PROVIDER"), 2);
  EXPECT_EQ(status({"diagnose", file, "--judge", "openai"}, "--judge requires --probe"), 2);
  EXPECT_EQ(status(call(write("report.json", R"({"total_queries":4,"completed_queries":4,"retrieval":{"k":5}})")), "report.json: results: holds no results of single queries"), 3);
  write("retriever.py", "def retrieve(query):\n    return []\n");
  const auto known = write("known.jsonl", result("q", "?", {"g1"}, {"g1"}, {{"answer_correct", false}}).dump());
  EXPECT_EQ(status({"diagnose", known, "--probe", "--pipeline", folder() / "retriever.py", "--judge", "openai", "--judge-model", "m"}, "the pipeline retriever only retrieves"), 2);
}

TEST_F(Probe, OfARunAsksTheAgentThatWasRun) {
  const auto dataset = write("golden.jsonl",
                             R"({"id":"soup","type":"answerable","question":"How warm is the fish soup kept?","reference_answer":"Soup is kept at 65 degrees.","relevant_chunk_ids":["galley/soup#000"],"should_refuse":false}
{"id":"lamp","type":"answerable","question":"Is the storm_mode above force 8 in Kyoto refunded?","reference_answer":"Soup is kept at 65 degrees.","relevant_chunk_ids":["galley/soup#000"],"should_refuse":false}
{"id":"tax","type":"unanswerable","question":"What is the income tax rate of Portugal?","should_refuse":true}
)");
  const auto file = folder() / "run.jsonl";
  auto surroundings = endpoint();
  const auto ran = run({"run", "--index", lexical_index(), "--dataset", dataset, "--config", "baseline", "--set", "RETRIEVAL_MODE=bm25", "--out", file}, surroundings);
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto done = run({"diagnose", file, "--probe", "--index", lexical_index(), "--judge", "openai", "--judge-model", "careful", "--json"}, surroundings);
  ASSERT_EQ(done.status, 0) << done.err;
  const json diagnosis = one_json(done.out);
  EXPECT_EQ(diagnosis["report"]["probe"]["subject"], "baseline");
  EXPECT_EQ(found(diagnosis, "soup"), json()) << "it was right";
  EXPECT_EQ(found(diagnosis, "lamp")["points_at"], "generation") << found(diagnosis, "lamp");
  EXPECT_EQ(found(diagnosis, "tax"), json());
  for (const json& one : diagnosis["report"]["results"]) {
    if (one["query_id"] != "tax") continue;
    EXPECT_EQ(one["refusal_outcome"], one["refused"] == true ? "correct" : "missed") << "a run says what became of its refusals";
    EXPECT_EQ(one["agent_diagnosis"], one["refused"] == true ? json() : json("missed_refusal"));
  }
}

}  // namespace
}  // namespace polygraph::cli::test
