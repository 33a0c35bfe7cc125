// `validate` and `golden`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* items =
    R"({"id":"a","type":"answerable","question":"When is the soup done?","reference_answer":"at 65 degrees","relevant_chunk_ids":["galley/soup#000"],"should_refuse":false})" "\n"
    R"({"id":"u","type":"unanswerable","question":"Who built the boat?","should_refuse":true})" "\n";

class Validate : public ProgramTest {};

TEST_F(Validate, SaysThatASetIsValid) {
  const auto file = write("my questions.jsonl", items).string();
  const auto checked = run({"validate", "--dataset", file});
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.out, AllOf(HasSubstr("2 items"), HasSubstr("1 answerable"), HasSubstr("valid")));
  EXPECT_THAT(checked.err, IsEmpty());
}

TEST_F(Validate, NamesEveryProblemWithItemLineAndField) {
  const auto file = write("bad.jsonl", "{\"id\":\"a\",\"type\":\"maybe\",\"question\":\"\"}\nno json\n{\"id\":\"b\",\"type\":\"vague\",\"question\":\"q\",\"x\":1}\n").string();
  const auto text = run({"validate", "--dataset", file});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.out, AllOf(HasSubstr("bad.jsonl:1: item \"a\": type:"), HasSubstr("bad.jsonl:1: item \"a\": question:"), HasSubstr("bad.jsonl:2: is not JSON"),
                              HasSubstr("warning: "), HasSubstr("3 errors, 1 warning")));
  const auto json = run({"validate", "--dataset", file, "--json"});
  EXPECT_EQ(json.status, 1);
  const auto report = one_json(json.out);
  EXPECT_EQ(report["valid"], false);
  EXPECT_THAT(report["errors"], SizeIs(3));
  EXPECT_EQ(report["errors"][0]["item"], "a");
  EXPECT_EQ(report["errors"][0]["line"], 1);
  EXPECT_EQ(report["errors"][0]["field"], "type");
  EXPECT_THAT(report["warnings"], SizeIs(1));
}

TEST_F(Validate, ReadsStdin) {
  EXPECT_EQ(run({"validate", "--dataset", "-"}, {.input = items}).status, 0);
  EXPECT_EQ(run({"validate", "--dataset", "-"}, {.input = ""}).status, 1) << "an empty set is an error";
}

TEST_F(Validate, EndsWithThreeForAFileThatIsMissingOrNoText) {
  EXPECT_EQ(run({"validate", "--dataset", (folder() / "none.jsonl").string()}).status, 3);
  EXPECT_EQ(run({"validate", "--dataset", folder().string()}).status, 3) << "a folder without queries";
  const auto binary = run({"validate", "--json", "--dataset", write("binary.jsonl", std::string("\x7f" "ELF\0\xff", 6)).string()});
  EXPECT_EQ(binary.status, 3);
  EXPECT_THAT(binary.out, IsEmpty());
  EXPECT_THAT(binary.err, HasSubstr("binary.jsonl"));
  EXPECT_EQ(run({"validate"}).status, 2);
}

TEST_F(Validate, WarnsOfIdsThatTheIndexLacks) {
  const auto file = write("set.jsonl", std::string(items) + R"({"id":"b","type":"vague","question":"hm","relevant_chunk_ids":["galley/soup#099"]})").string();
  EXPECT_THAT(one_json(run({"validate", "--json", "--dataset", file}).out)["warnings"], IsEmpty());
  const auto checked = run({"validate", "--json", "--dataset", file, "--index", lexical_index()});
  EXPECT_EQ(checked.status, 0) << "a warning is no error";
  const auto warnings = one_json(checked.out)["warnings"];
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0]["item"], "b");
  EXPECT_EQ(warnings[0]["field"], "relevant_chunk_ids[0]");
}

class Golden : public ProgramTest {
 protected:
  std::string at(const char* name) { return (folder() / name).string(); }
};

TEST_F(Golden, ConvertsThereAndBackToTheSameBytes) {
  const auto file = write("set.jsonl", items).string();
  const auto there = run({"golden", "convert", "--dataset", file, "--out", at("set.json")});
  ASSERT_EQ(there.status, 0) << there.err;
  EXPECT_THAT(there.err, HasSubstr("RAGDiag would refuse 2 of 2"));
  EXPECT_EQ(schema_errors(one_json(read(at("set.json"))), "golden_samples"), "");
  ASSERT_EQ(run({"golden", "convert", "--dataset", at("set.json"), "--out", at("back.jsonl")}).status, 0);
  EXPECT_EQ(read(at("back.jsonl")), items);
  EXPECT_EQ(run({"golden", "convert", "--dataset", at("set.json"), "--out", "-", "--to", "items"}).out, items);
}

