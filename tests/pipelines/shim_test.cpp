// Pipelines in Python and JavaScript through the shims, with plain code, with real objects of LangChain and LlamaIndex, and
// the pipelines that come with Polygraph, all over the real program's retrieval.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/pipelines/ask_all.hpp"
#include "cli/pipelines/pipeline.hpp"
#include "tests/cli/program.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::pipelines {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class Shim : public cli::test::ProgramTest {
 protected:
  Options options() const {
    Options options;
    options.shims = POLYGRAPH_SOURCE_DIR "/assets/pipelines";
    options.program = POLYGRAPH_PROGRAM;
    return options;
  }
  static std::string file(const std::string& name) { return POLYGRAPH_SOURCE_DIR "/tests/pipelines/files/" + name; }
  std::unique_ptr<Pipeline> opened(const std::string& name, const Options& with) {
    auto pipeline = open(name.find('.') == std::string::npos ? name : file(name), with);
    EXPECT_TRUE(pipeline) << pipeline.error().message;
    return pipeline ? std::move(*pipeline) : nullptr;
  }
  std::unique_ptr<Pipeline> opened(const std::string& name) { return opened(name, options()); }

  static Failed failure(Pipeline& pipeline, const std::string& query) {
    auto outcome = pipeline.retrieve(query, 2);
    EXPECT_FALSE(outcome) << query << " should have failed";
    return outcome ? Failed{} : outcome.error();
  }
};

TEST_F(Shim, RunsPlainPythonFunctionsWhateverTheyPrint) {
  auto pipeline = opened("functions.py");
  ASSERT_TRUE(pipeline);
  EXPECT_EQ(pipeline->name(), "functions");
  const auto retrieved = pipeline->retrieve("ü", 2);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  const Chunk chunk{"ü", "text of ü", 0.5, R"({"page":7})"};
  EXPECT_THAT(retrieved->chunks, ElementsAre(chunk, chunk));
  EXPECT_EQ(retrieved->log.stray_lines, 0U) << retrieved->log.stray;
  EXPECT_THAT(retrieved->log.errors, AllOf(HasSubstr("retrieving ü"), HasSubstr("straight to the descriptor"), HasSubstr("from a child process")));
  EXPECT_EQ(pipeline->generate("ü", retrieved->chunks)->answer, "ü: ü, ü");
  EXPECT_EQ(pipeline->retrieve("stdin", 2)->chunks.front().text, "") << "requests are not the pipeline's to read";
}

TEST_F(Shim, MakesWhatPythonRaisesAResultOfTheQuery) {
  auto pipeline = opened("functions.py");
  ASSERT_TRUE(pipeline);
  const auto raised = failure(*pipeline, "raise");
  EXPECT_EQ(raised.type, "KeyError");
  EXPECT_EQ(raised.message, "'no such key'");
  EXPECT_THAT(raised.file, EndsWith("functions.py"));
  EXPECT_EQ(raised.line, 20U);
  EXPECT_THAT(raised.log.errors, HasSubstr("Traceback"));
  EXPECT_THAT(failure(*pipeline, "exit"), AllOf(Field(&Failed::type, "SystemExit"), Field(&Failed::message, HasSubstr("enough"))));
  EXPECT_EQ(failure(*pipeline, "recurse").type, "RecursionError");
  EXPECT_THAT(failure(*pipeline, "none").message, StartsWith("retrieve: expected a list of chunks, got NoneType"));
  const auto shape = failure(*pipeline, "shape");
  EXPECT_EQ(shape.type, "WrongShape");
  EXPECT_EQ(shape.message, "chunks[1].text: expected a string, got int (7)");
  const auto generated = pipeline->generate("none", {});
  ASSERT_FALSE(generated);
  EXPECT_THAT(generated.error().message, StartsWith("answer: expected a string"));
  EXPECT_TRUE(pipeline->retrieve("well", 2));
}

