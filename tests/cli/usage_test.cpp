// `usage`: the ledger as a table and as JSON. The stores themselves are tested in tests/proxy/store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proxy/store/store.hpp"
#include "tests/cli/program.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr proxy::Millis noon = 1'796'040'000'000;  // of 2026-11-30
constexpr proxy::Millis day = 86'400'000;

class Usage : public ProgramTest {
 protected:
  std::string state() const { return (folder() / "my state").string(); }

  /// Two models on one day, one of them again on the next.
  void charge(const std::string& where) const {
    auto store = proxy::open_sqlite_store(where).value();
    const auto reserve = [&](const char* model, std::uint64_t tokens, proxy::Millis now) {
      return std::get<proxy::ReservationId>(store->reserve(model, tokens, {}, now).value());
    };
    ASSERT_TRUE(store->settle(reserve("b/large", 900, noon), {120, 30}));
    ASSERT_TRUE(store->settle(reserve("a", 900, noon), {7, 8}));
    reserve("a", 800, noon);
    ASSERT_TRUE(store->settle_in_full(reserve("a", 700, noon + day)));
  }
};

TEST_F(Usage, IsOneJsonObjectOfDaysAndModels) {
  charge(state());
  const auto shown = run({"usage", "--json", "--state", state()});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.err, IsEmpty());
  EXPECT_EQ(one_json(shown.out), nlohmann::json::parse(R"({"days": [
    {"day": "2026-11-30", "model": "a", "requests": 2, "tokens_in": 7, "tokens_out": 8, "open_requests": 1, "open_tokens": 800},
    {"day": "2026-11-30", "model": "b/large", "requests": 1, "tokens_in": 120, "tokens_out": 30, "open_requests": 0, "open_tokens": 0},
    {"day": "2026-12-01", "model": "a", "requests": 1, "tokens_in": 700, "tokens_out": 0, "open_requests": 0, "open_tokens": 0}]})"));
}

TEST_F(Usage, IsATableForPeople) {
  charge(state());
  const auto shown = run({"usage", "--state", state()});
  EXPECT_EQ(shown.status, 0) << shown.err;
  const auto rows = lines(shown.out);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_THAT(rows[0], ContainsRegex("^day +model +requests +tokens in +tokens out +open +open tokens$"));
  EXPECT_THAT(rows[1], ContainsRegex("^2026-11-30  a +2 +7 +8 +1 +800$"));
  EXPECT_THAT(rows[2], ContainsRegex("^2026-11-30  b/large +1 +120 +30 +0 +0$"));
  EXPECT_EQ(rows[0].size(), rows[2].size());
}

TEST_F(Usage, OfOneDayHoldsThatDayAlone) {
  charge(state());
  const auto shown = run({"usage", "--json", "--state", state(), "--day", "2026-12-01"});
  ASSERT_EQ(one_json(shown.out)["days"].size(), 1U);
  EXPECT_EQ(one_json(shown.out)["days"][0]["day"], "2026-12-01");
  const auto none = run({"usage", "--state", state(), "--day", "2027-01-01"});
  EXPECT_EQ(none.status, 0);
  EXPECT_THAT(none.out, IsEmpty());
  EXPECT_THAT(none.err, HasSubstr("2027-01-01"));
  EXPECT_EQ(one_json(run({"usage", "--json", "--state", state(), "--day", "2027-01-01"}).out)["days"].size(), 0U);
}

TEST_F(Usage, LooksIntoTheStateFolderOfPolygraphDir) {
  charge((folder() / "home" / "state").string());
  EXPECT_THAT(run({"usage"}).out, HasSubstr("b/large"));
}

TEST_F(Usage, ShowsAServersLedgerWhileItIsInUse) {
  charge(state());
  const auto serving = proxy::open_sqlite_store(state()).value();
  ASSERT_TRUE(serving->check());
  EXPECT_THAT(run({"usage", "--state", state()}).out, HasSubstr("b/large"));
  EXPECT_TRUE(serving->check()) << "reading leaves the server's store alone";
}

TEST_F(Usage, WhereThereIsNoLedgerNoneIsMade) {
  const auto refused = run({"usage", "--json", "--state", state()});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, HasSubstr("my state/polygraph.sqlite"));
  EXPECT_FALSE(std::filesystem::exists(state()));
}

TEST_F(Usage, AFileThatIsNoLedgerIsUnreadable) {
  write("my state/polygraph.sqlite", std::string(5000, 'x'));
  const auto refused = run({"usage", "--state", state()});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("polygraph.sqlite"));
}

TEST_F(Usage, WrongUseIsNamed) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"--day", "yesterday"}, {"--day", "2026-1-01"}, {"--store", "redis://me:canary@host:1/0"},
                                                                     {"--store", "redis://h:1/0", "--state", "x"}, {"--month", "1"}}) {
    auto call = arguments;
    call.insert(call.begin(), "usage");
    const auto refused = run(call);
    EXPECT_EQ(refused.status, 2) << arguments[0];
    EXPECT_THAT(refused.err, Not(HasSubstr("canary")));
    EXPECT_THAT(refused.out, IsEmpty());
  }
}

TEST_F(Usage, ARedisThatIsAwayIsANetworkFailure) {
  const auto refused = run({"usage", "--store", "redis://127.0.0.1:1/0"});
  EXPECT_EQ(refused.status, 5);
  EXPECT_THAT(refused.err, HasSubstr("redis://127.0.0.1:1"));
}

}  // namespace
}  // namespace polygraph::cli::test
