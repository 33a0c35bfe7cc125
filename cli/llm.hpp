// The language models of PROVIDER=openai-compatible: any endpoint that speaks OpenAI's chat API, with the user's own key.
#pragma once

#include <memory>
#include <string>

#include "cli/settings.hpp"
#include "proxy/tasks/tasks.hpp"
#include "wasm/agent/effect.hpp"
#include "wasm/error.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::cli {

class Llm {
 public:
  /// Fails with `invalid_argument` and the variable as its field: no key where the endpoint asks for one, no model, a URL
  /// that is none; with `not_found` or `io` for a key's file. `index` must outlive the object.
  static Result<std::unique_ptr<Llm>> create(const Settings& settings, const index::Index& index);
  ~Llm();
  Llm(const Llm&) = delete;
  Llm& operator=(const Llm&) = delete;

  /// Waits for the reply. `quota_spent` says when to go on. A connection or server that failed is asked again, twice; a
  /// key or model that is refused is not.
  agent::EffectResult complete(const agent::CompleteRequest& request);

  const std::string& url() const noexcept;
  const proxy::TaskModels& models() const noexcept;

 private:
  struct State;
  explicit Llm(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace polygraph::cli
