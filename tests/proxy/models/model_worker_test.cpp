// The worker process: with the real models where they are in the cache, and with small scripts that misbehave.
#include "proxy/models/model_worker.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "proxy/models/manifest.hpp"
#include "proxy/models/model_store.hpp"

namespace polygraph::models {
namespace {

namespace fs = std::filesystem;
using text::TokenId;
using ::testing::AllOf;
using ::testing::HasSubstr;

const fs::path source_dir = POLYGRAPH_SOURCE_DIR;

nlohmann::json reference() {
  std::ifstream file(source_dir / "tests/proxy/models/reference.json");
  return nlohmann::json::parse(file);
}

std::vector<std::vector<TokenId>> reference_texts() {
  std::vector<std::vector<TokenId>> texts;
  const auto document = reference();
  for (const auto& text : document["texts"]) texts.push_back(text["token_ids"].get<std::vector<TokenId>>());
  return texts;
}

std::vector<agent::TokenPair> reference_pairs() {
  std::vector<agent::TokenPair> pairs;
  const auto document = reference();
  for (const auto& pair : document["pairs"])
    pairs.push_back({pair["token_ids"].get<std::vector<TokenId>>(), pair["split"].get<std::uint32_t>()});
  return pairs;
}

/// Ordinary words of the vocabulary between [CLS] and [SEP].
std::vector<TokenId> text_of(std::size_t tokens, TokenId first_word) {
  std::vector<TokenId> ids{101};
  while (ids.size() + 1 < tokens) ids.push_back(first_word + static_cast<TokenId>(ids.size() * 7));
  ids.push_back(102);
  return ids;
}

std::vector<std::vector<TokenId>> many_texts() {
  std::vector<std::vector<TokenId>> texts;
  for (std::size_t i = 0; i < 12; ++i) texts.push_back(text_of(20 + i, static_cast<TokenId>(2000 + 50 * i)));
  return texts;
}

/// Whether a process is gone; one that nobody has reaped yet counts as gone.
bool ended(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return true;
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos || line[name_end + 2] == 'Z' || line[name_end + 2] == 'X';
}

bool ends_within(pid_t pid, std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (ended(pid)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return ended(pid);
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "model-worker-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  fs::path write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name) << content;
    return path_ / name;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// A worker as the protocol wants it, up to the first request; what follows is a test's own misbehaviour.
constexpr const char* greeting = R"(
import { writeSync } from "node:fs";
const send = (head) => {
  const json = Buffer.from(JSON.stringify(head));
  const frame = Buffer.alloc(8 + json.length);
  frame.writeUInt32LE(4 + json.length, 0);
  frame.writeUInt32LE(json.length, 4);
  json.copy(frame, 8);
  writeSync(1, frame);
};
let frames = 0;
const ready = () => send({ op: "ready", runtime: "scripted", protocol: 1 });
process.stdin.on("end", () => process.exit(0));
)";

Result<std::unique_ptr<ModelWorker>> start_scripted(const fs::path& script, std::chrono::milliseconds silence = std::chrono::seconds(30)) {
  ModelWorkerOptions options;
  options.script = script;
  options.silence = silence;
  return ModelWorker::start(std::move(options));
}

class RealWorker : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto manifest = Manifest::read(source_dir / "assets/models.json");
    ASSERT_TRUE(manifest) << manifest.error().message;
    const ModelStore store(ModelStore::default_root());
    options_ = store.worker_options(*manifest);
    options_.script = source_dir / "dist/model-worker.mjs";
    for (const FileStatus& file : store.list(*manifest))
      if (file.state != FileState::present) GTEST_SKIP() << file.path << " is " << name(file.state) << ": `polygraph models fetch` brings it";
    if (!fs::exists(options_.script)) GTEST_SKIP() << options_.script << " is not built: `npm run build:node`";
    if (!fs::exists(source_dir / "node_modules/onnxruntime-node")) GTEST_SKIP() << "onnxruntime-node is not installed: `npm ci --ignore-scripts`";
  }

  std::unique_ptr<ModelWorker> start() {
    auto worker = ModelWorker::start(options_);
    if (!worker) {
      ADD_FAILURE() << worker.error().message;
      return nullptr;
    }
    return std::move(*worker);
  }

