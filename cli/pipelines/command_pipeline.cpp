#include "cli/pipelines/command_pipeline.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "cli/pipelines/messages.hpp"
#include "proxy/models/child_process.hpp"

namespace polygraph::pipelines {
namespace {

using models::ChildProcess;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t errors_kept_bytes = 8 * 1024;
constexpr std::size_t errors_shown_bytes = 600;
constexpr std::size_t stray_shown_bytes = 200;
constexpr std::chrono::milliseconds grace{2'000};  ///< between the end of stdin and the end of the process
constexpr std::chrono::hours idle{1};

double ms_since(Clock::time_point begin, Clock::time_point end) { return std::chrono::duration<double, std::milli>(end - begin).count(); }

/// One call: what is asked, and, once done, the JSON of its reply or why there is none.
struct Call {
  std::string request;  ///< without its id and closing brace
  std::uint64_t id = 0;
  std::uint64_t end_offset = 0;                  ///< of its last byte among those written to this process
  Clock::time_point begun, sent, deadline;       ///< `sent` once its last byte was written
  bool is_sent = false, alone = false, done = false;
  tl::expected<json, Failed> reply;
  double ms = 0;
  Log log;
};
using CallPtr = std::shared_ptr<Call>;

void note_stray(Log& log, std::string_view line) {
  if (log.stray_lines++ == 0) log.stray = first_of(line, stray_shown_bytes);
}

Failed failed(std::string type, std::string message) {
  return Failed{.type = std::move(type), .message = std::move(message)};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

/// The number after an `"id":` of a line that is no sound JSON.
std::optional<std::uint64_t> id_within(std::string_view line) {
  constexpr std::string_view key = "\"id\"";
  for (auto at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    std::size_t i = at + key.size();
    const auto skip_blanks = [&] {
      while (i < line.size() && line[i] == ' ') ++i;
    };
    skip_blanks();
    if (i == line.size() || line[i] != ':') continue;
    ++i;
    skip_blanks();
    std::uint64_t id = 0;
    std::size_t digits = 0;
    for (; i < line.size() && line[i] >= '0' && line[i] <= '9' && digits < 18; ++i, ++digits) id = id * 10 + static_cast<unsigned>(line[i] - '0');
    if (digits > 0) return id;
  }
  return std::nullopt;
}

/// Whether a line that is no sound JSON was meant as a reply; a printed Python dictionary, say, was not.
bool looks_like_reply(std::string_view line) {
  if (line.empty() || line.front() != '{') return false;
  const auto next = line.find_first_not_of(' ', 1);
  return next != std::string_view::npos && line[next] == '"';
}

class CommandPipeline final : public Pipeline {
 public:
  CommandPipeline(std::vector<std::string> argv, std::string title, const Options& options)
      : argv_(std::move(argv)), name_(title), title_(std::move(title)), options_(options), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    options_.concurrency = std::max(1u, options_.concurrency);
  }

  ~CommandPipeline() override {
    if (thread_.joinable()) {
      stop();
      thread_.join();
    }
    if (wake_ >= 0) ::close(wake_);
  }

  /// Starts the thread and the process.
  Result<void> begin() {
    if (wake_ < 0) return fail(ErrorCode::io, std::string("no event descriptor could be made: ") + std::strerror(errno));
    thread_ = std::thread([this] { work(); });
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return begun_; });
    if (!start_failure_) return {};
    const Failed& why = *start_failure_;
    return fail(ErrorCode::io, why.message, why.file.empty() ? title_ : why.file, why.line);
  }

  const std::string& name() const noexcept override { return name_; }
  bool generates() const noexcept override { return generates_; }

  Outcome<Retrieved> retrieve(std::string_view query, unsigned k) override { return ask(retrieve_request(query, k), read_retrieved); }
  Outcome<Generated> generate(std::string_view query, std::span<const Chunk> chunks) override {
    return ask(generate_request(query, chunks), read_generated);
  }