TEST_F(Shim, MapsWhatJsonDoesNotKnow) {
  for (const char* const name : {"functions.py", "functions.mjs"}) {
    auto pipeline = opened(name);
    ASSERT_TRUE(pipeline);
    const auto retrieved = pipeline->retrieve("odd", 2);
    ASSERT_TRUE(retrieved) << retrieved.error().message;
    ASSERT_THAT(retrieved->chunks, SizeIs(2));
    EXPECT_EQ(retrieved->chunks[0].id, "7");
    EXPECT_FALSE(text::first_invalid(retrieved->chunks[0].text));
    EXPECT_EQ(retrieved->chunks[0].score, std::nullopt) << "NaN is no score";
    EXPECT_TRUE(nlohmann::json::parse(retrieved->chunks[0].metadata)["when"].is_string());
    EXPECT_EQ(retrieved->chunks[1], (Chunk{"pair", "of chunk and score", 0.25, ""}));
  }
}

TEST_F(Shim, RunsAPipelineObjectOverItsOwnChunks) {
  auto pipeline = opened("ragdiag_like.py");
  ASSERT_TRUE(pipeline);
  EXPECT_EQ(pipeline->name(), "my-pipeline");
  const auto retrieved = pipeline->retrieve("q", 5);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  EXPECT_THAT(retrieved->chunks, ElementsAre(Chunk{"c1", "first of q", 0.9, R"({"source":"a.md"})"}, Chunk{"c2", "second", std::nullopt, ""}));
  EXPECT_EQ(pipeline->generate("q", retrieved->chunks)->answer, "first of q | second");
  const std::vector<Chunk> gold{{"g", "gold", std::nullopt, ""}};
  const auto over_gold = pipeline->generate("q", gold);
  ASSERT_TRUE(over_gold) << over_gold.error().message << ": chunks that it did not retrieve come as its own type, too";
  EXPECT_EQ(over_gold->answer, "gold");
}

TEST_F(Shim, WaitsForAsyncFunctionsOnOneEventLoop) {
  auto pipeline = opened("asynchronous.py");
  ASSERT_TRUE(pipeline);
  for (const unsigned k : {3U, 4U}) {
    const auto retrieved = pipeline->retrieve("q", k);
    ASSERT_TRUE(retrieved) << retrieved.error().message << retrieved.error().log.errors;
    EXPECT_EQ(retrieved->chunks.size(), k);
    const auto generated = pipeline->generate("q", retrieved->chunks);
    ASSERT_TRUE(generated) << generated.error().message;
    EXPECT_EQ(generated->refused, true);
    EXPECT_EQ(generated->citations, (std::vector<std::string>{"0"}));
    EXPECT_EQ(generated->usage->tokens_in, 12U);
  }
}

TEST_F(Shim, KeepsTheEventLoopWhenSeveralAsyncCallsAreUnderWay) {
  auto with = options();
  with.concurrency = 4;
  auto pipeline = opened("asynchronous.py", with);
  ASSERT_TRUE(pipeline);
  std::size_t right = 0;
  ask_all(*pipeline, std::vector<std::string>(20, "q"), {.k = 2, .concurrency = 4}, [&](std::size_t, const Asked& asked) {
    right += asked.retrieval && asked.generation && *asked.generation ? 1 : 0;
    return true;
  });
  EXPECT_EQ(right, 20U);
}

TEST_F(Shim, AnswersSeveralCallsAtOnce) {
  auto with = options();
  with.concurrency = 4;
  for (const char* const name : {"functions.py", "functions.mjs"}) {
    auto pipeline = opened(name, with);
    ASSERT_TRUE(pipeline);
    std::vector<std::string> queries;
    for (int i = 0; i < 40; ++i) queries.push_back("query " + std::to_string(i));
    std::size_t right = 0;
    ask_all(*pipeline, queries, {.k = 2, .concurrency = 4}, [&](std::size_t place, Asked asked) {
      if (asked.generation && *asked.generation && (*asked.generation)->answer.find(queries[place]) != std::string::npos) ++right;
      return true;
    });
    EXPECT_EQ(right, queries.size()) << name;
  }
}

