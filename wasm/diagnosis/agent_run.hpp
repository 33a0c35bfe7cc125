// Which of an agent's decisions was wrong, from the steps of its trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/diagnosis/query_result.hpp"

namespace polygraph::diagnosis {

/// What a diagnosis needs of a run.
struct AgentRun {
  struct Grade {
    bool passed = false;
    std::vector<std::string> graded_ids;
  };
  std::vector<std::vector<std::string>> retrievals;  ///< ids, of each retrieval
  std::vector<Grade> grades;
  std::vector<std::string> context_ids;              ///< of the last generation
  std::uint32_t rewrites = 0, max_rewrites = 0;
};

/// Fails with `invalid_json` naming the field.
Result<AgentRun> read_agent_run(std::string_view trace_json);

/// Whether the question should be refused; nothing where the result does not say.
std::optional<bool> should_refuse(const QueryResult& result);

/// The first of the six that holds. `refusal_outcome` must be complete.
std::optional<AgentDiagnosis> agent_diagnosis(const QueryResult& result, const AgentRun& run);

/// Fills `refusal_outcome` and `agent_diagnosis` of an agent's result where it does not say them itself. A trace that can't be
/// read counts as none.
void complete_agent(QueryResult& result);

}  // namespace polygraph::diagnosis
