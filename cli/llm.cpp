#include "cli/llm.hpp"

#include <optional>
#include <utility>

#include "wasm/agent/agent.hpp"
#include "wasm/agent/reply.hpp"

namespace polygraph::cli {
namespace {

std::string model_variable(agent::Task task) {
  switch (task) {
    case agent::Task::grade: return "GRADER_MODEL";
    case agent::Task::rewrite: return "REWRITER_MODEL";
    case agent::Task::generate: break;
  }
  return "GENERATOR_MODEL";
}

std::size_t max_tokens(agent::Task task) {
  switch (task) {
    case agent::Task::grade: return proxy::default_max_tokens_grade;
    case agent::Task::rewrite: return proxy::default_max_tokens_rewrite;
    case agent::Task::generate: break;
  }
  return proxy::default_max_tokens_generate;
}

/// As the engine will read it: what it can't use must not come out of the cache again.
std::optional<std::string> fault(agent::Task task, std::string_view text) {
  if (task == agent::Task::grade) {
    const auto read = agent::parse_grade(text);
    return read ? std::nullopt : std::optional(read.error().message);
  }
  if (task == agent::Task::rewrite) {
    const auto read = agent::parse_rewrite(text, agent::max_question_bytes);
    return read ? std::nullopt : std::optional(read.error().message);
  }
  return std::nullopt;
}

Result<proxy::TaskModels> models_of(const Settings& settings, const Provider& provider) {
  proxy::TaskModels models;
  struct Named {
    const char* variable;
    std::string proxy::TaskModels::*model;
  };
  for (const auto& [variable, model] : {Named{"GENERATOR_MODEL", &proxy::TaskModels::generator}, Named{"GRADER_MODEL", &proxy::TaskModels::grader},
                                        Named{"REWRITER_MODEL", &proxy::TaskModels::rewriter}}) {
    auto named = model_of(settings, provider, variable, "GENERATOR_MODEL");
    if (!named) return tl::unexpected(named.error());
    models.*model = std::move(*named);
  }
  return models;
}

}  // namespace

struct Llm::State {
  const index::Index* index = nullptr;
  Provider provider;
  proxy::TaskModels models;
  std::unique_ptr<proxy::Caller> caller;
};

Llm::Llm(std::unique_ptr<State> state) : state_(std::move(state)) {}
Llm::~Llm() = default;

Result<std::unique_ptr<Llm>> Llm::create(const Settings& settings, const index::Index& index, const CallerChoices& choices) {
  auto provider = provider_of(settings, settings.get("PROVIDER").value);
  if (!provider) return tl::unexpected(provider.error());
  auto models = models_of(settings, *provider);
  if (!models) return tl::unexpected(models.error());
  auto caller = make_caller(settings, *provider, choices);
  if (!caller) return tl::unexpected(caller.error());
  auto state = std::make_unique<State>();
  state->index = &index;
  state->provider = std::move(*provider);
  state->models = std::move(*models);
  state->caller = std::move(*caller);
  return std::unique_ptr<Llm>(new Llm(std::move(state)));
}

const std::string& Llm::url() const noexcept { return state_->provider.upstream.url; }
const std::string& Llm::provider() const noexcept { return state_->provider.name; }
const proxy::TaskModels& Llm::models() const noexcept { return state_->models; }

agent::EffectResult Llm::complete(const agent::CompleteRequest& request, const std::function<bool()>& cancelled) {
  agent::EffectResult result;
  auto text = proxy::task_request(request, *state_->index, state_->models.of(request.task), max_tokens(request.task), false);
  if (!text) {
    result.value = text.error();
    return result;
  }
  proxy::Ask how;
  how.repair = false;  // the engine asks again itself, as an effect of its own
  how.cancelled = cancelled;
  how.check = [task = request.task](std::string_view reply) { return fault(task, reply); };
  auto reply = state_->caller->ask(std::move(text->request), std::move(how));
  if (!reply) {
    Error error = to_error(reply.error(), state_->provider, model_variable(request.task));
    if (reply.error().kind == proxy::FailureKind::too_large) {
      error.field = "TOP_K";
      error.message += "; a smaller TOP_K helps";
    }
    result.value = std::move(error);
    return result;
  }
  result.model = reply->model;
  result.finish = reply->finish;
  result.ms = reply->ms;
  result.cached = reply->cached;
  result.tokens = {reply->tokens.in, reply->tokens.out};
  result.cost_usd = reply->cost_usd;
  result.value = agent::Completion{std::move(reply->text)};
  return result;
}

}  // namespace polygraph::cli
