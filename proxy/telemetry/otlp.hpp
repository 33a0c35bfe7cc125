// A trace of the agent as OpenTelemetry's spans, in the JSON that OTLP/HTTP takes (OTLP 1.x, "JSON Protobuf Encoding"): field
// names in lowerCamelCase, ids in hex, 64-bit integers and nanoseconds as strings.
//
// One trace per run: a root span, one span per step, and one below it per call of a language model, named as the GenAI
// semantic conventions name them; `langfuse.*` says the same in the words that Langfuse shows it by. Nothing but a document in
// and a document out: the same trace gives the same bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wasm/error.hpp"

namespace polygraph::telemetry {

struct MapOptions {
  std::string service = "polygraph";  ///< service.name
  bool with_words = true;             ///< questions, queries, reasons, replies and answers; otherwise ids, numbers and names alone
};

/// The ResourceSpans of one trace. Ids are digests of the run's id, so that a trace sent twice is one trace. Times are
/// `started_at` and the steps' own milliseconds; where in its step a call began is not in a trace, so calls stand one after the
/// other, within their step. What a cached reply once cost is in `polygraph.cached.*`: it is not spent again, so its usage is 0.
/// Fails with `invalid_json` naming the field.
Result<std::string> resource_spans(std::string_view trace_json, const MapOptions& options = {});

/// The body of a request that exports them.
std::string export_request(std::span<const std::string> resource_spans);

}  // namespace polygraph::telemetry
