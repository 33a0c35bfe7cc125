#include "wasm/diagnosis/agent_run.hpp"

#include <algorithm>

#include "wasm/json/cursor.hpp"

namespace polygraph::diagnosis {
namespace {

using json::Cursor;

std::vector<std::string> ids(Cursor& at) {
  std::vector<std::string> out;
  at.array([&](std::size_t) { out.push_back(at.string()); });
  return out;
}

bool holds_any(const std::vector<std::string>& ids, const std::vector<std::string>& gold) {
  return std::any_of(gold.begin(), gold.end(), [&](const std::string& id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); });
}

/// A step's data, whatever its node: which list is meant is known only once the node was read.
struct Step {
  std::string node;
  std::vector<std::string> retrieved, graded, context;
  bool relevant = false;
};

Step step(Cursor& at) {
  Step out;
  at.object([&](std::string_view key) {
    if (key == "node") {
      out.node = at.string();
    } else if (key == "data") {
      at.object([&](std::string_view field) {
        if (field == "retrieved_ids") {
          out.retrieved = ids(at);
        } else if (field == "graded_ids") {
          out.graded = ids(at);
        } else if (field == "context_ids") {
          out.context = ids(at);
        } else if (field == "relevant") {
          out.relevant = at.boolean();
        } else {
          at.raw();
        }
      });
    } else {
      at.raw();
    }
  });
  return out;
}

}  // namespace

Result<AgentRun> read_agent_run(std::string_view trace_json) {
  AgentRun run;
  Cursor at(trace_json);
  at.object([&](std::string_view key) {
    if (key == "config") {
      at.object([&](std::string_view field) {
        if (field == "max_rewrites") {
          run.max_rewrites = static_cast<std::uint32_t>(at.count(1'000'000));
        } else {
          at.raw();
        }
      });
    } else if (key == "steps") {
      at.array([&](std::size_t) {
        Step one = step(at);
        if (one.node == "retrieve") run.retrievals.push_back(std::move(one.retrieved));
        if (one.node == "grade_context") run.grades.push_back({one.relevant, std::move(one.graded)});
        if (one.node == "rewrite_query") ++run.rewrites;
        if (one.node == "generate") run.context_ids = std::move(one.context);
      });
    } else {
      at.raw();
    }
  });
  if (at.failed()) return tl::unexpected(at.error());
  return run;
}

std::optional<bool> should_refuse(const QueryResult& result) {
  for (const auto& [key, value] : result.others) {
    if (key == "should_refuse" && (value == "true" || value == "false")) return value == "true";
  }
  if (result.refusal_outcome) return *result.refusal_outcome != RefusalOutcome::false_refusal;
  if (result.query_type == "unanswerable") return true;
  if (!result.expected_chunk_ids.empty()) return false;
  for (const std::string_view type : {"answerable", "vague", "factual", "reasoning", "multi-hop"}) {
    if (result.query_type == type) return false;
  }
  return std::nullopt;
}

std::optional<AgentDiagnosis> agent_diagnosis(const QueryResult& result, const AgentRun& run) {
  const auto& gold = result.expected_chunk_ids;
  const bool answerable = should_refuse(result) == false;
  const bool false_refusal = result.refusal_outcome == RefusalOutcome::false_refusal;
  const bool wrong = result.completed() && result.refused != true && result.correct() == false;
  const bool retrieved_gold = std::any_of(run.retrievals.begin(), run.retrievals.end(), [&](const auto& one) { return holds_any(one, gold); });
  if (false_refusal && retrieved_gold) return AgentDiagnosis::grader_false_negative;
  if ((false_refusal || wrong) && answerable && !gold.empty() && !retrieved_gold) return AgentDiagnosis::retrieval_miss;
  if (result.refusal_outcome == RefusalOutcome::missed) return AgentDiagnosis::missed_refusal;
  if (wrong && holds_any(run.context_ids, gold)) return AgentDiagnosis::generation_error;
  const auto passed_without_gold = [&](const AgentRun::Grade& grade) { return grade.passed && !holds_any(grade.graded_ids, gold); };
  if (answerable && !gold.empty() && std::any_of(run.grades.begin(), run.grades.end(), passed_without_gold)) return AgentDiagnosis::grader_false_positive;
  if (answerable && run.max_rewrites > 0 && run.rewrites >= run.max_rewrites) return AgentDiagnosis::rewrite_loop;
  return std::nullopt;
}

void complete_agent(QueryResult& result) {
  if (!result.refusal_outcome_known && result.completed() && result.refused) {
    if (const auto refuse = should_refuse(result)) {
      if (*result.refused) {
        result.refusal_outcome = *refuse ? RefusalOutcome::correct : RefusalOutcome::false_refusal;
      } else if (*refuse) {
        result.refusal_outcome = RefusalOutcome::missed;
      }
    }
    result.refusal_outcome_known = true;
  }
  if (result.agent_diagnosis_known || result.trace.empty()) return;
  result.agent_diagnosis_known = true;
  if (!result.completed()) return;
  if (const auto run = read_agent_run(result.trace)) result.agent_diagnosis = agent_diagnosis(result, *run);
}

}  // namespace polygraph::diagnosis
