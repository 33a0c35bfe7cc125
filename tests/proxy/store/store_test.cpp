// Every promise of store.hpp, on both stores.
#include "proxy/store/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/proxy/store/backends.hpp"

namespace polygraph::proxy::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

/// So small that a test reaches each by itself.
constexpr ModelLimits small{3, 5, 1000, 2500};

DayUsage only_line(Store& store) {
  const auto lines = store.usage();
  if (!lines || lines->size() != 1) {
    ADD_FAILURE() << "not one line of usage";
    return {};
  }
  return lines->front();
}

void expect_denied(const Denied& denial, Window window, Millis until) {
  EXPECT_EQ(denial.window, window);
  EXPECT_EQ(denial.until, until);
}

template <class Backend>
class Ledger : public StoreTest<Backend> {};
TYPED_TEST_SUITE(Ledger, Backends, BackendNames);

TYPED_TEST(Ledger, AReservationCountsInFullWhileItIsOpen) {
  granted(*this->store, "m", 300, small, noon);
  const auto left = this->store->remaining("m", small, noon).value();
  EXPECT_EQ(left.requests_minute, 2U);
  EXPECT_EQ(left.requests_day, 4U);
  EXPECT_EQ(left.tokens_minute, 700U);
  EXPECT_EQ(left.tokens_day, 2200U);
  EXPECT_EQ(left.paused_until, 0);
  const auto line = only_line(*this->store);
  EXPECT_EQ(line.day, "2026-11-30");
  EXPECT_EQ(line.model, "m");
  EXPECT_EQ(line.requests, 1U);
  EXPECT_EQ(line.open_requests, 1U);
  EXPECT_EQ(line.open_tokens, 300U);
  EXPECT_EQ(line.tokens_in + line.tokens_out, 0U);
}

TYPED_TEST(Ledger, SettledItCountsWhatWasUsed) {
  const auto id = granted(*this->store, "m", 900, small, noon);
  ASSERT_TRUE(this->store->settle(id, {70, 30}));
  const auto left = this->store->remaining("m", small, noon).value();
  EXPECT_EQ(left.requests_minute, 2U);
  EXPECT_EQ(left.tokens_minute, 900U);
  EXPECT_EQ(left.tokens_day, 2400U);
  const auto line = only_line(*this->store);
  EXPECT_EQ(line.requests, 1U);
  EXPECT_EQ(line.tokens_in, 70U);
  EXPECT_EQ(line.tokens_out, 30U);
  EXPECT_EQ(line.open_requests + line.open_tokens, 0U);
}

TYPED_TEST(Ledger, MoreUsedThanReservedCountsToo) {
  ASSERT_TRUE(this->store->settle(granted(*this->store, "m", 10, small, noon), {900, 300}));
  const auto left = this->store->remaining("m", small, noon).value();
  EXPECT_EQ(left.tokens_minute, 0U);
  EXPECT_EQ(left.tokens_day, 1300U);
  expect_denied(denied(*this->store, "m", 1, small, noon), Window::tokens_minute, noon + minute);
}

TYPED_TEST(Ledger, SettledInFullItCountsAsItWasReserved) {
  ASSERT_TRUE(this->store->settle_in_full(granted(*this->store, "m", 400, small, noon)));
  EXPECT_EQ(this->store->remaining("m", small, noon)->tokens_minute, 600U);
  const auto line = only_line(*this->store);
  EXPECT_EQ(line.tokens_in, 400U);
  EXPECT_EQ(line.tokens_out + line.open_requests + line.open_tokens, 0U);
}

TYPED_TEST(Ledger, ReleasedItNeverWas) {
  ASSERT_TRUE(this->store->release(granted(*this->store, "m", 400, small, noon)));
  const auto left = this->store->remaining("m", small, noon).value();
  EXPECT_EQ(left.requests_minute, 3U);
  EXPECT_EQ(left.requests_day, 5U);
  EXPECT_EQ(left.tokens_minute, 1000U);
  EXPECT_THAT(*this->store->usage(), IsEmpty());
}

