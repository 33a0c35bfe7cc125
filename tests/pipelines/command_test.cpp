// Commands that speak the protocol, and commands that don't.
#include "cli/pipelines/pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/pipelines/ask_all.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::pipelines {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string command(const std::string& arguments = "") { return "cmd:exec '" SCRIPTED_PIPELINE "' " + arguments; }

std::unique_ptr<Pipeline> opened(const std::string& arguments = "", const Options& options = {}) {
  auto pipeline = open(command(arguments), options);
  EXPECT_TRUE(pipeline) << pipeline.error().message;
  return pipeline ? std::move(*pipeline) : nullptr;
}

std::string first_id(const Outcome<Retrieved>& outcome) {
  return outcome && !outcome->chunks.empty() ? outcome->chunks.front().id : "none: " + (outcome ? std::string("empty") : outcome.error().message);
}

Failed failure(Pipeline& pipeline, const std::string& query) {
  auto outcome = pipeline.retrieve(query, 5);
  EXPECT_FALSE(outcome) << query << " should have failed";
  return outcome ? Failed{} : outcome.error();
}

/// Whether a process is gone, waited for: the kernel may take a moment.
bool gone(pid_t pid) {
  for (int i = 0; i < 2000; ++i) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(status, text);
    // A zombie whose parent has not reaped it yet has ended.
    if (text.empty() || text.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

TEST(CommandPipeline, RetrievesAndGenerates) {
  auto pipeline = opened();
  EXPECT_EQ(pipeline->name(), "scripted");
  EXPECT_TRUE(pipeline->generates());
  const auto retrieved = pipeline->retrieve("a \"query\"\nof two lines: ü", 3);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  ASSERT_EQ(retrieved->chunks.size(), 1U);
  EXPECT_EQ(retrieved->chunks[0], (Chunk{"a \"query\"\nof two lines: ü", "text of a \"query\"\nof two lines: ü", 0.5, R"({"k":3,"page":7})"}));
  EXPECT_GE(retrieved->ms, 0);
  EXPECT_THAT(retrieved->log.errors, IsEmpty());
  EXPECT_EQ(retrieved->log.stray_lines, 0U);
  const std::vector<Chunk> chunks{{"one", "1", std::nullopt, ""}, {"two", "", 2.5, "{\"a\":[1]}"}};
  const auto generated = pipeline->generate("what?", chunks);
  ASSERT_TRUE(generated) << generated.error().message;
  EXPECT_EQ(generated->answer, "one two");
  EXPECT_EQ(generated->refused, std::nullopt);
  EXPECT_EQ(generated->citations, std::nullopt);
}

TEST(CommandPipeline, ReadsWhatAnAnswerSaysBesideItsText) {
  auto pipeline = opened();
  const auto generated = pipeline->generate(
      R"(raw:{"id":$ID,"answer":"no","refused":true,"citations":["a",{"chunk_id":"b"}],"usage":{"tokens":{"in":12,"out":3},"cost_usd":0.5}})", {});
  ASSERT_TRUE(generated) << generated.error().message;
  EXPECT_EQ(generated->refused, true);
  EXPECT_EQ(generated->citations, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(generated->usage->tokens_in, 12U);
  EXPECT_EQ(generated->usage->tokens_out, 3U);
  EXPECT_EQ(generated->usage->cost_usd, 0.5);
}

TEST(CommandPipeline, KeepsEmptyAndDuplicateChunks) {
  auto pipeline = opened();
  const auto empty = pipeline->retrieve("empty", 5);
  ASSERT_TRUE(empty);
  EXPECT_THAT(empty->chunks, IsEmpty());
  const auto twice = pipeline->retrieve("twice", 5);
  ASSERT_TRUE(twice);
  ASSERT_EQ(twice->chunks.size(), 2U);
  EXPECT_EQ(twice->chunks[0], twice->chunks[1]);
  EXPECT_EQ(twice->chunks[0].text, "");
}

TEST(CommandPipeline, UsesOneProcessForAllCalls) {
  auto pipeline = opened();
  const auto first = first_id(pipeline->retrieve("pid", 5));
  EXPECT_EQ(first_id(pipeline->retrieve("pid", 5)), first);
}

TEST(CommandPipeline, TakesRepliesOutOfOrder) {
  // Three requests are held until all have come; the last is answered first.
  auto pipeline = opened("", {.concurrency = 3});
  std::vector<std::string> ids(3);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < ids.size(); ++i) threads.emplace_back([&, i] { ids[i] = first_id(pipeline->retrieve("pair:3", 5)); });
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids, (std::vector<std::string>{"answer 1", "answer 2", "answer 3"}));
}

TEST(CommandPipeline, HasNoMoreCallsUnderWayThanItsConcurrency) {
  // The second of a pair never comes while the first is under way, so both run out of time.
  auto pipeline = opened("", {.call_limit = 300ms, .concurrency = 1});
  std::vector<std::string> types(2);
  {
    std::vector<std::jthread> threads;
    for (auto& type : types) threads.emplace_back([&] { type = failure(*pipeline, "pair:2").type; });
  }
  EXPECT_EQ(types, (std::vector<std::string>{"Timeout", "Timeout"}));
}

TEST(CommandPipeline, ReportsOutputThatIsNoReplyAndSkipsIt) {
  auto pipeline = opened();
  const auto retrieved = pipeline->retrieve("raw:loading model …\n{'a': 1}\n{\"progress\": 3}\n[1]\n{\"id\":99,\"chunks\":[]}\n{\"id\":$ID,\"chunks\":[]}", 5);
  ASSERT_TRUE(retrieved) << retrieved.error().message;
  EXPECT_EQ(retrieved->log.stray, "loading model …");
  EXPECT_EQ(retrieved->log.stray_lines, 5U);
  const auto next = pipeline->retrieve("next", 5);
  EXPECT_EQ(next->log.stray_lines, 0U);
}

TEST(CommandPipeline, CutsLongOutputBetweenCharacters) {
  auto pipeline = opened();
  std::string line;
  for (int i = 0; i < 500; ++i) line += "ü";
  const auto retrieved = pipeline->retrieve("raw:x" + line + "\n{\"id\":$ID,\"chunks\":[]}", 5);
  ASSERT_TRUE(retrieved);
  EXPECT_LE(retrieved->log.stray.size(), 210U);
  EXPECT_FALSE(text::first_invalid(retrieved->log.stray));
}

TEST(CommandPipeline, KeepsTheErrorOutputOfEachQuery) {
  auto pipeline = opened();
  EXPECT_EQ(pipeline->retrieve("errors:first", 5)->log.errors, "first");
  EXPECT_EQ(pipeline->retrieve("quiet", 5)->log.errors, "");
  EXPECT_EQ(pipeline->retrieve("bytes", 5)->log.errors, "no \xef\xbf\xbd UTF-8") << "as U+FFFD";
  const std::string flood(100'000, 'x');
  const auto log = pipeline->retrieve("errors:" + flood + "the end", 5)->log;
  EXPECT_LE(log.errors.size(), 8192U);
  EXPECT_THAT(log.errors, ::testing::EndsWith("the end"));
}

TEST(CommandPipeline, TellsWhichFieldIsWrong) {
  auto pipeline = opened();
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"id":$ID})", "chunks is missing: expected a list of {id, text, score, metadata}"},
      {R"({"id":$ID,"chunks":"x"})", "chunks: expected a list of {id, text, score, metadata}, got a string (\"x\")"},
      {R"({"id":$ID,"chunks":[{"id":"a","text":"t"},7]})", "chunks[1]: expected an object {id, text, score, metadata}, got a number (7)"},
      {R"({"id":$ID,"chunks":[{"id":7,"text":"t"}]})", "chunks[0].id: expected a string, got a number (7)"},
      {R"({"id":$ID,"chunks":[{"id":"a"}]})", "chunks[0].text is missing: expected a string"},
      {R"({"id":$ID,"chunks":[{"id":"a","text":null}]})", "chunks[0].text: expected a string, got null"},
      {R"({"id":$ID,"chunks":[{"id":"a","text":"t","score":"0.5"}]})", "chunks[0].score: expected a number, got a string (\"0.5\")"},
      {R"({"id":$ID,"chunks":[{"id":"a","text":"t","metadata":[]}]})", "chunks[0].metadata: expected an object, got an array ([])"},
      {R"({"chunks":[]})", "id is missing: expected the request's, "},
      {R"({"id":"x","chunks":[]})", "id: expected the request's, "},
  };
  for (const auto& [reply, message] : cases) {
    const auto failed = failure(*pipeline, "raw:" + reply);
    EXPECT_EQ(failed.type, "WrongShape") << reply;
    EXPECT_THAT(failed.message, StartsWith(message)) << reply;
  }
  for (const auto& [reply, message] : std::vector<std::pair<std::string, std::string>>{
           {R"({"id":$ID,"chunks":[]})", "answer is missing: expected a string"},
           {R"({"id":$ID,"answer":{"text":"x"}})", "answer: expected a string, got an object ({\"text\":\"x\"})"},
           {R"({"id":$ID,"answer":"x","refused":"no"})", "refused: expected true or false, got a string (\"no\")"},
           {R"({"id":$ID,"answer":"x","citations":[3]})", "citations[0]: expected a chunk id, or an object with a chunk_id, got a number (3)"}}) {
    const auto generated = pipeline->generate("raw:" + reply, {});
    ASSERT_FALSE(generated) << reply;
    EXPECT_EQ(generated.error().message, message);
  }
  EXPECT_EQ(first_id(pipeline->retrieve("goes on", 5)), "goes on");
}

