// The results of one run on disk: JSON Lines, one line an item, written the moment it is finished. A run that was killed goes
// on where it stopped and ends with the bytes of one that was not, times apart.
//
//   {"kind":"run","schema":1,"digest":…,"identity":{…},"items":82,"created_at":…,"program":…}
//   {"bytes":[…],"item":"a1","golden":{…},"result":{…},"judgement":…,"repeat":1,"finished_at":…,"check":"xxh128:…"}
//
// `identity` is everything that decides what the items say: configuration or pipeline, index, golden set, judge. Two runs of
// the same identity are the same run; another identity never continues a file. `check` is the digest of the line before it,
// so a line that was half written or edited is found. Measured values (latency, a trace's times) stand in fields of their
// own, and `digest_of` leaves them out.
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

namespace polygraph::cli {

inline constexpr int run_schema = 1;

/// An item of a run: which, and which of its repeats, from 1.
struct RunItem {
  std::string id;
  std::uint32_t repeat = 1;
  auto operator<=>(const RunItem&) const = default;
};

struct RunHeader {
  std::string identity;      ///< JSON object
  std::string digest;        ///< of `identity`, keys sorted
  std::uint64_t items = 0;   ///< that the run has when it is complete, each repeat counted
  std::string created_at;    ///< ISO 8601, UTC
  std::string program = {};  ///< digest of the program that began it; no part of the identity: other machines have other builds
};

/// The header of a run with this identity (a JSON object).
RunHeader run_header(std::string identity, std::uint64_t items, std::string created_at);

/// One line of a run; the views are into the line.
struct RunLine {
  RunItem item;
  std::string_view golden;     ///< JSON object: the golden item, so that a report needs nothing but the run
  std::string_view result;     ///< JSON object: a query result
  std::string_view judgement;  ///< JSON object, or `null`
};

/// Reads a run line by line. Fails with `io` or `not_found` for the file, with `invalid_json` (no run, no header), with
/// `unsupported_version`, and with `corrupt` and the line where a line's check does not hold. A last line without its end is
/// left out: whoever wrote it was killed.
Result<RunHeader> read_run(const std::filesystem::path& file, const std::function<Result<void>(const RunLine&)>& use);

/// The same over the bytes of a run. `passed` is told now and then up to where they won't be looked at again by this call.
Result<RunHeader> read_run(std::string_view text, const std::function<Result<void>(const RunLine&)>& use, const std::function<void(std::size_t)>& passed = {});

/// The digest of everything in a run that was not measured, items in their order.
Result<std::string> digest_of_run(const std::filesystem::path& file);

/// A run that is being written. One process at a time: the file is locked.
class RunFile {
 public:
  /// Opens `file` to continue it, or begins it. `fresh` begins anew what is there. Fails with `mismatch` where the file holds a
  /// run of another identity, with `io` where it can't be written or another process writes it, and as read_run does.
  static Result<RunFile> open(const std::filesystem::path& file, const RunHeader& header, bool fresh = false);
  RunFile(RunFile&& other) noexcept;
  RunFile& operator=(RunFile&& other) noexcept;
  ~RunFile();

  /// The program that began it.
  const std::string& program() const noexcept { return program_; }
  bool has(const RunItem& item) const { return done_.contains(item); }
  std::uint64_t done() const noexcept { return done_.size(); }

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
};

/// Joins the parts of a run (`--shard`) into `out`: equal in everything but the shard and what it holds. Fails with `mismatch`
/// naming what differs, and where an item stands in two parts.
Result<RunHeader> merge_runs(const std::vector<std::filesystem::path>& parts, const std::filesystem::path& out, const std::string& created_at);

}  // namespace polygraph::cli
