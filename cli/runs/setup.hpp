// What `run` and `matrix` need before the first question: index, models, golden items, subjects, judge.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/index_store.hpp"
#include "cli/runs/judging.hpp"
#include "cli/runs/run_file.hpp"
#include "cli/runs/runner.hpp"
#include "cli/runs/subject.hpp"

namespace polygraph::cli {

struct RunOptions {
  std::vector<std::string> configs, pipelines, set;
  std::string index, dataset, golden_source, review, ids, subset, shard, judge, judge_model, out, refusal_pattern, python = "python3", node = "node";
  std::uint64_t limit = 0, judge_items = 0;
  std::uint32_t k = diagnosis::default_k, repeats = 1;
  unsigned concurrency = 1, warm_up = 0;
  double call_limit_s = 60;
  bool no_cache = false, wait = false, fresh = false, json = false, skip_unknown = false;
};

/// The options of whatever asks a pipeline or a judge: index, judge, settings, how a pipeline is called.
std::vector<CLI::Option*> add_asking_options(CLI::App& command, RunOptions& options);
/// The options that say which items of which golden set.
void add_item_options(CLI::App& command, RunOptions& options);
/// Those and the others that `run`, `matrix` and `compare` share.
void add_run_options(CLI::App& command, RunOptions& options);

/// The golden set beside this one's index: assets/golden/docker-doc.jsonl.
std::filesystem::path default_dataset(const Settings& settings);

/// Where runs are kept: `runs` in POLYGRAPH_DIR where that is set, otherwise in `.polygraph` of the working folder.
std::filesystem::path runs_folder(const Settings& settings);

/// The golden items that a run is over.
struct Items {
  golden::Set set;
  RunScope scope;
  std::string dataset;   ///< the file
  std::set<std::string> judged;  ///< ids that the judge sees (`--judge-items`); empty: all
};
/// Reads, selects (`--golden-source`, `--ids`, `--subset`, `--limit`, `--shard`) and checks them against `index` (null: a pipeline's ids
/// are its own). `file` is the file that an error is about. Says on stderr what was left out.
Result<Items> read_items(const Settings& settings, const RunOptions& options, const index::Index* index, std::string& file);

/// Everything that is opened once for all subjects.
struct Bench {
  std::unique_ptr<OpenIndex> opened;      ///< null where only pipelines run
  std::unique_ptr<Models> models;
  Models::Available available;
  std::unique_ptr<Llm> llm;
  std::unique_ptr<JudgeHost> judge;
  Items items;
};
Result<std::unique_ptr<Bench>> set_up(Context& context, const RunOptions& options, std::string& file);
/// The same without a golden set, where its results are stored already.
Result<std::unique_ptr<Bench>> set_up_without_items(Context& context, const RunOptions& options, std::string& file);

/// The subjects in the order of the options: configurations, then pipelines.
struct SubjectOf {
  bool pipeline = false;
  std::string name;
};
std::vector<SubjectOf> subjects_of(const RunOptions& options);
Result<std::unique_ptr<Subject>> open_subject(Context& context, const RunOptions& options, const SubjectOf& of, Bench& bench);

/// Runs one subject to its end. `file` empty: a name from the run's identity in runs_folder(). The last line on stderr counts.
struct RunDone {
  ExitCode status = ExitCode::done;
  std::filesystem::path file;
  RunProgress progress;
  std::string digest;  ///< of the run's identity
};
RunDone run_subject(Context& context, const RunOptions& options, Subject& subject, Bench& bench, std::filesystem::path file);

}  // namespace polygraph::cli