TEST_F(Shim, ShowsWhereAFileThatDoesNotLoadIsWrong) {
  struct Case {
    std::string name, message, file;
    std::uint64_t line;
  };
  for (const auto& [name, message, at, line] : std::vector<Case>{
           {"broken_syntax.py", "SyntaxError: ", "broken_syntax.py", 4},
           {"broken_import.py", "RuntimeError: the index was never built", "broken_import.py", 1},
           {"nothing.py", "neither `pipeline` nor a function `retrieve(query)`", "nothing.py", 0},
           {"broken_syntax.mjs", "SyntaxError: ", "broken_syntax.mjs", 2},
           {"broken_import.mjs", "Cannot find module", "broken_import.mjs", 0},
           {"broken_run.mjs", "TypeError: value.method is not a function", "broken_run.mjs", 2}}) {
    const auto broken = open(file(name), options());
    ASSERT_FALSE(broken) << name;
    EXPECT_EQ(broken.error().code, ErrorCode::io) << name;
    EXPECT_THAT(broken.error().message, HasSubstr(message)) << name;
    EXPECT_THAT(broken.error().field, EndsWith(at)) << name;
    EXPECT_EQ(broken.error().line, line) << name << ": " << broken.error().message;
  }
}

TEST_F(Shim, SaysThatAnInterpreterIsMissing) {
  auto with = options();
  with.python = "python-of-nowhere";
  const auto none = open(file("functions.py"), with);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, AllOf(HasSubstr("python-of-nowhere"), HasSubstr("--python")));
}

TEST_F(Shim, RunsJavaScriptFunctionsWhateverTheyPrint) {
  auto pipeline = opened("functions.mjs");
  ASSERT_TRUE(pipeline);
  EXPECT_EQ(pipeline->name(), "functions");
  const auto retrieved = pipeline->retrieve("q\u2028", 2);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  EXPECT_THAT(retrieved->chunks, ElementsAre(Field(&Chunk::id, "q\u2028 0"), Field(&Chunk::id, "q\u2028 1")));
  EXPECT_EQ(retrieved->log.stray_lines, 0U) << retrieved->log.stray;
  EXPECT_THAT(retrieved->log.errors, HasSubstr("retrieving q"));
  const auto generated = pipeline->generate("q\u2028", retrieved->chunks);
  ASSERT_TRUE(generated) << generated.error().message;
  EXPECT_EQ(generated->answer, "q\u2028 0, q\u2028 1");
  EXPECT_EQ(generated->citations, (std::vector<std::string>{"q\u2028 0"}));
  const auto raised = failure(*pipeline, "raise");
  EXPECT_EQ(raised.type, "RangeError");
  EXPECT_THAT(raised.file, EndsWith("functions.mjs"));
  EXPECT_EQ(raised.line, 7U);
  EXPECT_EQ(failure(*pipeline, "shape").message, "chunks[1].text: expected a string, got a number (7)");
  EXPECT_EQ(failure(*pipeline, "none").message, "retrieve: expected an array of chunks, got undefined");
}

TEST_F(Shim, WrapsARetrieverAndAChainInJavaScript) {
  auto pipeline = opened("object.mjs");
  ASSERT_TRUE(pipeline);
  EXPECT_EQ(pipeline->name(), "by shape");
  const auto retrieved = pipeline->retrieve("soup", 2);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  EXPECT_THAT(retrieved->chunks, ElementsAre(Chunk{"d1", "about soup", std::nullopt, R"({"source":"a.md"})"}));
}

TEST_F(Shim, ServesThePythonLibrary) {
  // polygraph.py has tests of its own in Python, over the real program.
  const auto log = (folder() / "library").string(), home = (folder() / "home").string();
  const int status = std::system(("POLYGRAPH_PROGRAM='" POLYGRAPH_PROGRAM "' POLYGRAPH_DIR='" + home + "' python3 -W error '" POLYGRAPH_SOURCE_DIR
                                  "/tests/pipelines/library_test.py' > '" + log + "' 2>&1").c_str());
  EXPECT_EQ(status, 0) << cli::test::read(log);
}