TYPED_TEST(Ledger, ASecondSettleOrReleaseChangesNothing) {
  const auto settled = granted(*this->store, "m", 100, small, noon);
  const auto in_full = granted(*this->store, "m", 200, small, noon);
  const auto released = granted(*this->store, "m", 300, small, noon);
  ASSERT_TRUE(this->store->settle(settled, {10, 20}));
  ASSERT_TRUE(this->store->settle_in_full(in_full));
  ASSERT_TRUE(this->store->release(released));
  for (const auto id : {settled, in_full, released}) {
    EXPECT_TRUE(this->store->settle(id, {5, 5}));
    EXPECT_TRUE(this->store->settle_in_full(id));
    EXPECT_TRUE(this->store->release(id));
  }
  const auto line = only_line(*this->store);
  EXPECT_EQ(line.requests, 2U);
  EXPECT_EQ(line.tokens_in, 210U);
  EXPECT_EQ(line.tokens_out, 20U);
  EXPECT_EQ(line.open_requests + line.open_tokens, 0U);
  EXPECT_EQ(this->store->remaining("m", small, noon)->tokens_minute, 770U);
}

TYPED_TEST(Ledger, AnUnknownReservationIsNobodys) {
  granted(*this->store, "m", 100, small, noon);
  EXPECT_TRUE(this->store->settle(12345, {1, 1}));
  EXPECT_TRUE(this->store->release(12345));
  EXPECT_EQ(only_line(*this->store).open_requests, 1U);
}

TYPED_TEST(Ledger, ModelsDoNotShareLimits) {
  for (int i = 0; i < 3; ++i) granted(*this->store, "a:1", 1, small, noon);
  denied(*this->store, "a:1", 1, small, noon);
  granted(*this->store, "a", 1, small, noon);
  granted(*this->store, "a:1 ", 1, small, noon);
}

TYPED_TEST(Ledger, AMinuteIsAnySixtySeconds) {
  for (const Millis at : {noon, noon + 10 * second, noon + 50 * second}) granted(*this->store, "m", 1, small, at);
  expect_denied(denied(*this->store, "m", 1, small, noon + 50 * second), Window::requests_minute, noon + minute);
  expect_denied(denied(*this->store, "m", 1, small, noon + minute - 1), Window::requests_minute, noon + minute);
  granted(*this->store, "m", 1, small, noon + minute);
  expect_denied(denied(*this->store, "m", 1, small, noon + minute), Window::requests_minute, noon + 70 * second);
}

TYPED_TEST(Ledger, TokensOfAMinuteFitToTheLast) {
  granted(*this->store, "m", 600, small, noon);
  granted(*this->store, "m", 300, small, noon + second);
  expect_denied(denied(*this->store, "m", 101, small, noon + second), Window::tokens_minute, noon + minute);
  expect_denied(denied(*this->store, "m", 701, small, noon + second), Window::tokens_minute, noon + minute + second);
  granted(*this->store, "m", 100, small, noon + second);
}

TYPED_TEST(Ledger, WhatASettlementGivesBackCanBeReserved) {
  const auto id = granted(*this->store, "m", 1000, small, noon);
  denied(*this->store, "m", 500, small, noon);
  ASSERT_TRUE(this->store->settle(id, {400, 100}));
  granted(*this->store, "m", 500, small, noon);
}

TYPED_TEST(Ledger, TheDayEndsAtMidnightUtc) {
  for (int i = 0; i < 5; ++i) granted(*this->store, "m", 1, small, noon + i * minute);
  expect_denied(denied(*this->store, "m", 1, small, noon + 5 * minute), Window::requests_day, midnight);
  expect_denied(denied(*this->store, "m", 1, small, midnight - 1), Window::requests_day, midnight);
  granted(*this->store, "m", 1, small, midnight);
  EXPECT_EQ(this->store->remaining("m", small, midnight)->requests_day, 4U);
}

TYPED_TEST(Ledger, TokensOfADayFitToTheLast) {
  for (const Millis at : {noon, noon + minute}) granted(*this->store, "m", 1000, small, at);
  expect_denied(denied(*this->store, "m", 501, small, noon + 2 * minute), Window::tokens_day, midnight);
  granted(*this->store, "m", 500, small, noon + 2 * minute);
}

