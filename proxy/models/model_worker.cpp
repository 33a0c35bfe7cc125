#include "proxy/models/model_worker.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "proxy/models/child_process.hpp"

namespace polygraph::models {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "frames are little-endian and sent as they are in memory");

constexpr int protocol = 1;                            // web/models/frames.ts
constexpr std::uint32_t max_frame_bytes = 64u << 20;   // web/models/frames.ts
constexpr std::size_t max_tokens = 512;                // positions that both models have
constexpr std::size_t texts_a_request = 64;            // what is lost, and asked again, when a worker dies
constexpr std::size_t error_lines_shown_bytes = 600;
constexpr std::chrono::milliseconds grace{2'000};      // a worker whose stdin ended leaves at once unless a text is running
constexpr int tries = 2;

struct Frame {
  json head;
  std::vector<std::byte> payload;
};

std::vector<std::byte> encode(const json& head, std::span<const std::byte> payload) {
  const std::string text = head.dump(-1, ' ', false, json::error_handler_t::replace);
  const auto head_bytes = static_cast<std::uint32_t>(text.size());
  const auto body_bytes = static_cast<std::uint32_t>(sizeof head_bytes + text.size() + payload.size());
  std::vector<std::byte> frame(sizeof body_bytes + body_bytes);
  std::byte* at = frame.data();
  const auto append = [&at](const void* bytes, std::size_t count) {
    if (count > 0) std::memcpy(at, bytes, count);
    at += count;
  };
  append(&body_bytes, sizeof body_bytes);
  append(&head_bytes, sizeof head_bytes);
  append(text.data(), text.size());
  append(payload.data(), payload.size());
  return frame;
}

enum class Parse { frame, incomplete, broken };

/// Takes the first whole frame out of `bytes`.
Parse take_frame(std::vector<std::byte>& bytes, Frame& frame) {
  std::uint32_t body_bytes = 0, head_bytes = 0;
  if (bytes.size() < sizeof body_bytes) return Parse::incomplete;
  std::memcpy(&body_bytes, bytes.data(), sizeof body_bytes);
  if (body_bytes < sizeof head_bytes || body_bytes > max_frame_bytes) return Parse::broken;
  if (bytes.size() - sizeof body_bytes < body_bytes) return Parse::incomplete;
  const std::span<const std::byte> body(bytes.data() + sizeof body_bytes, body_bytes);
  std::memcpy(&head_bytes, body.data(), sizeof head_bytes);
  if (head_bytes > body.size() - sizeof head_bytes) return Parse::broken;
  const auto* const text = reinterpret_cast<const char*>(body.data()) + sizeof head_bytes;
  frame.head = json::parse(text, text + head_bytes, nullptr, false);
  if (!frame.head.is_object()) return Parse::broken;
  const auto payload = body.subspan(sizeof head_bytes + head_bytes);
  frame.payload.assign(payload.begin(), payload.end());
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(sizeof body_bytes + body_bytes));
  return Parse::frame;
}

std::string text_of(const json& head, const char* key) {
  const auto field = head.find(key);
  return field != head.end() && field->is_string() ? field->get<std::string>() : std::string();
}

std::optional<double> number_of(const json& head, const char* key) {
  const auto field = head.find(key);
  return field != head.end() && field->is_number() ? std::optional(field->get<double>()) : std::nullopt;
}

/// A thread that starts children and lives as long as they may: a child is killed when the thread that started it ends,
/// and the caller's may be a short-lived one (prctl(2), PR_SET_PDEATHSIG).
class Starter {
 public:
  Starter() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

  Result<ChildProcess> start(std::vector<std::string> argv) {
    std::packaged_task<Result<ChildProcess>()> task([argv = std::move(argv)] { return ChildProcess::start(argv); });
    auto result = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      task_ = std::move(task);
    }
    wake_.notify_one();
    return result.get();
  }

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [this] { return task_.valid(); })) {
      auto task = std::exchange(task_, {});
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::packaged_task<Result<ChildProcess>()> task_;
  std::jthread thread_;  // last: it uses the members above
};