  void stop() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake();
  }

 private:
  template <class T>
  Outcome<T> ask(std::string request, Outcome<T> (*read)(const json&)) {
    const auto call = std::make_shared<Call>();
    call->request = std::move(request);
    {
      std::unique_lock lock(mutex_);
      if (stopping_) return tl::unexpected(stopped());
      queue_.push_back(call);
      wake();
      done_.wait(lock, [&] { return call->done; });
    }
    Outcome<T> outcome = call->reply ? read(*call->reply) : Outcome<T>(tl::unexpected(std::move(call->reply.error())));
    if (outcome) {
      outcome->ms = call->ms;
      outcome->log = std::move(call->log);
    } else {
      outcome.error().ms = call->ms;
      outcome.error().log = std::move(call->log);
    }
    return outcome;
  }

  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  }
  void clear_wake() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t read = ::read(wake_, &count, sizeof count);
  }

  // ------------------------------------------------------------------------------------------- on the pipeline's thread

  void work() {
    auto started = launch();
    {
      const std::lock_guard lock(mutex_);
      begun_ = true;
      if (!started) start_failure_ = std::move(started.error());
    }
    done_.notify_all();
    for (;;) {
      clear_wake();  // before looking at what it announces
      if (stopping()) break;
      send_waiting();
      turn();
    }
    // Whoever still waits must not wait for ever.
    std::vector<CallPtr> left;
    for (const auto& [id, call] : in_flight_) left.push_back(call);
    {
      const std::lock_guard lock(mutex_);
      left.insert(left.end(), queue_.begin(), queue_.end());
      queue_.clear();
    }
    in_flight_.clear();
    for (const auto& call : left) finish(call, tl::unexpected(stopped()));
    if (child_) child_->stop(grace);
  }

  static Failed stopped() { return failed("Stopped", "the run was stopped"); }

  bool stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  /// The next call that may be sent now.
  CallPtr take_waiting() {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queue_.empty() || in_flight_.size() >= options_.concurrency) return nullptr;
    const bool alone_under_way = in_flight_.size() == 1 && in_flight_.begin()->second->alone;
    if (alone_under_way || (queue_.front()->alone && !in_flight_.empty())) return nullptr;
    auto call = std::move(queue_.front());
    queue_.pop_front();
    return call;
  }

  void send_waiting() {
    while (auto call = take_waiting()) {
      if (!child_) {
        if (auto started = launch(); !started) {
          call->begun = Clock::now();
          finish(call, tl::unexpected(std::move(started.error())));
          continue;
        }
      }
      // What it wrote to stderr while nobody asked belongs to no query.
      if (in_flight_.empty()) child_->take_errors();
      call->id = ++last_id_;
      call->is_sent = false;
      call->begun = Clock::now();
      call->deadline = call->begun + options_.call_limit;
      append(fmt::format("{},\"id\":{}}}\n", call->request, call->id));
      call->end_offset = appended_;
      in_flight_.emplace(call->id, std::move(call));
    }
  }

  void append(std::string_view line) {
    const auto bytes = std::as_bytes(std::span(line));
    outgoing_.insert(outgoing_.end(), bytes.begin(), bytes.end());
    appended_ += line.size();
  }

  /// One wait for whatever comes first.
  void turn() {
    if (!child_) {
      pollfd waiting{wake_, POLLIN, 0};
      ::poll(&waiting, 1, -1);
      return;
    }
    const auto now = Clock::now();
    auto limit = now + idle;
    for (const auto& [id, call] : in_flight_) limit = std::min(limit, call->deadline);
    if (limit <= now) {
      on_deadline();
      return;
    }
    const auto event = exchange(std::chrono::ceil<std::chrono::milliseconds>(limit - now));
    mark_sent();
    take_lines([this](std::string_view line) { on_line(line); });
    if (child_ && event == ChildProcess::Event::ended) bury("", nullptr, true);
    else if (child_ && received_.size() > options_.max_reply_bytes) on_oversized();
  }

  ChildProcess::Event exchange(std::chrono::milliseconds limit) {
    const auto turn = child_->exchange(std::span(outgoing_).subspan(outgoing_taken_), received_, limit, wake_);
    outgoing_taken_ += turn.written;
    written_ += turn.written;
    if (outgoing_taken_ == outgoing_.size()) {
      outgoing_.clear();
      outgoing_taken_ = 0;
    }
    return turn.event;
  }

  void mark_sent() {
    const auto now = Clock::now();
    for (const auto& [id, call] : in_flight_) {
      if (call->is_sent || call->end_offset > written_) continue;
      call->is_sent = true;
      call->sent = now;
    }
  }

  /// Hands on each whole line that has come.
  template <class Use>
  void take_lines(Use&& use) {
    std::size_t begin = 0;
    while (child_) {
      const auto from = received_.begin() + static_cast<std::ptrdiff_t>(std::max(begin, searched_));
      const auto end = std::find(from, received_.end(), std::byte{'\n'});
      if (end == received_.end()) break;
      const auto length = static_cast<std::size_t>(end - received_.begin()) - begin;
      // A copy: `use` may bury the process and its bytes.
      const std::string line(reinterpret_cast<const char*>(received_.data()) + begin, length);
      begin += length + 1;
      searched_ = begin;
      if (line.size() > options_.max_reply_bytes) {
        on_oversized_line(line);
        continue;
      }
      if (const auto words = trimmed(line); !words.empty()) use(words);
    }
    if (!child_) return;
    received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(begin));
    searched_ = received_.size();
  }

  void on_line(std::string_view line) {
    const auto read_at = Clock::now();
    auto value = parse(line);
    if (!value) {
      const auto call = meant(line);
      if (!call) return stray(line);
      complete(call, read_at, tl::unexpected(failed("BadJson", fmt::format("the reply {}: {}", value.error(), first_of(line, stray_shown_bytes)))));
      return;
    }
    const bool has_result = value->is_object() && (value->contains("chunks") || value->contains("answer") || value->contains("error"));
    if (!value->is_object()) return stray(line);
    const auto id = value->find("id");
    if (id != value->end() && id->is_number_unsigned()) {
      const auto found = in_flight_.find(id->get<std::uint64_t>());
      if (found == in_flight_.end()) return stray(line);
      const auto call = found->second;
      complete(call, read_at, std::move(*value));
      return;
    }
    if (!has_result || in_flight_.size() != 1) return stray(line);
    const auto call = in_flight_.begin()->second;
    complete(call, read_at,
             tl::unexpected(failed("WrongShape", id == value->end() ? fmt::format("id is missing: expected the request's, {}", call->id)
                                                                    : fmt::format("id: expected the request's, {}, got {}", call->id, shown(*id)))));
  }

  /// The call whose reply a broken line was meant to be.
  CallPtr meant(std::string_view line) const {
    if (!looks_like_reply(line)) return nullptr;
    if (in_flight_.size() == 1) return in_flight_.begin()->second;
    const auto id = id_within(line);
    const auto found = id ? in_flight_.find(*id) : in_flight_.end();
    return found == in_flight_.end() ? nullptr : found->second;
  }

  void stray(std::string_view line) {
    for (const auto& [id, call] : in_flight_) note_stray(call->log, line);
  }

  void collect_errors() {
    const std::string errors = child_->take_errors();
    if (errors.empty()) return;
    for (const auto& [id, call] : in_flight_) {
      call->log.errors += errors;
      if (call->log.errors.size() > errors_kept_bytes) call->log.errors.erase(0, call->log.errors.size() - errors_kept_bytes);
    }
  }

  void complete(const CallPtr& call, Clock::time_point read_at, tl::expected<json, Failed> reply) {
    collect_errors();
    in_flight_.erase(call->id);
    // A pipeline may answer before it has read all of the request.
    call->ms = ms_since(call->is_sent ? call->sent : read_at, read_at);
    finish(call, std::move(reply), true);
  }

  void finish(const CallPtr& call, tl::expected<json, Failed> reply, bool timed = false) {
    if (!timed) call->ms = ms_since(call->begun, Clock::now());
    call->log.errors = agent_text(call->log.errors);
    {
      const std::lock_guard lock(mutex_);
      call->reply = std::move(reply);
      call->done = true;
    }
    done_.notify_all();
  }

  static std::string agent_text(std::string_view bytes) { return first_of(bytes, bytes.size()); }

  void on_deadline() {
    const auto first = std::min_element(in_flight_.begin(), in_flight_.end());  // ids rise in the order of asking
    const auto call = first->second;
    collect_errors();
    std::string message = fmt::format("no reply within {} s", seconds(options_.call_limit));
    if (!call->is_sent) message += "; it did not even read the whole request";
    if (call->log.stray_lines > 0) message += "; on stdout came what is no reply: " + call->log.stray;
    bury("Timeout", call, false, message);
  }

  static std::string seconds(std::chrono::milliseconds limit) { return fmt::format("{:g}", static_cast<double>(limit.count()) / 1000); }

  std::string too_large() const { return fmt::format("the reply has more than {} bytes", options_.max_reply_bytes); }

  /// A line that is too long already, and has no end yet.
  void on_oversized() {
    const std::string_view begin(reinterpret_cast<const char*>(received_.data()), std::min<std::size_t>(received_.size(), 4096));
    auto call = meant(begin);
    if (!call && in_flight_.size() == 1) call = in_flight_.begin()->second;
    bury("TooLarge", call, false, too_large());
  }
  void on_oversized_line(std::string_view line) {
    const auto call = meant(line.substr(0, 4096));
    if (!call) return stray(line);
    complete(call, Clock::now(), tl::unexpected(failed("TooLarge", too_large())));
  }

  /// Ends the process. `culprit` fails, or the only call under way; the others are asked again.
  void bury(std::string type, CallPtr culprit, bool ended_itself, std::string message = {}) {
    // One that closed its stdout is ending by itself, and its own status tells more than our signal.
    const auto ending = child_->stop(ended_itself ? grace : std::chrono::milliseconds(0));
    collect_errors();
    forget_process();
    if (message.empty()) {
      type = "Crash";
      message = fmt::format("the pipeline {} before it replied", ending.words);
    }
    if (!culprit && in_flight_.size() == 1) culprit = in_flight_.begin()->second;
    std::vector<CallPtr> again;
    for (const auto& [id, call] : std::exchange(in_flight_, {})) {
      if (call == culprit) continue;
      call->alone = true;
      again.push_back(call);
    }
    {
      const std::lock_guard lock(mutex_);
      queue_.insert(queue_.begin(), again.begin(), again.end());
    }
    if (!culprit) return;
    finish(culprit, tl::unexpected(failed(std::move(type), message + wrote(culprit->log.errors))));
  }

  static std::string wrote(std::string_view errors) {
    const auto words = trimmed(errors);
    return words.empty() ? std::string() : "; it wrote: " + last_of(words, errors_shown_bytes);
  }

  void forget_process() {
    child_.reset();
    received_.clear();
    outgoing_.clear();
    outgoing_taken_ = searched_ = 0;
    appended_ = written_ = 0;
  }

  /// Starts the process and waits for its hello.
  tl::expected<void, Failed> launch() {
    auto started = ChildProcess::start(argv_);
    if (!started) return tl::unexpected(failed("StartFailed", started.error().message));
    child_.emplace(std::move(*started));
    append(hello_request(options_.concurrency) + ",\"id\":0}\n");
    const auto deadline = Clock::now() + options_.start_limit;
    Log log;
    std::optional<tl::expected<void, Failed>> hello;
    while (!hello) {
      const auto now = Clock::now();
      clear_wake();
      if (stopping()) {
        std::ignore = start_failed("was stopped", false, log);
        return tl::unexpected(stopped());
      }
      if (now >= deadline) return start_failed(fmt::format("did not say hello within {} s", seconds(options_.start_limit)), false, log);
      const auto event = exchange(std::chrono::ceil<std::chrono::milliseconds>(deadline - now));
      take_lines([&](std::string_view line) {
        const auto value = parse(line);
        if (hello || !value || !value->is_object()) return note_stray(log, line);
        const auto id = value->find("id");
        if (id == value->end() || *id != 0) return note_stray(log, line);
        hello = on_hello(*value);
      });
      if (hello) break;
      if (event == ChildProcess::Event::ended) return start_failed("", true, log);
      if (received_.size() > options_.max_reply_bytes) return start_failed("wrote too much without a line's end", false, log);
    }
    if (!*hello) {
      Failed why = std::move(hello->error());
      child_->stop(grace);
      forget_process();
      return tl::unexpected(std::move(why));
    }
    return {};
  }

  tl::expected<void, Failed> on_hello(const json& reply) {
    if (auto error = reported_error(reply)) {
      Failed why = failed("StartFailed", fmt::format("{} can't be loaded: {}: {}", title_, error->type, error->message));
      why.file = std::move(error->file);
      why.line = error->line;
      return tl::unexpected(std::move(why));
    }
    if (begun_) return {};  // its name was read the first time; others may be reading it
    if (const auto name = reply.find("name"); name != reply.end() && !name->is_null()) {
      if (!name->is_string()) return tl::unexpected(failed("StartFailed", fmt::format("its hello is wrong: name: expected a string, got {}", shown(*name))));
      if (!name->get_ref<const std::string&>().empty()) name_ = name->get<std::string>();
    }
    if (const auto ops = reply.find("ops"); ops != reply.end() && ops->is_array()) generates_ = std::find(ops->begin(), ops->end(), "generate") != ops->end();
    return {};
  }

  tl::unexpected<Failed> start_failed(std::string how, bool ended_itself, const Log& log) {
    const auto ending = child_->stop(ended_itself ? grace : std::chrono::milliseconds(0));
    const std::string errors = child_->take_errors();
    forget_process();
    if (how.empty()) how = ending.words + " before it said hello";
    std::string message = fmt::format("the pipeline {} {}{}", title_, how, wrote(errors));
    if (log.stray_lines > 0) message += "; on stdout came what is no hello: " + log.stray;
    Failed why = failed("StartFailed", std::move(message));
    why.log = log;
    return tl::unexpected(std::move(why));
  }

  const std::vector<std::string> argv_;
  std::string name_;
  const std::string title_;
  Options options_;
  const int wake_;
  bool generates_ = true;

  std::mutex mutex_;
  std::condition_variable done_;
  std::deque<CallPtr> queue_;
  bool stopping_ = false, begun_ = false;
  std::optional<Failed> start_failure_;

  // Of the pipeline's thread alone.
  std::optional<ChildProcess> child_;
  std::map<std::uint64_t, CallPtr> in_flight_;
  std::uint64_t last_id_ = 0;
  std::vector<std::byte> outgoing_, received_;
  std::size_t outgoing_taken_ = 0, searched_ = 0;
  std::uint64_t appended_ = 0, written_ = 0;

  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Pipeline>> open_command(std::vector<std::string> argv, std::string title, const Options& options) {
  auto pipeline = std::make_unique<CommandPipeline>(std::move(argv), std::move(title), options);
  if (auto begun = pipeline->begin(); !begun) return tl::unexpected(begun.error());
  return pipeline;
}

}  // namespace polygraph::pipelines