TYPED_TEST(Ledger, AMinuteReachesOverMidnight) {
  for (int i = 0; i < 3; ++i) granted(*this->store, "m", 1, small, midnight - second);
  expect_denied(denied(*this->store, "m", 1, small, midnight), Window::requests_minute, midnight + minute - second);
  EXPECT_EQ(this->store->remaining("m", small, midnight)->requests_day, 5U);
}

TYPED_TEST(Ledger, TheWindowThatGivesWayLastDecides) {
  constexpr ModelLimits limits{2, 2, 1000, 1000};
  granted(*this->store, "m", 1, limits, midnight - second);
  granted(*this->store, "m", 1, limits, midnight - second);
  // At midnight the day has room again, the minute a moment later.
  expect_denied(denied(*this->store, "m", 1, limits, midnight - second), Window::requests_minute, midnight + minute - second);
  ASSERT_TRUE(this->store->pause("m", midnight + day + 5));
  expect_denied(denied(*this->store, "m", 1, limits, midnight - second), Window::paused, midnight + day + 5);
}

TYPED_TEST(Ledger, ALateSettlementCountsForTheDayOfItsReservation) {
  const auto id = granted(*this->store, "m", 500, small, midnight - second);
  granted(*this->store, "m", 100, small, midnight + second);
  ASSERT_TRUE(this->store->settle(id, {1, 2}));
  const auto lines = this->store->usage().value();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].day, "2026-11-30");
  EXPECT_EQ(lines[0].tokens_in, 1U);
  EXPECT_EQ(lines[0].open_requests, 0U);
  EXPECT_EQ(lines[1].day, "2026-12-01");
  EXPECT_EQ(lines[1].open_tokens, 100U);
}

TYPED_TEST(Ledger, AnOpenReservationCanBeSettledLongAfterItsMinute) {
  const auto id = granted(*this->store, "m", 500, small, noon);
  granted(*this->store, "m", 1, small, noon + day);  // old calls are dropped here
  ASSERT_TRUE(this->store->settle(id, {7, 8}));
  EXPECT_EQ(this->store->usage()->front().tokens_out, 8U);
  EXPECT_EQ(this->store->remaining("m", small, noon + day)->tokens_minute, 999U);
}

TYPED_TEST(Ledger, OfAReservationThatNobodyClosedTheDayKeepsWhatItCosts) {
  const auto id = granted(*this->store, "m", 500, small, noon);
  granted(*this->store, "m", 1, small, noon + 4 * day);
  EXPECT_EQ(this->store->usage()->front().open_tokens, 500U);
  EXPECT_EQ(this->store->remaining("m", small, noon)->tokens_day, 2000U);
  EXPECT_TRUE(this->store->release(id).has_value());
}

TYPED_TEST(Ledger, AClockThatWasSetBackForgetsNoCall) {
  for (int i = 0; i < 3; ++i) granted(*this->store, "m", 1, small, noon);
  expect_denied(denied(*this->store, "m", 1, small, noon - 30 * second), Window::requests_minute, noon + minute);
}

TYPED_TEST(Ledger, WhatNoWindowEverHoldsIsDeniedForEver) {
  expect_denied(denied(*this->store, "m", 1001, small, noon), Window::tokens_minute, never);
  expect_denied(denied(*this->store, "m", 3000, ModelLimits{1, 1, 9000, 2999}, noon), Window::tokens_day, never);
  expect_denied(denied(*this->store, "m", 1, ModelLimits{0, 1, 1, 1}, noon), Window::requests_minute, never);
  expect_denied(denied(*this->store, "m", 1, ModelLimits{1, 0, 1, 1}, noon), Window::requests_day, never);
  EXPECT_THAT(*this->store->usage(), IsEmpty());
}

TYPED_TEST(Ledger, LimitsWithoutAnEndAreHeld) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  granted(*this->store, "m", 5000, ModelLimits{most, most, most, most}, noon);
  EXPECT_GT(this->store->remaining("m", ModelLimits{most, most, most, most}, noon)->tokens_day, 1'000'000'000U);
}

