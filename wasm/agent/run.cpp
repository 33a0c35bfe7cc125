#include "wasm/agent/run.hpp"

#include <array>
#include <cstddef>

namespace polygraph::agent {
namespace {

constexpr std::array<std::string_view, 5> nodes = {"retrieve", "grade_context", "rewrite_query", "generate", "refuse"};
constexpr std::array<std::string_view, 4> statuses = {"running", "answered", "refused", "failed"};

}  // namespace

std::string_view name(Node node) noexcept { return nodes[static_cast<std::size_t>(node)]; }
std::string_view name(Status status) noexcept { return statuses[static_cast<std::size_t>(status)]; }

Totals totals(const Run& run) {
  Totals sums;
  sums.cost_usd = 0.0;
  sums.steps = static_cast<std::uint32_t>(run.steps.size());
  for (const Step& step : run.steps) {
    if (step.node() == Node::rewrite_query) ++sums.rewrites;
    for (const RecordedEffect& recorded : step.effects) {
      if (recorded.effect.kind() != EffectKind::complete) continue;
      sums.tokens.in += recorded.result.tokens.in;
      sums.tokens.out += recorded.result.tokens.out;
      if (std::holds_alternative<Error>(recorded.result.value) && !recorded.result.cost_usd) continue;  // nothing was charged
      if (sums.cost_usd && recorded.result.cost_usd) {
        sums.cost_usd = *sums.cost_usd + *recorded.result.cost_usd;
      } else {
        sums.cost_usd.reset();
      }
    }
  }
  return sums;
}

}  // namespace polygraph::agent
