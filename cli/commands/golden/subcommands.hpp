// What `polygraph golden` can do, one file each.
#pragma once

#include "cli/commands/commands.hpp"

namespace polygraph::cli {

void add_golden_audit(CLI::App& golden, Context& context);
void add_golden_check(CLI::App& golden, Context& context);
void add_golden_convert(CLI::App& golden, Context& context);
void add_golden_draft(CLI::App& golden, Context& context);
void add_golden_extend(CLI::App& golden, Context& context);
void add_golden_pool(CLI::App& golden, Context& context);
void add_golden_remap(CLI::App& golden, Context& context);
void add_golden_review(CLI::App& golden, Context& context);

}  // namespace polygraph::cli
