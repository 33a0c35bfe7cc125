// The HTTP server: one public listener for the site and the routes, one on loopback for metrics, and every connection.
//
//     auto server = Server::start(options);   // listening from here on
//     std::thread stopper([&] { (*server)->stop(); });
//     (*server)->run();                        // until it has stopped
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "proxy/http/settings.hpp"
#include "wasm/error.hpp"

namespace polygraph::http {

class Log;
class Router;

/// What routes of the program's own may use; all of it lives as long as the server.
struct Parts {
  Router& router;
  boost::asio::any_io_executor executor;  ///< runs on the server's threads
  Log& log;
  const std::atomic<bool>& stopping;
};

struct ServeOptions {
  std::filesystem::path site;
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;         ///< 0 takes a free one
  std::uint16_t metrics_port = 0;    ///< always on 127.0.0.1
  Settings settings = {};
  unsigned threads = 1;              ///< that run connections, handlers included
  int log_descriptor = 2;            ///< stderr; stays the caller's
  std::string inline_sources = {};   ///< 'sha256-…' of what stands in the site's pages themselves; for its security policy
  /// Adds routes of the program's own, before the first connection. What these three functions hold dies before the
  /// server's own parts do: whoever stands behind the routes is to be held by them alone.
  std::function<void(const Parts&)> add_routes = nullptr;
  /// Whether the routes can do their work: what is in the way is said by /readyz, with 503.
  std::function<std::optional<std::string>()> not_ready = nullptr;
  /// More of /metrics, in Prometheus' text format.
  std::function<std::string()> more_metrics = nullptr;
};

class Server {
 public:
  /// Fails with `io`, and as the field what is at fault: `site`, `host`, `port` or `metrics-port`. A port in use is
  /// named together with the next free one. Sets SIGPIPE to be ignored for the process.
  static Result<std::unique_ptr<Server>> start(ServeOptions options);
  /// Whether start() would get as far as taking its ports, without taking any: fails as it would.
  static Result<void> check(const ServeOptions& options);
  ~Server();

  /// Serves on `threads` threads, the caller's among them, until stop() has been called and every answer has ended.
  void run();
  /// Takes nothing new, lets running answers end, closes idle connections; past SHUTDOWN_TIMEOUT_MS cuts the rest.
  /// Called again, it cuts at once. Any thread, any time.
  void stop();

  std::uint16_t port() const noexcept;
  std::uint16_t metrics_port() const noexcept;
  std::string url() const;
  std::string metrics_url() const;
  std::int64_t connections() const noexcept;

 private:
  struct Implementation;
  explicit Server(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace polygraph::http
