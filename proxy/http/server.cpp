#include "proxy/http/server.hpp"

#include <csignal>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>

#include "proxy/http/connection.hpp"
#include "proxy/http/router.hpp"
#include "proxy/http/site.hpp"

namespace polygraph::http {
namespace {

using boost::system::error_code;
using net::ip::tcp;
using Acceptor = net::basic_socket_acceptor<tcp, Connection::Strand>;
using Timer = net::basic_waitable_timer<Clock, net::wait_traits<Clock>, Connection::Strand>;

/// Accepting pauses this long when the process is out of descriptors: they come back as connections end.
constexpr Milliseconds accept_pause{100};
/// Clients past MAX_CONNECTIONS that are being told so at the same time; more are closed without a word.
constexpr std::size_t max_refusing = 64;
/// The metrics port is for a scraper and a probe or two, and must answer while the public port is full.
constexpr std::size_t max_metrics_connections = 64;
/// How far above a port in use a free one is looked for.
constexpr unsigned ports_to_try = 100;

constexpr unsigned retry_when_not_ready = 5;

/// What a browser asks before another origin's page may post. Whether that origin may read is said by the connection.
Answer preflight_answer() {
  Answer answer;
  answer.status = 204;
  answer.fields =
      "Access-Control-Allow-Methods: GET, POST\r\nAccess-Control-Allow-Headers: Content-Type\r\nAccess-Control-Max-Age: 600\r\n"
      "Cache-Control: no-store\r\n";
  return answer;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string url_of(const tcp::endpoint& endpoint) {
  const auto address = endpoint.address().to_string();
  const bool v6 = endpoint.address().is_v6();
  return "http://" + (v6 ? '[' + address + ']' : address) + ':' + std::to_string(endpoint.port());
}

Result<tcp::endpoint> resolve(net::io_context& io, const std::string& host, std::uint16_t port) {
  error_code error;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) return fail(ErrorCode::io, "the host " + host + " is no address of this machine: " + error.message(), "host");
  return found.begin()->endpoint();
}

error_code listen(Acceptor& acceptor, const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  // Without it a restart would wait for connections in TIME_WAIT; it does not let two servers share a port.
  if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (!error) acceptor.non_blocking(true, error);
  if (error) {
    error_code ignored;
    acceptor.close(ignored);
  }
  return error;
}

}  // namespace

struct Server::Implementation {
  /// One listening port, its routes, and how many connections it serves.
  struct Port {
    Port(const Connection::Strand& control, std::size_t max) : acceptor(control), pause(control), max_connections(max) {}
    Acceptor acceptor;
    Timer pause;
    tcp::endpoint endpoint;
    Router router;
    std::size_t max_connections;
    std::size_t serving = 0;   // under mutex
    std::size_t refusing = 0;  // under mutex
    bool counted = false;      // in the gauge of connections
  };

  explicit Implementation(ServeOptions given)
      : options(std::move(given)),
        io(static_cast<int>(options.threads)),
        state(options.settings, security_fields(join(options.settings.connect_endpoints), options.inline_sources), options.log_descriptor),
        work(io.get_executor()),
        control(io.get_executor()),
        public_port(control, options.settings.limits.max_connections),
        metrics_port(control, max_metrics_connections),
        shutdown_timer(control) {
    public_port.counted = true;
    not_ready = std::exchange(options.not_ready, nullptr);
    more_metrics = std::exchange(options.more_metrics, nullptr);
  }

  Result<void> open() {
    auto opened = Site::open(options.site);
    if (!opened) return tl::unexpected(opened.error());
    site = std::move(*opened);
    if (auto listening = listen_on(public_port, options.host, options.port, "port"); !listening) return listening;
    if (auto listening = listen_on(metrics_port, "127.0.0.1", options.metrics_port, "metrics-port"); !listening) return listening;
    add_routes();
    if (!std::filesystem::exists(options.site / "index.html")) {
      state.log.event("warning", "site", {{"message", "the site has no index.html, so / is not found"}, {"folder", options.site.string()}});
    }
    accept(public_port);
    accept(metrics_port);
    return {};
  }

