// What a store is opened on in the tests: a folder of the test's own, and a Redis that the test starts.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "proxy/store/store.hpp"

namespace polygraph::proxy::test {

/// 2026-11-30T12:00:00Z
constexpr Millis noon = 1'796'040'000'000;
constexpr Millis second = 1000, minute = 60 * second, day = 24 * 60 * minute;
/// 2026-12-01T00:00:00Z
constexpr Millis midnight = noon + day / 2;

constexpr ModelLimits roomy{1'000'000'000, 1'000'000'000, 1'000'000'000'000, 1'000'000'000'000};

/// So long that a machine which is busy with other things fails no test that is about something else.
constexpr StoreOptions patient{.redis_timeout = std::chrono::seconds(20)};

class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A redis-server on a free port of 127.0.0.1. Ends with its scope.
class RedisServer {
 public:
  /// What outlives its end: `written` goes to its file with each command and outlives a kill; `synced` is on the disk too.
  enum class Keeps { nothing, written, synced };
  explicit RedisServer(Keeps keeps = Keeps::nothing);
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// Whether the binary is there at all.
  static bool installed();

  void start();  ///< on the port of before; waits until it answers
  void kill();
  void pause();     ///< it takes connections and commands, and answers nothing
  void go_on();
  std::string command(const std::vector<std::string>& words) const;  ///< its answer as text
  std::string url(int database = 0) const;

 private:
  bool answers() const;
  Folder folder_;
  Keeps keeps_;
  int port_ = 0;
  pid_t pid_ = -1;
};

class SqliteBackend {
 public:
  static constexpr const char* missing() { return nullptr; }
  std::string target() const { return (folder_.path() / "state").string(); }
  std::unique_ptr<Store> open(StoreOptions options = patient) const;

 private:
  Folder folder_;
};

class RedisBackend {
 public:
  RedisBackend();
  static const char* missing();
  std::string target() const;
  std::unique_ptr<Store> open(StoreOptions options = patient) const;

 private:
  int database_;
};

/// A fresh store for each test, and as many more views of it as wanted.
template <class Backend>
class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* missing = Backend::missing()) GTEST_SKIP() << missing;
    backend = std::make_unique<Backend>();
    store = backend->open();
    ASSERT_NE(store, nullptr);
  }
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Store> store;
};

struct BackendNames {
  template <class Backend>
  static std::string GetName(int) { return std::is_same_v<Backend, SqliteBackend> ? "Sqlite" : "Redis"; }
};
using Backends = ::testing::Types<SqliteBackend, RedisBackend>;

/// The id of a reservation that must be granted; 0, and a failure of the test, otherwise.
ReservationId granted(Store& store, std::string_view model, std::uint64_t tokens, const ModelLimits& limits, Millis now);
/// The denial of one that must not be.
Denied denied(Store& store, std::string_view model, std::uint64_t tokens, const ModelLimits& limits, Millis now);

/// A process of store_program: its lines come on `out`, its orders go to `in`.
class StoreProcess {
 public:
  explicit StoreProcess(std::vector<std::string> arguments);
  ~StoreProcess();
  StoreProcess(const StoreProcess&) = delete;
  StoreProcess& operator=(const StoreProcess&) = delete;
  bool line(std::string& line);  ///< the next one; false at the end
  void order(std::string_view line) const;
  void kill();
  int exit_code();

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
  std::string buffer_;
};

}  // namespace polygraph::proxy::test