TYPED_TEST(Ledger, APauseHoldsUntilItsEndAndOnlyGrows) {
  ASSERT_TRUE(this->store->pause("m", noon + minute));
  ASSERT_TRUE(this->store->pause("m", noon + second));
  expect_denied(denied(*this->store, "m", 1, small, noon), Window::paused, noon + minute);
  EXPECT_EQ(this->store->remaining("m", small, noon)->paused_until, noon + minute);
  granted(*this->store, "other", 1, small, noon);
  EXPECT_EQ(this->store->remaining("m", small, noon + minute)->paused_until, 0);
  granted(*this->store, "m", 1, small, noon + minute);
}

TYPED_TEST(Ledger, IdsOfTwoViewsDiffer) {
  const auto other = this->backend->open();
  std::set<ReservationId> ids;
  for (int i = 0; i < 50; ++i) {
    ids.insert(granted(*this->store, "m", 1, roomy, noon));
    ids.insert(granted(*other, "m", 1, roomy, noon));
  }
  EXPECT_THAT(ids, SizeIs(100));
}

TYPED_TEST(Ledger, AnotherViewSeesAndClosesWhatOneReserved) {
  const auto id = granted(*this->store, "m", 700, small, noon);
  this->store.reset();
  const auto other = this->backend->open();
  expect_denied(denied(*other, "m", 400, small, noon), Window::tokens_minute, noon + minute);
  ASSERT_TRUE(other->settle(id, {1, 1}));
  EXPECT_EQ(only_line(*other).tokens_in, 1U);
}

TYPED_TEST(Ledger, UsageIsInOrderOfDayThenModel) {
  for (const Millis at : {noon + 11 * day, noon, noon + 2 * day}) {
    for (const auto* model : {"b/x", "a", "b"}) granted(*this->store, model, 1, small, at);
  }
  std::vector<std::string> order;
  const auto lines = this->store->usage().value();
  for (const auto& line : lines) order.push_back(line.day + " " + line.model);
  EXPECT_THAT(order, ::testing::ElementsAre("2026-11-30 a", "2026-11-30 b", "2026-11-30 b/x", "2026-12-02 a", "2026-12-02 b", "2026-12-02 b/x",
                                            "2026-12-11 a", "2026-12-11 b", "2026-12-11 b/x"));
}

TYPED_TEST(Ledger, CallsTogetherAllStand) {
  ASSERT_TRUE(this->store->together([&]() -> Result<void> {
    const auto id = std::get<ReservationId>(this->store->reserve("m", 100, {}, noon).value());
    if (auto settled = this->store->settle(id, {3, 4}); !settled) return settled;
    return this->store->cache("k", "v", noon);
  }));
  const auto days = this->store->usage().value();
  ASSERT_EQ(days.size(), 1U);
  EXPECT_EQ(days[0].tokens_in, 3U);
  EXPECT_EQ(days[0].open_requests, 0U);
  EXPECT_EQ(this->store->cached("k", noon).value(), "v");
}

TYPED_TEST(Ledger, ASoundStoreSaysSo) { EXPECT_TRUE(this->store->check().has_value()); }

template <class Backend>
class Cache : public StoreTest<Backend> {
 protected:
  bool has(const std::string& key) { return this->store->cached(key, noon)->has_value(); }
};
TYPED_TEST_SUITE(Cache, Backends, BackendNames);

TYPED_TEST(Cache, GivesBackTheBytesOfItsKeyAlone) {
  const std::string key("k\0\xff 1", 5), value("v\0\r\n\xfe", 5);
  ASSERT_TRUE(this->store->cache(key, value, noon));
  ASSERT_TRUE(this->store->cache("empty", "", noon));
  EXPECT_EQ(this->store->cached(key, noon).value(), value);
  EXPECT_EQ(this->store->cached("empty", noon).value(), "");
  EXPECT_EQ(this->store->cached("k", noon).value(), std::nullopt);
}

