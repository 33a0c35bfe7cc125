#include "cli/trace_export.hpp"

#include <utility>

#include "cli/console.hpp"
#include "cli/secret.hpp"
#include "proxy/telemetry/exporter.hpp"

namespace polygraph::cli {

const std::shared_ptr<telemetry::Exporter>& TraceExport::of(const Settings& settings) {
  if (std::exchange(read_, true)) return exporter_;
  auto read = telemetry::read_settings([&](const std::string& name) -> Result<std::string> {
    auto found = secret(settings, name);  // every one of them may stand in a file of its own
    if (!found) return tl::unexpected(found.error());
    return std::move(found->value);
  });
  read.map.with_words = with_words_;
  exporter_ = telemetry::Exporter::create(std::move(read), [](const std::string& why) { say("note: " + printable(why)); });
  return exporter_;
}

}  // namespace polygraph::cli
