// The files of `calibrate label` and `calibrate report`: judged results in, a person's labels in and out.
//
// Labels are JSON Lines. The first line is {kind: "judge_labels", schema: 1, metric, seed, ids}: what is to be labelled, in
// this order. Each further line is one label: {id, label: true, false or null (can't tell), answer_digest, reviewer,
// labelled_at}. The last line of an id counts. Lines are only appended; a last line that was cut by a crash is dropped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/judges/judgement.hpp"
#include "wasm/judges/request.hpp"

namespace polygraph::cli {

/// An answer with what the judge said about one metric of it.
struct JudgedItem {
  std::string id, question, answer, reference;
  std::vector<judges::Passage> passages;
  bool verdict = false;
  double score = 0;   ///< 0 to 1: the band it is drawn from
  std::string judge;  ///< `llm`, `offline`; empty where the result does not say
};

struct JudgedResults {
  std::vector<JudgedItem> items;
  std::uint64_t without_verdict = 0;  ///< refused, failed, not judged, or a judge error
};

/// Reads query results (an array, JSON Lines, or an object with `results`): `judgement` where there is one, else
/// `metrics.answer_correct` or `metrics.grounded`. `metric` is correctness or groundedness. Fails with `invalid_json`
/// naming line or entry and field.
Result<JudgedResults> read_judged(std::string_view text, judges::Metric metric);

struct Label {
  std::optional<bool> label;  ///< nothing: the person can't tell
  std::string answer_digest;
};

struct Labels {
  judges::Metric metric = judges::Metric::correctness;
  std::uint64_t seed = 1;
  std::vector<std::string> ids;
  std::map<std::string, Label> labels;  ///< by id, the last one
  std::size_t sound_bytes = 0;          ///< how much of the file is whole lines
  bool needs_line_end = false;          ///< the last line is whole, but without its end
};

Result<Labels> read_labels(std::string_view text);
/// With the line end.
std::string labels_header(const Labels& labels);
std::string label_line(std::string_view id, const Label& label, std::string_view reviewer, std::string_view labelled_at);

/// Of question and answer: a label holds for the answer that was read.
std::string answer_digest(const JudgedItem& item);

}  // namespace polygraph::cli
