// A run as text, JSON Lines, one line an item:
//
//   {"kind":"run","schema":1,"digest":…,"identity":{…},"items":82,"created_at":…,"program":…}
//   {"bytes":[…],"item":"a1","golden":{…},"result":{…},"judgement":…,"repeat":1,"finished_at":…,"check":"xxh128:…"}
//
// `identity` is everything that decides what the items say: configuration or pipeline, index, golden set, judge. Two runs of
// the same identity are the same run. `check` is the digest of the line before it, so a line that was half written or edited
// is found. Measured values (latency, a trace's times) stand in fields of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>

#include "wasm/error.hpp"
#include "wasm/report/evaluation.hpp"

namespace polygraph::report {

inline constexpr int run_schema = 1;

/// An item of a run: which, and which of its repeats, from 1.
struct RunItem {
  std::string id;
  std::uint32_t repeat = 1;
  bool operator==(const RunItem&) const = default;
  bool operator<(const RunItem& other) const noexcept { return std::tie(id, repeat) < std::tie(other.id, other.repeat); }
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

/// How every run begins, byte for byte.
inline constexpr std::string_view run_beginning = "{\"kind\":\"run\"";
/// Whether a text begins as a run does.
bool is_run(std::string_view text) noexcept;

/// The first line, with its end.
std::string header_line(const RunHeader& header);
/// A further line, with its end; golden item, result and judgement (empty: none) are JSON on one line. Lengths stand in front, so that a
/// line is read without parsing what it holds.
std::string line_text(const RunItem& item, std::string_view golden, std::string_view result, std::string_view judgement, std::string_view finished_at);

/// What a run's text says of itself.
struct RunExtent {
  RunHeader header;
  std::size_t header_end = 0, end = 0;  ///< bytes of the header line; of all whole lines
};

/// Reads a run line by line; `use` gets the line as it stands, with its end, and what it says. Fails with `invalid_json` (no run, no
/// header), `unsupported_version`, and `corrupt` with the line where a line's check does not hold. A last line without its end is left
/// out: whoever wrote it was killed.
Result<RunExtent> for_each_line(std::string_view text, const std::function<Result<void>(std::string_view, const RunLine&)>& use);

/// The same without the line's text. `passed` is told now and then up to where the bytes won't be looked at again by this call.
Result<RunHeader> read_run(std::string_view text, const std::function<Result<void>(const RunLine&)>& use, const std::function<void(std::size_t)>& passed = {});

/// Everything that a run says, evaluated; `text` must outlive the result. Fails as read_run does; what a line holds and can't be read is
/// `invalid_json` with its line. `passed` as there.
Result<EvaluatedRun> evaluate_run(std::string_view text, const std::function<void(std::size_t)>& passed = {});

}  // namespace polygraph::report