  ModelWorkerOptions options_;
};

TEST_F(RealWorker, EmbeddingsAgreeWithThePythonRuntime) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  const auto vectors = worker->embed(reference_texts());
  ASSERT_TRUE(vectors) << vectors.error().message;
  const auto document = reference();
  ASSERT_EQ(vectors->size(), document["texts"].size());
  for (std::size_t i = 0; i < vectors->size(); ++i) {
    const auto expected = document["texts"][i]["vector"].get<std::vector<double>>();
    const auto& vector = (*vectors)[i];
    ASSERT_EQ(vector.size(), 384u);
    double dot = 0, length = 0;
    for (std::size_t k = 0; k < vector.size(); ++k) {
      dot += vector[k] * expected[k];
      length += double{vector[k]} * vector[k];
    }
    EXPECT_NEAR(length, 1.0, 1e-6);
    EXPECT_GT(dot, 0.999) << document["texts"][i]["text"];
  }
}

TEST_F(RealWorker, LogitsAgreeWithThePythonRuntime) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  const auto scores = worker->score(reference_pairs(), 0);
  ASSERT_TRUE(scores) << scores.error().message;
  const auto document = reference();
  ASSERT_EQ(scores->logits.size(), document["pairs"].size());
  for (std::size_t i = 0; i < scores->logits.size(); ++i) EXPECT_NEAR(scores->logits[i], document["pairs"][i]["logit"].get<double>(), 0.15);
  EXPECT_GT(scores->ms, 0);
}

TEST_F(RealWorker, TheTypeOfATokenChangesItsScore) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  auto pairs = reference_pairs();
  pairs.resize(1);
  pairs.push_back(pairs[0]);
  pairs[1].split = static_cast<std::uint32_t>(pairs[1].token_ids.size());
  const auto scores = worker->score(pairs, 0);
  ASSERT_TRUE(scores) << scores.error().message;
  EXPECT_NE(scores->logits[0], scores->logits[1]);
}

TEST_F(RealWorker, AVectorDependsOnItsTextAloneToTheLastBit) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  const auto texts = many_texts();
  const auto together = worker->embed(texts);
  ASSERT_TRUE(together) << together.error().message;
  const auto again = worker->embed(texts);
  ASSERT_TRUE(again);
  EXPECT_EQ(*together, *again);
  for (const std::size_t i : {std::size_t{0}, std::size_t{5}, texts.size() - 1}) {
    const auto alone = worker->embed(std::span(&texts[i], 1));
    ASSERT_TRUE(alone);
    EXPECT_EQ((*alone)[0], (*together)[i]) << "text " << i;
  }
}

TEST_F(RealWorker, ALogitDependsOnItsPairAloneToTheLastBit) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  auto pairs = reference_pairs();
  pairs.push_back({text_of(90, 3000), 12});
  const auto together = worker->score(pairs, 0);
  ASSERT_TRUE(together) << together.error().message;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto alone = worker->score(std::span(&pairs[i], 1), 0);
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->logits[0], together->logits[i]) << "pair " << i;
  }
}

TEST_F(RealWorker, TheNumberOfThreadsDoesNotChangeABit) {
  options_.threads = 1;
  const auto one = start();
  options_.threads = 2;
  const auto two = start();
  ASSERT_TRUE(one && two);
  const auto texts = many_texts();
  EXPECT_EQ(*one->embed(texts), *two->embed(texts));
  EXPECT_EQ(one->score(reference_pairs(), 0)->logits, two->score(reference_pairs(), 0)->logits);
}

TEST_F(RealWorker, ABudgetEndsScoringEarlyWithTheFirstPairsScored) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  std::vector<agent::TokenPair> pairs;
  for (TokenId i = 0; i < 40; ++i) pairs.push_back({text_of(256, 2000 + 20 * i), 10});
  const auto within = worker->score(pairs, 1);
  ASSERT_TRUE(within) << within.error().message;
  ASSERT_GE(within->logits.size(), 1u);
  ASSERT_LT(within->logits.size(), pairs.size());
  const auto first = worker->score(std::span(pairs).first(within->logits.size()), 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(within->logits, first->logits);
}

