// A store that breaks while it is in use gives `io`, never a grant, and goes on by itself once it is whole again.
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <fstream>

#include "tests/proxy/store/backends.hpp"

namespace polygraph::proxy::test {
namespace {

namespace fs = std::filesystem;

void expect_io(Store& store) {
  const auto answer = store.reserve("m", 1, roomy, noon);
  ASSERT_FALSE(answer) << "reserved in a store that is broken";
  EXPECT_EQ(answer.error().code, ErrorCode::io);
  EXPECT_NE(answer.error().message, "");
}

class BrokenFile : public StoreTest<SqliteBackend> {
 protected:
  fs::path file() const { return fs::path(backend->target()) / "polygraph.sqlite"; }
  void write(const std::string& bytes) const { std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes; }
};

/// Files can't grow while this lives, as on a full disk. Nothing is printed meanwhile.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit full{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

TEST_F(BrokenFile, AFullDiskIsIoAndRoomEndsIt) {
  granted(*store, "m", 5, roomy, noon);
  Result<void> sound, settled;
  Result<std::variant<ReservationId, Denied>> answer = Denied{};
  {
    const FullDisk full(1);
    answer = store->reserve("m", 1, roomy, noon);
    sound = store->check();
    settled = store->settle(1, {1, 1});
  }
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::io);
  ASSERT_FALSE(sound);
  EXPECT_EQ(sound.error().code, ErrorCode::io);
  EXPECT_TRUE(store->check().has_value());
  granted(*store, "m", 1, roomy, noon);
  EXPECT_EQ(store->usage()->front().open_tokens, 6U) << "nothing of before is lost, nothing of what failed is there";
}

TEST_F(BrokenFile, CallsTogetherAreTakenBackWithTheOneThatFailed) {
  const auto refused = store->together([&]() -> Result<void> {
    granted(*store, "m", 5, roomy, noon);
    return fail(ErrorCode::not_found, "what was looked for is not there");
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
  EXPECT_TRUE(store->usage()->empty());
  Result<void> full_disk;
  {
    const FullDisk full(1);
    full_disk = store->together([&]() -> Result<void> {
      (void)store->cache("k", "v", noon);  // its failure counts though nobody looks at it
      return {};
    });
  }
  ASSERT_FALSE(full_disk);
  EXPECT_EQ(full_disk.error().code, ErrorCode::io);
  granted(*store, "m", 7, roomy, noon);
  EXPECT_EQ(store->usage()->front().open_tokens, 7U) << "calls stand for themselves again";
}

TEST_F(BrokenFile, TheJournalIsCopiedIntoTheFileWhileTheStoreIsInUse) {
  const auto before = fs::file_size(file());
  const std::string value(3000, 'v');
  for (int i = 0; fs::file_size(file()) == before && i < 200'000; ++i) ASSERT_TRUE(store->cache(std::to_string(i % 2000), value, noon));
  EXPECT_GT(fs::file_size(file()), before);
  EXPECT_TRUE(store->check().has_value());
}

TEST_F(BrokenFile, ARemovedFileIsIoOnceAndThenANewOne) {
  granted(*store, "m", 5, roomy, noon);
  fs::remove_all(backend->target());
  expect_io(*store);
  granted(*store, "m", 1, roomy, noon);
  EXPECT_EQ(backend->open()->usage()->front().open_tokens, 1U) << "it was written where others find it";
}

TEST_F(BrokenFile, AFileThatWasMovedAwayIsNotWrittenTo) {
  granted(*store, "m", 5, roomy, noon);
  const auto elsewhere = file().string() + ".moved";
  fs::rename(file(), elsewhere);
  expect_io(*store);
  fs::remove(file());
  fs::rename(elsewhere, file());
  EXPECT_TRUE(store->check() || store->check()) << "once for noticing, at most";
}

TEST_F(BrokenFile, AReplacedFileIsIoOnceAndThenUsed) {
  const SqliteBackend other;
  granted(*other.open(), "m", 70, roomy, noon);  // closed, so that all of it is in the one file
  granted(*store, "m", 5, roomy, noon);
  fs::rename(fs::path(other.target()) / "polygraph.sqlite", file());
  expect_io(*store);
  granted(*store, "m", 1, roomy, noon);
  EXPECT_EQ(store->usage()->front().open_tokens, 71U);
}

TEST_F(BrokenFile, ALostJournalIsNoticedAndWhatWasCommittedIsKept) {
  granted(*store, "m", 5, roomy, noon);
  fs::remove(file().string() + "-wal");
  expect_io(*store);
  EXPECT_EQ(store->usage()->front().open_tokens, 5U);
}

TEST_F(BrokenFile, JunkInItsPlaceIsIoUntilItIsGoneAndIsLeftAlone) {
  const std::string junk(8192, 'j');
  store.reset();
  write(junk);
  const auto refused = open_sqlite_store(backend->target());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io);
  EXPECT_EQ(fs::file_size(file()), junk.size());

  fs::remove_all(backend->target());
  store = backend->open();
  fs::remove(file());
  write(junk);
  for (int i = 0; i < 3; ++i) expect_io(*store);
  EXPECT_EQ(fs::file_size(file()), junk.size());
  fs::remove(file());
  granted(*store, "m", 1, roomy, noon);
}

TEST_F(BrokenFile, AFolderInTheFilesPlaceIsIoUntilItIsGone) {
  fs::remove_all(backend->target());
  fs::create_directories(file());
  for (int i = 0; i < 2; ++i) expect_io(*store);
  fs::remove(file());
  granted(*store, "m", 1, roomy, noon);
}

TEST_F(BrokenFile, AnotherProgramsDatabaseAndALaterSchemaAreRefusedAndKept) {
  for (const auto* made : {"CREATE TABLE theirs (x)", "PRAGMA application_id = 1347176274; PRAGMA user_version = 2", "PRAGMA user_version = 1"}) {
    const Folder folder;
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open((folder.path() / "polygraph.sqlite").c_str(), &raw), SQLITE_OK);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(raw, sqlite3_close);
    ASSERT_EQ(sqlite3_exec(raw, made, nullptr, nullptr, nullptr), SQLITE_OK);
    const auto refused = open_sqlite_store(folder.path());
    ASSERT_FALSE(refused) << made;
    EXPECT_EQ(refused.error().code, ErrorCode::io);
  }
}

TEST_F(BrokenFile, AWriterThatHoldsTheFileTooLongIsIoAndItsEndIsEnough) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &raw), SQLITE_OK);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> other(raw, sqlite3_close);
  ASSERT_EQ(sqlite3_exec(raw, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  expect_io(*store);
  EXPECT_TRUE(store->usage().has_value()) << "readers do not wait for writers";
  ASSERT_EQ(sqlite3_exec(raw, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  granted(*store, "m", 1, roomy, noon);
}

TEST(SqliteFolder, ThatCannotBeMadeIsIo) {
  const Folder folder;
  std::ofstream(folder.path() / "file") << "x";
  const auto refused = open_sqlite_store(folder.path() / "file" / "state");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io);
}

class BrokenRedis : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* missing = RedisBackend::missing()) GTEST_SKIP() << missing;
    server = std::make_unique<RedisServer>(RedisServer::Keeps::written);
    store = std::move(*open_redis_store(server->url(), patient));
    granted(*store, "m", 5, roomy, noon);
  }
  std::unique_ptr<RedisServer> server;
  std::unique_ptr<Store> store;
};

