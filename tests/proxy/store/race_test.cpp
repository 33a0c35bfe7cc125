// Several at one store at the same time: together they never get more than the limits hold, and nothing fails.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "tests/proxy/store/backends.hpp"

namespace polygraph::proxy::test {
namespace {

constexpr int rivals = 2;
constexpr std::uint64_t requests = 400;

template <class Backend>
class Race : public StoreTest<Backend> {};
TYPED_TEST_SUITE(Race, Backends, BackendNames);

TYPED_TEST(Race, TwoThreadsGetTheLimitTogetherAndNoMore) {
  constexpr ModelLimits limits{requests, 100'000, 1'000'000, 1'000'000};
  std::vector<std::uint64_t> grants(rivals, 0);
  std::vector<std::string> errors(rivals);
  std::barrier start(rivals);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < rivals; ++i) {
    threads.emplace_back([&, i] {
      const auto view = this->backend->open();
      start.arrive_and_wait();
      for (;;) {
        const auto answer = view->reserve("m", 10, limits, noon);
        if (!answer) errors[i] = answer.error().message;
        if (!answer || std::holds_alternative<Denied>(*answer)) return;
        ++grants[i];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) EXPECT_EQ(error, "");
  EXPECT_EQ(grants[0] + grants[1], requests);
  EXPECT_EQ(this->store->usage()->front().open_requests, requests);
}

TYPED_TEST(Race, TwoProcessesGetTheLimitTogetherAndNoMore) {
  constexpr std::uint64_t tokens = 7, tokens_per_minute = 2000;  // 285 fit, five tokens stay
  std::vector<std::unique_ptr<StoreProcess>> processes;
  for (int i = 0; i < rivals; ++i) {
    processes.push_back(std::make_unique<StoreProcess>(
        std::vector<std::string>{"race", this->backend->target(), "m", std::to_string(tokens), "1000000", std::to_string(tokens_per_minute), std::to_string(noon)}));
  }
  std::string line;
  for (auto& process : processes) {
    ASSERT_TRUE(process->line(line));
    ASSERT_EQ(line, "ready");
  }
  for (auto& process : processes) process->order("go");
  std::uint64_t grants = 0;
  for (auto& process : processes) {
    while (process->line(line)) {
      ASSERT_EQ(line, "+");
      ++grants;
    }
    EXPECT_EQ(process->exit_code(), 0);
  }
  EXPECT_EQ(grants, tokens_per_minute / tokens);
  EXPECT_EQ(this->store->remaining("m", {1'000'000, 1'000'000, tokens_per_minute, 1'000'000}, noon)->tokens_minute, tokens_per_minute % tokens);
}

TYPED_TEST(Race, OneReservationIsClosedOnceWhoeverClosesIt) {
  constexpr int reservations = 100;
  std::vector<ReservationId> ids;
  for (int i = 0; i < reservations; ++i) ids.push_back(granted(*this->store, "m", 10, roomy, noon));
  std::barrier start(rivals);
  std::vector<std::thread> threads;
  std::vector<int> failures(rivals, 0);
  for (std::size_t i = 0; i < rivals; ++i) {
    threads.emplace_back([&, i] {
      const auto view = this->backend->open();
      start.arrive_and_wait();
      for (const auto id : ids) failures[i] += view->settle(id, {2, 1}) ? 0 : 1;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, std::vector<int>(rivals, 0));
  const auto line = this->store->usage()->front();
  EXPECT_EQ(line.tokens_in, 2U * reservations);
  EXPECT_EQ(line.tokens_out, 1U * reservations);
  EXPECT_EQ(line.open_requests + line.open_tokens, 0U);
}

TYPED_TEST(Race, AFileOrDatabaseThatIsNewIsBegunByOneAndUsedByAll) {
  for (int round = 0; round < 10; ++round) {
    const TypeParam fresh;
    std::barrier start(rivals);
    std::vector<std::string> errors(rivals);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < rivals; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        const auto view = fresh.open();
        if (view == nullptr) return;
        if (const auto sound = view->check(); !sound) errors[i] = sound.error().message;
      });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& error : errors) EXPECT_EQ(error, "");
  }
}

}  // namespace
}  // namespace polygraph::proxy::test
