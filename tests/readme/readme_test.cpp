// The README's C++ example, run as a user would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"
#include "tests/retrieval/tiny_corpus.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::HasSubstr;

class Readme : public ProgramTest {
 protected:
  Readme() {
    const auto corpus = tests::corpus_of({{"limits", "Limits", "Memory", "The frobnicator takes at most 17 widgets a minute."},
                                          {"colours", "Colours", "", "Widgets are painted blue before they are shipped."}});
    index = write("docs.polygraph", {reinterpret_cast<const char*>(corpus.file.data()), corpus.file.size()}).string();
  }
  std::string index;
  std::string results = write("results.json", R"([{"query_id": "a", "query": "how many?", "expected_chunk_ids": ["limits#000"], "retrieved_chunks": []},
                                                  {"query_id": "b", "query": "which colour?"}])").string();
};

TEST_F(Readme, CppExampleAnswersFromAnIndexAndDiagnosesResults) {
  const auto done = run({index, "How many widgets does the frobnicator take a minute?", results});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("at most 17 widgets a minute"));
  EXPECT_THAT(done.out, HasSubstr("[limits#"));
  EXPECT_THAT(done.out, HasSubstr("WRONG_CHUNK_RETRIEVED"));
}

TEST_F(Readme, CppExampleSaysWhatItCannotRead) {
  const auto no_index = run({results, "How many?", results});
  EXPECT_EQ(no_index.status, 3);
  EXPECT_THAT(no_index.err, HasSubstr("results.json: this is not a Polygraph index"));
  const auto no_results = run({index, "How many widgets does the frobnicator take?", index});
  EXPECT_EQ(no_results.status, 3);
  EXPECT_THAT(no_results.err, HasSubstr("docs.polygraph: "));
}

}  // namespace
}  // namespace polygraph::cli::test
