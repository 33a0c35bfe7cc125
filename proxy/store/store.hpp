// What the proxy must not forget and what its instances share: the ledger of every upstream call, the response cache, the
// pauses that upstream asked for, and the clients' token buckets. Two implementations keep the same promises, one test
// suite holds both to them: SQLite for one instance, Redis for several.
//
// Calls block (SQLite: microseconds; Redis: a round trip, at most its time-out) and come from one thread at a time. Every
// failure is `io`: whoever called sends nothing upstream then. Times are passed in, in milliseconds since 1970 (UTC).
//
// The promises: a reservation is granted only if requests and tokens of every window still hold it, whoever else asks at
// the same time. It counts in full from the moment it is granted, whatever becomes of the process: settled it counts what
// was used, released it counts nothing, left open by a crash it goes on counting in full. Nothing is charged twice.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::proxy {

using Millis = std::int64_t;  ///< since 1970, UTC; or a span

/// Of one model. A minute is any 60 s, a day the UTC day.
struct ModelLimits {
  std::uint64_t requests_per_minute = 30, requests_per_day = 1000;
  std::uint64_t tokens_per_minute = 8000, tokens_per_day = 200'000;
};

struct Tokens {
  std::uint64_t in = 0, out = 0;
};

enum class Window : std::uint8_t { requests_minute, requests_day, tokens_minute, tokens_day, paused };

/// Of `Denied::until` and of a client's wait: it will never fit (9999-12-31, which still is a date in JSON).
constexpr Millis never = 253'402'300'799'999;

/// Why a reservation was not granted, and the earliest time at which it could be if nobody else asks. `window` is the one
/// that gives way last.
struct Denied {
  Window window = Window::paused;
  Millis until = 0;
};

using ReservationId = std::uint64_t;

/// What is left of a model's limits at a time.
struct Remaining {
  std::uint64_t requests_minute = 0, requests_day = 0, tokens_minute = 0, tokens_day = 0;
  Millis paused_until = 0;  ///< 0: not paused
};

/// One line of `usage`: a model's day. `requests` holds the open ones, the tokens do not. What was settled in full stands
/// in `tokens_in`, since nobody knows how it divides.
struct DayUsage {
  std::string day;  ///< 2026-11-30
  std::string model;
  std::uint64_t requests = 0, tokens_in = 0, tokens_out = 0, open_requests = 0, open_tokens = 0;
};

/// The response cache as it is: bytes of keys and values.
struct CacheSize {
  std::uint64_t entries = 0, bytes = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  /// Reserves one request and `tokens` (the prompt's estimate and the token cap) of `model`. `tokens` above a limit of
  /// `limits` is denied until `never`. A reservation counts in the minutes that hold its `now`, and in that day.
  virtual Result<std::variant<ReservationId, Denied>> reserve(std::string_view model, std::uint64_t tokens, const ModelLimits& limits, Millis now) = 0;
  /// The call was answered: its reservation now counts one request and `used`. A second settle or release of a
  /// reservation changes nothing, so each may be repeated after `io`. Reservations left open for two days can't be
  /// settled any more: they were charged in full.
  virtual Result<void> settle(ReservationId id, Tokens used) = 0;
  /// The call was answered without sound usage, cut, cancelled or timed out: the reservation is charged as it stands.
  virtual Result<void> settle_in_full(ReservationId id) = 0;
  /// Refused or never connected: nothing is charged, request included.
  virtual Result<void> release(ReservationId id) = 0;

  /// Upstream said that nothing remains: no reservation of `model` before `until`. Pauses only grow.
  virtual Result<void> pause(std::string_view model, Millis until) = 0;
  virtual Result<Remaining> remaining(std::string_view model, const ModelLimits& limits, Millis now) = 0;

  /// The response cache. A key is a digest of everything that shapes the answer. Entries are dropped oldest use first
  /// beyond the store's size; a value that is larger by itself is not kept.
  virtual Result<std::optional<std::string>> cached(std::string_view key, Millis now) = 0;
  virtual Result<void> cache(std::string_view key, std::string_view value, Millis now) = 0;

  virtual Result<CacheSize> cache_size() = 0;
  /// Drops entries, oldest use first, until at most `bytes` are left; gives how many were dropped.
  virtual Result<std::uint64_t> shrink_cache(std::uint64_t bytes) = 0;

  /// Takes one token of a client's bucket, which holds `burst` and is refilled by `per_minute`. Returns 0 when it was
  /// taken, otherwise the milliseconds until one is there. A client that was not seen has a full bucket.
  virtual Result<Millis> take_client_token(std::string_view client, std::uint64_t burst, std::uint64_t per_minute, Millis now) = 0;

  /// Runs `work`, which calls this store, at the price of one call where the store can: SQLite commits once, and takes all of
  /// it back where a call or `work` itself fails. On Redis each call stands for itself.
  virtual Result<void> together(const std::function<Result<void>()>& work) = 0;

  /// Whether servers besides this one are meant to use it.
  virtual bool shared() const noexcept = 0;

  /// By day, then model.
  virtual Result<std::vector<DayUsage>> usage() = 0;

  /// Whether the store can be read and written now.
  virtual Result<void> check() = 0;
};

struct StoreOptions {
  /// Keys and values of the response cache. An answer of 1,024 tokens is some 5 KB: this holds about 12,000, more than
  /// ten days of a model's 1,000 requests, and stays small beside what a small server has.
  std::uint64_t cache_bytes = 64U << 20U;
  /// Of Redis: for the connection, and for each command. A server beside us answers in well under a millisecond.
  std::chrono::milliseconds redis_timeout{250};
};

/// In `folder`/polygraph.sqlite (WAL); both are made when they are missing. Several processes may share the file. Fails with
/// `io` when it can't be used. A file that is removed, replaced, damaged or can't be written gives `io`, and the next
/// call opens what is there then.
Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& folder, StoreOptions options = {});

/// `url` is redis://HOST:PORT/DB (rediss is not offered: Redis belongs on a private network). Fails with
/// `invalid_argument` for another form; a server that can't be reached is found by check(), and connected to again by
/// later calls. The server must not evict keys (`maxmemory-policy noeviction`, its default); how much of the ledger
/// outlives the server's crash is its `appendfsync`. The process must ignore SIGPIPE.
Result<std::unique_ptr<Store>> open_redis_store(const std::string& url, StoreOptions options = {});

}  // namespace polygraph::proxy
