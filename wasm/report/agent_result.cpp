#include "wasm/report/agent_result.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace polygraph::report {

void take_from_item(diagnosis::QueryResult& result, const golden::Item& item) {
  result.query_id = item.id;
  result.query = item.question;
  result.query_type = item.query_type.empty() ? std::string(golden::name(item.type)) : item.query_type;
  if (!item.reference_answer.empty()) result.expected_answer = item.reference_answer;
  result.expected_chunk_ids = item.relevant_chunk_ids;
  // A query type of its own doesn't say that the corpus holds no answer.
  if (item.should_refuse && result.query_type != golden::name(golden::ItemType::unanswerable)) result.others.emplace_back("should_refuse", "true");
}

diagnosis::QueryResult result_of(const agent::Run& run, std::string trace, const golden::Item& item, std::uint32_t k,
                                 const std::function<std::string(const agent::Retrieved&, std::size_t)>& text_of) {
  diagnosis::QueryResult result;
  take_from_item(result, item);
  double retrieval_ms = 0, other_ms = 0;
  const agent::Retrieved* first = nullptr;
  for (const agent::Step& step : run.steps) {
    (step.node() == agent::Node::retrieve ? retrieval_ms : other_ms) += step.ms;
    if (const auto* retrieved = std::get_if<agent::Retrieved>(&step.data); retrieved != nullptr && first == nullptr) first = retrieved;
  }
  if (first != nullptr) {
    const std::size_t length = std::min(first->candidates.size(), std::max<std::size_t>(k, kept_chunks));
    for (std::size_t i = 0; i < length; ++i) {
      const auto& candidate = first->candidates[i];
      diagnosis::RetrievedChunk chunk;
      chunk.id = first->candidate_ids[i];
      chunk.text = text_of(*first, i);
      chunk.score = candidate.rerank_score ? candidate.rerank_score : candidate.fused_score;
      result.retrieved_chunks.push_back(std::move(chunk));
    }
  }
  if (run.status == agent::Status::failed) {
    result.status = "failed";
    result.error = run.error ? run.error->message : "the run failed without a reason";
  } else {
    result.generated_answer = run.answer;
    result.refused = run.status == agent::Status::refused;
    result.latency.retrieval_ms = retrieval_ms;
    result.latency.generation_ms = other_ms;
  }
  result.trace = std::move(trace);
  diagnosis::complete_metrics(result, k);
  return result;
}

}  // namespace polygraph::report
