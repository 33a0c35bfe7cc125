// The hard limits of one HTTP connection, as `serve --help` lists them, with their defaults. Sizes are bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace polygraph::http {

using Milliseconds = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Limits {
  std::size_t max_target_bytes = 8192;    ///< request target; past it 414
  std::size_t max_header_bytes = 16384;   ///< request line and fields together; past it 431
  std::size_t max_headers = 100;          ///< fields of a request; past it 431
  std::uint64_t max_body_bytes = 65536;   ///< Content-Length; past it 413 and the body stays unread
  std::size_t max_connections = 1024;     ///< served at once; past it 503 and closed

  Milliseconds idle_timeout{15'000};      ///< without a byte of a next request: closed without an answer
  Milliseconds header_timeout{10'000};    ///< from a request's first byte to the end of its head: 408
  Milliseconds body_timeout{10'000};      ///< from the end of the head to the end of the body: 408
  Milliseconds write_timeout{20'000};     ///< without the peer taking a byte: cut
  Milliseconds total_timeout{120'000};    ///< from a request's first byte in to its answer's last byte out: cut
  Milliseconds shutdown_timeout{30'000};  ///< what running answers get once the server stops: then cut
};

}  // namespace polygraph::http
