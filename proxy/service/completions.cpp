#include "proxy/service/completions.hpp"

#include <algorithm>
#include <chrono>
#include <random>
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
  std::mt19937 random;
  std::uint64_t last_ticket = 0;

  // --- waiting ------------------------------------------------------------------------------------------------------

  /// What `job` gives, on the store's thread.
  template <class Value, class Job>
  net::awaitable<Result<Value>> on_store(Job job) {
    return net::async_initiate<const net::use_awaitable_t<>&, void(Result<Value>)>(
        [this, job = std::move(job)](auto handler) mutable {
          auto shared = std::make_shared<decltype(handler)>(std::move(handler));
          owner.store_.post([executor = owner.executor_, shared, job = std::move(job)](Store& store) mutable {
            Result<Value> result = job(store);
            const bool worked = result.has_value() || result.error().code != ErrorCode::io;
            net::post(executor, [shared, result = std::move(result)]() mutable { (*shared)(std::move(result)); });
            return worked;
          });
        },
        net::use_awaitable);
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
          wait->timer.expires_at(flight->deadline);
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

  net::awaitable<TaskOutcome> complete(std::shared_ptr<Flight> flight) {
    const std::string& model = flight->request.model;
    auto cached = co_await on_store<std::optional<std::string>>([key = flight->key](Store& store) { return store.cached(key, wall_clock()); });
    if (!cached) co_return busy("the quota's ledger can't be read or written", wall_clock() + soon);
    if (*cached) {
      if (auto done = from_cache(**cached)) {
        done->prompt_version = flight->call.prompt_version;
        co_return *done;
      }
    }
    const ModelLimits& limits = owner.settings_.limits;
    const std::uint64_t most = flight->call.prompt_tokens + owner.settings_.max_tokens(flight->request.task.task);
    if (owner.client_ == nullptr) co_return busy(owner.why_no_client_, std::nullopt);
    if (most > limits.tokens_per_minute || most > limits.tokens_per_day) {
      if (limits.tokens_per_minute == 0 || limits.tokens_per_day == 0) co_return busy("the quota is none", std::nullopt);
      co_return NotCompleted{{413, "context_too_large", "the question and its passages need up to " + std::to_string(most) + " tokens, and " + model +
                                                            " may take " + std::to_string(std::min(limits.tokens_per_minute, limits.tokens_per_day)) +
                                                            ": send fewer or shorter passages"},
                             std::nullopt, 0};
    }
    switch (co_await admission(flight)) {
      case Admission::admitted: break;
      case Admission::full: co_return busy("too many questions wait already", wall_clock() + soon);
      case Admission::late: co_return busy("no model was free in time", wall_clock() + soon);
    }
    flight->interrupt = nullptr;
    TaskOutcome outcome = co_await call_until_sound(flight, most);
    queue.release();
    co_return outcome;
  }

  /// The call, and for a reply that can't be read one more that says what was wrong with it.
  net::awaitable<TaskOutcome> call_until_sound(std::shared_ptr<Flight> flight, std::uint64_t most) {
    for (bool repaired = false;; repaired = true) {
      TaskOutcome outcome = co_await call_with_retries(flight, most);
      auto* done = std::get_if<Completed>(&outcome);
      if (done == nullptr) co_return outcome;
      const auto wrong = fault(flight->request.task.task, done->text);
      if (!wrong) {
        if (done->finish == "stop") {
          (void)co_await on_store<std::monostate>([key = flight->key, value = to_cache(*done)](Store& store) -> Result<std::monostate> {
            if (auto kept = store.cache(key, value, wall_clock()); !kept) return tl::unexpected(kept.error());
            return std::monostate{};
          });
        }
        co_return outcome;
      }
      const bool has_schema = flight->request.task.task != agent::Task::generate;
      if (repaired || !has_schema || done->finish == "length" || flight->abandoned) {
        co_return NotCompleted{{502, "upstream_invalid", "the model's reply can't be used: " + *wrong}, std::nullopt, done->upstream_status};
      }
      agent::CompleteRequest again = flight->request.task;
      again.repair = *wrong;
      auto call = task_call(again, owner.index_, flight->request.model, owner.settings_.max_tokens(again.task), flight->request.stream, Dialect::groq);
      if (!call) co_return NotCompleted{{502, "upstream_invalid", call.error().message}, std::nullopt, done->upstream_status};
      flight->call.body = std::move(call->body);
      most = call->prompt_tokens + owner.settings_.max_tokens(again.task);
    }
  }

  net::awaitable<TaskOutcome> call_with_retries(std::shared_ptr<Flight> flight, std::uint64_t most) {
    const std::string& model = flight->request.model;
    Millis backoff = first_backoff;
    for (int attempt = 1;; ++attempt) {
      if (flight->abandoned) co_return busy("nobody waits any more", std::nullopt);
      auto reserved = co_await on_store<std::variant<ReservationId, Denied>>(
          [model, most, limits = owner.settings_.limits](Store& store) { return store.reserve(model, most, limits, wall_clock()); });
      if (!reserved) co_return busy("the quota's ledger can't be read or written", wall_clock() + soon);
      if (const auto* denied = std::get_if<Denied>(&*reserved)) {
        co_return busy("the " + std::string(name(denied->window)) + " for " + model + " are spent", denied->until);
      }
      const auto id = std::get<ReservationId>(*reserved);
      if (flight->abandoned) {
        (void)co_await settle(id, nullptr, false);
        co_return busy("nobody waits any more", std::nullopt);
      }
      const ChatReply reply = co_await chat(flight);
      count(model, reply);
      const bool charged = reply.outcome == Outcome::answered || reply.outcome == Outcome::invalid || reply.outcome == Outcome::timed_out ||
                           reply.outcome == Outcome::cancelled;
      const Tokens used{reply.tokens_in.value_or(0), reply.tokens_out.value_or(0)};
      const bool sound_usage = reply.outcome == Outcome::answered && reply.tokens_in && reply.tokens_out;
      (void)co_await settle(id, sound_usage ? &used : nullptr, charged);
      const Millis now = wall_clock();
      const Millis paused = co_await heed(model, reply, now);

      if (reply.outcome != Outcome::unavailable && reply.outcome != Outcome::timed_out) owner.down_until_ = 0;
      switch (reply.outcome) {
        case Outcome::answered: {
          Completed done;
          done.text = reply.text;
          done.model = model;
          done.prompt_version = flight->call.prompt_version;
          done.tokens = used;
          done.ms = static_cast<double>(reply.took.count());
          done.finish = reply.finish;
          done.upstream_status = reply.status;
          co_return done;
        }
        case Outcome::too_large:
          co_return NotCompleted{{413, "context_too_large", "the model's host takes no request of this size: send fewer or shorter passages"}, std::nullopt, reply.status};
        case Outcome::refused_us:
          co_return NotCompleted{{502, "upstream_invalid", "the model's host refused the call: " + reply.why}, std::nullopt, reply.status};
        case Outcome::invalid:
          co_return NotCompleted{{502, "upstream_invalid", "the model's host sent no usable answer: " + reply.why}, std::nullopt, reply.status};
        case Outcome::cancelled: co_return busy("nobody waits any more", std::nullopt, reply.status);
        case Outcome::timed_out:
          owner.down_until_ = now + down_for;
          co_return busy("the model did not answer in time", now + down_for, reply.status);
        case Outcome::limited: {
          const bool of_day = reply.limit == UpstreamLimit::requests_day || reply.limit == UpstreamLimit::tokens_day;
          const Millis wait = std::max<Millis>(paused - now, 0);
          if (of_day || attempt == most_calls || wait + first_backoff > left(*flight)) {
            co_return busy("the quota that the model's host grants is spent", std::max(paused, now + first_backoff), reply.status);
          }
          co_await sleep(flight, wait + jittered(first_backoff));
          break;
        }
        case Outcome::unavailable: {
          if (attempt == most_calls || backoff > left(*flight)) {
            owner.down_until_ = now + down_for;
            co_return busy("the model's host can't be reached", now + down_for, reply.status);
          }
          const Millis asked = reply.rate_limits.retry_after ? static_cast<Millis>(reply.rate_limits.retry_after->count()) : 0;
          if (asked > left(*flight)) co_return busy("the model's host asks to wait", now + asked, reply.status);
          co_await sleep(flight, std::max(asked, jittered(backoff)));
          backoff *= 2;
          break;
        }
      }
    }
  }

  net::awaitable<Result<std::monostate>> settle(ReservationId id, const Tokens* used, bool charged) {
    return on_store<std::monostate>([id, used = used ? std::optional(*used) : std::nullopt, charged](Store& store) -> Result<std::monostate> {
      const auto settled = used ? store.settle(id, *used) : charged ? store.settle_in_full(id) : store.release(id);
      if (!settled) return tl::unexpected(settled.error());
      return std::monostate{};
    });
  }

  /// Pauses the model where the answer says that nothing remains; returns until when, or 0.
  net::awaitable<Millis> heed(const std::string& model, const ChatReply& reply, Millis now) {
    const RateLimits& said = reply.rate_limits;
    Millis until = 0;
    const auto grow = [&](const std::optional<std::chrono::milliseconds>& span, Millis otherwise) {
      until = std::max(until, now + (span ? static_cast<Millis>(span->count()) : otherwise));
    };
    constexpr Millis minute = 60'000;
    if (said.remaining_requests && *said.remaining_requests == 0) grow(said.reset_requests, minute);
    if (said.remaining_tokens && *said.remaining_tokens == 0) grow(said.reset_tokens, minute);
    if (reply.outcome == Outcome::limited) {
      const bool of_day = reply.limit == UpstreamLimit::requests_day || reply.limit == UpstreamLimit::tokens_day;
      grow(said.retry_after, of_day ? minute : first_backoff);
    }
    if (until > now) {
      (void)co_await on_store<std::monostate>([model, until](Store& store) -> Result<std::monostate> {
        if (auto paused = store.pause(model, until); !paused) return tl::unexpected(paused.error());
        return std::monostate{};
      });
    }
    co_return until;
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
    const auto* done = std::get_if<Completed>(&outcome);
    for (auto& each : waiting) {
      if (done != nullptr && each.listener.on_delta && !each.heard && !done->text.empty()) each.listener.on_delta(done->text);
      each.listener.done(outcome);
    }
  }

  void join(TaskRequest request, Listener listener, std::uint64_t ticket) {
    auto call = task_call(request.task, owner.index_, request.model, owner.settings_.max_tokens(request.task.task), request.stream, Dialect::groq);
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
      auto still = task_call(request.task, owner.index_, request.model, owner.settings_.max_tokens(request.task.task), false, Dialect::groq);
      if (still) whole = std::move(still->body);
    }
    key = text::digest(key + '\n' + whole);
    const auto known = flights.find(key);
    if (known != flights.end() && !known->second->abandoned) {
      Flight& flight = *known->second;
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
    flight->waiting.push_back({ticket, std::move(listener), false});
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
    for (auto& [key, flight] : flights) {
      auto& waiting = flight->waiting;
      const auto mine = std::find_if(waiting.begin(), waiting.end(), [&](const Flight::Waiting& each) { return each.ticket == ticket; });
      if (mine == waiting.end()) continue;
      waiting.erase(mine);
      if (!waiting.empty()) return;
      flight->abandoned = true;
      if (auto interrupt = flight->interrupt) interrupt();
      return;
    }
  }
};

Completions::Completions(net::any_io_executor executor, const index::Index& index, const ServiceSettings& settings, std::shared_ptr<ChatClient> client,
                         StoreThread& store, std::string why_no_client)
    : executor_(std::move(executor)),
      index_(index),
      settings_(settings),
      client_(std::move(client)),
      store_(store),
      why_no_client_(std::move(why_no_client)),
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
