#include "proxy/service/completions.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "proxy/service/fair_queue.hpp"
#include "wasm/agent/agent.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::proxy {
namespace {

namespace net = boost::asio;
using Json = nlohmann::json;
using Steady = std::chrono::steady_clock;

constexpr int most_calls = 3;  ///< of one reservation after the other: the first and two retries
constexpr Millis first_backoff = 250;
/// How long a failed upstream counts as down: long enough for a page to go on by itself, short enough to come back.
constexpr Millis down_for = 15'000;
/// What a call needs at least to be worth its charge.
constexpr std::chrono::milliseconds fair_chance{5'000};
/// When to come back to a full queue or a broken store.
constexpr Millis soon = 5'000;

NotCompleted busy(std::string message, std::optional<Millis> until, unsigned upstream_status = 0) {
  return {{503, "busy", std::move(message)}, until, upstream_status};
}

std::string_view name(Window window) {
  switch (window) {
    case Window::requests_minute: return "requests of this minute";
    case Window::requests_day: return "requests of this day";
    case Window::tokens_minute: return "tokens of this minute";
    case Window::tokens_day: return "tokens of this day";
    case Window::paused: break;
  }
  return "quota that the model's host grants";
}

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::answered: return "answered";
    case Outcome::too_large: return "too_large";
    case Outcome::limited: return "limited";
    case Outcome::unavailable: return "unavailable";
    case Outcome::refused_us: return "refused";
    case Outcome::invalid: return "invalid";
    case Outcome::timed_out: return "timed_out";
    case Outcome::cancelled: break;
  }
  return "cancelled";
}

std::string to_cache(const Completed& done) {
  return Json{{"text", done.text}, {"model", done.model}, {"in", done.tokens.in}, {"out", done.tokens.out}, {"ms", done.ms}, {"finish", done.finish}}.dump();
}

std::optional<Completed> from_cache(const std::string& bytes) {
  const auto json = Json::parse(bytes, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    Completed done;
    done.text = json.at("text").get<std::string>();
    done.model = json.at("model").get<std::string>();
    done.tokens = {json.at("in").get<std::uint64_t>(), json.at("out").get<std::uint64_t>()};
    done.ms = json.at("ms").get<double>();
    done.finish = json.at("finish").get<std::string>();
    done.cached = true;
    return done;
  } catch (const Json::exception&) {
    return std::nullopt;  // of another version of this program: as if it were not there
  }
}

/// What is wrong with a reply to a task that has a schema; nothing where it is sound.
std::optional<std::string> fault(agent::Task task, const std::string& text) {
  if (task == agent::Task::grade) {
    const auto reply = agent::parse_grade(text);
    return reply ? std::nullopt : std::optional(reply.error().message);
  }
  if (task == agent::Task::rewrite) {
    const auto reply = agent::parse_rewrite(text, agent::max_question_bytes);
    return reply ? std::nullopt : std::optional(reply.error().message);
  }
  return text.empty() ? std::optional<std::string>("the reply is empty") : std::nullopt;
}

}  // namespace

/// A task under way, with everybody who waits for it.
struct Completions::Flight {
  std::string key;
  TaskRequest request;
  TaskCall call;
  Steady::time_point deadline;
  Steady::time_point last_start;       ///< a call begun later has no fair chance: it would only be charged
  struct Waiting {
    std::uint64_t ticket = 0;
    Listener listener;
    bool heard = false;  ///< got a delta
  };
  std::vector<Waiting> waiting;
  std::string text;                    ///< streamed so far
  bool abandoned = false;              ///< everybody left
  std::function<void()> interrupt;     ///< ends what is being waited for
};

struct Completions::Implementation {
  explicit Implementation(Completions& of)
      : owner(of), queue(of.settings_.upstream_concurrency, of.settings_.upstream_queue), random(std::random_device{}()) {}