TEST_F(RealWorker, NothingAskedIsNothingAnswered) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  EXPECT_TRUE(worker->embed({})->empty());
  EXPECT_TRUE(worker->score({}, 100)->logits.empty());
}

TEST_F(RealWorker, ProgressCountsEveryTextOverAllSlices) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  std::vector<std::vector<TokenId>> texts(70, text_of(4, 2000));
  std::vector<std::size_t> seen;
  ASSERT_TRUE(worker->embed(texts, [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, texts.size());
    seen.push_back(done);
  }));
  ASSERT_EQ(seen.size(), texts.size());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), texts.size());
}

TEST_F(RealWorker, AWorkerKilledUnderARequestIsStartedAgainAndTheAnswerIsTheSame) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  const auto texts = many_texts();
  const auto undisturbed = worker->embed(texts);
  ASSERT_TRUE(undisturbed);
  const pid_t first = worker->pid();
  bool killed = false;
  const auto disturbed = worker->embed(texts, [&](std::size_t done, std::size_t) {
    if (done == 3 && !std::exchange(killed, true)) ::kill(worker->pid(), SIGKILL);
  });
  ASSERT_TRUE(disturbed) << disturbed.error().message;
  EXPECT_TRUE(killed);
  EXPECT_NE(worker->pid(), first);
  EXPECT_EQ(*disturbed, *undisturbed);
}

TEST_F(RealWorker, AWorkerKilledTwiceUnderARequestIsAnErrorAndTheNextRequestWorks) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  const auto texts = many_texts();
  const auto vectors = worker->embed(texts, [&](std::size_t done, std::size_t) {
    if (done == 2) ::kill(worker->pid(), SIGKILL);
  });
  ASSERT_FALSE(vectors);
  EXPECT_EQ(vectors.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(vectors.error().message, AllOf(HasSubstr("ended twice"), HasSubstr("signal 9")));
  EXPECT_TRUE(worker->embed(texts));
}

TEST_F(RealWorker, TheWorkerOutlivesTheThreadThatStartedIt) {
  std::unique_ptr<ModelWorker> worker;
  std::thread([&] { worker = start(); }).join();
  ASSERT_TRUE(worker);
  const pid_t pid = worker->pid();
  ASSERT_TRUE(worker->embed(reference_texts()));
  EXPECT_EQ(worker->pid(), pid);
}

