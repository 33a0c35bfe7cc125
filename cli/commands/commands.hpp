// The subcommands. Each adds itself to the program and, when chosen, leaves its exit status in the context.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/console.hpp"
#include "cli/settings.hpp"
#include "cli/trace_export.hpp"

namespace polygraph::cli {

struct Context {
  Settings settings;
  ExitCode status = ExitCode::done;
  TraceExport traces = {};
};

void add_ask(CLI::App& program, Context& context);
void add_cache(CLI::App& program, Context& context);
void add_calibrate(CLI::App& program, Context& context);
void add_compare(CLI::App& program, Context& context);
void add_config(CLI::App& program, Context& context);
void add_diagnose(CLI::App& program, Context& context);
void add_export(CLI::App& program, Context& context);
void add_gate(CLI::App& program, Context& context);
void add_gaps(CLI::App& program, Context& context);
void add_golden(CLI::App& program, Context& context);
void add_history(CLI::App& program, Context& context);
void add_index(CLI::App& program, Context& context);
void add_matrix(CLI::App& program, Context& context);
void add_mcp(CLI::App& program, Context& context);
void add_merge(CLI::App& program, Context& context);
void add_metrics(CLI::App& program, Context& context);
void add_models(CLI::App& program, Context& context);
void add_parity(CLI::App& program, Context& context);
void add_record(CLI::App& program, Context& context);
void add_replay(CLI::App& program, Context& context);
void add_report(CLI::App& program, Context& context);
void add_run(CLI::App& program, Context& context);
void add_search(CLI::App& program, Context& context);
void add_serve(CLI::App& program, Context& context);
void add_usage(CLI::App& program, Context& context);
void add_validate(CLI::App& program, Context& context);

}  // namespace polygraph::cli
