// The subcommands of `calibrate` that compare a judge with a person.
#pragma once

#include "cli/commands/commands.hpp"

namespace polygraph::cli {

void add_calibrate_label(CLI::App& calibrate, Context& context);
void add_calibrate_report(CLI::App& calibrate, Context& context);

}  // namespace polygraph::cli
