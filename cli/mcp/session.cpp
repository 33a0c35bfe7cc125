#include "cli/mcp/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "cli/mcp/arguments.hpp"

namespace polygraph::cli::mcp {
namespace {

constexpr std::array<std::string_view, 4> revisions = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

/// Of method names and the like that an error repeats.
std::string shortened(std::string_view text) {
  constexpr std::size_t longest = 80;
  return text.size() <= longest ? std::string(text) : std::string(text.substr(0, longest)) + "…";
}

}  // namespace

std::string_view name(Revision revision) noexcept { return revisions[static_cast<std::size_t>(revision)]; }

Revision negotiated(std::string_view asked) noexcept {
  const auto found = std::find(revisions.begin(), revisions.end(), asked);
  return found == revisions.end() ? Revision::r2025_11_25 : static_cast<Revision>(found - revisions.begin());
}

/// The answers to a batch, sent as one array once the last is there.
struct Batch {
  Json answers = Json::array();
  std::size_t open = 0;
};

struct RunningCall {
  Json id;
  std::shared_ptr<Batch> batch;  ///< null: asked for by itself
  const Tool* tool = nullptr;
  Json arguments, progress_token;
  std::atomic<bool> cancelled{false};
};

struct Session::State {
  Server server;
  Send send;
  SessionOptions options;

  std::mutex sending;  ///< around `send` and the batches
  std::optional<Revision> revision;  ///< of the receiving thread; calls are given what they need of it

  std::mutex mutex;  ///< around what follows
  std::condition_variable changed;
  std::deque<std::shared_ptr<RunningCall>> waiting;
  std::map<std::string, std::shared_ptr<RunningCall>> open;  ///< waiting and running, by the id's JSON text
  bool ending = false;
  std::vector<std::thread> threads;

  bool at_least(Revision least) const { return revision && *revision >= least; }

  // --- out ---------------------------------------------------------------------------------------------------------------

  void write(const Json& message) { send(to_line(message)); }

  /// Null: there will be no answer.
  void answer(const std::shared_ptr<Batch>& batch, Json message) {
    const std::lock_guard lock(sending);
    if (!batch) {
      if (!message.is_null()) write(message);
      return;
    }
    if (!message.is_null()) batch->answers.push_back(std::move(message));
    if (--batch->open == 0 && !batch->answers.empty()) write(batch->answers);
  }

  // --- calls -------------------------------------------------------------------------------------------------------------

  class CallInProgress final : public Call {
   public:
    CallInProgress(State& state, RunningCall& call, bool with_words) : state_(state), call_(call), with_words_(with_words) {}
    bool cancelled() const override { return call_.cancelled; }
    void progress(std::string_view message) override {
      if (call_.progress_token.is_null() || cancelled()) return;
      Json params = {{"progressToken", call_.progress_token}, {"progress", ++steps_}};
      if (with_words_) params["message"] = message;
      const std::lock_guard lock(state_.sending);
      state_.write(notification_message("notifications/progress", std::move(params)));
    }

   private:
    State& state_;
    RunningCall& call_;
    bool with_words_;
    unsigned steps_ = 0;
  };

  Json result_of(const ToolResult& result, bool structured) const {
    Json out = {{"content", Json::array({{{"type", "text"}, {"text", result.text}}})}};
    if (structured && !result.structured.is_null()) out["structuredContent"] = result.structured;
    out["isError"] = result.is_error;
    return out;
  }

