// What an assistant is offered of an index: the tools search, ask and read_passage, and the pages as resources.
//
// Passages are text from outside. In a tool's text each of their lines is quoted ("> "), so that none can look like a line
// of ours; titles and ids stand on one line; control characters are replaced.
#pragma once

#include <functional>
#include <string>

#include "cli/host.hpp"
#include "cli/mcp/session.hpp"
#include "wasm/agent/config.hpp"
#include "wasm/agent/run.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::cli::mcp {

struct Documentation {
  const index::Index* index = nullptr;  ///< outlives the session
  agent::Config config;
  SharedModels* models = nullptr;       ///< null: nothing asks for one
  Llm* llm = nullptr;
  std::function<void(const agent::Run&)> on_run = nullptr;  ///< told of every finished run of `ask`; any thread
};

Server server_of(Documentation documentation);

}  // namespace polygraph::cli::mcp
