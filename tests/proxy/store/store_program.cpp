// A second process on a store. Speaks in lines.
//
//   race TARGET MODEL TOKENS RPM TPM NOW    says `ready`, waits for a line, reserves until it is denied and says each `+`
//   calls TARGET MODEL NOW SEED             reserves and closes for ever; says each operation before and after it ran:
//       r TOKENS            R ID
//       s ID IN OUT         S
//       f ID                F      (settled in full)
//       x ID                X      (released)
//     and ends with status 3 and `! WHY` when the store fails
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "proxy/store/store.hpp"

namespace {

using namespace polygraph::proxy;

constexpr int wrong_use = 2, store_failed = 3;
constexpr std::size_t most_open = 8;

/// One write for each line: what was said before a kill has arrived.
void say(const std::string& words) {
  const auto line = words + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(store_failed);
}

int race(Store& store, const std::string& model, std::uint64_t tokens, const ModelLimits& limits, Millis now) {
  say("ready");
  std::string line;
  std::getline(std::cin, line);
  for (;;) {
    const auto answer = store.reserve(model, tokens, limits, now);
    if (!answer) {
      say("! " + answer.error().message);
      return store_failed;
    }
    if (std::holds_alternative<Denied>(*answer)) return 0;
    say("+");
  }
}

int calls(Store& store, const std::string& model, Millis now, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  constexpr ModelLimits roomy{1'000'000'000, 1'000'000'000, 1'000'000'000'000, 1'000'000'000'000};
  std::vector<ReservationId> open;
  for (;;) {
    polygraph::Result<void> done;
    if (open.empty() || (open.size() < most_open && below(2) == 0)) {
      const std::uint64_t tokens = 1 + below(1000);
      say("r " + std::to_string(tokens));
      const auto answer = store.reserve(model, tokens, roomy, now);
      if (answer && std::holds_alternative<ReservationId>(*answer)) {
        open.push_back(std::get<ReservationId>(*answer));
        say("R " + std::to_string(open.back()));
        continue;
      }
      say(answer ? "! denied" : "! " + answer.error().message);
      return store_failed;
    }
    const auto place = open.begin() + below(static_cast<std::uint32_t>(open.size()));
    const auto id = *place;
    open.erase(place);
    const auto kind = below(3);
    if (kind == 0) {
      const Tokens used{below(500), below(500)};
      say("s " + std::to_string(id) + " " + std::to_string(used.in) + " " + std::to_string(used.out));
      done = store.settle(id, used);
    } else if (kind == 1) {
      say("f " + std::to_string(id));
      done = store.settle_in_full(id);
    } else {
      say("x " + std::to_string(id));
      done = store.release(id);
    }
    if (!done) {
      say("! " + done.error().message);
      return store_failed;
    }
    say(kind == 0 ? "S" : kind == 1 ? "F" : "X");
  }
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) return wrong_use;
  auto store = words[1].starts_with("redis://") ? open_redis_store(words[1], {.redis_timeout = std::chrono::seconds(20)}) : open_sqlite_store(words[1]);
  if (!store) {
    say("! " + store.error().message);
    return store_failed;
  }
  if (words[0] == "race" && words.size() == 7) {
    return race(**store, words[2], std::stoull(words[3]), {std::stoull(words[4]), 1'000'000'000, std::stoull(words[5]), 1'000'000'000}, std::stoll(words[6]));
  }
  if (words[0] == "calls" && words.size() == 5) return calls(**store, words[2], std::stoll(words[3]), static_cast<std::uint32_t>(std::stoul(words[4])));
  return wrong_use;
}
