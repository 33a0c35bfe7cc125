// The API's routes, and all that stands behind them: /api/complete, /api/ask, /api/status, /api/recordings.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "proxy/http/server.hpp"
#include "proxy/recordings/recordings.hpp"
#include "proxy/service/settings.hpp"
#include "proxy/store/store.hpp"
#include "proxy/upstream/chat_client.hpp"
#include "wasm/agent/agent.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::proxy {

struct ServiceOptions {
  const index::Index* index = nullptr;  ///< outlives the service
  ServiceSettings settings;
  std::unique_ptr<Store> store;
  Upstream upstream;                    ///< an empty key, with an upstream that is not local: nothing goes out
  Recordings recordings;
  /// Embeds and scores for /api/ask: the model worker. Called from the service's own threads. Where it says that a model is
  /// unavailable, the run goes on lexically and its trace says so.
  std::function<agent::EffectResult(const agent::Effect&)> perform;
  /// Gets the trace of every run of /api/ask that ended, on the service's own threads; may be empty.
  std::function<void(const std::string& trace)> on_trace;
};

class Service {
 public:
  /// Fails with `invalid_argument` for an upstream URL that can't be used, with `io` for a question log. To be added to a server by its `add_routes`.
  static Result<std::shared_ptr<Service>> create(ServiceOptions options);
  virtual ~Service() = default;

  virtual void add_routes(const http::Parts& parts) = 0;
  /// Why the routes can't do their work now, for /readyz.
  virtual std::optional<std::string> not_ready() const = 0;
  virtual std::string metrics() const = 0;
};

}  // namespace polygraph::proxy
