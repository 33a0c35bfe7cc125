#include "proxy/http/serve.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <thread>
#include <utility>

namespace polygraph::http {
namespace {

/// Takes SIGTERM and SIGINT off every thread that starts later, and waits for them on one of its own. (sigwait: what
/// follows a signal runs on an ordinary thread, free of a handler's restrictions.)
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGUSR1);  // ends the wait when the server stopped by itself
    pthread_sigmask(SIG_BLOCK, &signals_, &previous_);
  }
  ~StopSignals() {
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  void deliver_to(Server& server) {
    waiter_ = std::thread([this, &server] {
      for (int signal = 0; sigwait(&signals_, &signal) == 0 && signal != SIGUSR1;) server.stop();
    });
  }

  /// To be called before the server goes away.
  void end_delivery() {
    pthread_kill(waiter_.native_handle(), SIGUSR1);
    waiter_.join();
  }

 private:
  sigset_t signals_{};
  sigset_t previous_{};
  std::thread waiter_;
};

void set_process_limits() {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

}  // namespace

Result<void> serve(ServeOptions options, std::FILE* out) {
  return serve(std::move(options), [out](const Server& server) {
    std::fprintf(out, "{\"listening\": \"%s\", \"metrics\": \"%s\", \"pid\": %ld}\n", server.url().c_str(), server.metrics_url().c_str(),
                 static_cast<long>(::getpid()));
    std::fflush(out);
  });
}

Result<void> serve(ServeOptions options, const std::function<void(const Server&)>& announce) {
  set_process_limits();
  StopSignals signals;
  auto server = Server::start(std::move(options));
  if (!server) return tl::unexpected(server.error());
  announce(**server);
  signals.deliver_to(**server);
  (*server)->run();
  signals.end_delivery();
  return {};
}

}  // namespace polygraph::http
