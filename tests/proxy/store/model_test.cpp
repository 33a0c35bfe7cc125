// Random operations, held against the plain reference after each: grants, the earliest time, what remains, the ledger.
#include <gtest/gtest.h>

#include <random>

#include "tests/proxy/store/backends.hpp"
#include "tests/proxy/store/reference_store.hpp"

namespace polygraph::proxy::test {
namespace {

constexpr int sequences = 12, operations = 150;

template <class Backend>
class AgainstReference : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* missing = Backend::missing()) GTEST_SKIP() << missing;
  }
};
TYPED_TEST_SUITE(AgainstReference, Backends, BackendNames);

void expect_same(const Remaining& got, const Remaining& wanted) {
  EXPECT_EQ(got.requests_minute, wanted.requests_minute);
  EXPECT_EQ(got.requests_day, wanted.requests_day);
  EXPECT_EQ(got.tokens_minute, wanted.tokens_minute);
  EXPECT_EQ(got.tokens_day, wanted.tokens_day);
  EXPECT_EQ(got.paused_until, wanted.paused_until);
}

void expect_same(const std::vector<DayUsage>& got, const std::vector<DayUsage>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].day, wanted[i].day);
    EXPECT_EQ(got[i].model, wanted[i].model);
    EXPECT_EQ(got[i].requests, wanted[i].requests);
    EXPECT_EQ(got[i].tokens_in, wanted[i].tokens_in);
    EXPECT_EQ(got[i].tokens_out, wanted[i].tokens_out);
    EXPECT_EQ(got[i].open_requests, wanted[i].open_requests);
    EXPECT_EQ(got[i].open_tokens, wanted[i].open_tokens);
  }
}

TYPED_TEST(AgainstReference, EveryAnswerIsTheSame) {
  int grants = 0;
  std::map<Window, int> denials;
  for (int sequence = 0; sequence < sequences; ++sequence) {
    SCOPED_TRACE("sequence " + std::to_string(sequence));
    TypeParam backend;
    std::vector<std::unique_ptr<Store>> views;
    views.push_back(backend.open());
    views.push_back(backend.open());
    ReferenceStore reference;
    std::mt19937 random(static_cast<std::uint32_t>(sequence));
    const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    // Small limits, each of which binds in some sequence; the hours around midnight.
    const ModelLimits limits{1 + below(6), 2 + below(30), 100 + below(400), 300 + below(3000)};
    Millis now = midnight - below(20) * minute;
    std::vector<ReservationId> ids{77};
    for (int step = 0; step < operations && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      Store& store = *views[below(2)];
      const std::string model = below(3) == 0 ? "b" : "a";
      const auto id = ids[below(static_cast<std::uint32_t>(ids.size()))];
      switch (below(10)) {
        case 0: now += below(2) == 0 ? below(90) * second : below(3000); break;
        case 1: now -= below(20) * second; break;  // another instance's clock
        case 2: {
          const Tokens used{below(150), below(150)};
          ASSERT_TRUE(store.settle(id, used));
          reference.settle(id, used);
          break;
        }
        case 3:
          ASSERT_TRUE(store.settle_in_full(id));
          reference.settle(id, std::nullopt);
          break;
        case 4:
          ASSERT_TRUE(store.release(id));
          reference.release(id);
          break;
        case 5:
          if (below(4) == 0) {
            const auto until = now + below(100) * second - 20 * second;
            ASSERT_TRUE(store.pause(model, until));
            reference.pause(model, until);
          }
          break;
        default: {
          const std::uint64_t tokens = 1 + below(static_cast<std::uint32_t>(std::min(limits.tokens_per_minute, limits.tokens_per_day)) / (1 + below(4)));
          const auto answer = store.reserve(model, tokens, limits, now);
          ASSERT_TRUE(answer) << answer.error().message;
          const auto earliest = reference.fits_at(model, tokens, limits, now);
          if (const auto* denial = std::get_if<Denied>(&*answer)) {
            EXPECT_GT(denial->until, now);
            EXPECT_EQ(denial->until, earliest);
            EXPECT_TRUE(reference.full(model, tokens, limits, denial->until - 1).contains(denial->window))
                << "window " << static_cast<int>(denial->window) << " did not hold it up to the end";
            ++denials[denial->window];
            if (below(3) == 0) now = denial->until;  // as a caller does that waits
          } else {
            EXPECT_EQ(earliest, now);
            ids.push_back(std::get<ReservationId>(*answer));
            reference.reserve(ids.back(), model, tokens, now);
            ++grants;
          }
        }
      }
      expect_same(*store.remaining(model, limits, now), reference.remaining(model, limits, now));
      expect_same(*store.usage(), reference.usage());
    }
  }
  EXPECT_GT(grants, 100);
  for (const auto window : {Window::requests_minute, Window::requests_day, Window::tokens_minute, Window::tokens_day, Window::paused}) {
    EXPECT_GT(denials[window], 0) << "window " << static_cast<int>(window) << " was never met";
  }
}

}  // namespace
}  // namespace polygraph::proxy::test
