// Recording runs of example questions, for `record` and for `export --record`.
#pragma once

#include "cli/commands/commands.hpp"
#include "cli/llm.hpp"

namespace polygraph::cli {

struct RecordOptions {
  std::string provider, examples, index, out, preset = "tuned";
  std::vector<std::string> set;
  bool check = false, json = false;
  bool quiet = false;  ///< nothing on stdout
  CallerChoices calls;
};

/// One recording a file, ID.json in `out`. What it has to say goes to stderr.
ExitCode record_examples(Context& context, const RecordOptions& options);

}  // namespace polygraph::cli
