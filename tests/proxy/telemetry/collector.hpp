// A receiver of traces for tests, on a real socket: it keeps what it is sent, and answers well or badly.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace polygraph::telemetry::testing {

struct Received {
  std::string head, body;
};

class Collector {
 public:
  /// Listens on a free port of 127.0.0.1. What it does with each request in turn; the last repeats:
  ///   ok                200 and {}
  ///   status:N:BODY     that status and body; a redirect names `location`
  ///   ok:BODY           200 and that body
  ///   stall             nothing, until the client or this object ends
  ///   close             the connection is closed without a word
  ///   trickle           half a head, then nothing
  explicit Collector(std::vector<std::string> script = {"ok"}, std::string location = {});
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url(const std::string& path = {}) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }

  /// Waits until there are so many; false when they don't come.
  bool wait_for(std::size_t requests) const;
  std::vector<Received> received() const;
  std::size_t connections() const;

 private:
  void serve();
  void answer(int connection);

  std::vector<std::string> script_;
  std::string location_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Received> received_;
  std::vector<int> held_;
  std::size_t connections_ = 0;
  std::thread thread_;
};

/// A port of 127.0.0.1 that nobody listens on.
std::uint16_t closed_port();

}  // namespace polygraph::telemetry::testing
