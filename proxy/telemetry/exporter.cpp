#include "proxy/telemetry/exporter.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <openssl/crypto.h>

#include "proxy/telemetry/post.hpp"

namespace polygraph::telemetry {
namespace {

using Clock = std::chrono::steady_clock;

/// What goes into one request: receivers take a few megabytes at most.
constexpr std::size_t max_batch_traces = 32, max_batch_bytes = std::size_t{1} << 20;
/// What may wait, beside the number of traces.
constexpr std::size_t max_queued_bytes = std::size_t{64} << 20;

class Thread final : public Exporter {
 public:
  Thread(Settings settings, std::function<void(const std::string&)> hear) : settings_(std::move(settings)), warn_(std::move(hear)) {
    if (!settings_.fault.empty()) warn(settings_.fault + "; nothing is sent there");
  }

  ~Thread() override {
    {
      std::unique_lock lock(mutex_);
      ending_ = true;
      changed_.notify_all();
      const bool sent = changed_.wait_for(lock, settings_.last_wait, [&] { return open_ == 0; });
      if (!sent) {
        lost_ += open_;
        given_up_ = true;
      }
    }
    if (thread_.joinable()) {
      if (given_up_) cancel_.cancel();
      thread_.join();
    }
    // Said here where nothing was said before: a receiver that stands still has not failed yet.
    if (lost_ > 0) warn(std::to_string(lost_) + (lost_ == 1 ? " trace was" : " traces were") + " not sent before the end");
    for (auto& target : settings_.targets) {
      for (auto& [name, value] : target.fields) OPENSSL_cleanse(value.data(), value.size());
    }
  }

  void add(std::string trace_json) override {
    const std::lock_guard lock(mutex_);
    if (settings_.targets.empty() || ending_) return;
    if (queue_.size() >= settings_.max_queued || queued_bytes_ + trace_json.size() > max_queued_bytes) {
      ++lost_;
      return;
    }
    queued_bytes_ += trace_json.size();
    queue_.push_back(std::move(trace_json));
    ++open_;
    if (!thread_.joinable()) start();
    changed_.notify_all();
  }

 private:
  /// A machine that gives no thread has no exporter.
  void start() {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      lost_ += open_;
      open_ = 0;
      queue_.clear();
      settings_.targets.clear();
    }
  }

  void warn(const std::string& why) {
    if (warned_.exchange(true)) return;
    if (warn_) warn_("traces are not exported: " + why + ". This is said once; the run goes on");
  }

  void work() {
    for (;;) {
      std::vector<std::string> batch;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
        if (queue_.empty() || given_up_) return;
        for (std::size_t bytes = 0; !queue_.empty() && batch.size() < max_batch_traces && (batch.empty() || bytes + queue_.front().size() <= max_batch_bytes);) {
          bytes += queue_.front().size();
          queued_bytes_ -= queue_.front().size();
          batch.push_back(std::move(queue_.front()));
          queue_.pop_front();
        }
      }
      send(batch);
      {
        const std::lock_guard lock(mutex_);
        if (given_up_) return;
        open_ -= batch.size();
      }
      changed_.notify_all();
    }
  }

  void send(const std::vector<std::string>& batch) {
    std::vector<std::string> mapped;
    for (const std::string& trace : batch) {
      auto spans = resource_spans(trace, settings_.map);
      if (spans) mapped.push_back(std::move(*spans));
      else warn("a trace's " + spans.error().field + ' ' + spans.error().message);
    }
    if (mapped.empty()) return;
    const std::string body = export_request(mapped);
    for (const Target& target : settings_.targets) {
      const auto failure = post(target, body, settings_.ca_file, Clock::now() + settings_.time_limit, cancel_);
      if (given_up()) return;
      if (!failure.empty()) warn(target.name + ": " + failure);
    }
  }

  bool given_up() {
    const std::lock_guard lock(mutex_);
    return given_up_;
  }

  Settings settings_;
  std::function<void(const std::string&)> warn_;
  std::atomic<bool> warned_ = false;
  PostCancel cancel_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t open_ = 0;   // queued, or being sent
  std::uint64_t lost_ = 0;
  bool ending_ = false, given_up_ = false;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<Exporter> Exporter::create(Settings settings, std::function<void(const std::string&)> warn) {
  if (settings.targets.empty() && settings.fault.empty()) return nullptr;
  return std::make_shared<Thread>(std::move(settings), std::move(warn));
}

}  // namespace polygraph::telemetry
