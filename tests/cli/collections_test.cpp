// Test collections in TREC's and BEIR's form through the command line, out and in again: the figures do not depend on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"

namespace polygraph::cli::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* items =
    R"({"id":"soup","type":"answerable","question":"At what temperature is the fish soup kept?","reference_answer":"65 degrees","relevant_chunk_ids":["galley/soup#000"],"should_refuse":false}
{"id":"storm","type":"answerable","question":"Which lines are doubled above force 8, and where is the mode set?","reference_answer":"stern lines","relevant_chunk_ids":["moorings#000"],"should_refuse":false}
{"id":"moor","type":"vague","question":"watch the lines","reference_answer":"Two bow lines and two stern lines.","relevant_chunk_ids":["moorings#000"],"should_refuse":false}
)";
const std::vector<std::string> lexically = {"--config", "hybrid", "--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false"};

class Collections : public ProgramTest {
 protected:
  std::string at(const std::string& name) const { return (folder() / name).string(); }
  Outcome done(std::vector<std::string> arguments, const Surroundings& surroundings = {}) {
    auto outcome = run(arguments, surroundings);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome;
  }
  static std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// Metrics of a run over `dataset`, from its stored results.
  json evaluated(const std::string& dataset, const std::string& index, const std::string& name) {
    done(with({"run", "--index", index, "--dataset", dataset, "--out", at(name)}, lexically));
    return one_json(done({"report", at(name), "--json"}).out)["metrics"];
  }
};

TEST_F(Collections, TheFiguresOfARunAreThoseOfItsTrecFiles) {
  const auto set = write("items.jsonl", items).string();
  done({"golden", "convert", "--dataset", set, "--to", "trec", "--out", at("trec set")});
  const auto searched = done(with({"search", "--index", lexical_index(), "--top", "10", "--trec", "mine", "-"}, lexically), {.input = read(at("trec set/queries.tsv"))});
  write("run.txt", searched.out);
  const auto figures = one_json(done({"metrics", "--qrels", at("trec set/qrels.txt"), "--run", at("run.txt"), "--k", "1,3,5", "--json"}).out);
  EXPECT_EQ(figures["counts"]["queries"], 3);
  EXPECT_EQ(figures["counts"]["not_in_run"], 0);
  const auto ours = evaluated(set, lexical_index(), "items.run"), theirs = evaluated(at("trec set"), lexical_index(), "trec.run");
  for (const auto* metric : {"recall@1", "recall@3", "recall@5", "hit_rate@1", "ndcg@3", "ndcg@5", "mrr", "map"}) {
    EXPECT_NEAR(ours[metric]["value"].get<double>(), figures["mean"][metric].get<double>(), 1e-12) << metric;
    EXPECT_EQ(theirs[metric]["value"], ours[metric]["value"]) << metric;
  }
  EXPECT_GT(ours["recall@5"]["value"].get<double>(), 0.5);
}

TEST_F(Collections, ABeirFolderIsACorpusAndAGoldenSetOfItsOwn) {
  const auto set = write("items.jsonl", items).string();
  done({"golden", "convert", "--dataset", set, "--to", "beir", "--out", at("beir set"), "--index", lexical_index()});
  EXPECT_EQ(done({"golden", "convert", "--dataset", at("beir set"), "--to", "items", "--out", "-"}).out, items) << "nothing is lost";
  EXPECT_THAT(done({"golden", "convert", "--dataset", at("beir set"), "--to", "trec", "--out", at("trec set")}).err, HasSubstr("left out: reference_answer"));

  // Somebody else's collection: documents, queries and graded judgements.
  write("foreign/corpus.jsonl", "{\"_id\": \"d1\", \"title\": \"Soup\", \"text\": \"Fish soup is kept at 65 degrees.\"}\n{\"_id\": \"d2\", \"title\": \"Lamp\", \"text\": \"A red lamp means that the harbour is closed.\"}\n");
  write("foreign/queries.jsonl", "{\"_id\": \"q1\", \"text\": \"How warm is the soup kept?\"}\n{\"_id\": \"q2\", \"text\": \"Is the harbour closed?\"}\n{\"_id\": \"q3\", \"text\": \"Nobody judged this\"}\n");
  write("foreign/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\nq2\td1\t0\n");
  done({"index", "--lexical", "--corpus", "beir:" + at("foreign"), "--out", at("foreign.polygraph")});
  const auto checked = run({"validate", "--dataset", at("foreign"), "--index", at("foreign.polygraph")});
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(checked.err, HasSubstr("1 query without a judgement"));
  const auto metrics = evaluated(at("foreign"), at("foreign.polygraph"), "foreign.run");
  EXPECT_EQ(metrics["recall_pages@1"]["value"], 1.0) << "what such a collection judges is a document: a page of ours";
  EXPECT_TRUE(metrics["recall@1"]["value"].is_null());
}

}  // namespace
}  // namespace polygraph::cli::test