TEST(CommandPipeline, TakesBrokenJsonForTheReplyItWasMeantToBe) {
  auto pipeline = opened();
  const auto pid = first_id(pipeline->retrieve("pid", 5));
  EXPECT_THAT(failure(*pipeline, R"(raw:{"id":$ID,"chunks":[{"id")"), AllOf(::testing::Field(&Failed::type, "BadJson"), ::testing::Field(&Failed::message, HasSubstr("no JSON"))));
  EXPECT_EQ(failure(*pipeline, R"(raw:{"chunks":[NaN],"id":$ID})").type, "BadJson");
  const auto deep = failure(*pipeline, "deep:100000");
  EXPECT_EQ(deep.type, "BadJson");
  EXPECT_THAT(deep.message, HasSubstr("deeper than 64"));
  EXPECT_LT(deep.message.size(), 400U);
  EXPECT_EQ(first_id(pipeline->retrieve("pid", 5)), pid) << "the process was none the worse";
}

TEST(CommandPipeline, ReportsThePipelinesOwnErrors) {
  auto pipeline = opened();
  const auto failed = failure(*pipeline, R"(raw:{"id":$ID,"error":{"type":"ValueError","message":"no such index","file":"/x/p.py","line":12}})");
  EXPECT_EQ(failed.type, "ValueError");
  EXPECT_EQ(failed.message, "no such index");
  EXPECT_EQ(failed.file, "/x/p.py");
  EXPECT_EQ(failed.line, 12U);
  EXPECT_EQ(failure(*pipeline, R"(raw:{"id":$ID,"error":"plain words"})").message, "plain words");
}

