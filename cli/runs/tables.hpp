// Runs from their files, evaluated and shown.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/mapped_file.hpp"
#include "wasm/report/evaluation.hpp"
#include "wasm/report/layout.hpp"

namespace polygraph::cli {

/// A run and the file that its results are views of.
struct LoadedRun {
  MappedFile file;
  report::EvaluatedRun run;
  std::string identity;  ///< JSON object: what was run over what (run_file.hpp)
};
/// Errors as read_run's; what a line holds and can't be read is `invalid_json` with its line.
Result<std::unique_ptr<LoadedRun>> load_run(const std::filesystem::path& file);

/// The runs that are meant when none is named: those of the latest matrix. Fails with `not_found`, saying what to do.
Result<std::vector<std::filesystem::path>> latest_runs(const Settings& settings);

/// The colours of a stream, for what wasm/report lays out.
report::Ink ink(int file_descriptor);

struct ShowOptions {
  bool json = false, all = false;  ///< all: every metric at every cut-off
  std::string md = {}, html = {}, readme = {}, site = {};  ///< files to write; empty: none
};
/// Prints the table of the runs (with --json the evaluations), and writes what is wanted.
ExitCode show_runs(Context& context, const std::vector<std::filesystem::path>& files, const ShowOptions& options);

}  // namespace polygraph::cli
