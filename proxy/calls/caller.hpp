// Asking a model from the command line: any request, at any endpoint, within its limits, through cache and ledger.
//
// Calls run on a thread of the caller's own, a bounded number at once. Minutes that are spent are waited out; a day that is
// spent is not, unless asked to. An answer is kept with the time and tokens it took; a failure is never kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "proxy/store/store.hpp"
#include "proxy/upstream/chat_client.hpp"
#include "proxy/upstream/model_request.hpp"
#include "wasm/error.hpp"

namespace polygraph::proxy {

struct ModelReply {
  std::string text;
  std::string json;                        ///< with a schema: the last complete JSON value of the text
  std::string model;                       ///< as the endpoint named it
  std::string finish = "stop";             ///< "stop", or "length" where free text was cut by the token limit
  Tokens tokens;
  bool tokens_known = false;               ///< the endpoint said them
  double ms = 0;                           ///< of the call that was answered; a cached reply keeps its own
  bool cached = false;
  bool repaired = false;                   ///< the first reply could not be read
  std::string fault;                       ///< of an ask without repair: what is wrong with it; such a reply is not kept
  std::vector<TokenPosition> probabilities;
  std::optional<double> cost_usd;          ///< nothing where there is no price
};

enum class FailureKind : std::uint8_t {
  quota_spent,   ///< of a day, or of an account: `until` says when to go on, where it is known
  rate_limited,  ///< of a minute, after as many waits as make sense
  too_large,     ///< no window holds the request: it must get smaller
  refused,       ///< the key, the model or the request; never tried again
  network,       ///< no connection, or the endpoint failed, three times
  timed_out,
  malformed,     ///< the reply could not be read, and neither could the one asked for again
  cut,           ///< JSON that the token limit cut
  store,         ///< the ledger can't be read or written: nothing was sent
  interrupted,
};
std::string_view name(FailureKind kind) noexcept;

struct ModelFailure {
  FailureKind kind = FailureKind::network;
  std::string message;               ///< names provider, model and what to do; holds no key
  RefusedFor refused_for = RefusedFor::unknown;
  std::optional<Millis> until;       ///< when to go on
  unsigned status = 0;               ///< of HTTP
  /// `quota_spent`, `provider_failed`, `io` or `invalid_argument`, for a command's exit code.
  ErrorCode code() const noexcept;
};

using ModelOutcome = tl::expected<ModelReply, ModelFailure>;

/// How one request is asked.
struct Ask {
  /// What is wrong with a reply's text, beyond its schema; nothing where it is sound. On the caller's thread.
  std::function<std::optional<std::string>(std::string_view text)> check = nullptr;
  bool repair = true;                ///< ask once more where a reply can't be read
  bool use_cache = true;
  std::uint64_t sample = 0;          ///< which of several answers to the same request: each is kept by itself
  std::function<void(std::string_view)> on_delta = nullptr;  ///< with `stream`: text as it comes, on the caller's thread
  std::function<bool()> cancelled = nullptr;  ///< asked now and then while ask() blocks; ends this request alone, as `interrupted`
};

/// What one role's asks came to.
struct Tally {
  std::uint64_t asked = 0, cached = 0, repaired = 0, failed = 0;
  Tokens tokens;                     ///< of calls that were made now
  double ms = 0;
  double cost_usd = 0;
  std::uint64_t without_price = 0;   ///< calls that `cost_usd` leaves out
};

struct CallerOptions {
  std::string provider;              ///< for messages
  Upstream upstream;
  std::unique_ptr<Store> store;
  /// In front of a model's name in the ledger, where it must not be taken for another endpoint's.
  std::string ledger_prefix = {};
  std::optional<ModelLimits> limits = std::nullopt;  ///< nothing: none are known until the endpoint names them
  /// What the user set: whatever the endpoint names, no more than this.
  ModelLimits most = {1'000'000'000'000, 1'000'000'000'000, 1'000'000'000'000, 1'000'000'000'000};
  bool use_cache = true;
  bool wait = false;                 ///< wait for the next day
  unsigned concurrency = 4;
  std::chrono::milliseconds longest_call = std::chrono::minutes(5);
  Millis first_backoff = 500;
  std::function<void(const std::string&)> note = nullptr;  ///< told of longer waits, on the caller's thread
  std::function<bool()> cancelled = nullptr;               ///< asked now and then while ask() blocks
};

class Caller {
 public:
  /// Fails as make_chat_client does.
  static Result<std::unique_ptr<Caller>> create(CallerOptions options);
  /// Ends what is under way, each with `interrupted`.
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// Blocks until there is an answer. Any thread but the caller's own.
  ModelOutcome ask(ModelRequest request, Ask how = {});
  /// `done` is called once, on the caller's thread.
  void ask(ModelRequest request, Ask how, std::function<void(ModelOutcome)> done);

  /// What the key can use, in the endpoint's order.
  tl::expected<std::vector<ListedModel>, ModelFailure> models();

  /// Ends what is under way and whatever is asked later, each with `interrupted`. Any thread.
  void stop();

  std::map<std::string, Tally> tally() const;  ///< by role
  const std::string& provider() const noexcept;
  const std::string& url() const noexcept;
  /// A model's name in the ledger.
  std::string ledger_name(std::string_view model) const;

 private:
  struct State;
  explicit Caller(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace polygraph::proxy