  Completions& owner;
  FairQueue queue;
  std::map<std::string, std::shared_ptr<Flight>> flights;
  std::unordered_map<std::uint64_t, std::weak_ptr<Flight>> of_ticket;  ///< of everybody who waits
  std::mt19937 random;
  std::uint64_t last_ticket = 0;

  // --- waiting ------------------------------------------------------------------------------------------------------
  //
  // GCC 12 destroys some temporaries of an expression with co_await or co_return twice: what these are given is named
  // first, throughout.

  template <class Value>
  using StoreJob = std::function<Result<Value>(Store&)>;

  /// What `job` gives, on the store's thread.
  template <class Value>
  net::awaitable<Result<Value>> on_store(const StoreJob<Value>& job) {
    return net::async_initiate<const net::use_awaitable_t<>&, void(Result<Value>)>(
        [this, job](auto handler) {
          auto shared = std::make_shared<decltype(handler)>(std::move(handler));
          owner.store_.post([executor = owner.executor_, shared, job](Store& store) {
            Result<Value> result = job(store);
            const bool worked = result.has_value() || result.error().code != ErrorCode::io;
            net::post(executor, [shared, result = std::move(result)]() mutable { (*shared)(std::move(result)); });
            return worked;
          });
        },
        net::use_awaitable);
  }

  /// `job` on the store's thread, after what was posted before.
  void later(StoreJob<std::monostate> job) {
    owner.store_.post([job = std::move(job)](Store& store) {
      const auto result = job(store);
      return result.has_value() || result.error().code != ErrorCode::io;
    });
  }

  enum class Admission : std::uint8_t { admitted, full, late };

  net::awaitable<Admission> admission(const std::shared_ptr<Flight>& flight) {
    return net::async_initiate<const net::use_awaitable_t<>&, void(Admission)>(
        [this, flight](auto handler) {
          struct Wait {
            explicit Wait(net::any_io_executor executor) : timer(std::move(executor)) {}
            std::function<void(Admission)> done;
            net::steady_timer timer;
            FairQueue::Ticket ticket = 0;
          };
          auto wait = std::make_shared<Wait>(owner.executor_);
          auto shared = std::make_shared<decltype(handler)>(std::move(handler));
          wait->done = [executor = owner.executor_, shared](Admission admission) {
            net::post(executor, [shared, admission] { (*shared)(admission); });
          };
          const auto end = [wait](Admission admission) {
            if (auto done = std::exchange(wait->done, nullptr)) {
              wait->timer.cancel();
              done(admission);
            }
          };
          wait->ticket = queue.wait(flight->request.client, [end] { end(Admission::admitted); });
          if (wait->ticket == 0) return end(Admission::full);
          if (!wait->done) return;
          const auto give_up = [this, wait, end] {
            if (wait->done && queue.leave(wait->ticket)) end(Admission::late);
          };
          flight->interrupt = give_up;
          wait->timer.expires_at(flight->last_start);
          wait->timer.async_wait([give_up](boost::system::error_code error) {
            if (!error) give_up();
          });
        },
        net::use_awaitable);
  }

  net::awaitable<ChatReply> chat(const std::shared_ptr<Flight>& flight) {
    return net::async_initiate<const net::use_awaitable_t<>&, void(ChatReply)>(
        [this, flight](auto handler) {
          auto shared = std::make_shared<decltype(handler)>(std::move(handler));
          ChatCall call;
          call.body = flight->call.body;
          call.stream = flight->request.stream;
          call.deadline = flight->deadline;
          if (call.stream) {
            call.on_delta = [this, weak = std::weak_ptr(flight)](std::string_view delta) {
              if (const auto alive = weak.lock()) spread(*alive, delta);
            };
          }
          auto handle = owner.client_->call(std::move(call), [shared, flight](ChatReply reply) {
            flight->interrupt = nullptr;
            (*shared)(std::move(reply));
          });
          flight->interrupt = [handle] { handle->cancel(); };
        },
        net::use_awaitable);
  }