TEST(CommandPipeline, StartsAgainAfterACrash) {
  auto pipeline = opened();
  const auto pid = first_id(pipeline->retrieve("pid", 5));
  const auto failed = failure(*pipeline, "exit:3");
  EXPECT_EQ(failed.type, "Crash");
  EXPECT_EQ(failed.message, "the pipeline exited with status 3 before it replied; it wrote: out of luck");
  EXPECT_EQ(failed.log.errors, "out of luck\n");
  EXPECT_NE(first_id(pipeline->retrieve("pid", 5)), pid);
  EXPECT_THAT(failure(*pipeline, "kill").message, HasSubstr("was killed by signal 9 (SIGKILL)"));
  EXPECT_EQ(failure(*pipeline, "half").type, "Crash");
  EXPECT_EQ(first_id(pipeline->retrieve("well again", 5)), "well again");
}

TEST(CommandPipeline, StartsAgainWhenItEndedWhileNobodyAsked) {
  auto pipeline = opened();
  const auto retrieved = pipeline->retrieve("pid", 5);
  const pid_t pid = std::stoi(first_id(retrieved));
  ::kill(pid, SIGKILL);
  ASSERT_TRUE(gone(pid));
  // The call may still meet the dying process; the one after it may not.
  std::ignore = pipeline->retrieve("either", 5);
  EXPECT_EQ(first_id(pipeline->retrieve("after", 5)), "after");
}

TEST(CommandPipeline, GivesUpACallThatNeverReplies) {
  auto pipeline = opened("", {.call_limit = 2s});
  const auto failed = failure(*pipeline, "hang");
  EXPECT_EQ(failed.type, "Timeout");
  EXPECT_EQ(failed.message, "no reply within 2 s; it wrote: thinking");
  EXPECT_EQ(first_id(pipeline->retrieve("next", 5)), "next");
}

