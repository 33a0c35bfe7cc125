// The store of one machine. Every operation is one transaction, and one that writes takes the file's write lock before it
// reads (BEGIN IMMEDIATE), so that no two processes both see the last free place of a window.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <unordered_map>

#include "proxy/store/ledger.hpp"
#include "proxy/store/store.hpp"

namespace polygraph::proxy {
namespace fs = std::filesystem;
namespace {

/// How long a call waits for another process that is writing: its transactions take microseconds, a checkpoint some
/// milliseconds, and a request must not hang on a file that something else holds.
constexpr int busy_timeout_ms = 1000;
constexpr std::chrono::milliseconds busy_pause{5};
constexpr int application_id = 0x504c4752;  // "PLGR"
constexpr int schema_version = 1;

constexpr const char* schema = R"(
CREATE TABLE calls (          -- open reservations, and closed ones as long as a minute needs them
  id INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  at INTEGER NOT NULL,        -- milliseconds since 1970
  tokens INTEGER NOT NULL,    -- what counts: reserved while open, used afterwards
  open INTEGER NOT NULL
) STRICT;
CREATE INDEX calls_of_minute ON calls (model, at, tokens);
CREATE INDEX calls_by_age ON calls (open, at);
CREATE TABLE days (           -- the ledger
  day INTEGER NOT NULL,       -- since 1970-01-01
  model TEXT NOT NULL,
  requests INTEGER NOT NULL,  -- open ones too
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  open_requests INTEGER NOT NULL,
  open_tokens INTEGER NOT NULL,
  PRIMARY KEY (day, model)
) WITHOUT ROWID, STRICT;
CREATE TABLE pauses (model TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE cache (
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  value BLOB NOT NULL,
  used INTEGER NOT NULL       -- counts uses; the smallest is the oldest
) STRICT;
CREATE INDEX cache_by_use ON cache (used);
CREATE TABLE sums (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID, STRICT;
INSERT INTO sums VALUES ('cache_bytes', 0), ('checks', 0);
CREATE TABLE clients (        -- buckets that are not full
  client TEXT PRIMARY KEY,
  level INTEGER NOT NULL,     -- in 1/60000 of a token, so that a millisecond's refill is an integer
  at INTEGER NOT NULL,
  full_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE INDEX clients_by_full ON clients (full_at);
)";

constexpr const char* begin_write = "BEGIN IMMEDIATE";
constexpr const char* begin_read = "BEGIN";
constexpr const char* commit = "COMMIT";
constexpr const char* drop_old_calls = "DELETE FROM calls WHERE (open = 0 AND at <= ?1) OR (open = 1 AND at <= ?2)";
constexpr const char* calls_of_minute = "SELECT at, tokens FROM calls WHERE model = ?1 AND at > ?2 ORDER BY at DESC";
constexpr const char* pause_of = "SELECT until FROM pauses WHERE model = ?1";
constexpr const char* day_sums = "SELECT requests, tokens_in + tokens_out + open_tokens FROM days WHERE day = ?1 AND model = ?2";
/// From a day on; a clock that was set back may have left later ones.
constexpr const char* sums_since_day =
    "SELECT coalesce(sum(requests), 0), coalesce(sum(tokens_in + tokens_out + open_tokens), 0) FROM days WHERE day >= ?1 AND model = ?2";
constexpr const char* insert_call = "INSERT INTO calls (id, model, at, tokens, open) VALUES (?1, ?2, ?3, ?4, 1)";
constexpr const char* add_open_to_day =
    "INSERT INTO days VALUES (?1, ?2, 1, 0, 0, 1, ?3) ON CONFLICT DO UPDATE SET requests = requests + 1, "
    "open_requests = open_requests + 1, open_tokens = open_tokens + ?3";
constexpr const char* open_call = "SELECT model, at, tokens FROM calls WHERE id = ?1 AND open = 1";
constexpr const char* close_call = "UPDATE calls SET open = 0, tokens = ?2 WHERE id = ?1";
constexpr const char* delete_call = "DELETE FROM calls WHERE id = ?1";
constexpr const char* settle_day =
    "UPDATE days SET tokens_in = tokens_in + ?4, tokens_out = tokens_out + ?5, open_requests = open_requests - 1, "
    "open_tokens = open_tokens - ?3 WHERE day = ?1 AND model = ?2";
constexpr const char* release_day =
    "UPDATE days SET requests = requests - 1, open_requests = open_requests - 1, open_tokens = open_tokens - ?3 "
    "WHERE day = ?1 AND model = ?2";
constexpr const char* delete_empty_day = "DELETE FROM days WHERE day = ?1 AND model = ?2 AND requests = 0";
constexpr const char* set_pause = "INSERT INTO pauses VALUES (?1, ?2) ON CONFLICT DO UPDATE SET until = max(until, ?2)";
constexpr const char* cache_find = "SELECT id, value FROM cache WHERE key = ?1";
constexpr const char* cache_touch = "UPDATE cache SET used = (SELECT max(used) FROM cache) + 1 WHERE id = ?1";
constexpr const char* cache_delete_key = "DELETE FROM cache WHERE key = ?1 RETURNING length(key) + length(value)";
constexpr const char* cache_insert = "INSERT INTO cache (key, value, used) VALUES (?1, ?2, coalesce((SELECT max(used) FROM cache), 0) + 1)";
constexpr const char* cache_drop_oldest =
    "DELETE FROM cache WHERE id = (SELECT id FROM cache ORDER BY used LIMIT 1) RETURNING length(key) + length(value)";
constexpr const char* count_cache = "SELECT count(*) FROM cache";
constexpr const char* cache_bytes = "SELECT value FROM sums WHERE name = 'cache_bytes'";
constexpr const char* set_cache_bytes = "UPDATE sums SET value = ?1 WHERE name = 'cache_bytes'";
/// A few at a time, so that no single request pays for a flood that is over.
constexpr const char* drop_full_clients = "DELETE FROM clients WHERE client IN (SELECT client FROM clients WHERE full_at <= ?1 LIMIT 32)";
constexpr const char* client_bucket = "SELECT level, at FROM clients WHERE client = ?1";
constexpr const char* set_client_bucket = "INSERT OR REPLACE INTO clients VALUES (?1, ?2, ?3, ?4)";
constexpr const char* all_days = "SELECT day, model, requests, tokens_in, tokens_out, open_requests, open_tokens FROM days ORDER BY day, model";
constexpr const char* count_check = "UPDATE sums SET value = value + 1 WHERE name = 'checks'";

/// Thrown inside this file, caught where the transaction began.
struct Failure {
  int status;
  std::string what = {};
};

struct DatabaseCloser {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct StatementCloser {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// A prepared statement with its values, for one run.
class Run {
 public:
  template <class... Values>
  explicit Run(sqlite3_stmt* statement, Values... values) : statement_(statement) {
    int place = 0;
    (bind(++place, values), ...);
  }
  ~Run() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// The next row; false when there is none.
  bool row() {
    const int status = sqlite3_step(statement_);
    if (status != SQLITE_ROW && status != SQLITE_DONE) throw Failure{status};
    return status == SQLITE_ROW;
  }
  void done() {
    while (row()) {
    }
  }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string bytes(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return data == nullptr ? std::string() : std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

 private:
  struct Blob {
    std::string_view bytes;
  };
  void bind(int place, std::int64_t value) { check(sqlite3_bind_int64(statement_, place, value)); }
  void bind(int place, std::string_view text) { check(sqlite3_bind_text64(statement_, place, data(text), text.size(), SQLITE_STATIC, SQLITE_UTF8)); }
  void bind(int place, Blob blob) { check(sqlite3_bind_blob64(statement_, place, data(blob.bytes), blob.bytes.size(), SQLITE_STATIC)); }
  /// A null pointer would bind NULL.
  static const char* data(std::string_view text) { return text.data() == nullptr ? "" : text.data(); }
  static void check(int status) {
    if (status != SQLITE_OK) throw Failure{status};
  }
  sqlite3_stmt* statement_;

 public:
  static Blob blob(std::string_view bytes) { return {bytes}; }
};

/// Which file a path names; {0, 0}: none.
struct FileIdentity {
  dev_t device = 0;
  ino_t node = 0;
  bool operator==(const FileIdentity&) const = default;
};

FileIdentity identity(const fs::path& file) {
  struct stat found {};
  return ::stat(file.c_str(), &found) == 0 ? FileIdentity{found.st_dev, found.st_ino} : FileIdentity{};
}

/// Copies the journal into the file, on a thread and a connection of its own: a checkpoint waits for the disk, and every
/// request that came in the meantime would wait along.
class Checkpoints {
 public:
  static constexpr int every_pages = 1000;  ///< SQLite's own

  Checkpoints() = default;
  ~Checkpoints() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// The journal of `file` has grown. One that was replaced since is left alone.
  void wanted(const fs::path& file, FileIdentity opened) {
    {
      const std::lock_guard lock(mutex_);
      if (wanted_) return;
      file_ = file;
      opened_ = opened;
      wanted_ = true;
    }
    if (!thread_.joinable()) start();
    wake_.notify_one();
  }

 private:
  /// Commits that come during a checkpoint are left for the next. Where that never ends the journal only grows, so from
  /// 64 MB on commits wait once for the short rest.
  static constexpr int most_pages = 16'384;
  static constexpr std::chrono::milliseconds apart{250};

  /// The program's signals are for the threads that know of them.
  void start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stopped_ || wanted_; });
      if (stopped_) return;
      const auto file = file_;
      const auto opened = opened_;
      lock.unlock();
      checkpoint(file, opened);
      lock.lock();
      wake_.wait_for(lock, apart, [this] { return stopped_; });
      wanted_ = false;
    }
  }

  /// What fails here is met by the next call of the store itself.
  static void checkpoint(const fs::path& file, FileIdentity opened) {
    if (identity(file) != opened) return;
    sqlite3* raw = nullptr;
    const int status = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    const std::unique_ptr<sqlite3, DatabaseCloser> database(raw);
    if (status != SQLITE_OK) return;
    sqlite3_busy_timeout(raw, busy_timeout_ms);
    // A connection knows of the journal once it has read something; without that a checkpoint does nothing and says OK.
    if (sqlite3_exec(raw, "PRAGMA schema_version", nullptr, nullptr, nullptr) != SQLITE_OK) return;
    int pages = 0;
    sqlite3_wal_checkpoint_v2(raw, nullptr, SQLITE_CHECKPOINT_PASSIVE, &pages, nullptr);
    if (pages > most_pages) sqlite3_wal_checkpoint_v2(raw, nullptr, SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  fs::path file_;
  FileIdentity opened_;
  bool wanted_ = false, stopped_ = false;
  std::thread thread_;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(fs::path folder, StoreOptions options)
      : folder_(std::move(folder)), file_(folder_ / "polygraph.sqlite"), wal_file_(file_.string() + "-wal"), options_(options) {}

  Result<void> open() {
    try {
      connect();
      return {};
    } catch (const Failure& failure) {
      close();
      return failed("it cannot be opened", failure);
    }
  }

  Result<std::variant<ReservationId, Denied>> reserve(std::string_view model, std::uint64_t tokens, const ModelLimits& limits, Millis now) override {
    using Answer = std::variant<ReservationId, Denied>;
    return transact(begin_write, [&]() -> Answer {
      if (const auto window = never_fits(tokens, limits)) return Denied{*window, never};
      run(drop_old_calls, now - closed_call_kept_ms, now - open_call_kept_ms);
      const std::int64_t asked = counted(tokens);
      Denied fits{Window::paused, now};
      const auto not_before = [&](Window window, Millis time) {
        if (time > fits.until) fits = {window, time};
      };
      not_before(Window::paused, pause_end(model));
      wait_for_minutes(model, asked, limits, now, not_before);
      for (bool full = true; full;) {
        const auto day = day_of(fits.until);
        const auto [day_requests, day_tokens] = sums_of_day(day, model);
        const bool requests_full = day_requests >= counted(limits.requests_per_day);
        full = requests_full || day_tokens + asked > counted(limits.tokens_per_day);
        if (full) not_before(requests_full ? Window::requests_day : Window::tokens_day, (day + 1) * day_ms);
      }
      if (fits.until > now) return fits;

      const auto id = new_reservation_id();
      run(insert_call, static_cast<std::int64_t>(id), model, now, asked);
      run(add_open_to_day, day_of(now), model, asked);
      return id;
    });
  }

  Result<void> settle(ReservationId id, Tokens used) override {
    return transact(begin_write, [&] { close_open(id, counted(used.in), counted(used.out)); });
  }

  Result<void> settle_in_full(ReservationId id) override {
    return transact(begin_write, [&] { close_open(id, std::nullopt, 0); });
  }

  Result<void> release(ReservationId id) override {
    return transact(begin_write, [&] {
      if (const auto call = find_open(id)) {
        run(delete_call, static_cast<std::int64_t>(id));
        run(release_day, call->day, std::string_view(call->model), call->tokens);
        run(delete_empty_day, call->day, std::string_view(call->model));
      }
    });
  }

  Result<void> pause(std::string_view model, Millis until) override {
    return transact(begin_write, [&] { run(set_pause, model, std::min(until, never)); });
  }

  Result<Remaining> remaining(std::string_view model, const ModelLimits& limits, Millis now) override {
    return transact(begin_read, [&] {
      std::int64_t requests = 0, tokens = 0;
      for (Run calls(prepared(calls_of_minute), model, now - minute_ms); calls.row();) {
        ++requests;
        tokens += calls.integer(1);
      }
      const auto [day_requests, day_tokens] = sums_of_day(day_of(now), model);
      const auto paused = pause_end(model);
      return Remaining{left_of(limits.requests_per_minute, requests), left_of(limits.requests_per_day, day_requests),
                       left_of(limits.tokens_per_minute, tokens), left_of(limits.tokens_per_day, day_tokens), paused > now ? paused : 0};
    });
  }

  Result<std::optional<std::string>> cached(std::string_view key, Millis) override {
    return transact(begin_write, [&]() -> std::optional<std::string> {
      std::int64_t id = 0;
      std::string value;
      {
        Run entry(prepared(cache_find), Run::blob(key));
        if (!entry.row()) return std::nullopt;
        id = entry.integer(0);
        value = entry.bytes(1);
      }
      run(cache_touch, id);
      return value;
    });
  }

  Result<void> cache(std::string_view key, std::string_view value, Millis) override {
    return transact(begin_write, [&] {
      auto bytes = number(cache_bytes) - number_of(cache_delete_key, Run::blob(key));
      const auto most = static_cast<std::int64_t>(options_.cache_bytes);
      const auto added = static_cast<std::int64_t>(key.size() + value.size());
      if (added <= most) {
        while (bytes + added > most) bytes -= number(cache_drop_oldest);
        run(cache_insert, Run::blob(key), Run::blob(value));
        bytes += added;
      }
      run(set_cache_bytes, bytes);
    });
  }

  Result<CacheSize> cache_size() override {
    return transact(begin_read, [&] { return CacheSize{static_cast<std::uint64_t>(number(count_cache)), static_cast<std::uint64_t>(number(cache_bytes))}; });
  }

  Result<std::uint64_t> shrink_cache(std::uint64_t most) override {
    return transact(begin_write, [&] {
      std::uint64_t dropped = 0;
      auto bytes = number(cache_bytes);
      const auto entries = number(count_cache);
      for (auto left = entries; left > 0 && bytes > counted(most); --left, ++dropped) bytes -= number(cache_drop_oldest);
      run(set_cache_bytes, bytes);
      return dropped;
    });
  }

  Result<Millis> take_client_token(std::string_view client, std::uint64_t burst, std::uint64_t per_minute, Millis now) override {
    return transact(begin_write, [&]() -> Millis {
      const std::int64_t capacity = bucketed(burst) * minute_ms, rate = bucketed(per_minute);
      run(drop_full_clients, now);
      std::int64_t level = capacity;
      Millis at = now;
      if (Run bucket(prepared(client_bucket), client); bucket.row()) {
        level = std::min(bucket.integer(0), capacity);
        at = std::max(now, bucket.integer(1));  // a clock that was set back refills nothing
        const Millis elapsed = at - bucket.integer(1);
        level = rate > 0 && elapsed > (capacity - level) / rate ? capacity : level + elapsed * rate;
      }
      const bool taken = level >= minute_ms;
      if (taken) level -= minute_ms;
      const auto until = [&](std::int64_t wanted) { return rate == 0 ? never : (wanted - level + rate - 1) / rate; };
      const Millis to_full = until(capacity);
      run(set_client_bucket, client, level, at, to_full == never ? never : at + to_full);
      if (taken) return 0;
      return capacity < minute_ms ? never : until(minute_ms);
    });
  }

  Result<void> together(const std::function<Result<void>()>& work) override {
    std::optional<Error> error;
    auto done = transact(begin_write, [&] {
      const Nested nested(*this);
      if (auto result = work(); !result) error = result.error();
      if (failure_inside_) throw Failure(*failure_inside_);
      if (error) throw Failure{SQLITE_ABORT};
    });
    if (error) return tl::unexpected(*error);
    return done;
  }

  bool shared() const noexcept override { return false; }

  Result<std::vector<DayUsage>> usage() override {
    return transact(begin_read, [&] {
      std::vector<DayUsage> days;
      for (Run row(prepared(all_days)); row.row();) {
        const auto count = [&](int column) { return static_cast<std::uint64_t>(row.integer(column)); };
        days.push_back({day_text(row.integer(0)), row.bytes(1), count(2), count(3), count(4), count(5), count(6)});
      }
      return days;
    });
  }

  Result<void> check() override {
    return transact(begin_write, [&] { run(count_check); });
  }

 private:
  struct OpenCall {
    std::string model;
    std::int64_t day, tokens;
  };

  std::optional<OpenCall> find_open(ReservationId id) {
    Run call(prepared(open_call), static_cast<std::int64_t>(id));
    if (!call.row()) return std::nullopt;
    return OpenCall{call.bytes(0), day_of(call.integer(1)), call.integer(2)};
  }

  /// Without `in`, what was reserved.
  void close_open(ReservationId id, std::optional<std::int64_t> in, std::int64_t out) {
    const auto call = find_open(id);
    if (!call) return;
    const auto charged = in.value_or(call->tokens);
    run(close_call, static_cast<std::int64_t>(id), charged + out);
    run(settle_day, call->day, std::string_view(call->model), call->tokens, charged, out);
  }

  /// Tells `not_before` when each of the two minute windows has room. From the newest call to older ones: the first that
  /// leaves no room must have left the window.
  template <class NotBefore>
  void wait_for_minutes(std::string_view model, std::int64_t asked, const ModelLimits& limits, Millis now, const NotBefore& not_before) {
    // What the days hold that a minute touches is at least what the minute holds. Where even that leaves room, its calls need
    // not be looked at: with generous limits they are thousands.
    {
      Run days(prepared(sums_since_day), day_of(now - minute_ms), model);
      if (days.row() && days.integer(0) < counted(limits.requests_per_minute) && days.integer(1) + asked <= counted(limits.tokens_per_minute)) return;
    }
    std::int64_t requests = 0, tokens = 0;
    bool requests_fit = true, tokens_fit = true;
    for (Run calls(prepared(calls_of_minute), model, now - minute_ms); (requests_fit || tokens_fit) && calls.row();) {
      const Millis gone = calls.integer(0) + minute_ms;
      tokens += calls.integer(1);
      if (requests_fit && ++requests >= counted(limits.requests_per_minute)) {
        requests_fit = false;
        not_before(Window::requests_minute, gone);
      }
      if (tokens_fit && tokens + asked > counted(limits.tokens_per_minute)) {
        tokens_fit = false;
        not_before(Window::tokens_minute, gone);
      }
    }
  }

  Millis pause_end(std::string_view model) { return number_of(pause_of, model); }

  std::pair<std::int64_t, std::int64_t> sums_of_day(std::int64_t day, std::string_view model) {
    Run sums(prepared(day_sums), day, model);
    if (!sums.row()) return {0, 0};
    return {sums.integer(0), sums.integer(1)};
  }

  template <class... Values>
  void run(const char* sql, Values... values) {
    Run(prepared(sql), values...).done();
  }
  /// The first column of the first row, 0 without one.
  template <class... Values>
  std::int64_t number_of(const char* sql, Values... values) {
    Run row(prepared(sql), values...);
    if (!row.row()) return 0;
    const auto value = row.integer(0);
    row.done();
    return value;
  }
  /// The same where a row must be there.
  std::int64_t number(const char* sql) {
    Run row(prepared(sql));
    if (!row.row()) throw Failure{SQLITE_CORRUPT};
    const auto value = row.integer(0);
    row.done();
    return value;
  }

  sqlite3_stmt* prepared(const char* sql) {
    auto& statement = statements_[sql];
    if (!statement) {
      sqlite3_stmt* made = nullptr;
      const int status = sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
      statement.reset(made);
      if (status != SQLITE_OK) throw Failure{status};
    }
    return statement.get();
  }

  /// While it lives, transactions are part of the one around them.
  struct Nested {
    explicit Nested(SqliteStore& store) : store_(store) {
      store_.inside_ = true;
      store_.failure_inside_.reset();
    }
    ~Nested() { store_.inside_ = false; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    SqliteStore& store_;
  };

  /// `work` as one transaction: all of it or, with `io`, nothing.
  template <class Work>
  auto transact(const char* begin, const Work& work) -> Result<decltype(work())> {
    if (inside_) {
      try {
        if constexpr (std::is_void_v<decltype(work())>) {
          work();
          return {};
        } else {
          return work();
        }
      } catch (const Failure& failure) {
        failure_inside_ = failure;
        return failed("it cannot be used", failure);
      }
    }
    try {
      // SQLite would go on in a file that no longer has a name, and what it writes there is lost.
      if (database_ && (identity(file_) != opened_ || identity(wal_file_) != opened_wal_)) {
        leave_lost_file();
        throw Failure{SQLITE_IOERR, "it was removed or replaced"};
      }
      if (!database_) connect();
      run(begin);
      if constexpr (std::is_void_v<decltype(work())>) {
        work();
        run(commit);
        return {};
      } else {
        auto result = work();
        run(commit);
        return result;
      }
    } catch (const Failure& failure) {
      const int kind = failure.status & 0xff;
      if (database_) sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
      if (kind != SQLITE_BUSY && kind != SQLITE_ABORT) close();
      return failed("it cannot be used", failure);
    }
  }

  tl::unexpected<Error> failed(const char* what, const Failure& failure) const {
    return fail(ErrorCode::io, "the store " + file_.string() + ": " + what + ": " + (failure.what.empty() ? sqlite3_errstr(failure.status) : failure.what), "store");
  }

  /// Lets go of files that changed under us. The journal of a file that was replaced must not be left beside the new one:
  /// SQLite would play it into that.
  void leave_lost_file() {
    const auto now = identity(file_);
    const bool journal_is_old = now != opened_ && now != FileIdentity{} && identity(wal_file_) == opened_wal_;
    close();
    if (!journal_is_old) return;
    std::error_code ignored;
    fs::remove(wal_file_, ignored);
    fs::remove(file_.string() + "-shm", ignored);
  }

  static int committed(void* store, sqlite3*, const char*, int pages) {
    auto& self = *static_cast<SqliteStore*>(store);
    if (pages >= Checkpoints::every_pages) self.checkpoints_.wanted(self.file_, self.opened_);
    return SQLITE_OK;
  }

  void close() {
    statements_.clear();
    database_.reset();
  }

  void connect() {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw Failure{SQLITE_CANTOPEN, "its folder cannot be made: " + error.message()};
    // Made here, since SQLite would let everybody read the answers and addresses in it. A file that is there is not opened:
    // closing any descriptor of it would give up the locks that SQLite holds on it in this process.
    const int made = ::open(file_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made < 0 && errno != EEXIST) throw Failure{SQLITE_CANTOPEN, std::strerror(errno)};
    if (made >= 0) ::close(made);
    sqlite3* raw = nullptr;
    const int status = sqlite3_open_v2(file_.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    database_.reset(raw);
    if (status != SQLITE_OK) throw Failure{status};
    sqlite3_busy_timeout(raw, busy_timeout_ms);
    opened_ = identity(file_);
    use_wal();
    // Without an fsync for each commit: what is committed lies in the kernel's page cache, which outlives the process. A
    // power cut may take the last commits, but leaves the file sound.
    execute("PRAGMA synchronous = NORMAL");
    make_schema();
    opened_wal_ = identity(wal_file_);
    sqlite3_wal_hook(raw, &SqliteStore::committed, this);  // instead of checkpoints of its own
  }

  /// Changing the journal needs the file alone, and SQLite does not wait for that by itself.
  void use_wal() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(busy_timeout_ms);
    for (;;) {
      const int status = sqlite3_exec(database_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
      if (status == SQLITE_OK) return;
      if ((status & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() > end) throw Failure{status};
      std::this_thread::sleep_for(busy_pause);
    }
  }

  void make_schema() {
    execute(begin_write);
    const auto version = number("PRAGMA user_version");
    if (version == 0) {
      if (number("SELECT count(*) FROM sqlite_schema") != 0) throw Failure{SQLITE_NOTADB, "it is another program's database"};
      execute(schema);
      execute(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
      execute(("PRAGMA user_version = " + std::to_string(schema_version)).c_str());
    } else if (number("PRAGMA application_id") != application_id) {
      throw Failure{SQLITE_NOTADB, "it is another program's database"};
    } else if (version != schema_version) {
      throw Failure{SQLITE_NOTADB, "it has schema version " + std::to_string(version) + ", this program reads " + std::to_string(schema_version)};
    }
    execute(commit);
  }

  void execute(const char* sql) {
    if (const int status = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr); status != SQLITE_OK) throw Failure{status};
  }

  fs::path folder_, file_, wal_file_;
  StoreOptions options_;
  FileIdentity opened_, opened_wal_;
  bool inside_ = false;                    ///< a transaction of together()
  std::optional<Failure> failure_inside_;  ///< what a call in it failed with
  std::unique_ptr<sqlite3, DatabaseCloser> database_;
  // By the address of the constant above; finalized before the database is closed.
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, StatementCloser>> statements_;
  Checkpoints checkpoints_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& folder, StoreOptions options) {
  auto store = std::make_unique<SqliteStore>(folder, options);
  if (auto opened = store->open(); !opened) return tl::unexpected(opened.error());
  return store;
}

}  // namespace polygraph::proxy