  net::awaitable<void> sleep(const std::shared_ptr<Flight>& flight, Millis ms) {
    auto timer = std::make_shared<net::steady_timer>(owner.executor_, std::chrono::milliseconds(ms));
    flight->interrupt = [timer] { timer->cancel(); };
    co_await timer->async_wait(net::as_tuple(net::use_awaitable));
    flight->interrupt = nullptr;
  }

  static Millis left(const Flight& flight) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(flight.deadline - Steady::now()).count();
  }

  /// Between half of `ms` and all of it, so that those who failed together don't come back together.
  Millis jittered(Millis ms) { return std::uniform_int_distribution<Millis>(ms / 2, ms)(random); }

  // --- one task -----------------------------------------------------------------------------------------------------

  using Reserved = std::variant<ReservationId, Denied>;
  /// What the store knows of a task: its answer, or a reservation where one was asked for.
  struct Found {
    std::optional<std::string> cached;
    std::optional<Reserved> reserved;
  };

  StoreJob<Reserved> reservation(const std::string& model, std::uint64_t most) const {
    return [model, most, limits = owner.settings_.limits](Store& store) { return store.reserve(model, most, limits, wall_clock()); };
  }

  /// Whether some minute could hold the call, and there is somebody to call.
  bool may_call(std::uint64_t most) const {
    const ModelLimits& limits = owner.settings_.limits;
    return owner.client_ != nullptr && most <= std::min(limits.tokens_per_minute, limits.tokens_per_day);
  }

  net::awaitable<TaskOutcome> complete(std::shared_ptr<Flight> flight) {
    TaskOutcome outcome;
    if (!owner.store_.sound()) {  // a broken store is tried by its own thread, not by everybody who asks
      outcome = ledger_broken();
      co_return outcome;
    }
    const std::uint64_t most = flight->call.prompt_tokens + owner.settings_.max_tokens(flight->request.task.task);
    // Where a model is free, looking the answer up and reserving its call are one turn on the store's thread.
    bool slot = may_call(most) && queue.take();
    const StoreJob<Found> look_up = [key = flight->key, reserve = slot ? reservation(flight->request.model, most) : nullptr](Store& store) {
      Found found;
      const auto done = store.together([&]() -> Result<void> {
        auto cached = store.cached(key, wall_clock());
        if (!cached) return tl::unexpected(cached.error());
        found.cached = std::move(*cached);
        if (found.cached || !reserve) return {};
        auto reserved = reserve(store);
        if (!reserved) return tl::unexpected(reserved.error());
        found.reserved = std::move(*reserved);
        return {};
      });
      return done.map([&] { return std::move(found); });
    };
    const Result<Found> found = co_await on_store(look_up);
    if (known(*flight, found, most, outcome)) {
      if (slot) queue.release();
      co_return outcome;
    }
    if (!slot) {
      if (flight->abandoned) {
        outcome = busy("nobody waits any more", std::nullopt);
        co_return outcome;
      }
      const Admission admitted = co_await admission(flight);
      if (admitted == Admission::full) outcome = busy("too many questions wait already", wall_clock() + soon);
      if (admitted == Admission::late) outcome = busy("no model was free in time", wall_clock() + soon);
      if (admitted != Admission::admitted) co_return outcome;
    }
    flight->interrupt = nullptr;
    std::optional<Reserved> first = found->reserved;
    outcome = co_await call_until_sound(flight, most, first);
    queue.release();
    co_return outcome;
  }

  /// Whether a task is answered without a call: from the cache, or because no call can be made.
  bool known(const Flight& flight, const Result<Found>& found, std::uint64_t most, TaskOutcome& outcome) const {
    if (!found) {
      outcome = ledger_broken();
      return true;
    }
    if (found->cached) {
      if (auto done = from_cache(*found->cached)) {
        done->prompt_version = flight.call.prompt_version;
        outcome = std::move(*done);
        return true;
      }
    }
    if (owner.client_ == nullptr) {
      outcome = busy(owner.why_no_client_, std::nullopt);
      return true;
    }
    const ModelLimits& limits = owner.settings_.limits;
    const std::uint64_t least_window = std::min(limits.tokens_per_minute, limits.tokens_per_day);
    if (most <= least_window) return false;
    if (least_window == 0) {
      outcome = busy("the quota is none", std::nullopt);
    } else {
      outcome = NotCompleted{{413, "context_too_large",
                              "the question and its passages need up to " + std::to_string(most) + " tokens, and " + flight.request.model + " may take " +
                                  std::to_string(least_window) + ": send fewer or shorter passages"},
                             std::nullopt, 0};
    }
    return true;
  }

  /// The call, and for a reply that can't be read one more that says what was wrong with it.
  /// `reserved`: of the first call, where it was made already.
  net::awaitable<TaskOutcome> call_until_sound(std::shared_ptr<Flight> flight, std::uint64_t most, std::optional<Reserved> reserved) {
    TaskOutcome outcome;
    std::optional<NotCompleted> first_fault;
    for (bool repaired = false;; repaired = true) {
      outcome = co_await call_with_retries(flight, most, std::exchange(reserved, std::nullopt));
      const auto* done = std::get_if<Completed>(&outcome);
      if (done == nullptr) {
        // What went wrong is the reply, not that there was no quota to ask again.
        if (first_fault) outcome = *first_fault;
        co_return outcome;
      }
      const auto wrong = fault(flight->request.task.task, done->text);
      if (!wrong) {
        co_return outcome;
      }
      first_fault = NotCompleted{{502, "upstream_invalid", "the model's reply can't be used: " + *wrong}, std::nullopt, done->upstream_status};
      if (repaired || !prepare_repair(*flight, *done, *wrong, most)) {
        outcome = *first_fault;
        co_return outcome;
      }
    }
  }

  /// Makes the call that asks again; false where asking again makes no sense.
  bool prepare_repair(Flight& flight, const Completed& done, const std::string& wrong, std::uint64_t& most) const {
    const agent::Task task = flight.request.task.task;
    if (task == agent::Task::generate || done.finish == "length" || flight.abandoned) return false;
    agent::CompleteRequest again = flight.request.task;
    again.repair = wrong;
    auto call = task_call(again, owner.index_, flight.request.model, owner.settings_.max_tokens(task), flight.request.stream, owner.dialect_);
    if (!call) return false;
    flight.call.body = std::move(call->body);
    most = call->prompt_tokens + owner.settings_.max_tokens(task);
    return true;
  }

  /// What is to be done after a call.
  struct Next {
    std::optional<TaskOutcome> outcome;  ///< the end
    Millis wait = 0;                     ///< or another call after this
  };

  net::awaitable<TaskOutcome> call_with_retries(std::shared_ptr<Flight> flight, std::uint64_t most, std::optional<Reserved> made) {
    const std::string model = flight->request.model;
    TaskOutcome outcome;
    Millis backoff = first_backoff;
    for (int attempt = 1;; ++attempt) {
      Result<Reserved> reserved = Reserved{};
      if (made) {
        reserved = *std::exchange(made, std::nullopt);
      } else {
        const StoreJob<Reserved> reserve = reservation(model, most);
        reserved = co_await on_store(reserve);
      }
      if (!reserved) {
        outcome = ledger_broken();
        co_return outcome;
      }
      if (const auto* denied = std::get_if<Denied>(&*reserved)) {
        outcome = busy("the " + std::string(name(denied->window)) + " for " + model + " are spent", denied->until);
        co_return outcome;
      }
      const auto id = std::get<ReservationId>(*reserved);
      ChatReply reply;
      if (flight->abandoned) {
        reply.outcome = Outcome::cancelled;
      } else {
        reply = co_await chat(flight);
        count(model, reply);
      }
      StoreJob<std::monostate> settlement = settle(id, reply);
      if (reply.outcome == Outcome::answered && reply.finish == "stop" && !fault(flight->request.task.task, reply.text)) {
        settlement = settle_and_keep(std::move(settlement), flight->key, to_cache(completed(*flight, reply)));
      }
      // The reservation counts until then, and whoever asks this thread next comes after it: only where other servers are to
      // find the answer does the caller wait.
      if (owner.store_.shared()) {
        (void)co_await on_store(settlement);
      } else {
        later(std::move(settlement));
      }
      const Millis now = wall_clock();
      const Millis paused = pause_until(reply, now);
      if (paused > now) {
        later([model, paused](Store& store) { return done_or(store.pause(model, paused)); });
      }
      const Next next = after(*flight, reply, attempt, now, paused, backoff);
      if (next.outcome) {
        outcome = *next.outcome;
        co_return outcome;
      }
      backoff *= 2;
      co_await sleep(flight, next.wait);
    }
  }

  static NotCompleted ledger_broken() { return busy("the quota's ledger can't be read or written", wall_clock() + soon); }

  static Result<std::monostate> done_or(const Result<void>& result) {
    if (!result) return tl::unexpected(result.error());
    return std::monostate{};
  }

  /// What a call is charged: its usage where that is sound, its reservation where nobody knows, nothing where it was
  /// refused or never went out.
  static StoreJob<std::monostate> settle(ReservationId id, const ChatReply& reply) {
    if (reply.outcome == Outcome::answered && reply.tokens_in && reply.tokens_out) {
      return [id, used = Tokens{*reply.tokens_in, *reply.tokens_out}](Store& store) { return done_or(store.settle(id, used)); };
    }
    const bool charged = reply.outcome == Outcome::answered || reply.outcome == Outcome::invalid || reply.outcome == Outcome::timed_out ||
                         (reply.outcome == Outcome::cancelled && reply.sent);
    if (charged) return [id](Store& store) { return done_or(store.settle_in_full(id)); };
    return [id](Store& store) { return done_or(store.release(id)); };
  }

  /// Both in one commit.
  static StoreJob<std::monostate> settle_and_keep(StoreJob<std::monostate> settlement, std::string key, std::string value) {
    return [settlement = std::move(settlement), key = std::move(key), value = std::move(value)](Store& store) {
      return done_or(store.together([&]() -> Result<void> {
        if (auto settled = settlement(store); !settled) return tl::unexpected(settled.error());
        return store.cache(key, value, wall_clock());
      }));
    };
  }

  static Completed completed(const Flight& flight, const ChatReply& reply) {
    Completed done;
    done.text = reply.text;
    done.model = flight.request.model;
    done.prompt_version = flight.call.prompt_version;
    done.tokens = {reply.tokens_in.value_or(0), reply.tokens_out.value_or(0)};
    done.ms = static_cast<double>(reply.took.count());
    done.finish = reply.finish;
    done.upstream_status = reply.status;
    return done;
  }

  static bool of_day(const ChatReply& reply) {
    return reply.limit == UpstreamLimit::requests_day || reply.limit == UpstreamLimit::tokens_day;
  }

  /// Until when an answer says that nothing remains of the model; 0 where it says nothing of it.
  static Millis pause_until(const ChatReply& reply, Millis now) {
    constexpr Millis minute = 60'000;
    const RateLimits& said = reply.rate_limits;
    Millis until = 0;
    const auto grow = [&](const std::optional<std::chrono::milliseconds>& span, Millis otherwise) {
      until = std::max(until, now + (span ? static_cast<Millis>(span->count()) : otherwise));
    };
    if (said.remaining_requests && *said.remaining_requests == 0) grow(said.reset_requests, minute);
    if (said.remaining_tokens && *said.remaining_tokens == 0) grow(said.reset_tokens, minute);
    if (reply.outcome == Outcome::limited) grow(said.retry_after, of_day(reply) ? minute : first_backoff);
    return until;
  }

  Next after(const Flight& flight, const ChatReply& reply, int attempt, Millis now, Millis paused, Millis backoff) {
    if (flight.abandoned) return {busy("nobody waits any more", std::nullopt, reply.status)};
    if (reply.outcome != Outcome::unavailable && reply.outcome != Outcome::timed_out) owner.down_until_ = 0;
    const auto down = [&](std::string message) -> Next {
      owner.down_until_ = now + down_for;
      return {busy(std::move(message), now + down_for, reply.status)};
    };
    switch (reply.outcome) {
      case Outcome::answered: return {completed(flight, reply)};
      case Outcome::too_large:
        return {NotCompleted{{413, "context_too_large", "the model's host takes no request of this size: send fewer or shorter passages"}, std::nullopt, reply.status}};
      case Outcome::refused_us: return {NotCompleted{{502, "upstream_invalid", "the model's host refused the call: " + reply.why}, std::nullopt, reply.status}};
      case Outcome::invalid: return {NotCompleted{{502, "upstream_invalid", "the model's host sent no usable answer: " + reply.why}, std::nullopt, reply.status}};
      case Outcome::cancelled: return {busy("nobody waits any more", std::nullopt, reply.status)};
      case Outcome::timed_out: return down("the model did not answer in time");
      case Outcome::limited: {
        const Millis wait = std::max<Millis>(paused - now, 0);
        if (of_day(reply) || attempt == most_calls || wait + first_backoff > left(flight)) {
          return {busy("the quota that the model's host grants is spent", std::max(paused, now + first_backoff), reply.status)};
        }
        return {std::nullopt, wait + jittered(first_backoff)};
      }
      case Outcome::unavailable: break;
    }
    const Millis asked = reply.rate_limits.retry_after ? static_cast<Millis>(reply.rate_limits.retry_after->count()) : 0;
    if (attempt == most_calls || std::max(asked, backoff) > left(flight)) return down("the model's host can't be reached");
    return {std::nullopt, std::max(asked, jittered(backoff))};
  }

  void count(const std::string& model, const ChatReply& reply) {
    const std::lock_guard lock(owner.metrics_mutex_);
    ++owner.calls_[{model, std::string(name(reply.outcome))}];
    if (reply.tokens_in) owner.tokens_[{model, "in"}] += *reply.tokens_in;
    if (reply.tokens_out) owner.tokens_[{model, "out"}] += *reply.tokens_out;
  }

  // --- those who wait -----------------------------------------------------------------------------------------------

  void spread(Flight& flight, std::string_view delta) {
    flight.text += delta;
    for (auto& each : flight.waiting) {
      if (!each.listener.on_delta) continue;
      each.heard = true;
      each.listener.on_delta(delta);
    }
  }

  void land(const std::shared_ptr<Flight>& flight, const TaskOutcome& outcome) {
    if (const auto mine = flights.find(flight->key); mine != flights.end() && mine->second == flight) flights.erase(mine);
    flight->interrupt = nullptr;
    // A listener may start another task, or leave, while it is told.
    auto waiting = std::exchange(flight->waiting, {});
    for (const auto& each : waiting) of_ticket.erase(each.ticket);
    const auto* done = std::get_if<Completed>(&outcome);
    for (auto& each : waiting) {
      if (done != nullptr && each.listener.on_delta && !each.heard && !done->text.empty()) each.listener.on_delta(done->text);
      each.listener.done(outcome);
    }
  }

  void join(TaskRequest request, Listener listener, std::uint64_t ticket) {
    auto call = task_call(request.task, owner.index_, request.model, owner.settings_.max_tokens(request.task.task), request.stream, owner.dialect_);
    if (!call) {
      listener.done(NotCompleted{{400, "unknown_chunk", call.error().message}, std::nullopt, 0});
      return;
    }
    // The key says everything that shapes the answer; whether it streams does not.
    std::string key = request.model;
    for (const std::string_view part : {std::string_view(call->prompt_version), std::string_view(owner.index_.digest())}) {
      key += '\n';
      key += part;
    }
    auto whole = call->body;
    if (request.stream) {
      auto still = task_call(request.task, owner.index_, request.model, owner.settings_.max_tokens(request.task.task), false, owner.dialect_);
      if (still) whole = std::move(still->body);
    }
    key = text::digest(key + '\n' + whole);
    const auto known = flights.find(key);
    if (known != flights.end() && !known->second->abandoned) {
      Flight& flight = *known->second;
      of_ticket[ticket] = known->second;
      flight.waiting.push_back({ticket, std::move(listener), false});
      if (flight.waiting.back().listener.on_delta && !flight.text.empty()) {
        flight.waiting.back().heard = true;
        flight.waiting.back().listener.on_delta(flight.text);
      }
      return;
    }
    auto flight = std::make_shared<Flight>();
    flight->key = std::move(key);
    flight->request = std::move(request);
    flight->call = std::move(*call);
    flight->deadline = Steady::now() + owner.settings_.upstream_deadline;
    flight->last_start = flight->deadline - std::min<std::chrono::milliseconds>(fair_chance, owner.settings_.upstream_deadline / 4);
    flight->waiting.push_back({ticket, std::move(listener), false});
    of_ticket[ticket] = flight;
    flights[flight->key] = flight;
    net::co_spawn(
        owner.executor_,
        [self = owner.shared_from_this(), this, flight]() -> net::awaitable<void> {
          const TaskOutcome outcome = co_await complete(flight);
          land(flight, outcome);
        },
        net::detached);
  }

  void leave(std::uint64_t ticket) {
    const auto found = of_ticket.find(ticket);
    if (found == of_ticket.end()) return;  // has its answer
    const auto flight = found->second.lock();
    of_ticket.erase(found);
    if (!flight) return;
    std::erase_if(flight->waiting, [&](const Flight::Waiting& each) { return each.ticket == ticket; });
    if (!flight->waiting.empty()) return;
    flight->abandoned = true;
    if (auto interrupt = flight->interrupt) interrupt();
  }
};

