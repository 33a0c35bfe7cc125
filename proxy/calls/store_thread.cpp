#include "proxy/calls/store_thread.hpp"

#include <chrono>
#include <utility>

namespace polygraph::proxy {
namespace {

constexpr std::chrono::seconds check_every{1};
constexpr Millis log_every = 60'000;

}  // namespace

Millis wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

StoreThread::StoreThread(std::unique_ptr<Store> store, Note note) : store_(std::move(store)), told_(std::move(note)), thread_([this] { run(); }) {}

StoreThread::~StoreThread() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void StoreThread::post(std::function<bool(Store&)> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void StoreThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto ready = [this] { return stopped_ || !jobs_.empty(); };
    if (sound()) {
      wake_.wait(lock, ready);
    } else if (!wake_.wait_for(lock, check_every, ready)) {
      lock.unlock();
      const auto checked = store_->check();
      note(checked.has_value(), checked ? "" : checked.error().message.c_str());
      lock.lock();
      continue;
    }
    if (jobs_.empty()) return;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    const bool worked = job(*store_);
    job = nullptr;  // what it holds may be freed here, outside the lock
    note(worked, "a call failed");
    lock.lock();
  }
}

void StoreThread::note(bool worked, const char* what) {
  const bool before = sound_.exchange(worked, std::memory_order_relaxed);
  if (worked) {
    if (!before && told_) told_(true, {});
    return;
  }
  const Millis now = wall_clock();
  if (last_logged_ != 0 && now - last_logged_ < log_every) return;
  last_logged_ = now;
  if (told_) told_(false, what);
}

}  // namespace polygraph::proxy
