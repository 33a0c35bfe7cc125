#include "proxy/calls/caller.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proxy/calls/fair_queue.hpp"
#include "proxy/calls/json_reply.hpp"
#include "proxy/calls/known_limits.hpp"
#include "proxy/calls/on_store.hpp"
#include "proxy/calls/reserved_calls.hpp"
#include "proxy/tasks/prices.hpp"
#include "proxy/tasks/tasks.hpp"
#include "proxy/upstream/format.hpp"
#include "proxy/upstream/reply_json.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::proxy {
namespace {

namespace net = boost::asio;
using Json = nlohmann::json;
using Kind = CallEnd::Kind;
using namespace std::chrono_literals;

/// A minute's window is free again after at most a minute; what takes longer is another kind of limit.
constexpr Millis longest_minute_wait = 120'000;
/// In a minute that others use up as well a call may lose its place, but not for ever.
constexpr int most_minute_waits = 20;
constexpr Millis worth_a_note = 3'000;
constexpr auto look_for_cancel = 100ms;

std::string clock_text(Millis time) {
  const auto stamp = static_cast<std::time_t>((time + 999) / 1000);
  std::tm utc{};
  gmtime_r(&stamp, &utc);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

/// `in 2 min 59 s (2026-11-30 12:34:56 UTC)`
std::string when(Millis until) {
  const Millis seconds = (std::max<Millis>(until - wall_clock(), 0) + 999) / 1000;
  const std::string span = seconds < 60     ? fmt::format("{} s", seconds)
                           : seconds < 3600 ? fmt::format("{} min {:02} s", seconds / 60, seconds % 60)
                                            : fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
  return fmt::format("in {} ({})", span, clock_text(until));
}

std::string_view name(Window window) {
  switch (window) {
    case Window::requests_minute: return "requests per minute";
    case Window::requests_day: return "requests per day";
    case Window::tokens_minute: return "tokens per minute";
    case Window::tokens_day: return "tokens per day";
    case Window::paused: break;
  }
  return "quota";
}

std::string_view name(UpstreamLimit limit) {
  switch (limit) {
    case UpstreamLimit::requests_minute: return "requests per minute";
    case UpstreamLimit::requests_day: return "requests per day";
    case UpstreamLimit::tokens_minute: return "tokens per minute";
    case UpstreamLimit::tokens_day: return "tokens per day";
    case UpstreamLimit::balance: return "the account's balance";
    case UpstreamLimit::unknown: break;
  }
  return "quota";
}

std::string to_cache(const ModelReply& reply) {
  Json json = {{"text", reply.text}, {"model", reply.model}, {"finish", reply.finish}, {"ms", reply.ms}, {"repaired", reply.repaired}};
  if (reply.tokens_known) json["tokens"] = {reply.tokens.in, reply.tokens.out};
  if (!reply.probabilities.empty()) {
    auto positions = Json::array();
    for (const auto& position : reply.probabilities) {
      auto top = Json::array();
      for (const auto& choice : position.top) top.push_back({choice.token, choice.logprob});
      positions.push_back({{"token", position.token}, {"top", std::move(top)}});
    }
    json["probabilities"] = std::move(positions);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ModelReply> from_cache(const std::string& bytes) {
  const auto json = Json::parse(bytes, nullptr, false);
  try {
    ModelReply reply;
    reply.text = json.at("text").get<std::string>();
    reply.model = json.at("model").get<std::string>();
    reply.finish = json.at("finish").get<std::string>();
    reply.ms = json.at("ms").get<double>();
    reply.repaired = json.at("repaired").get<bool>();
    if (json.contains("tokens")) {
      reply.tokens = {json.at("tokens").at(0).get<std::uint64_t>(), json.at("tokens").at(1).get<std::uint64_t>()};
      reply.tokens_known = true;
    }
    if (json.contains("probabilities")) {
      for (const auto& each : json.at("probabilities")) {
        TokenPosition position{each.at("token").get<std::string>(), {}};
        for (const auto& choice : each.at("top")) position.top.push_back({choice.at(0).get<std::string>(), choice.at(1).get<double>()});
        reply.probabilities.push_back(std::move(position));
      }
    }
    reply.cached = true;
    return reply;
  } catch (const Json::exception&) {
    return std::nullopt;  // of another version of this program: as if it were not there
  }
}

}  // namespace

std::string_view name(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::quota_spent: return "quota_spent";
    case FailureKind::rate_limited: return "rate_limited";
    case FailureKind::too_large: return "too_large";
    case FailureKind::refused: return "refused";
    case FailureKind::network: return "network";
    case FailureKind::timed_out: return "timed_out";
    case FailureKind::malformed: return "malformed";
    case FailureKind::cut: return "cut";
    case FailureKind::store: return "store";
    case FailureKind::interrupted: break;
  }
  return "interrupted";
}

ErrorCode ModelFailure::code() const noexcept {
  if (kind == FailureKind::quota_spent || kind == FailureKind::rate_limited) return ErrorCode::quota_spent;
  return kind == FailureKind::store ? ErrorCode::io : ErrorCode::provider_failed;
}

/// What a caller's thread works on. Everything but the options and what is guarded is used on that thread alone.
struct Caller::State : std::enable_shared_from_this<Caller::State> {
  /// One ask, from its start to its end.
  struct Run {
    ModelRequest request;
    Ask how;
    std::function<void(ModelOutcome)> done;
    std::shared_ptr<ReservedCall> call = std::make_shared<ReservedCall>();
    std::string key, seen;
    bool first_reply = true;
  };

  explicit State(CallerOptions given)
      : options(std::move(given)), store(std::move(options.store)), queue(std::max(1U, options.concurrency), ~std::size_t{0}), work(net::make_work_guard(context)) {}

  CallerOptions options;
  net::io_context context{1};
  StoreThread store;
  FairQueue queue;
  std::shared_ptr<ChatClient> client;
  std::unique_ptr<ReservedCalls> calls;
  std::set<std::shared_ptr<Run>> running;
  std::map<std::string, ModelLimits> limits;   ///< by name in the ledger
  bool stopped = false;
  net::executor_work_guard<net::io_context::executor_type> work;
  std::thread thread;

  mutable std::mutex mutex;
  std::map<std::string, Tally> tally;          // guarded

  std::string ledger_name(std::string_view model) const { return options.ledger_prefix + std::string(model); }
  std::string who(const std::string& model) const { return fmt::format("{} at {}", model, host_of(options.upstream.url)); }

  CallPolicy policy() {
    CallPolicy policy;
    policy.first_backoff = options.first_backoff;
    policy.first_fault_wins = false;  // a spent quota ends a run, a bad reply only its item
    policy.waits = [this](const Shortage& shortage) { return waits(shortage); };
    policy.heard = [this](const std::string& model, const ChatReply& reply) { hear(model, reply); };
    return policy;
  }

  bool waits(const Shortage& shortage) {
    const Millis wait = shortage.until - wall_clock();
    const bool of_minute = !shortage.of_day && wait <= longest_minute_wait && shortage.waits < most_minute_waits;
    if (stopped || (!of_minute && !options.wait)) return false;
    if (wait >= worth_a_note && options.note) options.note(fmt::format("{}: {} spent; waiting until {}", shortage.model, name(shortage.window), clock_text(shortage.until)));
    return true;
  }

  ModelLimits limits_of(const std::string& model) {
    const auto found = limits.find(model);
    ModelLimits of = found != limits.end() ? found->second : options.limits.value_or(no_limits);
    of.requests_per_minute = std::min(of.requests_per_minute, options.most.requests_per_minute);
    of.requests_per_day = std::min(of.requests_per_day, options.most.requests_per_day);
    of.tokens_per_minute = std::min(of.tokens_per_minute, options.most.tokens_per_minute);
    of.tokens_per_day = std::min(of.tokens_per_day, options.most.tokens_per_day);
    return of;
  }

  /// Limits that the endpoint names hold from the next call on, in the next program too.
  void hear(const std::string& model, const ChatReply& reply) {
    if (!reply.rate_limits.limit_requests && !reply.rate_limits.limit_tokens) return;
    const auto known = limits.find(model);
    const ModelLimits now = with_named(options.limits.value_or(no_limits), reply.rate_limits);
    const auto same = [](const ModelLimits& a, const ModelLimits& b) {
      return a.requests_per_minute == b.requests_per_minute && a.requests_per_day == b.requests_per_day && a.tokens_per_minute == b.tokens_per_minute &&
             a.tokens_per_day == b.tokens_per_day;
    };
    if (known != limits.end() && same(known->second, now)) return;
    limits[model] = now;
    store.post([key = limits_key(model), value = write_limits(now)](Store& of) {
      const auto kept = of.cache(key, value, wall_clock());
      return kept || kept.error().code != ErrorCode::io;
    });
  }

  // --- one ask ------------------------------------------------------------------------------------------------------

  std::optional<std::string> fault(const Run& run, const std::string& text) const {
    if (!run.request.schema.empty()) {
      if (auto wrong = reply_fault(text, run.request.schema)) return wrong;
    } else if (text.empty()) {
      return "the reply is empty";
    }
    return run.how.check ? run.how.check(text) : std::nullopt;
  }

  ModelReply reply_of(const Run& run, const ChatReply& from) const {
    ModelReply reply;
    reply.text = from.text;
    reply.model = from.model.empty() ? run.request.model : from.model;
    reply.finish = from.finish;
    reply.ms = static_cast<double>(from.took.count());
    reply.probabilities = from.probabilities;
    if (from.tokens_in && from.tokens_out) {
      reply.tokens = {*from.tokens_in, *from.tokens_out};
      reply.tokens_known = true;
    }
    return reply;
  }

  void complete(const Run& run, ModelReply& reply) const {
    if (!run.request.schema.empty()) reply.json = last_json(reply.text);
    if (reply.tokens_known) reply.cost_usd = cost_usd(options.upstream.url, run.request.model, {reply.tokens.in, reply.tokens.out});
  }

  /// Everything that shapes the answer; whether it streams, who asks and the key do not.
  std::string key_of(const Run& run, const Format& format) const {
    ModelRequest still = run.request;
    still.stream = false;
    const auto body = format.body(still);
    Json json = {options.upstream.url, static_cast<int>(options.upstream.format), run.request.model, run.how.sample, run.request.schema, body ? *body : std::string()};
    return text::digest(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  std::optional<ModelFailure> prepare(const std::shared_ptr<Run>& run) {
    ModelRequest& request = run->request;
    request.model = agent::well_formed(request.model);
    request.system = agent::well_formed(request.system);
    for (auto& message : request.user) message = agent::well_formed(message);
    const Format& format = format_of(options.upstream.format);
    auto body = format.body(request);
    if (!body) return ModelFailure{FailureKind::refused, body.error().message, RefusedFor::request, std::nullopt, 0};
    run->key = key_of(*run, format);
    ReservedCall& call = *run->call;
    call.model = ledger_name(request.model);
    call.most = most(request);
    call.limits = [this, model = call.model] { return limits_of(model); };
    call.deadline = std::chrono::steady_clock::now() + std::chrono::hours(24 * 7);
    call.longest_call = options.longest_call;
    call.chat.body = std::move(*body);
    call.chat.model = request.model;
    call.chat.stream = request.stream;
    const std::weak_ptr<Run> weak = run;
    if (request.stream && run->how.on_delta) {
      call.chat.on_delta = [weak](std::string_view text) {
        if (const auto alive = weak.lock()) alive->how.on_delta(text);
      };
    }
    call.fault = [this, weak](const ChatReply& reply) -> std::optional<std::string> {
      const auto alive = weak.lock();
      return alive ? fault(*alive, reply.text) : std::nullopt;
    };
    call.repair = [this, weak](ReservedCall& again, const ChatReply& reply, const std::string& wrong) {
      const auto alive = weak.lock();
      if (!alive || !alive->how.repair || reply.finish == "length" || stopped) return false;
      ModelRequest repaired = alive->request;
      repaired.user.push_back(repair_message(wrong));
      auto made = format_of(options.upstream.format).body(repaired);
      if (!made) return false;
      again.chat.body = std::move(*made);
      again.most = most(repaired);
      alive->first_reply = false;
      return true;
    };
    call.keep = [this, weak](const ChatReply& reply) -> std::optional<std::pair<std::string, std::string>> {
      const auto alive = weak.lock();
      if (!alive || !options.use_cache || !alive->how.use_cache) return std::nullopt;
      ModelReply kept = reply_of(*alive, reply);
      kept.repaired = !alive->first_reply;
      return std::pair(alive->key, to_cache(kept));
    };
    return std::nullopt;
  }

  static std::uint64_t most(const ModelRequest& request) {
    return most_prompt_tokens(request) + (request.schema.empty() ? 0 : most_schema_tokens(request.schema)) + request.max_tokens;
  }

  net::awaitable<bool> admission(std::shared_ptr<Run> run) {
    return net::async_initiate<const net::use_awaitable_t<>&, void(bool)>(
        [this, run](auto handler) {
          auto shared = std::make_shared<decltype(handler)>(std::move(handler));
          auto told = std::make_shared<bool>(false);
          const auto tell = [this, shared, told](bool admitted) {
            if (std::exchange(*told, true)) return;
            net::post(context, [shared, admitted] { (*shared)(admitted); });
          };
          const auto ticket = queue.wait({}, [tell] { tell(true); });
          run->call->interrupt = [this, ticket, tell] {
            if (queue.leave(ticket)) tell(false);
          };
        },
        net::use_awaitable);
  }

  struct Found {
    std::optional<std::string> reply, limits;
  };

  net::awaitable<ModelOutcome> answer(std::shared_ptr<Run> run) {
    ModelOutcome outcome = tl::unexpected(ModelFailure{FailureKind::interrupted, "interrupted", RefusedFor::unknown, std::nullopt, 0});
    if (auto wrong = prepare(run)) {
      outcome = tl::unexpected(*wrong);
      co_return outcome;
    }
    const bool look = options.use_cache && run->how.use_cache;
    const bool ask_limits = !limits.contains(run->call->model);
    const std::function<Result<Found>(Store&)> look_up = [look, ask_limits, key = run->key, limits_at = limits_key(run->call->model)](Store& of) -> Result<Found> {
      Found found;
      const auto done = of.together([&]() -> Result<void> {
        if (look) {
          auto cached = of.cached(key, wall_clock());
          if (!cached) return tl::unexpected(cached.error());
          found.reply = std::move(*cached);
        }
        if (ask_limits && !found.reply) {
          auto known = of.cached(limits_at, wall_clock());
          if (!known) return tl::unexpected(known.error());
          found.limits = std::move(*known);
        }
        return {};
      });
      return done.map([&] { return std::move(found); });
    };
    const Result<Found> found = co_await on_store(context.get_executor(), store, look_up);
    if (!found) {
      outcome = tl::unexpected(ModelFailure{FailureKind::store, found.error().message, RefusedFor::unknown, std::nullopt, 0});
      co_return outcome;
    }
    if (found->reply) {
      // What is kept was sound when it was kept; a check may have become stricter.
      if (auto kept = from_cache(*found->reply); kept && !fault(*run, kept->text)) {
        complete(*run, *kept);
        if (run->request.stream && run->how.on_delta && !kept->text.empty()) run->how.on_delta(kept->text);
        outcome = std::move(*kept);
        co_return outcome;
      }
    }
    if (found->limits && !limits.contains(run->call->model)) limits[run->call->model] = read_limits(*found->limits, options.limits.value_or(no_limits));
    if (run->call->abandoned) co_return outcome;
    const bool admitted = co_await admission(run);
    if (!admitted) co_return outcome;
    run->call->interrupt = nullptr;
    if (run->call->abandoned) {
      queue.release();
      co_return outcome;
    }
    const CallEnd end = co_await calls->run(run->call, std::nullopt);
    queue.release();
    outcome = outcome_of(*run, end);
    co_return outcome;
  }

  ModelOutcome outcome_of(const Run& run, const CallEnd& end) const {
    const ChatReply& reply = end.reply;
    const std::string model = who(run.request.model);
    const auto failed = [&](FailureKind kind, std::string message, std::optional<Millis> until = std::nullopt) {
      return tl::unexpected(ModelFailure{kind, std::move(message), reply.refused_for, until, reply.status});
    };
    const auto quota = [&](bool of_day, std::string_view what, std::optional<Millis> until) {
      const std::string go_on = until ? "go on " + when(*until) : "the endpoint does not say until when";
      return failed(of_day ? FailureKind::quota_spent : FailureKind::rate_limited, fmt::format("{}: {} spent; {}", model, what, go_on), until);
    };
    switch (end.kind) {
      case Kind::answered: {
        ModelReply answer = reply_of(run, reply);
        answer.repaired = end.repaired;
        complete(run, answer);
        return answer;
      }
      case Kind::malformed: {
        if (!run.how.repair) {
          ModelReply answer = reply_of(run, reply);
          complete(run, answer);
          answer.fault = end.fault;
          return answer;
        }
        if (reply.finish == "length") {
          return failed(FailureKind::cut, fmt::format("{}: the reply was cut by the limit of {} tokens before it was complete", model, run.request.max_tokens));
        }
        return failed(FailureKind::malformed, fmt::format("{}: the reply can't be read, and neither can the second: {}", model, end.fault));
      }
      case Kind::denied:
        if (end.denied.until == never) {
          return failed(FailureKind::too_large, fmt::format("{}: the request may take {} tokens, which is more than its limit of {}", model, run.call->most, name(end.denied.window)));
        }
        return quota(end.denied.until - wall_clock() > longest_minute_wait, name(end.denied.window), end.denied.until);
      case Kind::limited: {
        if (reply.limit == UpstreamLimit::balance) return failed(FailureKind::quota_spent, fmt::format("{}: the account's balance is spent ({})", model, reply.why));
        const bool of_day = reply.limit == UpstreamLimit::requests_day || reply.limit == UpstreamLimit::tokens_day;
        const bool said = reply.rate_limits.retry_after || reply.rate_limits.reset_requests || reply.rate_limits.reset_tokens;
        return quota(of_day || end.until - wall_clock() > longest_minute_wait, name(reply.limit), said ? std::optional(end.until) : std::nullopt);
      }
      case Kind::too_large: return failed(FailureKind::too_large, fmt::format("{}: the request is too large for it ({})", model, reply.why));
      case Kind::refused:
        if (reply.refused_for == RefusedFor::key) return failed(FailureKind::refused, fmt::format("{} refused the key ({})", model, reply.why));
        if (reply.refused_for == RefusedFor::model) return failed(FailureKind::refused, fmt::format("{} is not there ({})", model, reply.why));
        return failed(FailureKind::refused, fmt::format("{} refused the call ({})", model, reply.why));
      case Kind::invalid: return failed(FailureKind::network, fmt::format("{} gave no sound reply ({})", model, reply.why));
      case Kind::unreachable: return failed(FailureKind::network, fmt::format("{} can't be reached ({})", model, reply.why));
      case Kind::timed_out: return failed(FailureKind::timed_out, fmt::format("{} did not answer in time ({})", model, reply.why));
      case Kind::ledger: return failed(FailureKind::store, "the ledger can't be read or written, so nothing is sent: " + end.fault);
      case Kind::abandoned: break;
    }
    return failed(FailureKind::interrupted, "interrupted");
  }

  void count(const Run& run, const ModelOutcome& outcome) {
    const std::lock_guard lock(mutex);
    Tally& of = tally[run.request.role];
    ++of.asked;
    if (!outcome) {
      ++of.failed;
      return;
    }
    if (outcome->repaired && !outcome->cached) ++of.repaired;
    if (outcome->cached) {
      ++of.cached;
      return;
    }
    of.tokens.in += outcome->tokens.in;
    of.tokens.out += outcome->tokens.out;
    of.ms += outcome->ms;
    if (outcome->cost_usd) of.cost_usd += *outcome->cost_usd;
    else ++of.without_price;
  }

  static std::shared_ptr<Run> make_run(ModelRequest request, Ask how, std::function<void(ModelOutcome)> done) {
    auto run = std::make_shared<Run>();
    run->request = std::move(request);
    run->how = std::move(how);
    run->done = std::move(done);
    return run;
  }

  void post(std::shared_ptr<Run> run) {
    net::post(context, [this, run = std::move(run)]() mutable { start(std::move(run)); });
  }

  /// On the caller's thread.
  void start(std::shared_ptr<Run> run) {
    running.insert(run);
    if (stopped) run->call->abandoned = true;
    net::co_spawn(
        context,
        [this, run]() -> net::awaitable<void> {
          ModelOutcome outcome = co_await answer(run);
          running.erase(run);
          count(*run, outcome);
          run->done(std::move(outcome));
        },
        net::detached);
  }

  /// On the caller's thread.
  static void abandon(Run& run) {
    run.call->abandoned = true;
    if (auto interrupt = run.call->interrupt) interrupt();
  }

  void stop() {
    net::post(context, [this] {
      stopped = true;
      const auto all = running;
      for (const auto& run : all) abandon(*run);
    });
  }

  /// `look` is called now and then meanwhile.
  template <class Value, class Look>
  Value wait_for(std::future<Value> future, Look look) {
    while (future.wait_for(look_for_cancel) != std::future_status::ready) {
      if (options.cancelled && options.cancelled()) stop();
      look();
    }
    return future.get();
  }
};

Caller::Caller(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Caller>> Caller::create(CallerOptions options) {
  auto state = std::make_shared<State>(std::move(options));
  auto client = make_chat_client(state->context.get_executor(), state->options.upstream);
  if (!client) return tl::unexpected(client.error());
  state->client = std::move(*client);
  state->calls = std::make_unique<ReservedCalls>(state->context.get_executor(), state->client, state->store, state->policy());
  state->thread = std::thread([raw = state.get()] { raw->context.run(); });
  return std::unique_ptr<Caller>(new Caller(std::move(state)));
}

Caller::~Caller() {
  state_->stop();
  state_->work.reset();
  state_->thread.join();
}

ModelOutcome Caller::ask(ModelRequest request, Ask how) {
  auto promise = std::make_shared<std::promise<ModelOutcome>>();
  auto future = promise->get_future();
  const auto cancelled = how.cancelled;
  const auto run = State::make_run(std::move(request), std::move(how), [promise](ModelOutcome outcome) { promise->set_value(std::move(outcome)); });
  state_->post(run);
  bool told = false;
  return state_->wait_for(std::move(future), [&] {
    if (told || !cancelled || !cancelled()) return;
    told = true;
    net::post(state_->context, [state = state_.get(), run] {
      if (state->running.contains(run)) State::abandon(*run);
    });
  });
}

void Caller::ask(ModelRequest request, Ask how, std::function<void(ModelOutcome)> done) {
  state_->post(State::make_run(std::move(request), std::move(how), std::move(done)));
}

tl::expected<std::vector<ListedModel>, ModelFailure> Caller::models() {
  auto promise = std::make_shared<std::promise<ChatReply>>();
  auto future = promise->get_future();
  auto handle = std::make_shared<std::shared_ptr<CallHandle>>();
  net::post(state_->context, [state = state_.get(), promise, handle] {
    ChatCall call;
    call.list_models = true;
    call.deadline = std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(state->options.longest_call, 1min);
    // It holds the handle until the end.
    *handle = state->client->call(std::move(call), [promise, handle](ChatReply reply) {
      promise->set_value(std::move(reply));
      handle->reset();
    });
  });
  ChatReply reply = state_->wait_for(std::move(future), [] {});
  if (reply.outcome == Outcome::answered) return std::move(reply.models);
  CallEnd end;
  end.reply = std::move(reply);
  switch (end.reply.outcome) {
    case Outcome::limited: end.kind = Kind::limited, end.until = wall_clock() + (end.reply.rate_limits.retry_after ? end.reply.rate_limits.retry_after->count() : 0); break;
    case Outcome::too_large: end.kind = Kind::too_large; break;
    case Outcome::refused_us: end.kind = Kind::refused; break;
    case Outcome::unavailable: end.kind = Kind::unreachable; break;
    case Outcome::timed_out: end.kind = Kind::timed_out; break;
    case Outcome::answered:
    case Outcome::invalid: end.kind = Kind::invalid; break;
    case Outcome::cancelled: end.kind = Kind::abandoned; break;
  }
  State::Run run;
  run.request.model = "the list of models";
  return tl::unexpected(state_->outcome_of(run, end).error());
}

void Caller::stop() { state_->stop(); }

std::map<std::string, Tally> Caller::tally() const {
  const std::lock_guard lock(state_->mutex);
  return state_->tally;
}

const std::string& Caller::provider() const noexcept { return state_->options.provider; }
const std::string& Caller::url() const noexcept { return state_->options.upstream.url; }
std::string Caller::ledger_name(std::string_view model) const { return state_->ledger_name(model); }

}  // namespace polygraph::proxy