TEST_F(RealWorker, ThreadsMayShareOneWorker) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  const auto texts = reference_texts();
  const auto expected = worker->embed(texts);
  const auto logits = worker->score(reference_pairs(), 0);
  ASSERT_TRUE(expected && logits);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      EXPECT_EQ(*worker->embed(texts), *expected);
      EXPECT_EQ(worker->score(reference_pairs(), 0)->logits, logits->logits);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RealWorker, NoProcessRemainsAfterItsEnd) {
  auto worker = start();
  ASSERT_TRUE(worker);
  const pid_t pid = worker->pid();
  worker.reset();
  EXPECT_TRUE(ended(pid));
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(RealWorker, TheWorkerEndsWithAParentThatWasKilled) {
  std::array<int, 2> fds{};
  ASSERT_EQ(::pipe(fds.data()), 0);
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    const auto worker = ModelWorker::start(options_);
    const pid_t pid = worker ? (*worker)->pid() : -1;
    if (::write(fds[1], &pid, sizeof pid) == sizeof pid)
      for (;;) ::pause();
    ::_exit(1);
  }
  pid_t worker = -1;
  ASSERT_EQ(::read(fds[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  ASSERT_GT(worker, 0);
  EXPECT_FALSE(ended(worker));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(ends_within(worker, std::chrono::seconds(10)));
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST_F(RealWorker, AMissingModelIsNamedWithWhatToDo) {
  options_.embedder.path = "/no/such/model.onnx";
  const auto worker = start();
  ASSERT_TRUE(worker);
  const auto vectors = worker->embed(reference_texts());
  ASSERT_FALSE(vectors);
  EXPECT_EQ(vectors.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(vectors.error().message, AllOf(HasSubstr("embedder"), HasSubstr("/no/such/model.onnx"), HasSubstr("polygraph models fetch")));
  EXPECT_TRUE(worker->score(reference_pairs(), 0)) << "the reranker is not concerned";
}

TEST_F(RealWorker, AModelThatArrivesLaterIsUsedByTheNextRequest) {
  const TemporaryFolder folder;
  const fs::path real = std::exchange(options_.embedder.path, folder.path() / "model.onnx");
  const auto worker = start();
  ASSERT_TRUE(worker);
  EXPECT_FALSE(worker->embed(reference_texts()));
  fs::create_symlink(real, folder.path() / "model.onnx");
  EXPECT_TRUE(worker->embed(reference_texts()));
}

TEST_F(RealWorker, AFileThatIsNoModelIsNamed) {
  const TemporaryFolder folder;
  options_.reranker.path = folder.write("model.onnx", "this is no model");
  const auto worker = start();
  ASSERT_TRUE(worker);
  const auto scores = worker->score(reference_pairs(), 0);
  ASSERT_FALSE(scores);
  EXPECT_EQ(scores.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(scores.error().message, AllOf(HasSubstr("reranker"), HasSubstr(options_.reranker.path.string())));
}

TEST_F(RealWorker, TheRerankersFileIsRefusedAsEmbedder) {
  options_.embedder.path = options_.reranker.path;
  const auto worker = start();
  ASSERT_TRUE(worker);
  const auto vectors = worker->embed(reference_texts());
  ASSERT_FALSE(vectors);
  EXPECT_EQ(vectors.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(vectors.error().message, AllOf(HasSubstr("another model"), HasSubstr("last_hidden_state"), HasSubstr("logits")));
}

TEST_F(RealWorker, InputsThatNoModelTakesAreWrongUse) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  for (const std::size_t tokens : {std::size_t{0}, std::size_t{513}}) {
    const std::vector<std::vector<TokenId>> texts{text_of(8, 2000), std::vector<TokenId>(tokens, 2000)};
    const auto vectors = worker->embed(texts);
    ASSERT_FALSE(vectors);
    EXPECT_EQ(vectors.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(vectors.error().message, HasSubstr("input 1 has " + std::to_string(tokens) + " tokens"));
  }
  const std::vector<agent::TokenPair> pairs{{text_of(8, 2000), 9}};
  const auto scores = worker->score(pairs, 0);
  ASSERT_FALSE(scores);
  EXPECT_EQ(scores.error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(worker->embed(std::vector<std::vector<TokenId>>(1, text_of(512, 2000)))) << "512 tokens are the most";
}

TEST_F(RealWorker, ATokenOutsideTheVocabularyIsAnErrorAndTheWorkerGoesOn) {
  const auto worker = start();
  ASSERT_TRUE(worker);
  const pid_t pid = worker->pid();
  const std::vector<std::vector<TokenId>> texts{{101, 40'000'000, 102}};
  const auto vectors = worker->embed(texts);
  ASSERT_FALSE(vectors);
  EXPECT_TRUE(worker->embed(reference_texts()));
  EXPECT_EQ(worker->pid(), pid);
}

TEST_F(RealWorker, WithoutOnnxruntimeItSaysWhatToInstall) {
  const TemporaryFolder folder;
  options_.script = folder.path() / "model-worker.mjs";
  fs::copy_file(source_dir / "dist/model-worker.mjs", options_.script);
  const auto worker = ModelWorker::start(options_);
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(worker.error().message, AllOf(HasSubstr("onnxruntime-node"), HasSubstr("npm ci --ignore-scripts")));
}

TEST(ModelWorker, WithoutNodeItSaysSo) {
  const TemporaryFolder folder;
  ModelWorkerOptions options;
  options.script = folder.write("worker.mjs", "");
  options.node = "no-such-node";
  const auto worker = ModelWorker::start(options);
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(worker.error().message, AllOf(HasSubstr("Node"), HasSubstr("no-such-node"), HasSubstr("PATH")));
}

TEST(ModelWorker, WithoutItsScriptItSaysHowToBuildIt) {
  const auto worker = start_scripted("/no/such/model-worker.mjs");
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(worker.error().message, AllOf(HasSubstr("/no/such/model-worker.mjs"), HasSubstr("npm run build:node"), HasSubstr("POLYGRAPH_WORKER")));
}

TEST(ModelWorker, TheEnvironmentNamesAnotherScript) {
  const TemporaryFolder folder;
  const fs::path script = folder.write("worker.mjs", std::string(greeting) + "process.stdin.on('data', () => { if (frames++ === 0) ready(); });");
  ::setenv("POLYGRAPH_WORKER", script.c_str(), 1);
  const auto worker = start_scripted("/no/such/model-worker.mjs");
  ::unsetenv("POLYGRAPH_WORKER");
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_EQ((*worker)->runtime(), "scripted");
}

TEST(ModelWorker, AScriptThatFailsAtOnceIsQuoted) {
  const TemporaryFolder folder;
  const auto worker = start_scripted(folder.write("worker.mjs", "process.stderr.write('the bundle is damaged\\n'); process.exit(3);"));
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(worker.error().message, AllOf(HasSubstr("status 3"), HasSubstr("the bundle is damaged")));
}

TEST(ModelWorker, AnotherVersionsWorkerIsRefused) {
  const TemporaryFolder folder;
  const auto worker = start_scripted(
      folder.write("worker.mjs", std::string(greeting) + "process.stdin.on('data', () => send({ op: 'ready', protocol: 99 }));"));
  ASSERT_FALSE(worker);
  EXPECT_THAT(worker.error().message, HasSubstr("another version"));
}

TEST(ModelWorker, AWorkerThatFallsSilentIsGivenUpAfterASecondTry) {
  const TemporaryFolder folder;
  const auto worker = start_scripted(
      folder.write("worker.mjs", std::string(greeting) + "process.stdin.on('data', () => { if (frames++ === 0) ready(); });"), std::chrono::seconds(3));
  ASSERT_TRUE(worker) << worker.error().message;
  const pid_t first = (*worker)->pid();
  const auto vectors = (*worker)->embed(std::vector<std::vector<TokenId>>(1, text_of(8, 2000)));
  ASSERT_FALSE(vectors);
  EXPECT_EQ(vectors.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(vectors.error().message, HasSubstr("no sign of life for 3000 ms"));
  EXPECT_TRUE(ended(first));
}

TEST(ModelWorker, AWorkerThatEndsBetweenRequestsIsNoSignalForUs) {
  const TemporaryFolder folder;
  const auto worker = start_scripted(folder.write(
      "worker.mjs", std::string(greeting) + "process.stdin.on('data', () => { ready(); process.stderr.write('gone\\n'); process.exit(7); });"));
  ASSERT_TRUE(worker) << worker.error().message;
  ASSERT_TRUE(ends_within((*worker)->pid(), std::chrono::seconds(10)));
  // Large enough to fill the socket: writing to a process that is gone must not raise SIGPIPE.
  const auto vectors = (*worker)->embed(std::vector<std::vector<TokenId>>(64, text_of(512, 2000)));
  ASSERT_FALSE(vectors);
  EXPECT_THAT(vectors.error().message, AllOf(HasSubstr("status 7"), HasSubstr("gone")));
}

TEST(ModelWorker, BytesThatAreNoFrameEndTheWorker) {
  const TemporaryFolder folder;
  const auto worker = start_scripted(folder.write("worker.mjs", "process.stdin.on('data', () => {}); process.stdout.write('Debugger attached.\\n');"));
  ASSERT_FALSE(worker);
  EXPECT_THAT(worker.error().message, HasSubstr("no frame"));
}

TEST(ModelWorker, AReplyOfTheWrongShapeIsAnError) {
  const TemporaryFolder folder;
  const auto worker = start_scripted(folder.write("worker.mjs", std::string(greeting) + R"(
    process.stdin.on('data', () => { if (frames++ === 0) ready(); else send({ op: 'done', id: 1, count: 1, width: 384, ms: 1 }); });)"));
  ASSERT_TRUE(worker) << worker.error().message;
  const auto vectors = (*worker)->embed(std::vector<std::vector<TokenId>>(1, text_of(8, 2000)));
  ASSERT_FALSE(vectors);
  EXPECT_EQ(vectors.error().code, ErrorCode::internal);
}

}  // namespace
}  // namespace polygraph::models
