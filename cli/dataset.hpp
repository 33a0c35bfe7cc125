// Golden sets on disk: a file, stdin, or the folder of a test collection.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/golden/golden_set.hpp"

namespace polygraph::cli {

struct Dataset {
  golden::Checked checked;
  std::vector<std::string> unjudged;  ///< queries of a collection without a judgement: they are left out
};

/// Reads JSON Lines, samples or a table from a file or, for "-", from stdin; from a folder BEIR's layout (queries.jsonl,
/// qrels/SPLIT.tsv) or TREC's files (queries.tsv, qrels.txt). `split` empty: test, or the only one there is. `file_of_error` is the file
/// that an error is about. Problems inside the set are no failure.
Result<Dataset> read_dataset(const std::string& path, const std::string& split, std::string& file_of_error);

/// `FILE:12: item "a1": question: is missing or empty`
std::string problem_text(std::string_view file, const golden::Problem& problem);

/// A dataset whose set must be valid: every error is said, on stderr, before the failure. The set's `invalid_json` error is the first.
Result<golden::Set> read_valid_dataset(const std::string& path, const std::string& split, std::string& file_of_error);

/// A set as a file of the form that it was read from; a test collection's becomes items.
std::string text_in_its_form(const golden::Set& set);

}  // namespace polygraph::cli
