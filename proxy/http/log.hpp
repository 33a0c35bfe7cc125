// The log: one JSON object a line, on a descriptor (stderr). Lines are handed to a thread of the log's own, so a reader
// that stalls never stalls an answer; what no longer fits is dropped and counted in a line of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "proxy/http/answer.hpp"

namespace polygraph::http {

struct RequestRecord {
  std::string_view request_id, client, method, path;  ///< path without its query
  unsigned status = 0;                                ///< 0: cut before an answer
  double ms = 0;
  std::uint64_t bytes = 0;                            ///< of the answer, head and body, that were taken by the kernel
  std::string_view error;                             ///< `code` of the error that was answered; empty for none
  const LogFields* more = nullptr;                    ///< what the handler knows beside
};

class Log {
 public:
  /// `descriptor` stays the caller's and must outlive the log.
  explicit Log(int descriptor);
  /// Writes what is left.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void request(const RequestRecord& record);
  void event(std::string_view level, std::string_view event, std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

 private:
  void add(std::string_view line);
  void write_until_stopped();

  int descriptor_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string pending_;
  std::uint64_t dropped_ = 0;
  bool stopped_ = false;
  std::thread writer_;
};

}  // namespace polygraph::http
