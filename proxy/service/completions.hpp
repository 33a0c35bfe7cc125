// One task's way to a model and back: response cache, shared calls, the queue, reservation, the call itself with its
// retries, settlement. Identical tasks that run at the same time share one call; whoever leaves last ends it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <boost/asio/any_io_executor.hpp>

#include "proxy/calls/store_thread.hpp"
#include "proxy/http/head_scanner.hpp"
#include "proxy/service/settings.hpp"
#include "proxy/upstream/chat_client.hpp"
#include "wasm/agent/effect.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::proxy {

struct TaskRequest {
  agent::CompleteRequest task;
  std::string model;     ///< of the allowed ones
  bool stream = false;   ///< deltas are wanted; only for generate
  std::string client;    ///< for the queue's turns
};

/// A task that was completed.
struct Completed {
  std::string text;            ///< of grade and rewrite: JSON that the engine's reader takes
  std::string model, prompt_version;
  Tokens tokens;
  double ms = 0;               ///< of the call when it was made, also for a cached answer
  bool cached = false;
  std::string finish = "stop";
  unsigned upstream_status = 0;
};

/// One that was not, as the caller is told.
struct NotCompleted {
  http::Refusal refusal;
  std::optional<Millis> until;  ///< busy: when it is expected to end
  unsigned upstream_status = 0;
};

using TaskOutcome = std::variant<Completed, NotCompleted>;

struct Listener {
  std::function<void(std::string_view)> on_delta = nullptr;
  std::function<void(const TaskOutcome&)> done;
};

class Completions : public std::enable_shared_from_this<Completions> {
 public:
  /// `executor` runs one thing at a time (a strand); every callback runs on it. `client` may be null: there is no key, and
  /// every task is answered `busy`. `index`, `store` and `settings` must outlive it.
  Completions(boost::asio::any_io_executor executor, const index::Index& index, const ServiceSettings& settings, std::shared_ptr<ChatClient> client,
              StoreThread& store, std::string why_no_client, Dialect dialect);
  ~Completions();

  /// Any thread. While the handle lives somebody waits; when the last handle of a call dies before its end, the call is
  /// cancelled.
  std::shared_ptr<void> start(TaskRequest request, Listener listener);

  /// Whether tasks can be sent upstream as far as is known without asking, and until when they can't. Any thread.
  struct Availability {
    bool live = false;
    std::optional<Millis> until;
  };
  Availability availability(Millis now) const;
  bool has_client() const noexcept { return client_ != nullptr; }

  /// polygraph_upstream_calls_total and polygraph_tokens_total.
  std::string metrics() const;

 private:
  struct Flight;
  struct Implementation;
  friend struct Implementation;

  boost::asio::any_io_executor executor_;
  const index::Index& index_;
  const ServiceSettings& settings_;
  std::shared_ptr<ChatClient> client_;
  StoreThread& store_;
  std::string why_no_client_;
  Dialect dialect_;
  std::unique_ptr<Implementation> implementation_;
  std::atomic<Millis> down_until_{0};  ///< upstream failed lately

  mutable std::mutex metrics_mutex_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> calls_, tokens_;
};

}  // namespace polygraph::proxy