/// Why a worker gave no reply.
struct Dead {
  std::string how;
};

}  // namespace

struct ModelWorker::State {
  ModelWorkerOptions options;
  std::string node_path, runtime;
  std::mutex mutex;
  std::atomic<pid_t> pid{-1};
  std::uint64_t last_id = 0;
  Starter starter;
  std::optional<ChildProcess> child;  // after `starter`: it ends first
  std::vector<std::byte> received;

  ~State() {
    if (child) child->stop(grace);
  }

  Result<void> launch();
  tl::expected<Frame, Dead> receive(std::vector<std::byte> out, const std::function<void(std::size_t)>& progress);
  Result<Frame> ask(json head, std::span<const std::byte> payload, const std::function<void(std::size_t)>& progress);
  Dead bury(std::string_view what, bool wait);
};

/// Ends a worker that cannot be used any more and says how it ended, with its last words.
Dead ModelWorker::State::bury(std::string_view what, bool wait) {
  // One that closed its stdout is ending by itself, and its own status tells more than our signal.
  const std::string ending = child->stop(wait ? grace : std::chrono::milliseconds(0)).words;
  std::string how = what.empty() ? ending : std::string(what);
  std::string_view words = child->errors();
  while (!words.empty() && (words.back() == '\n' || words.back() == ' ')) words.remove_suffix(1);
  if (words.size() > error_lines_shown_bytes) words.remove_prefix(words.size() - error_lines_shown_bytes);
  if (!words.empty()) how += "; it wrote: " + std::string(words);
  child.reset();
  received.clear();
  pid = -1;
  return {how};
}

/// Sends `out` and waits for the frame that answers it.
tl::expected<Frame, Dead> ModelWorker::State::receive(std::vector<std::byte> out, const std::function<void(std::size_t)>& progress) {
  std::span<const std::byte> unsent(out);
  for (;;) {
    Frame frame;
    switch (take_frame(received, frame)) {
      case Parse::broken: return tl::unexpected(bury("wrote something that is no frame to its stdout", false));
      case Parse::frame:
        if (text_of(frame.head, "op") != "progress") return frame;
        if (const auto done = number_of(frame.head, "done"); done && progress) progress(static_cast<std::size_t>(*done));
        continue;
      case Parse::incomplete: break;
    }
    const auto turn = child->exchange(unsent, received, options.silence);
    unsent = unsent.subspan(turn.written);
    if (turn.event == ChildProcess::Event::ended) return tl::unexpected(bury("", true));
    if (turn.event == ChildProcess::Event::silent)
      return tl::unexpected(bury("gave no sign of life for " + std::to_string(options.silence.count()) + " ms", false));
  }
}

Result<void> ModelWorker::State::launch() {
  auto started = starter.start({node_path, options.script.string()});
  if (!started) return fail(ErrorCode::model_unavailable, "the model worker could not be started: " + started.error().message);
  child.emplace(std::move(*started));
  received.clear();
  pid = child->pid();
  const json models{{"op", "models"},
                    {"threads", options.threads},
                    {"embedder", options.embedder.path.string()},
                    {"reranker", options.reranker.path.string()}};
  const auto reply = receive(encode(models, {}), {});
  if (!reply) return fail(ErrorCode::model_unavailable, "the model worker (" + options.script.string() + ") " + reply.error().how);
  const std::string op = text_of(reply->head, "op");
  if (op == "error" && text_of(reply->head, "code") == "runtime_missing") {
    const std::string cause = text_of(reply->head, "message");
    bury("", true);
    return fail(ErrorCode::model_unavailable, "onnxruntime-node cannot be loaded by " + node_path + " for " + options.script.string() + ": " +
                                                  cause.substr(0, cause.find('\n')) +
                                                  "; `npm ci --ignore-scripts` in the folder of package.json installs it");
  }
  if (op != "ready" || number_of(reply->head, "protocol") != protocol) {
    bury("", false);
    return fail(ErrorCode::model_unavailable, options.script.string() + " is another version's model worker: build it again with `npm run build:node`");
  }
  if (runtime.empty()) runtime = text_of(reply->head, "runtime");  // once: runtime() is read without the lock
  return {};
}

