// The results of one run on disk: JSON Lines, one line an item, written the moment it is finished. A run that was killed goes
// on where it stopped and ends with the bytes of one that was not, times apart.
// Its text: wasm/report/run_text.hpp. Another identity never continues a file; `digest_of` leaves measured values out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/report/run_text.hpp"

namespace polygraph::cli {

using report::read_run;
using report::run_header;
using report::run_schema;
using report::RunHeader;
using report::RunItem;
using report::RunLine;

/// Reads a run's file line by line: `io` or `not_found` for the file, otherwise as report::read_run() does.
Result<RunHeader> read_run(const std::filesystem::path& file, const std::function<Result<void>(const RunLine&)>& use);

/// The digest of everything in a run that was not measured, items in their order.
Result<std::string> digest_of_run(const std::filesystem::path& file);

/// What went wrong in some items of a run.
struct RunFailures {
  std::uint64_t failed = 0, judge_errors = 0;  ///< items; an item whose answer failed, or of whose metrics the judge left one without a verdict
  std::string first;                           ///< the first that failed: its id and why
};

/// A run that is being written. One process at a time: the file is locked.
class RunFile {
 public:
  /// Opens `file` to continue it, or begins it. `fresh` begins anew the run that is there, whatever its identity or state. Fails with
  /// `mismatch` where the file holds a run of another identity, with `invalid_json` where it holds anything else than a run, with `io`
  /// where it can't be written or another process writes it, and as read_run does. Where it fails the file is left as it was.
  static Result<RunFile> open(const std::filesystem::path& file, const RunHeader& header, bool fresh = false);
  RunFile(RunFile&& other) noexcept;
  RunFile& operator=(RunFile&& other) noexcept;
  ~RunFile();

  /// The program that began it.
  const std::string& program() const noexcept { return program_; }
  bool has(const RunItem& item) const { return done_.contains(item); }
  std::uint64_t done() const noexcept { return done_.size(); }
  /// Of the items that were there when it was opened.
  const RunFailures& failures() const noexcept { return failures_; }

  /// Appends one finished item, whole or, with `io`, not at all.
  Result<void> append(const RunItem& item, std::string_view golden, std::string_view result, std::string_view judgement, std::string_view finished_at);
  /// Puts the lines into this order, if they are not: items of a run with several at once finish as they please.
  Result<void> finish(const std::vector<RunItem>& order);

 private:
  RunFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  Result<void> write(std::string_view text);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string program_;
  std::set<RunItem> done_;
  std::vector<RunItem> order_;  ///< of the lines
  RunFailures failures_;
};

/// Joins the parts of a run (`--shard`) into `out`: equal in everything but the shard and what it holds. Fails with `mismatch`
/// naming what differs, and where an item stands in two parts; with `invalid_argument` where `out` is one of the parts. `file` is the file
/// that an error is about, empty where it is about several.
Result<RunHeader> merge_runs(const std::vector<std::filesystem::path>& parts, const std::filesystem::path& out, const std::string& created_at,
                             std::string& file);

}  // namespace polygraph::cli