  void work() {
    for (;;) {
      std::shared_ptr<RunningCall> call;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return ending || !waiting.empty(); });
        if (waiting.empty()) return;
        call = std::move(waiting.front());
        waiting.pop_front();
      }
      Json message;
      if (!call->cancelled) {
        CallInProgress seen(*this, *call, at_least(Revision::r2025_03_26));
        try {
          message = result_message(call->id, result_of(call->tool->run(call->arguments, seen), at_least(Revision::r2025_06_18)));
        } catch (const std::exception& error) {
          message = error_message(call->id, {RpcCode::internal, std::string("the tool failed: ") + error.what()});
        }
      }
      {
        const std::lock_guard lock(mutex);
        open.erase(call->id.dump());
      }
      // From here on a cancellation comes too late, and is passed over.
      answer(call->batch, call->cancelled ? Json() : std::move(message));
      changed.notify_all();
    }
  }

  /// The error to answer with at once, if there is one; otherwise the call answers later.
  std::optional<Json> call_tool(const Message& message, const std::shared_ptr<Batch>& batch) {
    const auto invalid = [&](std::string why) { return error_message(message.id, {RpcCode::invalid_params, std::move(why)}); };
    const auto named = message.params.find("name");
    if (named == message.params.end() || !named->is_string()) return invalid("name: the tool's name is missing");
    const auto& wanted = named->get_ref<const std::string&>();
    const auto tool = std::find_if(server.tools.begin(), server.tools.end(), [&](const Tool& each) { return each.name == wanted; });
    if (tool == server.tools.end()) return invalid(fmt::format("there is no tool \"{}\"", shortened(wanted)));
    Json arguments = message.params.value("arguments", Json::object());
    if (const auto wrong = fault(tool->input_schema, arguments)) {
      // From 2025-11-25 on the model is to see it and to mend it.
      if (at_least(Revision::r2025_11_25)) return result_message(message.id, result_of({*wrong, nullptr, true}, false));
      return invalid(*wrong);
    }
    auto call = std::make_shared<RunningCall>();
    call->id = message.id;
    call->batch = batch;
    call->tool = &*tool;
    call->arguments = std::move(arguments);
    if (const auto meta = message.params.find("_meta"); meta != message.params.end() && meta->is_object()) {
      const Json token = meta->value("progressToken", Json());
      if (token.is_string() || token.is_number_integer()) call->progress_token = token;
    }
    {
      const std::lock_guard lock(mutex);
      if (open.contains(message.id.dump())) return error_message(message.id, {RpcCode::invalid_request, "a call with this id is under way already"});
      if (waiting.size() >= options.most_waiting) return error_message(message.id, {RpcCode::busy, "too many calls wait already; try again later"});
      open.emplace(message.id.dump(), call);
      waiting.push_back(std::move(call));
    }
    changed.notify_all();
    return std::nullopt;
  }

  void cancel(const Json& params) {
    const auto id = params.find("requestId");
    if (id == params.end()) return;
    const std::lock_guard lock(mutex);
    if (const auto call = open.find(id->dump()); call != open.end()) call->second->cancelled = true;
  }

  // --- what is answered at once ------------------------------------------------------------------------------------------

  tl::expected<Json, RpcError> initialize(const Json& params) {
    if (revision) return tl::unexpected(RpcError{RpcCode::invalid_request, "the session is initialized already"});
    const Json asked = params.value("protocolVersion", Json());
    if (!asked.is_string()) return tl::unexpected(RpcError{RpcCode::invalid_params, "protocolVersion must be a string"});
    revision = negotiated(asked.get_ref<const std::string&>());
    Json about = {{"name", server.name}, {"version", server.version}};
    if (at_least(Revision::r2025_06_18)) about["title"] = server.title;
    Json capabilities = {{"tools", Json::object()}};
    if (server.resources) capabilities["resources"] = Json::object();
    return Json{{"protocolVersion", name(*revision)}, {"capabilities", std::move(capabilities)}, {"serverInfo", std::move(about)}, {"instructions", server.instructions}};
  }

  Json list_tools() const {
    Json tools = Json::array();
    for (const auto& tool : server.tools) {
      Json each = {{"name", tool.name}};
      if (at_least(Revision::r2025_06_18)) each["title"] = tool.title;
      each["description"] = tool.description;
      each["inputSchema"] = tool.input_schema;
      if (at_least(Revision::r2025_06_18)) each["outputSchema"] = tool.output_schema;
      if (at_least(Revision::r2025_03_26)) {
        each["annotations"] = {{"title", tool.title}, {"readOnlyHint", true}, {"destructiveHint", false}, {"idempotentHint", true}, {"openWorldHint", tool.open_world}};
      }
      tools.push_back(std::move(each));
    }
    return {{"tools", std::move(tools)}};
  }

  /// Where a cursor of ours goes on; nothing for one that is none.
  std::optional<std::size_t> start_of(const Json& cursor, std::size_t count) const {
    if (!cursor.is_string()) return std::nullopt;
    const auto& text = cursor.get_ref<const std::string&>();
    std::size_t start = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), start);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || start == 0 || start >= count) return std::nullopt;
    return start;
  }

  tl::expected<Json, RpcError> list_resources(const Json& params) const {
    const std::size_t count = server.resources->count();
    std::size_t start = 0;
    if (params.contains("cursor")) {
      const auto from = start_of(params["cursor"], count);
      if (!from) return tl::unexpected(RpcError{RpcCode::invalid_params, "cursor: is none that this server gave"});
      start = *from;
    }
    const std::size_t end = std::min(count, start + options.page);
    Json list = Json::array();
    for (std::size_t i = start; i < end; ++i) list.push_back(described(server.resources->describe(i)));
    Json out = {{"resources", std::move(list)}};
    if (end < count) out["nextCursor"] = std::to_string(end);
    return out;
  }

  /// Titles came with 2025-06-18.
  Json described(Json resource) const {
    if (!at_least(Revision::r2025_06_18)) resource.erase("title");
    return resource;
  }

  tl::expected<Json, RpcError> read_resource(const Json& params) const {
    const Json uri = params.value("uri", Json());
    if (!uri.is_string()) return tl::unexpected(RpcError{RpcCode::invalid_params, "uri must be a string"});
    auto contents = server.resources->read(uri.get_ref<const std::string&>());
    if (!contents) return tl::unexpected(RpcError{RpcCode::resource_not_found, "there is no such resource", {{"uri", uri}}});
    return Json{{"contents", std::move(*contents)}};
  }

  tl::expected<Json, RpcError> at_once(const Message& message) {
    const auto& method = message.method;
    if (method == "ping") return Json::object();
    if (method == "initialize") return initialize(message.params);
    const bool known = method == "tools/list" || (server.resources && method.starts_with("resources/") && method != "resources/subscribe" && method != "resources/unsubscribe");
    if (known && !revision) return tl::unexpected(RpcError{RpcCode::invalid_request, "the session begins with initialize"});
    if (method == "tools/list") return list_tools();
    if (server.resources && method == "resources/list") return list_resources(message.params);
    if (server.resources && method == "resources/templates/list") {
      Json templates = Json::array();
      for (auto& each : server.resources->templates()) templates.push_back(described(each));
      return Json{{"resourceTemplates", std::move(templates)}};
    }
    if (server.resources && method == "resources/read") return read_resource(message.params);
    return tl::unexpected(RpcError{RpcCode::method_not_found, fmt::format("there is no method \"{}\"", shortened(method))});
  }

  // --- in ----------------------------------------------------------------------------------------------------------------

  void receive(const Json& value, const std::shared_ptr<Batch>& batch) {
    const auto message = read_message(value);
    if (!message) return answer(batch, error_message(message.error().id, message.error().error));
    if (message->kind != Message::Kind::request) {
      if (message->method == "notifications/cancelled") cancel(message->params);
      return answer(batch, nullptr);  // the other notifications ask for nothing, and we asked nothing
    }
    if (batch && message->method == "initialize") {
      return answer(batch, error_message(message->id, {RpcCode::invalid_request, "initialize must not be part of a batch"}));
    }
    if (message->method == "tools/call" && revision) {
      if (auto refused = call_tool(*message, batch)) answer(batch, std::move(*refused));
      return;
    }
    if (message->method == "tools/call") return answer(batch, error_message(message->id, {RpcCode::invalid_request, "the session begins with initialize"}));
    auto result = at_once(*message);
    answer(batch, result ? result_message(message->id, std::move(*result)) : error_message(message->id, result.error()));
  }

  void receive_batch(const Json& values) {
    // Only this revision has them.
    if (revision != Revision::r2025_03_26) return answer(nullptr, error_message(nullptr, {RpcCode::invalid_request, "a message is a JSON object"}));
    if (values.empty()) return answer(nullptr, error_message(nullptr, {RpcCode::invalid_request, "a batch holds at least one message"}));
    auto batch = std::make_shared<Batch>();
    batch->open = values.size();
    for (const auto& value : values) receive(value, batch);
  }

  void end(bool cancel_all) {
    {
      const std::lock_guard lock(mutex);
      ending = true;
      if (cancel_all) {
        for (auto& [id, call] : open) call->cancelled = true;
      }
    }
    changed.notify_all();
  }

  void join() {
    for (auto& thread : threads) thread.join();
    threads.clear();
  }
};

Session::Session(Server server, Send send, SessionOptions options) : state_(std::make_unique<State>()) {
  state_->server = std::move(server);
  state_->send = std::move(send);
  state_->options = options;
  for (unsigned i = 0; i < options.threads; ++i) state_->threads.emplace_back([state = state_.get()] { state->work(); });
}

Session::~Session() { stop(); }

void Session::receive(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  const auto value = parse(line);
  if (!value) return state_->answer(nullptr, error_message(nullptr, value.error()));
  if (value->is_array()) return state_->receive_batch(*value);
  state_->receive(*value, nullptr);
}

void Session::receive_too_long(std::size_t most_bytes) {
  state_->answer(nullptr, error_message(nullptr, {RpcCode::invalid_request, fmt::format("a message has at most {} bytes", most_bytes)}));
}

void Session::finish(const std::function<bool()>& given_up) {
  constexpr std::chrono::milliseconds look_up{50};
  state_->end(false);
  {
    std::unique_lock lock(state_->mutex);
    while (!state_->open.empty() && !given_up()) state_->changed.wait_for(lock, look_up);
  }
  stop();
}

void Session::stop() {
  state_->end(true);
  state_->join();
}

}  // namespace polygraph::cli::mcp