TEST_F(Golden, LeavesOutForRagdiagWhatItRefusesAndNamesIt) {
  const auto file = write("set.json", R"({"name":"n","version":"1","samples":[{"id":"a","query":"one","expected_answer":"x","relevant_chunk_ids":["p"],"query_type":"factual"},)"
                                      R"({"id":"b","query":"two","expected_answer":"x","query_type":"factual"}]})").string();
  const auto done = run({"golden", "convert", "--dataset", file, "--to", "ragdiag", "--out", at("out.json"), "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto said = one_json(done.out);
  EXPECT_EQ(said["written"], 1);
  ASSERT_THAT(said["left_out"], SizeIs(1));
  EXPECT_EQ(said["left_out"][0]["item"], "b");
  EXPECT_THAT(one_json(read(at("out.json")))["samples"], SizeIs(1));
  const auto none = run({"golden", "convert", "--dataset", write("u.jsonl", items).string(), "--to", "ragdiag", "--out", at("none.json")});
  EXPECT_EQ(none.status, 3) << "no sample is left";
  EXPECT_FALSE(std::filesystem::exists(at("none.json")));
}

TEST_F(Golden, WritesAndReadsTestCollections) {
  const auto file = write("set.jsonl", items).string();
  const auto beir = run({"golden", "convert", "--dataset", file, "--to", "beir", "--out", at("beir set"), "--index", lexical_index()});
  ASSERT_EQ(beir.status, 0) << beir.err;
  EXPECT_THAT(read(at("beir set/corpus.jsonl")), HasSubstr("\"_id\":\"galley/soup#000\""));
  EXPECT_EQ(run({"golden", "convert", "--dataset", at("beir set"), "--out", "-", "--to", "items"}).out, items);
  const auto trec = run({"golden", "convert", "--dataset", file, "--to", "trec", "--out", at("trec set")});
  ASSERT_EQ(trec.status, 0) << trec.err;
  EXPECT_THAT(trec.err, HasSubstr("item \"u\""));
  EXPECT_EQ(read(at("trec set/qrels.txt")), "a 0 galley/soup#000 1\n");
  EXPECT_EQ(run({"validate", "--dataset", at("trec set")}).status, 0);
  const auto csv = run({"golden", "convert", "--dataset", file, "--out", at("set.csv")});
  ASSERT_EQ(csv.status, 0) << csv.err;
  EXPECT_EQ(run({"golden", "convert", "--dataset", at("set.csv"), "--out", "-", "--to", "items"}).out, items);
}

TEST_F(Golden, ConvertsNothingThatIsNotValid) {
  const auto file = write("bad.jsonl", "{\"id\":\"a\",\"type\":\"maybe\",\"question\":\"\"}\n").string();
  const auto refused = run({"golden", "convert", "--dataset", file, "--out", at("out.json")});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("type"), HasSubstr("question"))) << "all errors are said";
  EXPECT_FALSE(std::filesystem::exists(at("out.json")));
  EXPECT_EQ(run({"golden", "convert", "--dataset", file, "--out", at("out.unknown")}).status, 2);
  EXPECT_EQ(run({"golden"}).status, 2);
}

TEST_F(Golden, SaysWhereItCannotWrite) {
  const auto file = write("set.jsonl", items).string();
  const auto refused = run({"golden", "convert", "--dataset", file, "--out", at("no folder/out.json")});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("no folder/out.json"));
}

TEST_F(Golden, RemapProposesAndWritesOnlyWhenAsked) {
  const auto file = write("set.jsonl", items).string();
  const auto keep = run({"golden", "remap", "--dataset", file, "--index", lexical_index(), "--out", at("kept.jsonl")});
  ASSERT_EQ(keep.status, 0) << keep.err;
  auto set = read(at("kept.jsonl"));
  EXPECT_THAT(set, HasSubstr("\"chunk_digests\":{\"galley/soup#000\":\"xxh128:"));
  // The same set as if it had been made when the chunk had another id.
  for (std::size_t found = 0; (found = set.find("galley/soup#000", found)) != std::string::npos;) set.replace(found, 15, "old/place#007");
  const auto moved = write("moved.jsonl", set).string();
  const auto proposal = run({"golden", "remap", "--dataset", moved, "--index", lexical_index(), "--json"});
  ASSERT_EQ(proposal.status, 0) << proposal.err;
  const auto moves = one_json(proposal.out)["moves"];
  ASSERT_THAT(moves, SizeIs(1));
  EXPECT_EQ(moves[0]["from"], "old/place#007");
  EXPECT_EQ(moves[0]["to"], "galley/soup#000");
  EXPECT_EQ(moves[0]["match"], "digest");
  EXPECT_EQ(read(moved), set) << "nothing was asked to be written";
  ASSERT_EQ(run({"golden", "remap", "--dataset", moved, "--index", lexical_index(), "--out", moved}).status, 0);
  EXPECT_EQ(read(moved), read(at("kept.jsonl")));
}

TEST_F(Golden, AuditFailsWithTheRulesThatAreBroken) {
  const auto file = write("set.jsonl", items).string();
  const auto audited = run({"golden", "audit", "--dataset", file, "--index", lexical_index(), "--vague", "1", "--json"});
  EXPECT_EQ(audited.status, 1) << audited.err;
  const auto report = one_json(audited.out);
  EXPECT_EQ(report["valid"], false);
  EXPECT_EQ(report["counts"]["answerable"], 1);
  std::vector<std::string> rules;
  for (const auto& each : report["findings"]) rules.push_back(each["rule"]);
  EXPECT_THAT(rules, testing::IsSupersetOf({"count", "two_chunks"}));
  const auto same = run({"golden", "audit", "--dataset", file, "--index", lexical_index(), "--development", file});
  EXPECT_EQ(same.status, 1);
  EXPECT_THAT(same.out, HasSubstr("disjoint"));
}

}  // namespace
}  // namespace polygraph::cli::test
