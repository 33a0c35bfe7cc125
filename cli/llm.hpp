// The language models that complete the agent's tasks at the command line, with the user's own key: whichever endpoint
// PROVIDER names.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/provider.hpp"
#include "cli/settings.hpp"
#include "proxy/tasks/tasks.hpp"
#include "wasm/agent/effect.hpp"
#include "wasm/error.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::cli {

class Llm {
 public:
  /// Fails as provider_of and make_caller do, and for a model that is not named. `index` must outlive the object.
  static Result<std::unique_ptr<Llm>> create(const Settings& settings, const index::Index& index, const CallerChoices& choices = {});
  ~Llm();
  Llm(const Llm&) = delete;
  Llm& operator=(const Llm&) = delete;

  /// Waits for the reply, within the limits and through the cache. `quota_spent` says when to go on. `cancelled` is asked now
  /// and then meanwhile and ends this request alone. Any thread.
  agent::EffectResult complete(const agent::CompleteRequest& request, const std::function<bool()>& cancelled = {});

  const std::string& url() const noexcept;
  const std::string& provider() const noexcept;
  const proxy::TaskModels& models() const noexcept;

 private:
  struct State;
  explicit Llm(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace polygraph::cli