/// Asks once more when the worker dies under the request. `head` gets its id here.
Result<Frame> ModelWorker::State::ask(json head, std::span<const std::byte> payload, const std::function<void(std::size_t)>& progress) {
  std::string how;
  for (int attempt = 0; attempt < tries; ++attempt) {
    if (!child) {
      if (const auto launched = launch(); !launched) return tl::unexpected(launched.error());
    }
    const std::uint64_t id = ++last_id;
    head["id"] = id;
    auto reply = receive(encode(head, payload), progress);
    if (!reply) {
      how = reply.error().how;
      continue;
    }
    const std::string op = text_of(reply->head, "op");
    if (number_of(reply->head, "id") != static_cast<double>(id) || (op != "done" && op != "error")) {
      how = bury("answered what was not asked: " + reply->head.dump(-1, ' ', false, json::error_handler_t::replace), false).how;
      continue;
    }
    if (op == "done") return std::move(*reply);
    const std::string message = text_of(reply->head, "message");
    const ErrorCode code = error_code(text_of(reply->head, "code"));
    if (code == ErrorCode::model_unavailable)
      return fail(code, message + "; `polygraph models verify` checks the models, `polygraph models fetch` brings what is missing");
    return fail(code, "model worker: " + message);
  }
  return fail(ErrorCode::model_unavailable,
              "the model worker (" + options.script.string() + ") ended twice under the same request: it " + how);
}

namespace {

Result<void> check_length(std::size_t tokens, std::size_t index) {
  if (tokens >= 1 && tokens <= max_tokens) return {};
  return fail(ErrorCode::invalid_argument,
              "input " + std::to_string(index) + " has " + std::to_string(tokens) + " tokens, the models take 1 to " + std::to_string(max_tokens));
}

/// `done` with `count` rows of `width` floats, or an error. The payload stays in the frame.
Result<std::pair<std::size_t, std::size_t>> shape_of(const Frame& frame) {
  const auto count = number_of(frame.head, "count"), width = number_of(frame.head, "width");
  if (!count || !width || *count < 0 || *width < 0 || *count * *width * sizeof(float) != static_cast<double>(frame.payload.size()))
    return fail(ErrorCode::internal, "the model worker's reply has " + std::to_string(frame.payload.size()) + " bytes, its head says otherwise");
  return std::pair(static_cast<std::size_t>(*count), static_cast<std::size_t>(*width));
}

}  // namespace

ModelWorker::ModelWorker(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelWorker::~ModelWorker() = default;

Result<std::unique_ptr<ModelWorker>> ModelWorker::start(ModelWorkerOptions options) {
  if (const char* const script = std::getenv("POLYGRAPH_WORKER"); script && *script) options.script = script;
  if (options.threads <= 0) options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(options.script, ignored))
    return fail(ErrorCode::model_unavailable, "the model worker's script `" + options.script.string() +
                                                  "` is not there: build it with `npm run build:node`, or name another with POLYGRAPH_WORKER");
  options.script = std::filesystem::absolute(options.script, ignored);
  const auto node = find_program(options.node);
  if (!node)
    return fail(ErrorCode::model_unavailable, "Node, which runs the models, is missing: " + node.error().message + "; install Node 20 or later");

  auto state = std::make_unique<State>();
  state->node_path = node->string();
  state->options = std::move(options);
  if (const auto launched = state->launch(); !launched) return tl::unexpected(launched.error());
  return std::unique_ptr<ModelWorker>(new ModelWorker(std::move(state)));
}

