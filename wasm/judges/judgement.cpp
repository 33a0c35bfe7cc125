#include "wasm/judges/judgement.hpp"

#include <algorithm>

namespace polygraph::judges {

std::string_view name(Metric metric) noexcept {
  constexpr std::array<std::string_view, metric_count> names = {"faithfulness",  "answer_relevancy",   "correctness",
                                                                "groundedness", "citation_precision", "citation_recall"};
  return names[static_cast<std::size_t>(metric)];
}

std::string_view name(State state) noexcept {
  constexpr std::array<std::string_view, 4> names = {"scored", "unscorable", "judge_error", "failed"};
  return names[static_cast<std::size_t>(state)];
}

std::optional<Metric> metric_of(std::string_view text) noexcept {
  for (const Metric metric : all_metrics) {
    if (name(metric) == text) return metric;
  }
  return std::nullopt;
}

ResultFields result_fields(const Judgement& judgement) {
  ResultFields fields;
  for (const Metric metric : {Metric::correctness, Metric::groundedness}) {
    const auto& verdict = judgement.of(metric);
    if (!verdict) continue;
    const auto add = [&](std::optional<std::string>& text) {
      const std::string said = std::string(name(metric)) + ": " + verdict->reason;
      text = text ? *text + "; " + said : said;
    };
    if (verdict->state == State::judge_error) add(fields.judge_error);
    if (verdict->state != State::scored) continue;
    (metric == Metric::correctness ? fields.answer_correct : fields.grounded) = verdict->verdict;
    if (!verdict->reason.empty()) add(fields.judge_reason);
    if (verdict->confidence) fields.judge_confidence = std::min(*verdict->confidence, fields.judge_confidence.value_or(1.0));
  }
  return fields;
}

}  // namespace polygraph::judges
