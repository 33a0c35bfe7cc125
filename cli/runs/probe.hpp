// `diagnose --probe`: measured evidence beside the rules. Where an answer was wrong, generation runs again over the gold chunks
// alone: right then and wrong before, the fault lies in retrieval; wrong twice, in generation. The rule's category stays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/runs/judging.hpp"
#include "cli/runs/subject.hpp"
#include "wasm/diagnosis/evaluation.hpp"
#include "wasm/json/writer.hpp"
#include "wasm/report/layout.hpp"

namespace polygraph::cli {

enum class PointsAt : std::uint8_t { retrieval, generation };
std::string_view name(PointsAt points_at) noexcept;

/// What the probe of one query found; `diagnosis.probe` of its result.
struct QueryProbe {
  std::string query_id;
  bool wrong_before = true;              ///< by the stored verdict; by the judge now where there was none
  std::optional<bool> right_after;       ///< nothing: it was right before, or there is no verdict
  std::string answer, reason;            ///< over the gold chunks; the judge's reason
  bool refused = false;                  ///< it refused over the gold chunks: wrong
  std::string error;                     ///< why there is no verdict
  std::vector<std::string> gold;         ///< ids of the chunks it answered from
  std::optional<PointsAt> points_at() const noexcept;
};

struct ProbeReport {
  std::string subject;                   ///< who generated
  std::string judge;                     ///< JSON object: who judged
  std::vector<QueryProbe> queries;       ///< in the order of the results
  std::vector<std::string> without_text; ///< ids of queries that were not probed: the text of a gold chunk is known nowhere
  std::uint64_t left = 0;                ///< queries that were not reached
  std::optional<Error> stopped;          ///< what ended it early; an interrupt ends it without
  std::uint64_t count(std::optional<PointsAt> points_at) const noexcept;  ///< of those that were wrong before
  std::uint64_t right_before() const noexcept;
};

struct Probe {
  diagnosis::Evaluation evaluation;  ///< the same results, those that were probed with what was found
  ProbeReport report;
};

/// Texts of chunks by id.
using ChunkTexts = std::map<std::string, std::string, std::less<>>;
/// Reads JSON Lines of `{"id" (or "_id"), "text", "title"?}`. Fails with `invalid_json`, line and field.
Result<ChunkTexts> read_chunk_texts(const std::filesystem::path& file);

struct ProbeOptions {
  ChunkTexts texts;                      ///< of gold chunks; before those that the results themselves and `index` hold
  const index::Index* index = nullptr;
  std::uint64_t limit = 0;               ///< probes at most so many; 0: all
};

/// Probes each completed query with gold chunks whose answer was judged wrong or falsely refused, or that no judge saw and that
/// retrieval or grounding failed. `go_on` is asked before each with how many are done, of how many. Fails with
/// `invalid_argument` for a subject that only retrieves; what else ends it stands in the report. The text of `of` must outlive what comes back.
Result<Probe> probe(const diagnosis::Evaluation& of, Subject& subject, JudgeHost& judge, const ProbeOptions& options,
                    const std::function<bool(std::uint64_t done, std::uint64_t total)>& go_on);

/// `{"subject", "judge", "probed", "retrieval", "generation", "undecided", "right_before", "without_text", "left", "complete"}`, as the report of a
/// diagnosis holds it.
std::string to_json(const ProbeReport& report);
/// For a terminal of 80 columns, and as Markdown.
std::string probe_text(const ProbeReport& report, const report::Ink& ink);
std::string probe_markdown(const ProbeReport& report);

}  // namespace polygraph::cli
