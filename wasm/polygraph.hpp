// The whole engine in one header.
#pragma once

#include "wasm/agent/agent.hpp"          // IWYU pragma: export
#include "wasm/agent/config.hpp"         // IWYU pragma: export
#include "wasm/error.hpp"                // IWYU pragma: export
#include "wasm/golden/golden_set.hpp"    // IWYU pragma: export
#include "wasm/golden/selection.hpp"     // IWYU pragma: export
#include "wasm/index/reader.hpp"         // IWYU pragma: export
#include "wasm/index/writer.hpp"         // IWYU pragma: export
#include "wasm/metrics/agent_metrics.hpp"  // IWYU pragma: export
#include "wasm/judges/calibration.hpp"   // IWYU pragma: export
#include "wasm/judges/judge.hpp"         // IWYU pragma: export
#include "wasm/judges/offline.hpp"       // IWYU pragma: export
#include "wasm/metrics/interval.hpp"     // IWYU pragma: export
#include "wasm/metrics/ranking.hpp"      // IWYU pragma: export
#include "wasm/metrics/statistics.hpp"   // IWYU pragma: export
#include "wasm/metrics/trec.hpp"         // IWYU pragma: export
#include "wasm/retrieval/retrieval.hpp"  // IWYU pragma: export
#include "wasm/retrieval/typeahead.hpp"  // IWYU pragma: export
#include "wasm/trace/trace.hpp"          // IWYU pragma: export