TYPED_TEST(Cache, ALaterValueReplacesAnEarlier) {
  ASSERT_TRUE(this->store->cache("k", "long before", noon));
  ASSERT_TRUE(this->store->cache("k", "now", noon));
  EXPECT_EQ(this->store->cached("k", noon).value(), "now");
}

TYPED_TEST(Cache, OutlivesTheProcess) {
  ASSERT_TRUE(this->store->cache("k", "v", noon));
  this->store = this->backend->open();
  EXPECT_EQ(this->store->cached("k", noon).value(), "v");
}

TYPED_TEST(Cache, DropsTheOldestUseFirstAndNothingMore) {
  this->store = this->backend->open({.cache_bytes = 40, .redis_timeout = patient.redis_timeout});
  for (const auto* key : {"a", "b", "c", "d"}) ASSERT_TRUE(this->store->cache(key, "123456789", noon));
  EXPECT_TRUE(this->has("a"));  // used again, at the same millisecond
  ASSERT_TRUE(this->store->cache("e", "123456789", noon));
  EXPECT_FALSE(this->has("b"));
  for (const auto* key : {"a", "c", "d", "e"}) EXPECT_TRUE(this->has(key)) << key;
  ASSERT_TRUE(this->store->cache("f", "12345678901", noon));  // two more bytes cost two entries
  EXPECT_FALSE(this->has("a"));
  EXPECT_FALSE(this->has("c"));
  for (const auto* key : {"d", "e", "f"}) EXPECT_TRUE(this->has(key)) << key;
}

TYPED_TEST(Cache, IsMeasuredAndShrunkFromItsOldestUse) {
  ASSERT_TRUE(this->store->cache("a", "12345", noon));  // 6 bytes each
  ASSERT_TRUE(this->store->cache("b", "12345", noon));
  ASSERT_TRUE(this->store->cache("c", "12345", noon));
  ASSERT_TRUE(this->store->cached("a", noon));
  EXPECT_EQ(this->store->cache_size()->entries, 3U);
  EXPECT_EQ(this->store->cache_size()->bytes, 18U);
  EXPECT_EQ(this->store->shrink_cache(12).value(), 1U);
  EXPECT_EQ(this->store->cached("b", noon).value(), std::nullopt) << "it was used longest ago";
  EXPECT_TRUE(this->store->cached("a", noon).value());
  EXPECT_EQ(this->store->shrink_cache(12).value(), 0U);
  EXPECT_EQ(this->store->shrink_cache(0).value(), 2U);
  EXPECT_EQ(this->store->cache_size()->bytes, 0U);
  ASSERT_TRUE(this->store->cache("a", "1", noon));
  EXPECT_EQ(this->store->cache_size()->bytes, 2U);
}

TYPED_TEST(Cache, ReplacingDoesNotLoseRoom) {
  this->store = this->backend->open({.cache_bytes = 40, .redis_timeout = patient.redis_timeout});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(this->store->cache("a", std::string(9 + i % 3, 'x'), noon));
  }
  ASSERT_TRUE(this->store->cache("b", std::string(28, 'x'), noon));
  EXPECT_TRUE(this->has("a"));
  EXPECT_TRUE(this->has("b"));
}

TYPED_TEST(Cache, AValueThatIsTooLargeIsNotKeptAndCostsTheOthersNothing) {
  this->store = this->backend->open({.cache_bytes = 40, .redis_timeout = patient.redis_timeout});
  ASSERT_TRUE(this->store->cache("a", "old", noon));
  ASSERT_TRUE(this->store->cache("b", "small", noon));
  ASSERT_TRUE(this->store->cache("a", std::string(40, 'x'), noon));
  EXPECT_FALSE(this->has("a")) << "the old value is no longer right";
  EXPECT_TRUE(this->has("b"));
}

template <class Backend>
class ClientBucket : public StoreTest<Backend> {
 protected:
  Millis take(Millis now, const std::string& client = "192.0.2.1") { return this->store->take_client_token(client, 3, 30, now).value_or(-1); }
};
TYPED_TEST_SUITE(ClientBucket, Backends, BackendNames);

