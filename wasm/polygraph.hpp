// All of Polygraph without its hosts, in one header: the engine (index, retrieval, agent, trace) and the evaluation (golden sets, metrics,
// judges, diagnosis, comparison, reports). Nothing in it reads a file, a clock or a socket; link `polygraph_engine`.
#pragma once

#include "wasm/agent/agent.hpp"             // IWYU pragma: export
#include "wasm/agent/config.hpp"            // IWYU pragma: export
#include "wasm/comparison/comparison.hpp"   // IWYU pragma: export
#include "wasm/comparison/matrix.hpp"       // IWYU pragma: export
#include "wasm/diagnosis/document.hpp"      // IWYU pragma: export
#include "wasm/diagnosis/evaluation.hpp"    // IWYU pragma: export
#include "wasm/error.hpp"                   // IWYU pragma: export
#include "wasm/golden/conversion.hpp"       // IWYU pragma: export
#include "wasm/golden/golden_set.hpp"       // IWYU pragma: export
#include "wasm/golden/selection.hpp"        // IWYU pragma: export
#include "wasm/golden/table.hpp"            // IWYU pragma: export
#include "wasm/golden/trec.hpp"             // IWYU pragma: export
#include "wasm/index/reader.hpp"            // IWYU pragma: export
#include "wasm/index/writer.hpp"            // IWYU pragma: export
#include "wasm/json/writer.hpp"             // IWYU pragma: export
#include "wasm/judges/calibration.hpp"      // IWYU pragma: export
#include "wasm/judges/judge.hpp"            // IWYU pragma: export
#include "wasm/judges/offline.hpp"          // IWYU pragma: export
#include "wasm/metrics/agent_metrics.hpp"   // IWYU pragma: export
#include "wasm/metrics/interval.hpp"        // IWYU pragma: export
#include "wasm/metrics/ranking.hpp"         // IWYU pragma: export
#include "wasm/metrics/statistics.hpp"      // IWYU pragma: export
#include "wasm/metrics/trec.hpp"            // IWYU pragma: export
#include "wasm/report/agent_result.hpp"     // IWYU pragma: export
#include "wasm/report/comparison_text.hpp"  // IWYU pragma: export
#include "wasm/report/diagnosis_text.hpp"   // IWYU pragma: export
#include "wasm/report/evaluation.hpp"       // IWYU pragma: export
#include "wasm/report/gate.hpp"             // IWYU pragma: export
#include "wasm/report/paired_tests.hpp"     // IWYU pragma: export
#include "wasm/report/run_text.hpp"         // IWYU pragma: export
#include "wasm/report/table.hpp"            // IWYU pragma: export
#include "wasm/retrieval/retrieval.hpp"     // IWYU pragma: export
#include "wasm/retrieval/typeahead.hpp"     // IWYU pragma: export
#include "wasm/trace/trace.hpp"             // IWYU pragma: export
