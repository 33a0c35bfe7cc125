// An HTTP/1.1 server for tests of downloads: it answers each request as the next line of a script says, well or badly.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace polygraph::models {

struct Answer {
  static constexpr std::size_t whole = std::numeric_limits<std::size_t>::max();

  int status = 200;
  std::string body = {};
  bool knows_ranges = true;         ///< answers a Range with 206
  bool content_length = true;       ///< otherwise the end of the connection is the end of the body
  std::size_t closes_after = whole; ///< bytes of body after which the connection is closed
  std::size_t stalls_after = whole; ///< bytes of body after which nothing more comes, until the server ends
  bool closes_at_once = false;      ///< without a status line
  std::optional<std::size_t> range_start = {};  ///< sends this range whatever was asked for
  std::string location = {};            ///< for redirects
};

class ScriptedServer {
 public:
  /// Listens on a free port of 127.0.0.1. The last answer repeats.
  explicit ScriptedServer(std::vector<Answer> script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
  std::uint16_t port() const { return port_; }

  /// The Range header of each request so far, empty where it had none.
  std::vector<std::string> ranges() const;

 private:
  void serve();
  void answer(int connection, const Answer& answer, const std::string& range);

  std::vector<Answer> script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::vector<std::string> ranges_;
  std::thread thread_;
};

}  // namespace polygraph::models
