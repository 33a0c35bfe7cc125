#include "wasm/diagnosis/rules.hpp"

#include "wasm/diagnosis/agent_run.hpp"
#include "wasm/diagnosis/ranking.hpp"

namespace polygraph::diagnosis {
namespace {

std::string quoted_list(const std::vector<std::string>& ids) {
  constexpr std::size_t most = 8;
  std::string out;
  for (std::size_t i = 0; i < ids.size() && i < most; ++i) out += (i == 0 ? "" : ", ") + ids[i];
  if (ids.size() > most) out += ", and " + std::to_string(ids.size() - most) + " more";
  return out;
}

std::string retrieved_ids(const QueryResult& result, std::uint32_t k) {
  std::vector<std::string> ids;
  for (const auto& chunk : result.retrieved_chunks) {
    if (ids.size() == k) break;
    ids.push_back(chunk.id);
  }
  return ids.empty() ? "nothing was retrieved" : "retrieved: " + quoted_list(ids);
}

bool slow(const QueryResult& result, const Rules& rules) {
  return result.latency.retrieval_ms && at_nine(*result.latency.retrieval_ms) > at_nine(rules.slow_retrieval_ms);
}

std::string slowness(const QueryResult& result, const Rules& rules) {
  return "retrieval took " + json::to_text(rounded(*result.latency.retrieval_ms, 3)) + " ms, over " + json::to_text(rules.slow_retrieval_ms) + " ms";
}

/// The first row that holds, with reason, evidence and confidence.
void first_match(Diagnosis& out, const QueryResult& result, std::uint32_t k, const Rules& rules) {
  const auto found = [&](Category category, std::string reason, std::vector<std::string> evidence) {
    out.category = category;
    out.reason = std::move(reason);
    out.evidence = std::move(evidence);
  };
  const auto judged = [&](Category category, std::string reason) {
    std::vector<std::string> evidence;
    if (result.metrics.judge_reason && !result.metrics.judge_reason->empty()) evidence.push_back("judge: " + *result.metrics.judge_reason);
    found(category, std::move(reason), std::move(evidence));
    out.confidence = result.metrics.judge_confidence.value_or(1.0);
  };
  if (!result.completed()) {
    found(Category::unknown, "The query did not complete (" + result.status + ").", {});
    if (result.error && !result.error->empty()) out.evidence.push_back(*result.error);
    return;
  }
  if (result.refusal_outcome == RefusalOutcome::missed) {
    return found(Category::answer_incorrect, "The question has no answer in the corpus and should have been refused.", {"it was answered"});
  }
  if (!result.expected_chunk_ids.empty()) {
    const Ranking ranking = ranking_of(result, k);
    const std::string top = "the top " + std::to_string(k);
    const std::vector<std::string> evidence = {"expected: " + quoted_list(result.expected_chunk_ids), retrieved_ids(result, k)};
    if (ranking.found == 0) return found(Category::wrong_chunk_retrieved, "None of the expected chunks is in " + top + ".", evidence);
    if (ranking.found < ranking.expected) {
      return found(Category::insufficient_context,
                   std::to_string(ranking.found) + " of " + std::to_string(ranking.expected) + " expected chunks are in " + top + ".", evidence);
    }
    if (ranking.first_rank > rules.good_rank) {
      return found(Category::wrong_chunk_rank,
                   "The first expected chunk stands at rank " + std::to_string(ranking.first_rank) + ", after rank " + std::to_string(rules.good_rank) + ".", evidence);
    }
  }
  if (result.refusal_outcome != RefusalOutcome::correct) {
    if (result.grounded() == false) return judged(Category::retrieved_but_not_grounded, "The judge says that the retrieved chunks do not support the answer.");
    if (result.correct() == false) return judged(Category::answer_incorrect, "The judge says that the answer is not correct.");
    if (result.refusal_outcome == RefusalOutcome::false_refusal) {
      return found(Category::answer_incorrect, "The question has an answer in the corpus and was refused.", {"it was refused"});
    }
  }
  if (slow(result, rules)) return found(Category::latency_outlier, "The answer passed, but its retrieval was slow.", {slowness(result, rules)});
  switch (out.judge) {
    case JudgeState::judged: return found(Category::pass, "Retrieval and answer passed; a judge looked at the answer.", {});
    case JudgeState::failed: return found(Category::pass, "Retrieval passed; the judge failed, so nobody looked at the answer.", {"judge: " + *result.judge_error});
    case JudgeState::none: return found(Category::pass, "Retrieval passed; no judge looked at the answer.", {});
  }
}

bool quality_failure(Category category) {
  return category != Category::pass && category != Category::unknown && category != Category::latency_outlier;
}

}  // namespace

Diagnosis diagnose(const QueryResult& result, std::uint32_t k, const Rules& rules) {
  Diagnosis out;
  out.judge = result.judge();
  first_match(out, result, k, rules);
  out.severity = severity(out.category);
  out.action = std::string(action(out.category));
  if (quality_failure(out.category) && slow(result, rules)) {
    out.secondary.push_back(Category::latency_outlier);
    out.evidence.push_back(slowness(result, rules));
  }
  return out;
}

void finish(QueryResult& result, std::uint32_t k, const Rules& rules) {
  complete_metrics(result, k);
  complete_agent(result);
  if (!result.diagnosis) {
    result.diagnosis = diagnose(result, k, rules);
  } else if (!result.diagnosis->secondary_known) {
    result.diagnosis->secondary_known = true;
    if (quality_failure(result.diagnosis->category) && slow(result, rules)) result.diagnosis->secondary.push_back(Category::latency_outlier);
  }
}

}  // namespace polygraph::diagnosis