  Result<void> listen_on(Port& port, const std::string& host, std::uint16_t number, const std::string& field) {
    const auto found = resolve(io, host, number);
    if (!found) return tl::unexpected(found.error());
    const auto endpoint = *found;
    auto error = listen(port.acceptor, endpoint);
    if (error == net::error::address_in_use) {
      std::string message = "port " + std::to_string(number) + " on " + host + " is in use";
      for (unsigned next = number + 1U; next <= 65535 && next <= number + ports_to_try; ++next) {
        Acceptor probe(control);
        if (listen(probe, tcp::endpoint(endpoint.address(), static_cast<std::uint16_t>(next)))) continue;
        message += "; " + std::to_string(next) + " is free: --" + field + ' ' + std::to_string(next);
        break;
      }
      return fail(ErrorCode::io, message, field);
    }
    if (error) {
      return fail(ErrorCode::io, "can't listen on port " + std::to_string(number) + " of " + host + ": " + error.message(), field);
    }
    port.endpoint = port.acceptor.local_endpoint();
    return {};
  }

  void add_routes() {
    using beast_http::verb;
    for (auto* port : {&public_port, &metrics_port}) {
      port->router.add(Route::healthz, "/healthz", {verb::get}, [](const Request&, Responder respond) {
        respond(json_answer(200, "{\"status\":\"ok\"}\n"));
      });
      port->router.add(Route::readyz, "/readyz", {verb::get}, [this](const Request&, Responder respond) {
        std::optional<std::string> in_the_way;
        if (not_ready) in_the_way = not_ready();
        if (state.stopping) respond(error_answer({503, "shutting_down", "the server is shutting down"}, 1));
        else if (in_the_way) respond(error_answer({503, "busy", *in_the_way}, retry_when_not_ready));
        else respond(json_answer(200, "{\"status\":\"ready\"}\n"));
      });
    }
    metrics_port.router.add(Route::metrics, "/metrics", {verb::get}, [this](const Request&, Responder respond) {
      Answer answer;
      answer.fields = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nCache-Control: no-store\r\n";
      answer.body = state.metrics.text() + (more_metrics ? more_metrics() : std::string());
      respond(std::move(answer));
    });
    // Whatever is no route of the API is not a file either.
    if (!state.allowed_origins.empty()) {
      public_port.router.set_preflight([](const Request&, Responder respond) { respond(preflight_answer()); });
    }
    public_port.router.add(Route::api, "/api/", {}, [](const Request&, Responder respond) {
      respond(error_answer({404, "not_found", "there is no such route"}));
    });
    public_port.router.add(Route::site, "/", {verb::get}, [this](const Request& request, Responder respond) {
      respond(site->answer(request));
    });
    if (const auto add = std::exchange(options.add_routes, nullptr)) add({public_port.router, io.get_executor(), state.log, state.stopping});
  }

  void accept(Port& port) {
    port.acceptor.async_accept(net::make_strand(io.get_executor()), [this, &port](error_code error, Connection::Socket socket) {
      if (state.stopping || error == net::error::operation_aborted) return;
      if (!error) {
        admit(port, std::move(socket));
      } else if (error == net::error::no_descriptors || error == boost::system::errc::too_many_files_open_in_system ||
                 error == net::error::no_buffer_space || error == net::error::no_memory) {
        state.log.event("warning", "accept", {{"message", error.message()}});
        port.pause.expires_after(accept_pause);
        port.pause.async_wait([this, &port](error_code cancelled) {
          if (!cancelled && !state.stopping) accept(port);
        });
        return;
      }
      accept(port);
    });
  }

