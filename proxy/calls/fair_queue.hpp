// Who may call upstream next: a bounded number at once, the others in turn, client by client, so that one client with
// many requests does not keep another waiting for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <string>
#include <utility>

namespace polygraph::proxy {

/// Used from one thread at a time. `Admit` is called with what became of a wait.
class FairQueue {
 public:
  FairQueue(unsigned slots, std::size_t places) : free_(slots), places_(places) {}

  using Ticket = std::uint64_t;
  /// Takes a slot for `client`: at once (`admitted` runs inside the call), later, or never when the queue is full (0 is
  /// returned and `admitted` dropped).
  Ticket wait(const std::string& client, std::function<void()> admitted) {
    const Ticket ticket = ++last_;
    if (take()) {
      admitted();
      return ticket;
    }
    if (waiting_ >= places_) return 0;
    ++waiting_;
    for (auto& line : lines_) {
      if (line.client != client) continue;
      line.waiting.push_back({ticket, std::move(admitted)});
      return ticket;
    }
    lines_.push_back({client, {}});
    lines_.back().waiting.push_back({ticket, std::move(admitted)});
    return ticket;
  }

  /// Takes a slot where one is free and nobody waits for it.
  bool take() {
    if (free_ == 0 || waiting_ > 0) return false;
    --free_;
    return true;
  }

  /// Gives up a wait; false when it was admitted already (its slot is to be released then).
  bool leave(Ticket ticket) {
    for (auto line = lines_.begin(); line != lines_.end(); ++line) {
      for (auto each = line->waiting.begin(); each != line->waiting.end(); ++each) {
        if (each->first != ticket) continue;
        line->waiting.erase(each);
        --waiting_;
        if (line->waiting.empty()) lines_.erase(line);
        return true;
      }
    }
    return false;
  }

  /// Gives a slot back; the next in turn is admitted.
  void release() {
    if (lines_.empty()) {
      ++free_;
      return;
    }
    auto next = std::move(lines_.front().waiting.front().second);
    lines_.front().waiting.pop_front();
    --waiting_;
    // The client's turn is over: it goes to the end of the line.
    if (lines_.front().waiting.empty()) lines_.pop_front();
    else lines_.splice(lines_.end(), lines_, lines_.begin());
    next();
  }

  std::size_t waiting() const noexcept { return waiting_; }

 private:
  struct Line {
    std::string client;
    std::deque<std::pair<Ticket, std::function<void()>>> waiting;
  };
  std::list<Line> lines_;
  unsigned free_;
  std::size_t places_;
  std::size_t waiting_ = 0;
  Ticket last_ = 0;
};

}  // namespace polygraph::proxy
