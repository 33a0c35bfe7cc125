#include "proxy/service/completions.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "proxy/calls/fair_queue.hpp"
#include "proxy/calls/on_store.hpp"
#include "proxy/calls/reserved_calls.hpp"
#include "wasm/agent/agent.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::proxy {
namespace {

namespace net = boost::asio;
using Json = nlohmann::json;
using Steady = std::chrono::steady_clock;

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
struct Completions::Flight : ReservedCall {
  std::string key;
  TaskRequest request;
  TaskCall call;
  Steady::time_point last_start;       ///< a call begun later has no fair chance: it would only be charged
  struct Waiting {
    std::uint64_t ticket = 0;
    Listener listener;
    bool heard = false;  ///< got a delta
  };
  std::vector<Waiting> waiting;
  std::string text;                    ///< streamed so far
};

struct Completions::Implementation {
  explicit Implementation(Completions& of)
      : owner(of), queue(of.settings_.upstream_concurrency, of.settings_.upstream_queue), calls(of.executor_, of.client_, of.store_, policy()) {}

  Completions& owner;
  FairQueue queue;
  ReservedCalls calls;
  std::map<std::string, std::shared_ptr<Flight>> flights;
  std::unordered_map<std::uint64_t, std::weak_ptr<Flight>> of_ticket;  ///< of everybody who waits
  std::uint64_t last_ticket = 0;

  CallPolicy policy() {
    CallPolicy policy;
    policy.heard = [this](const std::string& model, const ChatReply& reply) {
      count(model, reply);
      if (reply.outcome != Outcome::unavailable && reply.outcome != Outcome::timed_out) owner.down_until_ = 0;
    };
    return policy;
  }

  // --- waiting ------------------------------------------------------------------------------------------------------

  template <class Value>
  using StoreJob = ReservedCalls::StoreJob<Value>;

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

  // --- one task -----------------------------------------------------------------------------------------------------

  /// What the store knows of a task: its answer, or a reservation where one was asked for.
  struct Found {
    std::optional<std::string> cached;
    std::optional<Reserved> reserved;
  };

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
    const std::uint64_t most = flight->most;
    // Where a model is free, looking the answer up and reserving its call are one turn on the store's thread.
    bool slot = may_call(most) && queue.take();
    const StoreJob<Found> look_up = [key = flight->key, reserve = slot ? ReservedCalls::reservation(*flight) : nullptr](Store& store) {
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
    const Result<Found> found = co_await on_store(owner.executor_, owner.store_, look_up);
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
    const CallEnd end = co_await calls.run(flight, first);
    queue.release();
    outcome = outcome_of(*flight, end);
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

  /// Makes the call that asks again; false where asking again makes no sense.
  bool prepare_repair(ReservedCall& call, const TaskRequest& request, const ChatReply& reply, const std::string& wrong) const {
    const agent::Task task = request.task.task;
    if (task == agent::Task::generate || reply.finish == "length") return false;
    agent::CompleteRequest again = request.task;
    again.repair = wrong;
    auto made = task_call(again, owner.index_, request.model, owner.settings_.max_tokens(task), request.stream, owner.dialect_);
    if (!made) return false;
    call.chat.body = std::move(made->body);
    call.most = made->prompt_tokens + owner.settings_.max_tokens(task);
    return true;
  }

  TaskOutcome outcome_of(const Flight& flight, const CallEnd& end) {
    const ChatReply& reply = end.reply;
    const auto invalid = [&](std::string message) { return NotCompleted{{502, "upstream_invalid", std::move(message)}, std::nullopt, reply.status}; };
    const auto down = [&](std::string message) {
      const Millis until = wall_clock() + down_for;
      owner.down_until_ = until;
      return busy(std::move(message), until, reply.status);
    };
    switch (end.kind) {
      case CallEnd::Kind::answered: return completed(flight, reply);
      case CallEnd::Kind::malformed: return invalid("the model's reply can't be used: " + end.fault);
      case CallEnd::Kind::denied:
        return busy("the " + std::string(name(end.denied.window)) + " for " + flight.request.model + " are spent", end.denied.until);
      case CallEnd::Kind::limited: return busy("the quota that the model's host grants is spent", end.until, reply.status);
      case CallEnd::Kind::too_large:
        return NotCompleted{{413, "context_too_large", "the model's host takes no request of this size: send fewer or shorter passages"}, std::nullopt, reply.status};
      case CallEnd::Kind::refused: return invalid("the model's host refused the call: " + reply.why);
      case CallEnd::Kind::invalid: return invalid("the model's host sent no usable answer: " + reply.why);
      case CallEnd::Kind::timed_out: return down("the model did not answer in time");
      case CallEnd::Kind::unreachable: return down("the model's host can't be reached");
      case CallEnd::Kind::ledger: return ledger_broken();
      case CallEnd::Kind::abandoned: break;
    }
    return busy("nobody waits any more", std::nullopt, reply.status);
  }

  static NotCompleted ledger_broken() { return busy("the quota's ledger can't be read or written", wall_clock() + soon); }

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
    flight->model = flight->request.model;
    flight->most = flight->call.prompt_tokens + owner.settings_.max_tokens(flight->request.task.task);
    flight->limits = [this] { return owner.settings_.limits; };
    flight->chat.body = flight->call.body;
    flight->chat.stream = flight->request.stream;
    const std::weak_ptr<Flight> weak = flight;
    if (flight->chat.stream) {
      flight->chat.on_delta = [this, weak](std::string_view delta) {
        if (const auto alive = weak.lock()) spread(*alive, delta);
      };
    }
    flight->fault = [task = flight->request.task.task](const ChatReply& reply) { return fault(task, reply.text); };
    flight->repair = [this, weak](ReservedCall& reserved, const ChatReply& reply, const std::string& wrong) {
      const auto alive = weak.lock();
      return alive && prepare_repair(reserved, alive->request, reply, wrong);
    };
    flight->keep = [weak](const ChatReply& reply) -> std::optional<std::pair<std::string, std::string>> {
      const auto alive = weak.lock();
      if (!alive) return std::nullopt;
      return std::pair(alive->key, to_cache(completed(*alive, reply)));
    };
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
