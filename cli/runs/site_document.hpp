// A matrix as the site carries it: everything that a visitor is shown of it, without the corpus's text. Beside the document
// that report::write_matrix writes (reports, results, pairs, ranking) it holds
//
//   made     {program, program_digest, index_digest, corpus_revision, golden {name, digest, source, subset}, k, begun_at, last_item_at, command}
//   golden   [item]            the items that the runs are over, as they counted, without what only their making needs
//   subsets  [{name, ids}]     items for a shorter run in the browser: stratified ones, and those of the CI gate
//   effects  [{digest, result, model, tokens}]   what models answered, once for each request
//
// and its results have neither passages' text nor the answer, nor a judge's words about it, and in the place of a trace
//
//   run      {id, started_at, status, effects [[place in the document's effects, ms] or [{utc, ms}, ms]]}
//
// From it the engine makes the same run again over the same index, text and all: the page has both.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/runs/tables.hpp"
#include "wasm/error.hpp"

namespace polygraph::cli {

/// Fails with `mismatch` where the runs are no complete runs of this agent over one index and one golden set, and as read_run does.
Result<std::string> site_document(const std::vector<std::filesystem::path>& files, const std::vector<report::EvaluatedRun>& runs);

}  // namespace polygraph::cli
