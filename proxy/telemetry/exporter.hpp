// Hands finished traces to the receivers that the settings name, beside the work itself: a run is never delayed by it, and never
// fails for it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "proxy/telemetry/settings.hpp"

namespace polygraph::telemetry {

class Exporter {
 public:
  /// `warn` is called at most once, with one line that holds no key, on any thread: for a setting that can't be used, or for the
  /// first trace that a receiver did not get. Null where no setting asks for an exporter; then nothing was started, looked up or
  /// sent.
  static std::shared_ptr<Exporter> create(Settings settings, std::function<void(const std::string&)> warn);

  /// Waits for what is queued, for `last_wait` at most; what is not sent by then is given up.
  virtual ~Exporter() = default;

  /// Takes the trace (its JSON) and returns; where too much waits already, it is left out. From any thread.
  virtual void add(std::string trace_json) = 0;
};

}  // namespace polygraph::telemetry