TEST(CommandPipeline, GivesUpWhenTheRequestIsNotRead) {
  auto pipeline = opened("", {.call_limit = 2s});
  ASSERT_TRUE(pipeline->retrieve("unread", 5));
  const std::vector<Chunk> large{{"a", std::string(std::size_t{4} << 20, 'x'), std::nullopt, ""}};
  const auto generated = pipeline->generate("x", large);
  ASSERT_FALSE(generated);
  EXPECT_EQ(generated.error().type, "Timeout");
  EXPECT_THAT(generated.error().message, HasSubstr("did not even read"));
  EXPECT_EQ(pipeline->generate("x", large)->answer, "a") << "a new process reads all of it";
}

TEST(CommandPipeline, GivesUpAReplyThatIsTooLarge) {
  auto pipeline = opened("", {.max_reply_bytes = 100'000});
  const auto flooded = failure(*pipeline, "flood:300000");
  EXPECT_EQ(flooded.type, "TooLarge");
  EXPECT_THAT(flooded.message, HasSubstr("more than 100000 bytes"));
  EXPECT_EQ(failure(*pipeline, "raw:{\"id\":$ID,\"chunks\":[],\"x\":\"" + std::string(200'000, 'y') + "\"}").type, "TooLarge");
  EXPECT_EQ(first_id(pipeline->retrieve("next", 5)), "next");
}

TEST(CommandPipeline, AsksAgainWhatWasUnderWayBesideTheCallThatEndedIt) {
  // Whatever is under way beside a call that ends the process is asked once more, and must not fail with it.
  auto pipeline = opened("", {.concurrency = 4});
  std::vector<std::string> queries;
  for (int i = 0; i < 40; ++i) queries.push_back(i % 10 == 3 ? "exit:3" : "ok " + std::to_string(i));
  std::vector<std::string> results(queries.size());
  ask_all(*pipeline, queries, {.concurrency = 4}, [&](std::size_t place, Asked asked) {
    results[place] = asked.retrieval ? asked.retrieval->chunks.front().id : asked.retrieval.error().type;
    return true;
  });
  for (std::size_t i = 0; i < queries.size(); ++i) EXPECT_EQ(results[i], i % 10 == 3 ? "Crash" : queries[i]);
}

TEST(CommandPipeline, OnlyTheCallThatHangsRunsOutOfTime) {
  auto pipeline = opened("", {.call_limit = 3s, .concurrency = 3});
  const std::vector<std::string> queries{"hang", "one", "two", "three"};
  std::vector<std::string> results(queries.size());
  ask_all(*pipeline, queries, {.concurrency = 3}, [&](std::size_t place, Asked asked) {
    results[place] = asked.retrieval ? asked.retrieval->chunks.front().id : asked.retrieval.error().type;
    return true;
  });
  EXPECT_EQ(results, (std::vector<std::string>{"Timeout", "one", "two", "three"}));
}

TEST(CommandPipeline, StopsCallsUnderWay) {
  // With one call at a time the second waits for its turn; whether the hanging one has begun makes no difference.
  auto pipeline = opened();
  std::vector<std::string> types(2);
  {
    std::vector<std::jthread> threads;
    for (auto& type : types) {
      threads.emplace_back([&] {
        const auto outcome = pipeline->retrieve("hang", 5);
        type = outcome ? "a reply" : outcome.error().type;
      });
    }
    pipeline->stop();
  }
  EXPECT_EQ(types, (std::vector<std::string>{"Stopped", "Stopped"}));
  EXPECT_EQ(failure(*pipeline, "later").type, "Stopped");
}

TEST(CommandPipeline, EndsItsWholeProcessGroup) {
  pid_t process = 0, child = 0;
  {
    auto pipeline = opened();
    process = std::stoi(first_id(pipeline->retrieve("pid", 5)));
    child = std::stoi(first_id(pipeline->retrieve("child", 5)));
    ASSERT_EQ(::kill(child, 0), 0);
  }
  EXPECT_TRUE(gone(process));
  EXPECT_TRUE(gone(child));
}

TEST(CommandPipeline, SkipsWhatIsPrintedBeforeTheHello) {
  auto pipeline = opened("--before 'Loading 100%' --before '{\"level\": \"info\"}'");
  EXPECT_EQ(pipeline->name(), "scripted");
  EXPECT_EQ(first_id(pipeline->retrieve("q", 5)), "q");
}

TEST(CommandPipeline, SaysWhyItCouldNotBeStarted) {
  const auto ended = open(command("--exit-at-start"), {});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::io);
  EXPECT_THAT(ended.error().message, AllOf(HasSubstr("exited with status 7 before it said hello"), HasSubstr("it wrote: no configuration")));
  const auto silent = open(command("--before warming --silent"), {.start_limit = 300ms});
  ASSERT_FALSE(silent);
  EXPECT_THAT(silent.error().message, AllOf(HasSubstr("did not say hello within 0.3 s"), HasSubstr("warming")));
  const auto refused = open(command(R"(--hello '{"id":$ID,"error":{"type":"ImportError","message":"no module x","file":"/p.py","line":4}}')"), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("ImportError: no module x"));
  EXPECT_EQ(refused.error().field, "/p.py");
  EXPECT_EQ(refused.error().line, 4U);
  const auto wrong = open(command(R"(--hello '{"id":$ID,"name":7}')"), {});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("name: expected a string, got a number (7)"));
  EXPECT_FALSE(open("cmd:/nowhere/to/be/found", {}));
}

TEST(CommandPipeline, MayOnlyRetrieve) {
  auto pipeline = opened(R"(--hello '{"id":$ID,"name":"half","ops":["retrieve"]}')");
  EXPECT_FALSE(pipeline->generates());
  std::size_t asked_count = 0;
  ask_all(*pipeline, std::vector<std::string>{"q"}, {}, [&](std::size_t, Asked asked) {
    EXPECT_TRUE(asked.retrieval);
    EXPECT_FALSE(asked.generation);
    ++asked_count;
    return true;
  });
  EXPECT_EQ(asked_count, 1U);
}

TEST(AskAll, GeneratesOverAnEmptyRetrievalButNotAfterAFailedOne) {
  auto pipeline = opened();
  const std::vector<std::string> questions{"empty", "exit:1", "third"};
  std::vector<std::string> answers(3);
  ask_all(*pipeline, questions, {.k = 2}, [&](std::size_t place, Asked asked) {
    answers[place] = asked.generation ? (*asked.generation)->answer : "not asked";
    return true;
  });
  EXPECT_EQ(answers, (std::vector<std::string>{"", "not asked", "third"}));
}

TEST(AskAll, WarmsUpOnTheFirstQuestionsAndDropsWhatComesOfIt) {
  // The first request of all ends the process: with a warm-up that is none of the results.
  for (const unsigned warm_up : {0U, 1U}) {
    const auto file = std::filesystem::temp_directory_path() / ("polygraph crash " + std::to_string(::getpid()) + "-" + std::to_string(warm_up));
    std::filesystem::remove(file);
    auto pipeline = opened("--crash-once '" + file.string() + "'");
    std::size_t results = 0, failures = 0;
    ask_all(*pipeline, std::vector<std::string>{"a", "b"}, {.warm_up = warm_up}, [&](std::size_t, Asked asked) {
      ++results;
      failures += asked.retrieval ? 0 : 1;
      return true;
    });
    EXPECT_EQ(results, 2U);
    EXPECT_EQ(failures, warm_up == 0 ? 1U : 0U);
    std::filesystem::remove(file);
  }
}

TEST(AskAll, EndsWhenItIsToldTo) {
  auto pipeline = opened();
  std::size_t results = 0;
  ask_all(*pipeline, std::vector<std::string>(10, "q"), {}, [&](std::size_t, Asked) { return ++results < 3; });
  EXPECT_EQ(results, 3U);
}

TEST(Open, FindsTheShimsOfACheckoutBesideItsDistribution) {
  const std::filesystem::path root = POLYGRAPH_SOURCE_DIR;
  for (const char* const folder : {"no-dist", "no-dist/"}) EXPECT_EQ(shim_folder(root / folder), root / "assets" / "pipelines");
}

TEST(Open, NamesWhatAPipelineMayBe) {
  for (const char* const wrong : {"mine", "", "pipeline.txt", "ftp://x/y"}) {
    const auto none = open(wrong, {});
    ASSERT_FALSE(none) << wrong;
    EXPECT_EQ(none.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(none.error().message, HasSubstr("hybrid_rerank"));
  }
  EXPECT_EQ(open("cmd: ", {}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(open("/nowhere/p.py", {}).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace polygraph::pipelines