  void admit(Port& port, Connection::Socket socket) {
    error_code error;
    const auto peer = socket.remote_endpoint(error);
    if (!error) socket.non_blocking(true, error);
    if (!error) socket.set_option(tcp::no_delay(true), error);
    if (error) return;  // it left already

    const std::lock_guard lock(mutex);
    const bool full = port.serving >= port.max_connections;
    if (full && port.refusing >= max_refusing) return;
    auto& count = full ? port.refusing : port.serving;
    ++count;
    if (port.counted) state.metrics.connection_opened();
    const auto number = ++last_connection;
    auto closed = [this, &port, &count, number] {
      const std::lock_guard inner(mutex);
      --count;
      if (port.counted) state.metrics.connection_closed();
      connections.erase(number);
      if (state.stopping && connections.empty()) finish();
    };
    const auto connection =
        std::make_shared<Connection>(state, port.router, std::move(socket), peer.address().to_string(), std::move(closed));
    connections.emplace(number, connection);
    if (full) connection->start_refusing({503, "too_many_connections", "the server has all the connections it can take"});
    else connection->start();
    if (state.stopping) connection->stop();
  }

  void stop() {
    const bool again = state.stopping.exchange(true);
    net::post(control, [this, again] {
      const std::lock_guard lock(mutex);
      error_code ignored;
      public_port.acceptor.close(ignored);
      metrics_port.acceptor.close(ignored);
      public_port.pause.cancel();
      metrics_port.pause.cancel();
      if (connections.empty()) {
        finish();
        return;
      }
      for (const auto& [number, weak] : connections) {
        if (const auto connection = weak.lock()) {
          if (again) connection->cut();
          else connection->stop();
        }
      }
      if (again) return;
      shutdown_timer.expires_after(options.settings.limits.shutdown_timeout);
      shutdown_timer.async_wait([this](error_code cancelled) {
        if (!cancelled) stop();
      });
    });
  }

  /// The last connection is gone: run() returns once nothing else is left to do.
  void finish() {
    net::post(control, [this] {
      work.reset();
      shutdown_timer.cancel();
    });
  }

  ServeOptions options;
  net::io_context io;
  ServerState state;
  std::unique_ptr<Site> site;
  net::executor_work_guard<net::io_context::executor_type> work;
  Connection::Strand control;  // acceptors and timers of the server itself
  Port public_port;
  Port metrics_port;
  Timer shutdown_timer;
  std::mutex mutex;  // connections, and the counts of the ports
  std::unordered_map<std::uint64_t, std::weak_ptr<Connection>> connections;
  std::uint64_t last_connection = 0;
  // Last, so that what the program's own routes hold goes first: it works on the members above.
  std::function<std::optional<std::string>()> not_ready;
  std::function<std::string()> more_metrics;
};

Server::Server(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(ServeOptions options) {
  // sendfile(2) has no MSG_NOSIGNAL: a client that left must be an error code, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  if (options.threads == 0) return fail(ErrorCode::invalid_argument, "the server needs at least one thread", "threads");
  auto implementation = std::make_unique<Implementation>(std::move(options));
  if (auto opened = implementation->open(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<Server>(new Server(std::move(implementation)));
}

Result<void> Server::check(const ServeOptions& options) {
  if (options.threads == 0) return fail(ErrorCode::invalid_argument, "the server needs at least one thread", "threads");
  if (auto site = Site::open(options.site); !site) return tl::unexpected(site.error());
  net::io_context io;
  if (auto endpoint = resolve(io, options.host, options.port); !endpoint) return tl::unexpected(endpoint.error());
  return {};
}

void Server::run() {
  std::vector<std::thread> others;
  for (unsigned i = 1; i < implementation_->options.threads; ++i) others.emplace_back([this] { implementation_->io.run(); });
  implementation_->io.run();
  for (auto& thread : others) thread.join();
}

void Server::stop() { implementation_->stop(); }
std::uint16_t Server::port() const noexcept { return implementation_->public_port.endpoint.port(); }
std::uint16_t Server::metrics_port() const noexcept { return implementation_->metrics_port.endpoint.port(); }
std::string Server::url() const { return url_of(implementation_->public_port.endpoint); }
std::string Server::metrics_url() const { return url_of(implementation_->metrics_port.endpoint); }
std::int64_t Server::connections() const noexcept { return implementation_->state.metrics.connections(); }

}  // namespace polygraph::http
