#include "proxy/http/log.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

#include "proxy/http/answer.hpp"
#include "proxy/http/clock_text.hpp"

namespace polygraph::http {
namespace {

/// Lines are gathered for this long, so that a busy server makes a few large writes rather than one a request.
constexpr std::chrono::milliseconds gather_for{50};
/// What may wait for a stalled reader before lines are dropped.
constexpr std::size_t max_pending_bytes = 4 * 1024 * 1024;

}  // namespace

Log::Log(int descriptor) : descriptor_(descriptor), writer_([this] { write_until_stopped(); }) {}

Log::~Log() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  writer_.join();
}

void Log::request(const RequestRecord& record) {
  thread_local std::string line;
  line = "{\"ts\":\"";
  append_iso_time(line);
  line += "\",\"level\":\"";
  line += record.status >= 500 ? "error" : "info";
  line += "\",\"event\":\"request\",\"request_id\":";
  append_json_string(line, record.request_id);
  line += ",\"client\":";
  append_json_string(line, record.client);
  line += ",\"method\":";
  append_json_string(line, record.method);
  line += ",\"path\":";
  append_json_string(line, record.path);
  line += ",\"status\":";
  line += std::to_string(record.status);
  line += ",\"ms\":";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, record.ms, std::chars_format::fixed, 3).ptr;
  line.append(digits, end);
  line += ",\"bytes\":";
  line += std::to_string(record.bytes);
  if (record.more != nullptr) {
    const LogFields& more = *record.more;
    if (!more.model.empty()) {
      line += ",\"model\":";
      append_json_string(line, more.model);
    }
    if (more.cached) line += *more.cached ? ",\"cached\":true" : ",\"cached\":false";
    if (more.upstream_status != 0) line += ",\"upstream_status\":" + std::to_string(more.upstream_status);
    if (!more.question.empty()) {
      line += ",\"question\":";
      line += nlohmann::json(more.question).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
  }
  if (!record.error.empty()) {
    line += ",\"error\":";
    append_json_string(line, record.error);
  }
  line += "}\n";
  add(line);
}

void Log::event(std::string_view level, std::string_view event, std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  std::string line = "{\"ts\":\"";
  append_iso_time(line);
  line += "\",\"level\":";
  append_json_string(line, level);
  line += ",\"event\":";
  append_json_string(line, event);
  line += ",\"request_id\":null";
  for (const auto& [name, value] : fields) {
    line += ',';
    append_json_string(line, name);
    line += ':';
    line += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  line += "}\n";
  add(line);
}

void Log::add(std::string_view line) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    if (pending_.size() + line.size() > max_pending_bytes) {
      ++dropped_;
      return;
    }
    was_empty = pending_.empty();
    pending_ += line;
  }
  if (was_empty) wake_.notify_one();
}

void Log::write_until_stopped() {
  std::string writing;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopped_ || !pending_.empty(); });
    if (!stopped_) wake_.wait_for(lock, gather_for, [this] { return stopped_; });
    writing.swap(pending_);
    if (const auto dropped = std::exchange(dropped_, 0); dropped > 0) {
      writing += "{\"ts\":\"";
      append_iso_time(writing);
      writing += "\",\"level\":\"warning\",\"event\":\"log_lines_dropped\",\"request_id\":null,\"lines\":" + std::to_string(dropped) + "}\n";
    }
    if (writing.empty() && stopped_) return;
    lock.unlock();
    for (std::string_view rest = writing; !rest.empty();) {
      const auto written = ::write(descriptor_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;  // nobody reads any more: there is no other place to say so
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    writing.clear();
    lock.lock();
  }
}

}  // namespace polygraph::http
