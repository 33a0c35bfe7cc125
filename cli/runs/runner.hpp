// Evaluates a subject over the items of a golden set, into a run's file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/runs/judging.hpp"
#include "cli/runs/run_file.hpp"
#include "cli/runs/subject.hpp"
#include "wasm/golden/golden_set.hpp"

namespace polygraph::cli {

/// What a run is over, beside its subject and its judge.
struct RunScope {
  std::string index_digest;        ///< empty for a pipeline
  std::string golden_name, golden_digest, golden_source;
  std::string subset;              ///< how the items were chosen, as a person would say it; empty: all
  std::string shard;               ///< JSON object {number, of}, or empty
  std::uint32_t k = 5, repeats = 1;
  std::uint64_t judge_items = 0;   ///< how many items of the whole set the judge sees; 0: all
};

/// The header of this run: one identity, one run.
RunHeader header_of(const Subject& subject, const JudgeHost* judge, const RunScope& scope, const golden::Set& set, std::string created_at);

/// Of the whole run: what was finished before counts, too.
struct RunProgress {
  std::uint64_t done = 0, total = 0, failed = 0, judge_errors = 0;
  bool interrupted = false;
  std::string first_failure = {};  ///< the item and why it failed
};

/// Answers every item that the file lacks, judges it where its id is in `judged` (null: all), and appends it at once. Ends
/// early where `go_on` says so. Fails on what would go wrong with every further item; what is finished is kept. `on_trace` gets
/// the trace of each item that was answered now, where it has one. Of `scope` K and the number of repeats count.
Result<RunProgress> run_items(RunFile& file, Subject& subject, JudgeHost* judge, const std::set<std::string>* judged, const golden::Set& set,
                              const RunScope& scope, const std::function<bool(const RunProgress&)>& go_on,
                              const std::function<void(const std::string&)>& on_trace = nullptr);

/// 2026-12-01T12:00:00Z
std::string utc_now();

}  // namespace polygraph::cli
