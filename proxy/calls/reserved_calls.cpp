#include "proxy/calls/reserved_calls.hpp"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>

#include "proxy/calls/on_store.hpp"

namespace polygraph::proxy {
namespace {

namespace net = boost::asio;
using Steady = std::chrono::steady_clock;
using Kind = CallEnd::Kind;
template <class Value>
using StoreJob = ReservedCalls::StoreJob<Value>;

bool of_day(const ChatReply& reply) { return reply.limit == UpstreamLimit::requests_day || reply.limit == UpstreamLimit::tokens_day; }
bool of_day(Window window) { return window == Window::requests_day || window == Window::tokens_day; }

/// Until when an answer says that nothing remains of the model; 0 where it says nothing of it.
Millis pause_until(const ChatReply& reply, Millis now, Millis least) {
  constexpr Millis minute = 60'000;
  const RateLimits& said = reply.rate_limits;
  Millis until = 0;
  const auto grow = [&](const std::optional<std::chrono::milliseconds>& span, Millis otherwise) {
    until = std::max(until, now + (span ? static_cast<Millis>(span->count()) : otherwise));
  };
  if (said.remaining_requests && *said.remaining_requests == 0) grow(said.reset_requests, minute);
  if (said.remaining_tokens && *said.remaining_tokens == 0) grow(said.reset_tokens, minute);
  if (reply.outcome == Outcome::limited) grow(said.retry_after, of_day(reply) ? minute : least);
  return until;
}

Result<std::monostate> done_or(const Result<void>& result) {
  if (!result) return tl::unexpected(result.error());
  return std::monostate{};
}

/// What a call is charged: its usage where that is sound, its reservation where nobody knows, nothing where it was
/// refused or never went out.
StoreJob<std::monostate> settle(ReservationId id, const ChatReply& reply) {
  if (reply.outcome == Outcome::answered && reply.tokens_in && reply.tokens_out) {
    return [id, used = Tokens{*reply.tokens_in, *reply.tokens_out}](Store& store) { return done_or(store.settle(id, used)); };
  }
  const bool charged = reply.outcome == Outcome::answered || reply.outcome == Outcome::invalid || reply.outcome == Outcome::timed_out ||
                       (reply.outcome == Outcome::cancelled && reply.sent);
  if (charged) return [id](Store& store) { return done_or(store.settle_in_full(id)); };
  return [id](Store& store) { return done_or(store.release(id)); };
}

/// Both in one commit.
StoreJob<std::monostate> settle_and_keep(StoreJob<std::monostate> settlement, std::pair<std::string, std::string> entry) {
  return [settlement = std::move(settlement), entry = std::move(entry)](Store& store) {
    return done_or(store.together([&]() -> Result<void> {
      if (auto settled = settlement(store); !settled) return tl::unexpected(settled.error());
      return store.cache(entry.first, entry.second, wall_clock());
    }));
  };
}

Millis left(const ReservedCall& call) { return std::chrono::duration_cast<std::chrono::milliseconds>(call.deadline - Steady::now()).count(); }

}  // namespace

ReservedCalls::ReservedCalls(net::any_io_executor executor, std::shared_ptr<ChatClient> client, StoreThread& store, CallPolicy policy)
    : executor_(std::move(executor)), client_(std::move(client)), store_(store), policy_(std::move(policy)), random_(std::random_device{}()) {}

ReservedCalls::StoreJob<Reserved> ReservedCalls::reservation(const ReservedCall& call) {
  return [model = call.model, most = call.most, limits = call.limits()](Store& store) { return store.reserve(model, most, limits, wall_clock()); };
}

/// `job` on the store's thread, after what was posted before.
void ReservedCalls::later(StoreJob<std::monostate> job) {
  store_.post([job = std::move(job)](Store& store) {
    const auto result = job(store);
    return result.has_value() || result.error().code != ErrorCode::io;
  });
}

/// Between half of `ms` and all of it, so that those who failed together don't come back together.
Millis ReservedCalls::jittered(Millis ms) { return std::uniform_int_distribution<Millis>(ms / 2, ms)(random_); }

net::awaitable<ChatReply> ReservedCalls::chat(const std::shared_ptr<ReservedCall>& call) {
  return net::async_initiate<const net::use_awaitable_t<>&, void(ChatReply)>(
      [this, call](auto handler) {
        auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        ChatCall asked = call->chat;
        asked.deadline = std::min(call->deadline, Steady::now() + call->longest_call);
        auto handle = client_->call(std::move(asked), [shared, call](ChatReply reply) {
          call->interrupt = nullptr;
          (*shared)(std::move(reply));
        });
        call->interrupt = [handle] { handle->cancel(); };
      },
      net::use_awaitable);
}

net::awaitable<void> ReservedCalls::sleep(const std::shared_ptr<ReservedCall>& call, Millis ms) {
  auto timer = std::make_shared<net::steady_timer>(executor_, std::chrono::milliseconds(ms));
  call->interrupt = [timer] { timer->cancel(); };
  co_await timer->async_wait(net::as_tuple(net::use_awaitable));
  call->interrupt = nullptr;
}

net::awaitable<CallEnd> ReservedCalls::run(std::shared_ptr<ReservedCall> call, std::optional<Reserved> first) {
  CallEnd end;
  std::optional<CallEnd> first_fault;
  for (bool repaired = false;; repaired = true) {
    end = co_await call_with_retries(call, std::exchange(first, std::nullopt));
    if (end.kind != Kind::answered) {
      // What went wrong is the reply, not that there was no quota to ask again.
      if (first_fault && policy_.first_fault_wins) end = *first_fault;
      co_return end;
    }
    end.repaired = repaired;
    const auto wrong = call->fault ? call->fault(end.reply) : std::nullopt;
    if (!wrong) co_return end;
    end.kind = Kind::malformed;
    end.fault = *wrong;
    if (repaired || call->abandoned || !call->repair || !call->repair(*call, end.reply, *wrong)) co_return end;
    first_fault = end;
  }
}

net::awaitable<CallEnd> ReservedCalls::call_with_retries(std::shared_ptr<ReservedCall> call, std::optional<Reserved> made) {
  CallEnd end;
  Millis backoff = policy_.first_backoff;
  int waits = 0;
  for (int attempt = 1;;) {
    Result<Reserved> reserved = Reserved{};
    if (made) {
      reserved = *std::exchange(made, std::nullopt);
    } else {
      const StoreJob<Reserved> reserve = reservation(*call);
      reserved = co_await on_store(executor_, store_, reserve);
    }
    if (!reserved) {
      end.kind = Kind::ledger;
      end.fault = reserved.error().message;
      co_return end;
    }
    if (const auto* denied = std::get_if<Denied>(&*reserved)) {
      end.kind = call->abandoned ? Kind::abandoned : Kind::denied;
      end.denied = *denied;
      end.until = denied->until;
      const Shortage shortage{call->model, denied->window, of_day(denied->window), denied->until, waits};
      if (denied->until == never || call->abandoned || !policy_.waits || !policy_.waits(shortage)) co_return end;
      ++waits;
      const Millis pause = std::max<Millis>(denied->until - wall_clock(), 0) + jittered(policy_.first_backoff);
      co_await sleep(call, pause);
      continue;
    }
    const auto id = std::get<ReservationId>(*reserved);
    ChatReply reply;
    if (call->abandoned) {
      reply.outcome = Outcome::cancelled;
    } else {
      reply = co_await chat(call);
      if (policy_.heard) policy_.heard(call->model, reply);
    }
    StoreJob<std::monostate> settlement = settle(id, reply);
    if (reply.outcome == Outcome::answered && reply.finish == "stop" && call->keep && !(call->fault && call->fault(reply))) {
      if (auto entry = call->keep(reply)) settlement = settle_and_keep(std::move(settlement), std::move(*entry));
    }
    // The reservation counts until then, and whoever asks this thread next comes after it: only where other servers are to
    // find the answer does the caller wait.
    if (store_.shared()) {
      (void)co_await on_store(executor_, store_, settlement);
    } else {
      later(std::move(settlement));
    }
    const Millis now = wall_clock();
    const Millis paused = pause_until(reply, now, policy_.first_backoff);
    if (paused > now) {
      later([model = call->model, paused](Store& store) { return done_or(store.pause(model, paused)); });
    }
    const Next next = after(*call, reply, attempt, waits, now, paused, backoff);
    if (next.end) {
      end = *next.end;
      co_return end;
    }
    if (next.counted) {
      ++attempt;
      backoff *= 2;
    } else {
      ++waits;
    }
    co_await sleep(call, next.wait);
  }
}

ReservedCalls::Next ReservedCalls::after(const ReservedCall& call, const ChatReply& reply, int attempt, int waits, Millis now, Millis paused,
                                         Millis backoff) {
  CallEnd end;
  end.reply = reply;
  if (call.abandoned) {
    end.kind = Kind::abandoned;
    return {end};
  }
  switch (reply.outcome) {
    case Outcome::answered: end.kind = Kind::answered; return {end};
    case Outcome::too_large: end.kind = Kind::too_large; return {end};
    case Outcome::refused_us: end.kind = Kind::refused; return {end};
    case Outcome::invalid: end.kind = Kind::invalid; return {end};
    case Outcome::cancelled: end.kind = Kind::abandoned; return {end};
    case Outcome::timed_out: end.kind = Kind::timed_out; return {end};
    case Outcome::limited: {
      const Millis wait = std::max<Millis>(paused - now, 0);
      end.kind = Kind::limited;
      end.until = std::max(paused, now + policy_.first_backoff);
      if (reply.limit == UpstreamLimit::balance) return {end};
      if (policy_.waits) {
        const bool goes_on = policy_.waits({call.model, Window::paused, of_day(reply), end.until, waits});
        return goes_on ? Next{std::nullopt, wait + jittered(policy_.first_backoff), false} : Next{end};
      }
      if (of_day(reply) || attempt == policy_.most_calls || wait + policy_.first_backoff > left(call)) return {end};
      return {std::nullopt, wait + jittered(policy_.first_backoff)};
    }
    case Outcome::unavailable: break;
  }
  const Millis asked = reply.rate_limits.retry_after ? static_cast<Millis>(reply.rate_limits.retry_after->count()) : 0;
  if (attempt == policy_.most_calls || std::max(asked, backoff) > left(call)) {
    end.kind = Kind::unreachable;
    return {end};
  }
  return {std::nullopt, std::max(asked, jittered(backoff))};
}

}  // namespace polygraph::proxy
