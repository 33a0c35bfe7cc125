// Where traces go, from Langfuse's and OpenTelemetry's own settings:
//
//   LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY   both: Langfuse takes them, at LANGFUSE_HOST (default https://cloud.langfuse.com)
//   OTEL_EXPORTER_OTLP_TRACES_ENDPOINT         a collector's whole URL; or OTEL_EXPORTER_OTLP_ENDPOINT, to which /v1/traces is added
//   OTEL_EXPORTER_OTLP_TRACES_HEADERS          name=value,… percent-encoded; or OTEL_EXPORTER_OTLP_HEADERS
//   OTEL_SERVICE_NAME                          service.name of what is sent (default polygraph)
//   OTEL_SDK_DISABLED=true, OTEL_TRACES_EXPORTER=none   nothing goes to a collector
//
// Without the first or the second nothing is on.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/telemetry/otlp.hpp"
#include "proxy/upstream/endpoint.hpp"
#include "wasm/error.hpp"

namespace polygraph::telemetry {

/// One receiver.
struct Target {
  std::string name;  ///< for messages: who, and its host; holds no key
  proxy::Endpoint endpoint;
  std::vector<std::pair<std::string, std::string>> fields;  ///< of the request's head; they hold keys
};

struct Settings {
  std::vector<Target> targets;  ///< empty: off
  std::string fault;            ///< what could not be used, without any value that may be a key; empty: nothing
  MapOptions map;
  std::string ca_file;          ///< empty: the system's bundle
  std::chrono::milliseconds time_limit{5000};  ///< of one request, from its name's look-up to the end of its answer
  std::chrono::milliseconds last_wait{2000};   ///< for what is still queued when the exporter ends
  std::size_t max_queued = 256;                ///< traces; further ones are left out
};

/// A setting's value, empty where it is not set. A key's may come from a file that can't be read.
using Lookup = std::function<Result<std::string>(const std::string& name)>;

/// Never fails: a setting that can't be used leaves its target out and is named in `fault`, because exporting is never a reason
/// not to do what was asked.
Settings read_settings(const Lookup& lookup);

}  // namespace polygraph::telemetry
