// One POST of a JSON body to a receiver of traces, over TLS that is verified with the host's name, or plain where its URL says
// http. Redirects and proxy variables are not followed.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "proxy/telemetry/settings.hpp"

namespace polygraph::telemetry {

/// What ends a post from another thread.
class PostCancel {
 public:
  PostCancel();
  ~PostCancel();
  PostCancel(const PostCancel&) = delete;
  PostCancel& operator=(const PostCancel&) = delete;
  /// The post under way, and any later one, ends at once.
  void cancel();

  struct State;
  State& state() noexcept { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Blocks until it is answered, until `deadline`, or until it is cancelled. Empty for an answer of 2xx; otherwise what went
/// wrong, in words of our own: nothing of what the receiver said, which may repeat a key.
std::string post(const Target& target, std::string_view body, const std::string& ca_file, std::chrono::steady_clock::time_point deadline, PostCancel& cancel);

}  // namespace polygraph::telemetry
