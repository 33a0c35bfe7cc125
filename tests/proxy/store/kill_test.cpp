// kill -9 at random moments. What was acknowledged is there afterwards and stands there once; of what was not, at most the
// one operation that was running has happened.
//
// POLYGRAPH_KILL_ROUNDS sets the rounds (20 without it); the seed of a failed round is in its message.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "tests/proxy/store/backends.hpp"

namespace polygraph::proxy::test {
namespace {

constexpr std::uint32_t most_lines = 120;
constexpr std::uint32_t most_delay_us = 800;

int rounds() {
  const char* given = std::getenv("POLYGRAPH_KILL_ROUNDS");
  return given == nullptr ? 20 : std::max(1, std::atoi(given));
}

/// What the ledger of a round must hold.
struct Charged {
  std::uint64_t requests = 0, in = 0, out = 0;
  std::map<ReservationId, std::uint64_t> open;
  std::uint64_t orphans = 0, orphan_tokens = 0;  ///< open, and their ids were never told

  std::uint64_t open_requests() const { return open.size() + orphans; }
  std::uint64_t open_tokens() const {
    std::uint64_t sum = orphan_tokens;
    for (const auto& [id, tokens] : open) sum += tokens;
    return sum;
  }
  bool operator==(const DayUsage& line) const {
    return line.requests == requests && line.tokens_in == in && line.tokens_out == out && line.open_requests == open_requests() &&
           line.open_tokens == open_tokens();
  }
};

std::string words(const DayUsage& line) {
  std::ostringstream text;
  text << line.requests << " requests, " << line.tokens_in << " in, " << line.tokens_out << " out, " << line.open_requests << " open with "
       << line.open_tokens;
  return text.str();
}

/// What a process said, put together.
struct Story {
  Charged charged;
  std::string running;  ///< the operation that was begun and not acknowledged
  int acknowledged = 0;

  void tell(const std::string& line) {
    if (line[0] == '!') return;
    if (std::islower(static_cast<unsigned char>(line[0]))) {
      ASSERT_EQ(running, "") << "one at a time";
      running = line;
      return;
    }
    ASSERT_EQ(std::toupper(running[0]), line[0]);
    apply(charged, line.size() > 2 ? std::stoull(line.substr(2)) : 0);
    running.clear();
    ++acknowledged;
  }

  /// Does what `running` says; `id` is that of a reservation, 0 when it is not known.
  void apply(Charged& to, ReservationId id) const {
    std::istringstream text(running.substr(1));
    if (running[0] == 'r') {
      std::uint64_t tokens = 0;
      text >> tokens;
      to.requests += 1;
      if (id != 0) {
        to.open[id] = tokens;
      } else {
        to.orphans += 1;
        to.orphan_tokens += tokens;
      }
      return;
    }
    std::uint64_t in = 0, out = 0;
    text >> id >> in >> out;
    if (running[0] == 'f') in = to.open.at(id);
    if (running[0] == 'x') to.requests -= 1;
    to.in += in;
    to.out += out;
    to.open.erase(id);
  }
};

/// The day's line of the model; all zeros when there is none.
DayUsage line_of(Store& store, const std::string& model) {
  const auto lines = store.usage();
  if (!lines) {
    ADD_FAILURE() << lines.error().message;
    return {};
  }
  for (const auto& line : *lines) {
    if (line.model == model) return line;
  }
  return {};
}

/// A round: lets a process work on `target`, calls `kill` at a random moment, then holds the store to what was said.
/// Adds the operations that were acknowledged to `acknowledged`.
template <class Kill, class Open>
void play(int round, const std::string& target, int& acknowledged, const Kill& kill, const Open& open) {
  SCOPED_TRACE("round " + std::to_string(round));
  std::mt19937 random(static_cast<std::uint32_t>(round));
  const std::string model = "m" + std::to_string(round);  // so that each round is judged by itself
  StoreProcess process({"calls", target, model, std::to_string(noon), std::to_string(round)});
  Story story;
  std::string line;
  for (auto lines = random() % most_lines; lines > 0; --lines) {
    ASSERT_TRUE(process.line(line));
    ASSERT_NE(line[0], '!') << line;
    ASSERT_NO_FATAL_FAILURE(story.tell(line));
  }
  // The moment within an operation is what is random here; nothing is waited for.
  const auto moment = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % most_delay_us);
  while (std::chrono::steady_clock::now() < moment) {
  }
  kill(process);
  while (process.line(line)) ASSERT_NO_FATAL_FAILURE(story.tell(line));

  acknowledged += story.acknowledged;

  const std::unique_ptr<Store> store = open();
  ASSERT_NE(store, nullptr);
  const auto found = line_of(*store, model);
  if (story.running.empty()) {
    EXPECT_TRUE(story.charged == found) << words(found);
  } else {
    Charged done = story.charged;
    story.apply(done, 0);
    const bool happened = done == found;
    EXPECT_TRUE(happened || story.charged == found) << words(found) << ", running: " << story.running;
    if (happened) story.charged = done;
  }
  // The minute counts the same as the day.
  const auto left = store->remaining(model, roomy, noon).value();
  EXPECT_EQ(roomy.requests_per_minute - left.requests_minute, found.requests);
  EXPECT_EQ(roomy.tokens_per_minute - left.tokens_minute, found.tokens_in + found.tokens_out + found.open_tokens);

  // Whoever begins again may close what was open, and what the killed process was closing, without paying twice.
  if (!story.running.empty() && story.running[0] != 'r') {
    std::istringstream text(story.running.substr(1));
    ReservationId id = 0;
    Tokens used;
    text >> id >> used.in >> used.out;
    if (story.charged.open.contains(id)) story.apply(story.charged, 0);
    ASSERT_TRUE(story.running[0] == 's' ? store->settle(id, used) : story.running[0] == 'f' ? store->settle_in_full(id) : store->release(id));
  }
  for (const auto& [id, tokens] : std::map(story.charged.open)) {
    ASSERT_TRUE(store->settle(id, {1, 2}));
    story.charged.in += 1;
    story.charged.out += 2;
    story.charged.open.erase(id);
  }
  const auto closed = line_of(*store, model);
  EXPECT_TRUE(story.charged == closed) << words(closed);
}

template <class Backend>
class Killed : public StoreTest<Backend> {};
TYPED_TEST_SUITE(Killed, Backends, BackendNames);

TYPED_TEST(Killed, AProcessLosesNothingAcknowledgedAndChargesNothingTwice) {
  this->store.reset();  // the killed process is the only one that had it open
  int acknowledged = 0;
  for (int round = 0; round < rounds() && !::testing::Test::HasFailure(); ++round) {
    play(round, this->backend->target(), acknowledged, [](StoreProcess& process) { process.kill(); }, [&] { return this->backend->open(); });
  }
  EXPECT_GT(acknowledged, rounds());
}

TEST(KilledRedis, AServerThatWritesThroughLosesNothingAcknowledgedAndChargesNothingTwice) {
  if (const char* missing = RedisBackend::missing()) GTEST_SKIP() << missing;
  RedisServer server(RedisServer::Keeps::synced);
  int acknowledged = 0;
  for (int round = 0; round < rounds() && !::testing::Test::HasFailure(); ++round) {
    play(round, server.url(), acknowledged, [&](StoreProcess&) { server.kill(); },
         [&] {
           server.start();
           return std::move(*open_redis_store(server.url(), patient));
         });
  }
  EXPECT_GT(acknowledged, rounds());
}

}  // namespace
}  // namespace polygraph::proxy::test
