// A call that the ledger allows: reserved before it goes out, settled after it, tried again where that makes sense, and
// asked once more where the reply can't be read. The server's tasks and the command line's questions both end here.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "proxy/calls/store_thread.hpp"
#include "proxy/upstream/chat_client.hpp"

namespace polygraph::proxy {

using Reserved = std::variant<ReservationId, Denied>;

/// Why a call has to wait.
struct Shortage {
  std::string model;               ///< its name in the ledger
  Window window = Window::paused;  ///< of our ledger, or `paused` where upstream said so
  bool of_day = false;
  Millis until = 0;                ///< the earliest time
  int waits = 0;                   ///< how often this call has waited already
};

struct CallPolicy {
  int most_calls = 3;              ///< the first and its retries; what was waited out does not count
  Millis first_backoff = 250;
  /// Whether to wait a shortage out. Without it the ledger's are never waited for, and upstream's where they end before the
  /// call's deadline.
  std::function<bool(const Shortage&)> waits = nullptr;
  /// After a reply that can't be read, and no second one: whether the first is what is told.
  bool first_fault_wins = true;
  /// Sees every reply, before it is settled.
  std::function<void(const std::string& model, const ChatReply&)> heard = nullptr;
};

/// What is asked, and what happens meanwhile. Used on the executor alone.
struct ReservedCall {
  std::string model;               ///< its name in the ledger
  ChatCall chat;                   ///< without its deadline
  std::uint64_t most = 0;          ///< tokens that are reserved: the prompt's estimate and the cap of the reply
  std::function<ModelLimits()> limits;
  std::chrono::steady_clock::time_point deadline;  ///< of everything
  std::chrono::milliseconds longest_call = std::chrono::hours(24);  ///< of one call
  /// What is wrong with an answer; nothing where it is sound.
  std::function<std::optional<std::string>(const ChatReply&)> fault = nullptr;
  /// Changes `chat` and `most` so that they ask again; false where asking again makes no sense.
  std::function<bool(ReservedCall&, const ChatReply&, const std::string& fault)> repair = nullptr;
  /// Key and value in the response cache of a sound answer that was not cut.
  std::function<std::optional<std::pair<std::string, std::string>>(const ChatReply&)> keep = nullptr;

  bool abandoned = false;          ///< nobody waits any more; set before `interrupt` is called
  std::function<void()> interrupt = nullptr;  ///< ends what is being waited for
};

struct CallEnd {
  enum class Kind : std::uint8_t {
    answered,
    malformed,    ///< answered, and `fault` says what is wrong with it
    denied,       ///< by our ledger: `denied`
    limited,      ///< by upstream, until `until` at least
    too_large,
    refused,
    invalid,      ///< no usable answer to a call that was sent
    unreachable,
    timed_out,
    abandoned,
    ledger,       ///< it can't be read or written: nothing was sent
  };
  Kind kind = Kind::abandoned;
  ChatReply reply = {};            ///< the last one, where there was any
  std::string fault = {};
  Denied denied = {};
  Millis until = 0;
  bool repaired = false;           ///< answered only when asked again
};

class ReservedCalls {
 public:
  /// `executor` runs one thing at a time; all work runs on it. `client` and `store` must outlive every call.
  ReservedCalls(boost::asio::any_io_executor executor, std::shared_ptr<ChatClient> client, StoreThread& store, CallPolicy policy);

  /// `first`: the first call's reservation, where it was made already.
  boost::asio::awaitable<CallEnd> run(std::shared_ptr<ReservedCall> call, std::optional<Reserved> first);

  template <class Value>
  using StoreJob = std::function<Result<Value>(Store&)>;
  static StoreJob<Reserved> reservation(const ReservedCall& call);

 private:
  /// What is to be done after a reply.
  struct Next {
    std::optional<CallEnd> end;
    Millis wait = 0;               ///< or another call after this
    bool counted = true;
  };

  boost::asio::awaitable<CallEnd> call_with_retries(std::shared_ptr<ReservedCall> call, std::optional<Reserved> made);
  boost::asio::awaitable<ChatReply> chat(const std::shared_ptr<ReservedCall>& call);
  boost::asio::awaitable<void> sleep(const std::shared_ptr<ReservedCall>& call, Millis ms);
  Next after(const ReservedCall& call, const ChatReply& reply, int attempt, int waits, Millis now, Millis paused, Millis backoff);
  void later(StoreJob<std::monostate> job);
  Millis jittered(Millis ms);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<ChatClient> client_;
  StoreThread& store_;
  CallPolicy policy_;
  std::mt19937 random_;
};

}  // namespace polygraph::proxy
