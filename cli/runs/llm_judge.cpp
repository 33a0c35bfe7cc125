#include "cli/runs/judging.hpp"

namespace polygraph::cli {

Result<std::unique_ptr<JudgeHost>> llm_judge(const Settings&, const LlmJudge& of, const index::Index*, const Models::Available&) {
  return fail(ErrorCode::invalid_argument, "\"" + of.provider + "\" is no judge; allowed: offline", "--judge");
}

}  // namespace polygraph::cli
