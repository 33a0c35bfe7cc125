// The export of traces as commands use it: made of the settings when the first trace is there, ended with the program.
#pragma once

#include <memory>

#include "cli/settings.hpp"

namespace polygraph::telemetry {
class Exporter;
}

namespace polygraph::cli {

class TraceExport {
 public:
  /// Null where no setting asks for it. What can't be used or sent is one note on stderr.
  const std::shared_ptr<telemetry::Exporter>& of(const Settings& settings);

  /// With `with_words` false, questions, queries, replies and answers stay here. Counts until the first call of of().
  void with_words(bool with_words) noexcept { with_words_ = with_words; }

 private:
  bool read_ = false, with_words_ = true;
  std::shared_ptr<telemetry::Exporter> exporter_;
};

}  // namespace polygraph::cli