Result<std::vector<std::vector<float>>> ModelWorker::embed(std::span<const std::vector<text::TokenId>> texts, const Progress& progress) {
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (const auto fits = check_length(texts[i].size(), i); !fits) return tl::unexpected(fits.error());

  // Longest first: memory is claimed once, and an estimate of the time left errs on the safe side.
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return texts[a].size() > texts[b].size(); });

  const std::lock_guard lock(state_->mutex);
  std::vector<std::vector<float>> vectors(texts.size());
  for (std::size_t begin = 0; begin < order.size(); begin += texts_a_request) {
    const auto slice = std::span(order).subspan(begin, std::min(texts_a_request, order.size() - begin));
    std::vector<std::size_t> lengths;
    std::vector<text::TokenId> ids;
    for (const std::size_t i : slice) {
      lengths.push_back(texts[i].size());
      ids.insert(ids.end(), texts[i].begin(), texts[i].end());
    }
    const auto reply = state_->ask({{"op", "embed"}, {"lengths", lengths}}, std::as_bytes(std::span(ids)),
                                   [&](std::size_t done) { if (progress) progress(begin + done, order.size()); });
    if (!reply) return tl::unexpected(reply.error());
    const auto shape = shape_of(*reply);
    if (!shape) return tl::unexpected(shape.error());
    const auto [count, width] = *shape;
    if (count != slice.size())
      return fail(ErrorCode::internal, "the model worker gave " + std::to_string(count) + " vectors for " + std::to_string(slice.size()) + " texts");
    for (std::size_t row = 0; row < count; ++row) {
      vectors[slice[row]].resize(width);
      std::memcpy(vectors[slice[row]].data(), reply->payload.data() + row * width * sizeof(float), width * sizeof(float));
    }
  }
  return vectors;
}

Result<Scores> ModelWorker::score(std::span<const agent::TokenPair> pairs, double budget_ms) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (const auto fits = check_length(pairs[i].token_ids.size(), i); !fits) return tl::unexpected(fits.error());
    if (pairs[i].split > pairs[i].token_ids.size())
      return fail(ErrorCode::invalid_argument, "pair " + std::to_string(i) + " of " + std::to_string(pairs[i].token_ids.size()) +
                                                   " tokens is split at " + std::to_string(pairs[i].split));
  }

  const std::lock_guard lock(state_->mutex);
  Scores scores;
  for (std::size_t begin = 0; begin < pairs.size(); begin += texts_a_request) {
    const double budget_left_ms = budget_ms > 0 ? budget_ms - scores.ms : 0;
    if (budget_ms > 0 && begin > 0 && budget_left_ms <= 0) break;
    const auto slice = pairs.subspan(begin, std::min(texts_a_request, pairs.size() - begin));
    std::vector<std::size_t> lengths, splits;
    std::vector<text::TokenId> ids;
    for (const agent::TokenPair& pair : slice) {
      lengths.push_back(pair.token_ids.size());
      splits.push_back(pair.split);
      ids.insert(ids.end(), pair.token_ids.begin(), pair.token_ids.end());
    }
    const auto reply = state_->ask({{"op", "score"}, {"lengths", lengths}, {"splits", splits}, {"budget_ms", budget_left_ms}},
                                   std::as_bytes(std::span(ids)), {});
    if (!reply) return tl::unexpected(reply.error());
    const auto shape = shape_of(*reply);
    if (!shape) return tl::unexpected(shape.error());
    const auto [count, width] = *shape;
    if (width != 1 || count > slice.size() || (budget_ms <= 0 && count != slice.size()))
      return fail(ErrorCode::internal, "the model worker gave " + std::to_string(count) + " logits for " + std::to_string(slice.size()) + " pairs");
    const std::size_t before = scores.logits.size();
    scores.logits.resize(before + count);
    if (count > 0) std::memcpy(scores.logits.data() + before, reply->payload.data(), count * sizeof(float));
    scores.ms += number_of(reply->head, "ms").value_or(0);
    if (count < slice.size()) break;
  }
  return scores;
}

const WorkerModel& ModelWorker::embedder() const noexcept { return state_->options.embedder; }
const WorkerModel& ModelWorker::reranker() const noexcept { return state_->options.reranker; }
const std::string& ModelWorker::runtime() const noexcept { return state_->runtime; }
pid_t ModelWorker::pid() const { return state_->pid; }

}  // namespace polygraph::models
