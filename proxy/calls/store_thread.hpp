// The store's own thread: its calls block, connections must not. While the store can't be read or written nothing goes
// upstream; it is tried again every second until it answers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "proxy/store/store.hpp"

namespace polygraph::proxy {

class StoreThread {
 public:
  /// Told, on the thread, that the store stopped working and why (once a minute at most while it does not), and that it works again.
  using Note = std::function<void(bool works, std::string_view why)>;

  explicit StoreThread(std::unique_ptr<Store> store, Note note = {});
  /// Runs what was posted, then ends.
  ~StoreThread();
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  /// Runs `job` on the thread, in order. It says whether the store worked.
  void post(std::function<bool(Store&)> job);
  /// Any thread. Whether other servers use the store too.
  bool shared() const noexcept { return store_->shared(); }
  /// Any thread.
  bool sound() const noexcept { return sound_.load(std::memory_order_relaxed); }

 private:
  void run();
  void note(bool worked, const char* what);

  std::unique_ptr<Store> store_;
  Note told_;
  std::atomic<bool> sound_{true};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<bool(Store&)>> jobs_;
  bool stopped_ = false;
  Millis last_logged_ = 0;
  std::thread thread_;
};

/// Milliseconds since 1970, UTC.
Millis wall_clock();

}  // namespace polygraph::proxy
