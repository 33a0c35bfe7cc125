#include "proxy/calls/store_thread.hpp"
#include "proxy/http/log.hpp"
#include "proxy/service/service.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <deque>
#include <future>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <nlohmann/json.hpp>

#include "proxy/http/router.hpp"
#include "proxy/service/bodies.hpp"
#include "proxy/service/completions.hpp"
#include "proxy/service/question_log.hpp"
#include "proxy/tasks/prices.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::proxy {
namespace {

namespace net = boost::asio;
using http::Answer;
using http::Request;
using http::Responder;
using http::Route;
using Json = nlohmann::ordered_json;
using beast_verb = boost::beast::http::verb;

/// Runs of /api/ask at once: each holds a thread and takes turns at one model worker.
constexpr unsigned ask_threads = 2;
constexpr unsigned most_asks_waiting = 16;
constexpr std::chrono::seconds keep_alive_every{10};
/// A browser that shows when to come back rounds up to seconds anyway.
constexpr Millis second = 1000;
constexpr unsigned retry_without_a_time = 60;

std::string iso_time(Millis ms) {
  const std::time_t seconds = ms / second;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const auto length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03dZ", static_cast<int>(ms % second));
  return std::string(text, length) + fraction;
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json models_of(const Recording& recording) {
  return {{"generator", recording.generator}, {"grader", recording.grader}, {"rewriter", recording.rewriter}};
}

/// How a caller is told that a task was not completed.
struct Told {
  http::Refusal refusal;
  std::optional<unsigned> retry_after;
  std::string more;
};

/// `none`, `low` (under a tenth), `some` (under a half) or `plenty`: coarse, so that nobody reads the traffic off it.
const char* level(std::uint64_t left, std::uint64_t of) {
  if (left == 0 || of == 0) return "none";
  if (left * 10 < of) return "low";
  return left * 2 < of ? "some" : "plenty";
}

std::string event(std::string_view name, const std::string& data) {
  std::string out = "event: ";
  out += name;
  out += "\ndata: ";
  out += data;
  out += "\n\n";
  return out;
}

class ServiceImplementation final : public Service, public std::enable_shared_from_this<ServiceImplementation> {
 public:
  ServiceImplementation(ServiceOptions options, std::unique_ptr<QuestionLog> questions) : options_(std::move(options)), questions_(std::move(questions)) {}
  ~ServiceImplementation() override {
    stopping_ = true;
    if (pool_) pool_->join();
  }

  void add_routes(const http::Parts& parts) override {
    executor_ = net::make_strand(parts.executor);
    log_ = &parts.log;
    store_ = std::make_unique<StoreThread>(std::move(options_.store), [&log = parts.log](bool works, std::string_view broken) {
      if (works) log.event("info", "store", {{"message", "the store works again"}});
      else log.event("error", "store", {{"message", "the store can't be read or written: nothing goes upstream until it can"}, {"why", broken}});
    });
    std::shared_ptr<ChatClient> client;
    std::string why;
    if (has_key()) {
      auto made = make_chat_client(executor_, options_.upstream);
      if (made) client = std::move(*made);
      else why = made.error().message;
    } else {
      why = "this server has no key for a model's host";
    }
    completions_ = std::make_shared<Completions>(executor_, index(), settings(), std::move(client), *store_, std::move(why), dialect_of(options_.upstream.url));
    pool_ = std::make_unique<net::thread_pool>(ask_threads);

    const auto weak = weak_from_this();
    const auto handler = [weak](auto member) {
      return [weak, member](const Request& request, Responder respond) {
        if (const auto self = weak.lock()) ((*self).*member)(request, std::move(respond));
      };
    };
    parts.router.add(Route::complete, "/api/complete", {beast_verb::post}, handler(&ServiceImplementation::complete));
    parts.router.add(Route::ask, "/api/ask", {beast_verb::post}, handler(&ServiceImplementation::ask));
    parts.router.add(Route::status, "/api/status", {beast_verb::get}, handler(&ServiceImplementation::status));
    parts.router.add(Route::recordings, "/api/recordings", {beast_verb::get}, handler(&ServiceImplementation::list_recordings));
    parts.router.add(Route::recordings, "/api/recordings/", {beast_verb::get}, handler(&ServiceImplementation::one_recording));
  }

  std::optional<std::string> not_ready() const override {
    if (store_ && !store_->sound()) return "the quota's ledger can't be read or written";
    return std::nullopt;
  }

  std::string metrics() const override { return completions_ ? completions_->metrics() : std::string(); }

 private:
  const index::Index& index() const { return *options_.index; }
  const ServiceSettings& settings() const { return options_.settings; }
  bool has_key() const { return !options_.upstream.key.empty() || options_.upstream.url.starts_with("http://"); }

  /// Held by work on another thread: while it lives the server's loop goes on, and with it everything that the work's end
  /// is told to. Its own end is an event on that loop, so that the service never dies on one of its own threads.
  class Busy {
   public:
    explicit Busy(std::shared_ptr<ServiceImplementation> service) : held_(new Held{net::make_work_guard(service->executor_), std::move(service)}, &give_back) {}
    ServiceImplementation& service() const { return *held_->service; }

   private:
    struct Held {
      net::executor_work_guard<net::any_io_executor> guard;
      std::shared_ptr<ServiceImplementation> service;
    };
    static void give_back(Held* held) {
      const auto executor = held->guard.get_executor();
      net::post(executor, [owned = std::unique_ptr<Held>(held)] {});
    }
    std::shared_ptr<Held> held_;
  };

  // --- what every POST passes ------------------------------------------------------------------------------------------

  /// Goes on with `next` on the strand, once the client's bucket gave a token; answers 429 where it has none.
  template <class Next>
  void admit(const Request& request, Responder respond, Next next) {
    const auto held = std::make_shared<Responder>(std::move(respond));
    const auto self = shared_from_this();
    if (!store_->sound()) {
      net::post(executor_, [held, next] { next(std::move(*held)); });
      return;
    }
    store_->post([busy = Busy(self), held, next, client = http::client_network(request.client)](Store& store) {
      const auto& settings = busy.service().settings();
      const auto wait = store.take_client_token(client, settings.client_burst, settings.client_per_minute, wall_clock());
      net::post(busy.service().executor_, [held, next, wait = wait.value_or(0)] {
        if (wait > 0) {
          const auto seconds = static_cast<unsigned>((wait + second - 1) / second);
          (*held)(http::error_answer({429, "rate_limited", "too many requests from this address"}, seconds));
        } else {
          next(std::move(*held));
        }
      });
      return wait.has_value();
    });
  }

  static std::optional<Answer> wrong_type(const Request& request) {
    const auto type = request.head[boost::beast::http::field::content_type];
    if (is_json({type.data(), type.size()})) return std::nullopt;
    return http::error_answer({415, "unsupported_media_type", "send the body as Content-Type: application/json"});
  }

  Told told(const NotCompleted& outcome, std::string_view question) const {
    Told out{outcome.refusal, std::nullopt, {}};
    if (outcome.refusal.status != 503) return out;
    const Millis now = wall_clock();
    const bool comes = outcome.until && *outcome.until < never;
    out.retry_after = comes ? static_cast<unsigned>(std::max<Millis>(1, (*outcome.until - now + second - 1) / second)) : retry_without_a_time;
    out.more = ",\"until\":" + (comes ? '"' + iso_time(*outcome.until) + '"' : std::string("null"));
    if (const auto* recording = options_.recordings.find_question(question, index().digest())) out.more += ",\"recording\":\"" + recording->id + '"';
    return out;
  }

  // --- /api/complete -----------------------------------------------------------------------------------------------------

  /// The body of a finished task.
  static std::string completed_body(agent::Task task, const Completed& done, std::string_view request_id) {
    Json value = Json::object();
    if (task == agent::Task::grade) {
      if (auto reply = agent::parse_grade(done.text)) {
        value = {{"relevant", reply->relevant}, {"reason", reply->reason}, {"relevant_chunk_ids", reply->relevant_chunk_ids}};
      }
    } else if (task == agent::Task::rewrite) {
      if (auto reply = agent::parse_rewrite(done.text, agent::max_question_bytes)) value = {{"query", *reply}};
    } else {
      value = {{"text", done.text}};
    }
    return dump({{"task", agent::name(task)},
                 {"value", value},
                 {"model", done.model},
                 {"prompt_version", done.prompt_version},
                 {"tokens", {{"in", done.tokens.in}, {"out", done.tokens.out}}},
                 {"ms", done.ms},
                 {"cached", done.cached},
                 {"finish", done.finish},
                 {"request_id", request_id}});
  }

  http::LogFields log_fields(const std::string& model, const TaskOutcome& outcome, const std::string& question) const {
    http::LogFields fields;
    fields.model = model;
    if (const auto* done = std::get_if<Completed>(&outcome)) {
      fields.cached = done->cached;
      fields.upstream_status = done->upstream_status;
    } else {
      fields.upstream_status = std::get<NotCompleted>(outcome).upstream_status;
      fields.error = std::get<NotCompleted>(outcome).refusal.code;
    }
    if (settings().log_questions) fields.question = question;
    return fields;
  }

  // --- the question log --------------------------------------------------------------------------------------------------

  void note_question(const AskedQuestion& asked) {
    if (questions_ == nullptr || questions_->add(asked)) return;
    log_->event("error", "question_log", {{"message", "a question could not be written to the question log"}, {"file", settings().question_log}});
  }

  /// Of a run in the browser the server sees the tasks: a grader's verdict that nothing is relevant, or an answer.
  void note_task(agent::Task task, const std::string& question, const std::string& text) {
    if (task == agent::Task::generate) return note_question({question, "answered", {}});
    if (task != agent::Task::grade) return;
    if (const auto verdict = agent::parse_grade(text); verdict && !verdict->relevant) note_question({question, "not_relevant", verdict->reason});
  }

  void complete(const Request& request, Responder respond) {
    admit(request, std::move(respond), [self = shared_from_this(), &request](Responder held) { self->complete_admitted(request, std::move(held)); });
  }

  /// A stream that an answer is written into, and the answer itself once it has begun.
  struct Streaming {
    ~Streaming() {
      if (timer) timer->cancel();
    }
    std::optional<Responder> respond;
    std::shared_ptr<http::BodyStream> body;
    std::shared_ptr<net::steady_timer> timer;  ///< of the next keep-alive
  };

  void complete_admitted(const Request& request, Responder respond) {
    if (auto wrong = wrong_type(request)) return respond(std::move(*wrong));
    auto read = read_complete_body(request.body, index(), settings());
    if (!read) return respond(http::error_answer(read.error()));
    read->client = http::client_network(request.client);

    const agent::Task task = read->task.task;
    const std::string model = read->model, question = read->task.question, id(request.id);
    const auto self = shared_from_this();
    const auto state = std::make_shared<Streaming>();
    const auto handle = std::make_shared<std::shared_ptr<void>>();
    respond.when_gone([handle, executor = executor_] { net::post(executor, [handle] { handle->reset(); }); });
    state->respond.emplace(std::move(respond));

    Listener listener;
    if (read->stream) {
      listener.on_delta = [self, state](std::string_view delta) {
        if (!state->body) self->begin_stream(state);
        state->body->write(event("delta", dump({{"text", delta}})));
      };
    }
    listener.done = [self, state, handle, task, model, question, id](const TaskOutcome& outcome) {
      const auto fields = self->log_fields(model, outcome, question);
      const auto* done = std::get_if<Completed>(&outcome);
      if (done != nullptr) self->note_task(task, question, done->text);
      if (state->body) {
        if (done != nullptr) {
          state->body->write(event("done", completed_body(task, *done, id)));
        } else {
          const Told told = self->told(std::get<NotCompleted>(outcome), question);
          state->body->write(event("error", http::error_body(told.refusal, told.retry_after, told.more)));
        }
        std::exchange(state->body, nullptr)->finish(fields);
      } else {
        Answer answer;
        if (done != nullptr) {
          answer = http::json_answer(200, completed_body(task, *done, id) + '\n');
        } else {
          const Told told = self->told(std::get<NotCompleted>(outcome), question);
          answer = http::error_answer(told.refusal, told.retry_after, told.more);
        }
        answer.log = fields;
        if (state->respond) (*state->respond)(std::move(answer));
      }
      net::post(self->executor_, [handle] { handle->reset(); });
    };
    *handle = completions_->start(std::move(*read), std::move(listener));
  }

  void begin_stream(const std::shared_ptr<Streaming>& state) {
    state->body = std::make_shared<http::BodyStream>();
    Answer answer;
    answer.fields = "Content-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n";
    answer.body = state->body;
    if (state->respond) (*state->respond)(std::move(answer));
    state->timer = std::make_shared<net::steady_timer>(executor_);
    keep_alive(state);
  }

  /// A comment now and then, so that nothing between takes the silence of a slow model for an end. Ends with the task, or
  /// with those who wait for it.
  static void keep_alive(const std::shared_ptr<Streaming>& state) {
    state->timer->expires_after(keep_alive_every);
    state->timer->async_wait([weak = std::weak_ptr(state)](boost::system::error_code error) {
      const auto alive = weak.lock();
      if (error || !alive) return;
      alive->body->write(": keep-alive\n\n");
      keep_alive(alive);
    });
  }

  // --- /api/ask ----------------------------------------------------------------------------------------------------------

  void ask(const Request& request, Responder respond) {
    admit(request, std::move(respond), [self = shared_from_this(), &request](Responder held) { self->ask_admitted(request, std::move(held)); });
  }

  void ask_admitted(const Request& request, Responder respond) {
    if (auto wrong = wrong_type(request)) return respond(std::move(*wrong));
    auto read = read_ask_body(request.body, settings());
    if (!read) return respond(http::error_answer(read.error()));
    const auto available = completions_->availability(wall_clock());
    if (read->config.provider == agent::Provider::proxy && !available.live) {
      return respond(recorded_or_busy(read->question, {{503, "busy", completions_->has_client() ? "no model can be asked now" : "this server has no key for a model's host"},
                                                       available.until, 0}));
    }
    if (asks_ >= most_asks_waiting) {
      return respond(recorded_or_busy(read->question, {{503, "busy", "too many questions wait already"}, wall_clock() + 5 * second, 0}));
    }
    ++asks_;
    const auto gone = std::make_shared<std::atomic<bool>>(false);
    respond.when_gone([gone] { *gone = true; });
    const auto held = std::make_shared<Responder>(std::move(respond));
    net::post(*pool_, [busy = Busy(shared_from_this()), asked = std::move(*read), held, gone, client = http::client_network(request.client)] {
      Answer answer = busy.service().run(asked, client, *gone);
      --busy.service().asks_;
      (*held)(std::move(answer));
    });
  }

  /// One run of the agent, on a thread of the pool.
  Answer run(const AskRequest& asked, const std::string& client, const std::atomic<bool>& gone) {
    auto agent = agent::Agent::create(index(), asked.question, asked.config);
    if (!agent) return http::error_answer({400, "invalid_field", "question: " + agent.error().message});
    std::optional<NotCompleted> not_completed;
    http::LogFields fields;
    std::deque<agent::Effect> open;
    for (auto& effect : agent->start()) open.push_back(std::move(effect));
    while (!open.empty()) {
      if (gone || stopping_) {
        agent->abort({ErrorCode::provider_failed, "the client left", {}, 0});
        break;
      }
      const agent::Effect effect = std::move(open.front());
      open.pop_front();
      const auto* task = std::get_if<agent::CompleteRequest>(&effect.request);
      agent::EffectResult result = task != nullptr ? completed(*task, client, gone, not_completed, fields) : options_.perform(effect);
      auto more = agent->resume(effect.id, std::move(result));
      if (!more) return http::error_answer({500, "internal", more.error().message});
      for (auto& next : *more) open.push_back(std::move(next));
    }
    const agent::Run& run = agent->run();
    const std::string written = trace::to_json(run);
    if (options_.on_trace) options_.on_trace(written);
    note_question(asked_question(run));
    if (run.status == agent::Status::failed && not_completed) {
      if (not_completed->refusal.status == 503) return recorded_or_busy(asked.question, *not_completed);
      const Told as = told(*not_completed, asked.question);
      return http::error_answer(as.refusal, as.retry_after, as.more);
    }
    Answer answer = http::json_answer(200, "{\"source\":\"live\",\"recording\":null,\"trace\":" + written + "}\n");
    if (settings().log_questions) fields.question = asked.question;
    answer.log = fields;
    return answer;
  }

  /// A task of such a run: waits for the same way that /api/complete goes.
  agent::EffectResult completed(const agent::CompleteRequest& task, const std::string& client, const std::atomic<bool>& gone,
                                std::optional<NotCompleted>& not_completed, http::LogFields& fields) {
    const auto promise = std::make_shared<std::promise<TaskOutcome>>();
    auto future = promise->get_future();
    const std::string model = settings().models.of(task.task);
    TaskRequest request{task, model, false, client};
    auto handle = completions_->start(std::move(request), {nullptr, [promise](const TaskOutcome& outcome) { promise->set_value(outcome); }});
    constexpr std::chrono::milliseconds look_up{50};
    bool answered = false;
    while (!answered && !gone && !stopping_) answered = future.wait_for(look_up) == std::future_status::ready;
    agent::EffectResult result;
    if (!answered) {
      result.value = Error{ErrorCode::provider_failed, "the client left", {}, 0};
      return result;
    }
    const TaskOutcome outcome = future.get();
    fields = log_fields(model, outcome, {});
    result.model = model;
    if (const auto* done = std::get_if<Completed>(&outcome)) {
      result.value = agent::Completion{done->text};
      result.ms = done->ms;
      result.tokens = {done->tokens.in, done->tokens.out};
      result.cached = done->cached;
      result.finish = done->finish;
      result.cost_usd = cost_usd(options_.upstream.url, model, result.tokens);
    } else {
      not_completed = std::get<NotCompleted>(outcome);
      result.value = Error{not_completed->refusal.status == 503 ? ErrorCode::quota_spent : ErrorCode::provider_failed, not_completed->refusal.message, {}, 0};
    }
    return result;
  }

  Answer recorded_or_busy(const std::string& question, const NotCompleted& why) const {
    if (const auto* recording = options_.recordings.find_question(question, index().digest())) {
      const Json about = {{"id", recording->id}, {"recorded_at", recording->recorded_at}, {"models", models_of(*recording)}, {"index_digest", recording->index_digest}};
      return http::json_answer(200, "{\"source\":\"recorded\",\"recording\":" + dump(about) + ",\"trace\":" + recording->trace + "}\n");
    }
    const Told as = told(why, question);
    return http::error_answer(as.refusal, as.retry_after, as.more);
  }

  // --- what can be known -------------------------------------------------------------------------------------------------

  void status(const Request&, Responder respond) {
    const auto held = std::make_shared<Responder>(std::move(respond));
    const auto models = settings().all_models();
    if (!store_->sound()) return (*held)(status_answer(models, {}));
    store_->post([busy = Busy(shared_from_this()), held, models](Store& store) {
      std::vector<Remaining> left;
      bool worked = true;
      for (const auto& model : models) {
        const auto remaining = store.remaining(model, busy.service().settings().limits, wall_clock());
        worked = worked && remaining.has_value();
        if (remaining) left.push_back(*remaining);
      }
      (*held)(busy.service().status_answer(models, worked ? left : std::vector<Remaining>()));
      return worked;
    });
  }

  Answer status_answer(const std::vector<std::string>& models, const std::vector<Remaining>& left) const {
    const Millis now = wall_clock();
    auto available = completions_->availability(now);
    Json list = Json::array();
    for (std::size_t i = 0; i < models.size(); ++i) {
      const Remaining remaining = left.empty() ? Remaining{} : left[i];
      const bool paused = remaining.paused_until > now;
      const ModelLimits& limits = settings().limits;
      Json tasks = Json::array();
      for (const auto task : {agent::Task::grade, agent::Task::rewrite, agent::Task::generate}) {
        if (settings().models.of(task) == models[i]) tasks.push_back(agent::name(task));
      }
      const bool spent = paused || remaining.requests_minute == 0 || remaining.requests_day == 0 || remaining.tokens_minute == 0 || remaining.tokens_day == 0;
      if (spent && !tasks.empty() && available.live) {
        available.live = false;
        constexpr Millis day = 86'400'000, minute = 60'000;
        const bool of_day = remaining.requests_day == 0 || remaining.tokens_day == 0;
        const Millis until = paused ? remaining.paused_until : of_day ? (now / day + 1) * day : now + minute;
        available.until = until < never ? std::optional(until) : std::nullopt;
      }
      const auto shown = [&](std::uint64_t amount, std::uint64_t of) { return paused ? "none" : level(amount, of); };
      list.push_back({{"id", models[i]},
                      {"tasks", tasks},
                      {"remaining",
                       {{"requests_minute", shown(remaining.requests_minute, limits.requests_per_minute)},
                        {"requests_day", shown(remaining.requests_day, limits.requests_per_day)},
                        {"tokens_minute", shown(remaining.tokens_minute, limits.tokens_per_minute)},
                        {"tokens_day", shown(remaining.tokens_day, limits.tokens_per_day)}}}});
    }
    Json out = {{"live", available.live},
                {"serving_recorded", !available.live && !options_.recordings.all().empty()},
                {"until", available.until ? Json(iso_time(*available.until)) : Json()},
                {"index", {{"digest", index().digest()}, {"chunks", index().chunks()}}},
                {"models", list}};
    return http::json_answer(200, dump(out) + '\n');
  }

  void list_recordings(const Request&, Responder respond) {
    Json list = Json::array();
    for (const auto& recording : options_.recordings.all()) {
      list.push_back({{"id", recording.id},
                      {"question", recording.question},
                      {"aliases", recording.aliases},
                      {"recorded_at", recording.recorded_at},
                      {"models", models_of(recording)},
                      {"index_digest", recording.index_digest},
                      {"made_by", recording.made_by}});
    }
    respond(http::json_answer(200, dump({{"recordings", list}}) + '\n'));
  }

  void one_recording(const Request& request, Responder respond) {
    constexpr std::string_view before = "/api/recordings/";
    const auto* recording = options_.recordings.find(request.path().substr(before.size()));
    if (recording == nullptr) return respond(http::error_answer({404, "not_found", "there is no such recording"}));
    respond(http::json_answer(200, recording->file));
  }

  ServiceOptions options_;
  std::unique_ptr<QuestionLog> questions_;  ///< null: none is kept
  net::any_io_executor executor_;
  http::Log* log_ = nullptr;
  std::unique_ptr<StoreThread> store_;
  std::shared_ptr<Completions> completions_;
  std::unique_ptr<net::thread_pool> pool_;
  std::atomic<unsigned> asks_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace

Result<std::shared_ptr<Service>> Service::create(ServiceOptions options) {
  if (auto sound = check(options.upstream); !sound) return tl::unexpected(sound.error());
  // As many as may be used at once: a handshake costs more than a call.
  options.upstream.max_idle_connections = std::max<std::size_t>(options.upstream.max_idle_connections, options.settings.upstream_concurrency);
  std::unique_ptr<QuestionLog> questions;
  if (const auto& file = options.settings.question_log; !file.empty()) {
    auto opened = QuestionLog::open(file, options.settings.question_log_bytes);
    if (!opened) return tl::unexpected(opened.error());
    questions = std::move(*opened);
  }
  return std::shared_ptr<Service>(std::make_shared<ServiceImplementation>(std::move(options), std::move(questions)));
}

}  // namespace polygraph::proxy