// ------------------------------------------------------------------------------------------------------- real packages

/// The interpreter of an environment with LangChain and LlamaIndex, made once a machine; empty where it can't be made.
const std::string& packages_python() {
  static const std::string found = [] {
    std::string path;
    std::array<char, 512> bytes{};
    FILE* const script = ::popen("'" POLYGRAPH_SOURCE_DIR "/tests/pipelines/environment.sh'", "r");
    if (script == nullptr) return path;
    while (std::fgets(bytes.data(), bytes.size(), script) != nullptr) path += bytes.data();
    while (path.ends_with('\n')) path.pop_back();
    return ::pclose(script) == 0 ? path : std::string();
  }();
  return found;
}

class Packages : public Shim {
 protected:
  void SetUp() override {
    if (packages_python().empty()) GTEST_SKIP() << "no Python environment with tests/pipelines/requirements.txt could be made; its own message stands above";
    ::setenv("POLYGRAPH_INDEX", lexical_index().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("POLYGRAPH_INDEX"); }
  std::unique_ptr<Pipeline> with_packages(const std::string& name) {
    auto with = options();
    with.python = packages_python();
    return opened(name, with);
  }
};

TEST_F(Packages, RunsALangChainRetrieverAsItIs) {
  auto pipeline = with_packages("langchain_retriever.py");
  ASSERT_TRUE(pipeline);
  EXPECT_FALSE(pipeline->generates());
  const auto retrieved = pipeline->retrieve("fish soup", 3);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  ASSERT_THAT(retrieved->chunks, Not(IsEmpty()));
  EXPECT_EQ(retrieved->chunks.front().id, "galley/soup#000");
  EXPECT_THAT(retrieved->chunks.front().text, HasSubstr("65 degrees"));
  EXPECT_EQ(nlohmann::json::parse(retrieved->chunks.front().metadata)["title"], "Soup");
}

TEST_F(Packages, RunsALangChainRetrieverAndChain) {
  auto pipeline = with_packages("langchain_rag.py");
  ASSERT_TRUE(pipeline);
  EXPECT_EQ(pipeline->name(), "langchain");
  const auto retrieved = pipeline->retrieve("fish soup", 3);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  const auto generated = pipeline->generate("fish soup", retrieved->chunks);
  ASSERT_TRUE(generated) << generated.error().message << generated.error().log.errors;
  EXPECT_EQ(generated->answer, "answer 0");
  EXPECT_EQ(generated->usage->tokens_in, 5U);
  EXPECT_THAT(generated->log.errors, AllOf(HasSubstr("PROMPT System: Answer from:"), HasSubstr("65 degrees"), HasSubstr("Human: fish soup")));
}

TEST_F(Packages, RunsALangChainChainThatRetrievesByItself) {
  auto pipeline = with_packages("langchain_chain.py");
  ASSERT_TRUE(pipeline);
  const auto retrieved = pipeline->retrieve("fish soup", 3);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  EXPECT_EQ(retrieved->chunks.front().id, "galley/soup#000");
  EXPECT_EQ(pipeline->generate("fish soup", retrieved->chunks)->answer, std::to_string(retrieved->chunks.size()) + " documents for fish soup");
}

TEST_F(Packages, RunsALlamaIndexQueryEngine) {
  auto pipeline = with_packages("llama_index_engine.py");
  ASSERT_TRUE(pipeline);
  const auto retrieved = pipeline->retrieve("fish soup", 3);
  ASSERT_TRUE(retrieved) << retrieved.error().message << retrieved.error().log.errors;
  ASSERT_THAT(retrieved->chunks, Not(IsEmpty()));
  EXPECT_EQ(retrieved->chunks.front().id, "galley/soup#000");
  EXPECT_TRUE(retrieved->chunks.front().score);
  const auto generated = pipeline->generate("fish soup", retrieved->chunks);
  ASSERT_TRUE(generated) << generated.error().message << generated.error().log.errors;
  EXPECT_EQ(generated->answer, "65 degrees");
  const std::vector<Chunk> gold{{"g", "nothing about it", std::nullopt, ""}};
  const auto over_gold = pipeline->generate("fish soup", gold);
  ASSERT_TRUE(over_gold) << over_gold.error().message << over_gold.error().log.errors;
  EXPECT_EQ(over_gold->answer, "no idea") << "what is generated comes from the chunks given";
}

TEST_F(Packages, RunsALlamaIndexRetrieverAsItIs) {
  auto pipeline = with_packages("llama_index_retriever.py");
  ASSERT_TRUE(pipeline);
  EXPECT_FALSE(pipeline->generates());
  EXPECT_EQ(pipeline->retrieve("fish soup", 3)->chunks.front().id, "galley/soup#000");
}

// ---------------------------------------------------------------------------------------------------- shipped pipelines

class Shipped : public Shim, public ::testing::WithParamInterface<std::string_view> {
 protected:
  void TearDown() override { ::unsetenv("POLYGRAPH_INDEX"); }
};

TEST_P(Shipped, AnswersWithAQuotationOrRefuses) {
  ::setenv("POLYGRAPH_INDEX", lexical_index().c_str(), 1);
  auto pipeline = opened(std::string(GetParam()));
  ASSERT_TRUE(pipeline);
  EXPECT_EQ(pipeline->name(), GetParam());
  const auto retrieved = pipeline->retrieve("At how many\tdegrees is\nsoup kept?", 2);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  ASSERT_THAT(retrieved->chunks, Not(IsEmpty()));
  EXPECT_LE(retrieved->chunks.size(), 2U);
  EXPECT_EQ(retrieved->chunks.front().id, "galley/soup#000");
  const auto generated = pipeline->generate("At how many degrees is soup kept?", retrieved->chunks);
  ASSERT_TRUE(generated) << generated.error().message;
  EXPECT_THAT(generated->answer, HasSubstr("Soup is kept at 65 degrees."));
  EXPECT_EQ(generated->refused, false);
  EXPECT_EQ(generated->citations, (std::vector<std::string>{"galley/soup#000"}));
  EXPECT_EQ(pipeline->generate("Who won the lottery?", retrieved->chunks)->refused, true);
  const auto empty = pipeline->retrieve("  ", 2);
  ASSERT_TRUE(empty);
  EXPECT_THAT(empty->chunks, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Each, Shipped, ::testing::ValuesIn(shipped_pipelines().begin(), shipped_pipelines().end()),
                         [](const auto& shipped) { return std::string(shipped.param); });

/// With models and the default corpus, where set-up has built them.
TEST_F(Shim, TheShippedPipelinesFindWhatTheirNamesSay) {
  const char* const index = std::getenv("POLYGRAPH_TEST_INDEX");
  if (index == nullptr) GTEST_SKIP() << "POLYGRAPH_TEST_INDEX names no index of the default corpus; `./polygraph test` does";
  ::setenv("POLYGRAPH_INDEX", index, 1);
  std::vector<std::string> tops;
  for (const std::string_view name : shipped_pipelines()) {
    auto pipeline = opened(std::string(name));
    ASSERT_TRUE(pipeline);
    const auto retrieved = pipeline->retrieve("How do I limit a container's memory?", 5);
    ASSERT_TRUE(retrieved) << retrieved.error().message;
    ASSERT_THAT(retrieved->chunks, SizeIs(5));
    std::string ids;
    for (const auto& chunk : retrieved->chunks) ids += chunk.id + "\n";
    tops.push_back(ids);
    EXPECT_THAT(retrieved->chunks, ::testing::Contains(Field(&Chunk::text, HasSubstr("memory"))));
  }
  EXPECT_NE(tops[0], tops[1]);
  EXPECT_NE(tops[1], tops[2]);
  ::unsetenv("POLYGRAPH_INDEX");
}

}  // namespace
}  // namespace polygraph::pipelines