TEST_F(BrokenRedis, AStoppedServerIsIoUntilItRunsAgain) {
  server->kill();
  for (int i = 0; i < 2; ++i) expect_io(*store);
  EXPECT_FALSE(store->check());
  EXPECT_FALSE(store->reserve("m", 2, ModelLimits{1, 1, 1, 1}, noon)) << "nothing is known without it";
  server->start();
  granted(*store, "m", 1, roomy, noon);
  EXPECT_EQ(store->usage()->front().open_tokens, 6U);
}

TEST_F(BrokenRedis, AServerThatWasStartedAgainCostsNoCall) {
  server->kill();
  server->start();
  granted(*store, "m", 1, roomy, noon);
  EXPECT_EQ(store->usage()->front().open_tokens, 6U);
}

TEST_F(BrokenRedis, AServerThatIsNotThereYetIsConnectedToLater) {
  server->kill();
  auto early = open_redis_store(server->url(), patient);
  ASSERT_TRUE(early);
  expect_io(**early);
  server->start();
  granted(**early, "m", 1, roomy, noon);
}

TEST_F(BrokenRedis, AConnectionThatTheServerClosedIsMadeAgain) {
  server->command({"CLIENT", "KILL", "TYPE", "normal"});
  granted(*store, "m", 1, roomy, noon);
  EXPECT_EQ(store->usage()->front().open_requests, 2U);
}

TEST_F(BrokenRedis, ForgottenScriptsAreLoadedAgain) {
  server->command({"SCRIPT", "FLUSH"});
  granted(*store, "m", 1, roomy, noon);
}

TEST_F(BrokenRedis, AServerThatHangsIsIoAndItsLateAnswersAreNobodys) {
  store = std::move(*open_redis_store(server->url()));
  ASSERT_TRUE(store->check());
  server->pause();
  const auto left = store->remaining("m", roomy, noon);
  const auto kept = store->cached("key", noon);
  server->go_on();
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().code, ErrorCode::io);
  ASSERT_FALSE(kept);
  EXPECT_NE(left.error().message.find("no answer in time"), std::string::npos) << left.error().message;
  while (!store->cache("key", "value", noon)) {  // until it is awake
  }
  EXPECT_EQ(store->cached("key", noon).value(), "value");
}

TEST_F(BrokenRedis, AServerWithoutRoomIsIoUntilItHasSome) {
  server->command({"CONFIG", "SET", "maxmemory", "1"});
  expect_io(*store);
  EXPECT_FALSE(store->check());
  server->command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(store->check());
  granted(*store, "m", 1, roomy, noon);
}

TEST_F(BrokenRedis, ADatabaseThatTheServerDoesNotHaveIsIo) {
  const auto other = open_redis_store(server->url(100'000), patient);
  ASSERT_TRUE(other);
  expect_io(**other);
}

TEST_F(BrokenRedis, EveryKeyHasThePrefixAndAnEnd) {
  ASSERT_TRUE(store->settle(granted(*store, "m", 1, roomy, noon), {1, 1}));
  ASSERT_TRUE(store->pause("m", noon + day));
  ASSERT_TRUE(store->cache("key", "value", noon));
  ASSERT_TRUE(store->cached("key", noon));
  ASSERT_TRUE(store->take_client_token("c", 1, 1, noon));
  ASSERT_TRUE(store->take_client_token("d", 1, 0, noon));
  ASSERT_TRUE(store->check());
  std::istringstream keys(server->command({"KEYS", "*"}));
  int count = 0;
  for (std::string key; std::getline(keys, key); ++count) {
    EXPECT_TRUE(key.starts_with("polygraph:")) << key;
    EXPECT_GT(std::stoll(server->command({"TTL", key})), 0) << key;
  }
  EXPECT_GE(count, 10);
}

}  // namespace
}  // namespace polygraph::proxy::test
