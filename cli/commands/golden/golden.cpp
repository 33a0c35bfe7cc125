#include "cli/commands/golden/subcommands.hpp"

namespace polygraph::cli {

void add_golden(CLI::App& program, Context& context) {
  auto* command = program.add_subcommand("golden", "Make, convert and keep golden sets");
  command->require_subcommand(1);
  command->footer("Example:\n  polygraph golden convert --dataset questions.jsonl --out questions.json");
  for (const auto add : {add_golden_draft, add_golden_pool, add_golden_check, add_golden_review, add_golden_extend, add_golden_convert, add_golden_remap, add_golden_audit}) add(*command, context);
}

}  // namespace polygraph::cli