TYPED_TEST(ClientBucket, HoldsItsBurstAndIsRefilled) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(this->take(noon), 0);
  EXPECT_EQ(this->take(noon), 2000);
  EXPECT_EQ(this->take(noon + 500), 1500);
  EXPECT_EQ(this->take(noon + 1999), 1);
  EXPECT_EQ(this->take(noon + 2000), 0);
  EXPECT_EQ(this->take(noon + 2000), 2000);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(this->take(noon + minute), 0);
  EXPECT_EQ(this->take(noon + minute), 2000) << "it never holds more than its burst";
}

TYPED_TEST(ClientBucket, BelongsToOneClient) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(this->take(noon), 0);
  EXPECT_EQ(this->take(noon, "2001:db8::1"), 0);
}

TYPED_TEST(ClientBucket, OutlivesTheProcess) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(this->take(noon), 0);
  this->store = this->backend->open();
  EXPECT_EQ(this->take(noon), 2000);
}

TYPED_TEST(ClientBucket, AClockThatWasSetBackNeitherRefillsNorEmptiesIt) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(this->take(noon), 0);
  EXPECT_EQ(this->take(noon - minute), 0);
  EXPECT_EQ(this->take(noon - minute), 2000);
  EXPECT_EQ(this->take(noon), 2000);
}

TYPED_TEST(ClientBucket, LosesNoPartOfATokenWhenTheRateDoesNotDivideAMinute) {
  // 7 a minute: a token each 8571.43 ms.
  EXPECT_EQ(this->store->take_client_token("c", 1, 7, noon).value(), 0);
  EXPECT_EQ(this->store->take_client_token("c", 1, 7, noon).value(), 8572);
  for (Millis ms = 1; ms < 8572; ms += 857) {
    EXPECT_EQ(this->store->take_client_token("c", 1, 7, noon + ms).value(), 8572 - ms);
  }
  EXPECT_EQ(this->store->take_client_token("c", 1, 7, noon + 8572).value(), 0);
}

TYPED_TEST(ClientBucket, WithoutRoomOrRefillItIsNeverThere) {
  EXPECT_EQ(this->store->take_client_token("c", 0, 30, noon).value(), never);
  EXPECT_EQ(this->store->take_client_token("d", 1, 0, noon).value(), 0);
  EXPECT_EQ(this->store->take_client_token("d", 1, 0, noon + day).value(), never);
}

TYPED_TEST(ClientBucket, HoldsForExtremeSettings) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(this->store->take_client_token("c", most, most, noon).value(), 0);
  EXPECT_EQ(this->store->take_client_token("c", most, most, noon + 400 * day).value(), 0);
}

TEST(SqliteFile, IsReadableByItsOwnerAlone) {
  const SqliteBackend backend;
  const auto store = backend.open();
  struct stat found {};
  for (const auto* name : {"/polygraph.sqlite", "/polygraph.sqlite-wal"}) {
    ASSERT_EQ(::stat((backend.target() + name).c_str(), &found), 0) << name;
    EXPECT_EQ(found.st_mode & 0777, 0600U) << name;
  }
}

TEST(RedisUrl, OfAnotherFormIsRefusedWithoutRepeatingIt) {
  for (const auto* url : {"", "redis://", "redis://host", "redis://host:6379", "redis://host:6379/", "redis://host:0/0", "redis://host:65536/0",
                          "redis://host:6379/x", "redis://host:6379/-1", "redis://:6379/0", "rediss://host:6379/0", "http://host:6379/0",
                          "redis://me:canary@host:6379/0", "redis://host:6379/0?password=canary", "redis://host:6379/0/1", "redis://::1:6379/0",
                          "redis://host:+1/0", "redis://host:99999999999/0"}) {
    const auto store = open_redis_store(url);
    ASSERT_FALSE(store) << url;
    EXPECT_EQ(store.error().code, ErrorCode::invalid_argument) << url;
    EXPECT_EQ(store.error().message.find("canary"), std::string::npos);
  }
  EXPECT_TRUE(open_redis_store("redis://127.0.0.1:6379/0"));
  EXPECT_TRUE(open_redis_store("redis://[::1]:6379/15"));
}

}  // namespace
}  // namespace polygraph::proxy::test
