// A pipeline that is a command: JSON Lines over its stdin and stdout.
//
// One process for all calls. A thread of its own holds it, so that calls may come from any thread and replies in any order.
// A call that hangs ends the process; so does one whose reply is too large to read; a process that ended is started again by
// the next call. Where several calls were under way, nobody knows whose fault an end was: each of them is asked once more,
// alone, and only the one under which it ends again has failed. Of calls that hang, the one asked first is taken to be the
// one that holds up the others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/pipelines/pipeline.hpp"

namespace polygraph::pipelines {

/// `argv[0]` is a path. `title` is its name until it says another. Waits for its hello; fails as open() does.
Result<std::unique_ptr<Pipeline>> open_command(std::vector<std::string> argv, std::string title, const Options& options);

}  // namespace polygraph::pipelines
