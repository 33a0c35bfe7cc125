// Effects and their results as JSON: the boundary of the WebAssembly engine and of hosts in other languages.
//
//   effect   {"id", "kind", "digest"} and
//            embed     "token_ids": […]
//            score     "pairs": [{"ids": […], "split": n}], "budget_ms"
//            complete  "task", "question", "chunk_ids", "failed_query", "reason", "schema" (an object; null: free text),
//                      "repair" (what was wrong with the last reply; null on the first attempt)
//            time      nothing
//   result   {"embedding": "base64"} | {"logits": "base64"} | {"text": "…"} | {"time": {"utc", "ms"}} |
//            {"error": {"code", "message"}}, and where they apply "ms", "model", "tokens": {"in", "out"}, "cost_usd",
//            "cached", "finish"
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "wasm/agent/effect.hpp"
#include "wasm/error.hpp"

namespace polygraph::trace {

nlohmann::ordered_json effect_to_json(const agent::Effect& effect);

/// Fails with `invalid_json` naming the field. Missing "ms" to "finish" take EffectResult's defaults.
Result<agent::EffectResult> effect_result_from_json(std::string_view json);

/// The value alone: {"embedding"} … {"error"}.
nlohmann::ordered_json effect_value_to_json(const agent::EffectResult& result);
/// Reads such a value; `path` is where it stands, for messages.
Result<decltype(agent::EffectResult::value)> effect_value_from_json(const nlohmann::ordered_json& json, const std::string& path);

}  // namespace polygraph::trace