Completions::Completions(net::any_io_executor executor, const index::Index& index, const ServiceSettings& settings, std::shared_ptr<ChatClient> client,
                         StoreThread& store, std::string why_no_client, Dialect dialect)
    : executor_(std::move(executor)),
      index_(index),
      settings_(settings),
      client_(std::move(client)),
      store_(store),
      why_no_client_(std::move(why_no_client)),
      dialect_(dialect),
      implementation_(std::make_unique<Implementation>(*this)) {}

Completions::~Completions() = default;

std::shared_ptr<void> Completions::start(TaskRequest request, Listener listener) {
  const auto self = shared_from_this();
  auto ticket = std::make_shared<std::uint64_t>(0);
  net::post(executor_, [self, ticket, request = std::move(request), listener = std::move(listener)]() mutable {
    *ticket = ++self->implementation_->last_ticket;
    self->implementation_->join(std::move(request), std::move(listener), *ticket);
  });
  // The handle's end is one more event on the executor, after the start.
  return {nullptr, [self, ticket](void*) {
            net::post(self->executor_, [self, ticket] { self->implementation_->leave(*ticket); });
          }};
}

Completions::Availability Completions::availability(Millis now) const {
  if (client_ == nullptr) return {};
  if (!store_.sound()) return {false, now + soon};
  const Millis down = down_until_;
  if (down > now) return {false, down};
  return {true, std::nullopt};
}

std::string Completions::metrics() const {
  std::string text =
      "# HELP polygraph_upstream_calls_total Calls of a model, by how they ended.\n"
      "# TYPE polygraph_upstream_calls_total counter\n";
  const std::lock_guard lock(metrics_mutex_);
  for (const auto& [key, count] : calls_) {
    text += "polygraph_upstream_calls_total{model=\"" + key.first + "\",outcome=\"" + key.second + "\"} " + std::to_string(count) + '\n';
  }
  text +=
      "# HELP polygraph_tokens_total Tokens that models counted.\n"
      "# TYPE polygraph_tokens_total counter\n";
  for (const auto& [key, count] : tokens_) {
    text += "polygraph_tokens_total{model=\"" + key.first + "\",direction=\"" + key.second + "\"} " + std::to_string(count) + '\n';
  }
  return text;
}

}  // namespace polygraph::proxy
