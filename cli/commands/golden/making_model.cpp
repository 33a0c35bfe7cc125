#include "cli/commands/golden/making_model.hpp"

#include "proxy/calls/json_reply.hpp"

namespace polygraph::cli {
namespace {

bool of_item_alone(proxy::FailureKind kind) {
  return kind == proxy::FailureKind::too_large || kind == proxy::FailureKind::malformed || kind == proxy::FailureKind::cut || kind == proxy::FailureKind::timed_out;
}

}  // namespace

void add_model_options(CLI::App& command, MakingModelOptions& options, bool labels) {
  command.add_option("--provider", options.provider, "groq, openai, openai-compatible, anthropic, gemini or ollama; without one no model is asked")->type_name("P");
  command.add_option("--model", options.model, labels ? "Its model (default: JUDGE_MODEL)" : "Its model (default: GENERATOR_MODEL)")->type_name("M");
  if (labels) command.add_option("--grader", options.grader, "The grader that will be tested on the set, which must not label it (default: GRADER_MODEL)")->type_name("M");
  command.add_option("--store", options.calls.store, "Limits, cache and ledger in this Redis (default: POLYGRAPH_STORE, else SQLite)")->type_name("URL");
  command.add_flag("!--no-cache", options.calls.use_cache, "Ask anew where an answer is kept");
  command.add_flag("--wait", options.calls.wait, "Wait for the next day where a day's quota is spent");
}

Result<std::unique_ptr<MakingModel>> MakingModel::create(const Settings& settings, const MakingModelOptions& options, const std::string& variable, bool labels) {
  if (options.provider.empty()) {
    if (!options.model.empty()) return fail(ErrorCode::invalid_argument, "needs --provider", "--model");
    return std::unique_ptr<MakingModel>();
  }
  auto provider = provider_of(settings, options.provider);
  if (!provider) return tl::unexpected(provider.error());
  auto made = std::make_unique<MakingModel>();
  made->variable_ = options.model.empty() ? variable : "--model";
  made->model_ = options.model;
  if (options.model.empty()) {
    auto named = model_of(settings, *provider, variable);
    if (!named) return tl::unexpected(named.error());
    made->model_ = std::move(*named);
  }
  if (labels) {
    std::string grader = options.grader;
    if (grader.empty()) grader = model_of(settings, *provider, "GRADER_MODEL", "GENERATOR_MODEL").value_or("");
    if (grader == made->model_) {
      return fail(ErrorCode::invalid_argument, "\"" + grader + "\" is the grader under test, which must not label its own gold; name another model", made->variable_);
    }
  }
  auto caller = make_caller(settings, *provider, options.calls);
  if (!caller) return tl::unexpected(caller.error());
  made->provider_ = std::move(*provider);
  made->caller_ = std::move(*caller);
  return made;
}

MakingModel::Outcome<std::string> MakingModel::ask(const proxy::GoldenPrompt& prompt, const char* role,
                                                   std::function<std::optional<std::string>(std::string_view)> check) {
  proxy::ModelRequest request;
  request.role = role;
  request.model = model_;
  request.system = prompt.system;
  request.user = {prompt.user};
  request.schema = std::string(prompt.schema);
  request.schema_name = prompt.schema_name;
  request.describes_reply = true;
  request.max_tokens = prompt.max_tokens;
  proxy::Ask how;
  how.check = [check = std::move(check)](std::string_view text) { return check(proxy::last_json(text)); };
  auto reply = caller_->ask(std::move(request), std::move(how));
  if (!reply) return tl::unexpected(Failure{to_error(reply.error(), provider_, variable_), of_item_alone(reply.error().kind)});
  return reply->json;
}

MakingModel::Outcome<std::vector<golden::Label>> MakingModel::label(std::string_view question, const std::vector<std::string>& passages) {
  const auto fault = [count = passages.size()](std::string_view json) -> std::optional<std::string> {
    auto labels = golden::parse_labels(json, count);
    return labels ? std::nullopt : std::optional(labels.error().message);
  };
  auto json = ask(proxy::label_prompt(question, passages), "labeller", fault);
  if (!json) return tl::unexpected(json.error());
  auto labels = golden::parse_labels(*json, passages.size());
  if (!labels) return tl::unexpected(Failure{{ErrorCode::provider_failed, labels.error().message}, true});
  return std::move(*labels);
}

MakingModel::Outcome<golden::Drafted> MakingModel::draft(golden::ItemType type, std::string_view title, std::string_view heading, std::string_view passage) {
  const auto fault = [type](std::string_view json) -> std::optional<std::string> {
    auto draft = golden::parse_draft(json, type);
    return draft ? std::nullopt : std::optional(draft.error().message);
  };
  auto json = ask(proxy::draft_prompt(golden::name(type), title, heading, passage), "drafter", fault);
  if (!json) return tl::unexpected(json.error());
  auto draft = golden::parse_draft(*json, type);
  if (!draft) return tl::unexpected(Failure{{ErrorCode::provider_failed, draft.error().message}, true});
  return std::move(*draft);
}

MakingModel::Outcome<golden::Labels> label_pool(MakingModel& model, const index::Index& index, const golden::Item& item, const std::vector<std::string>& pool) {
  std::vector<std::string> ids, passages;
  for (const auto& id : pool) {
    const auto chunk = index.find_chunk(id);
    if (!chunk) continue;
    ids.push_back(id);
    passages.push_back(index.chunk_model_text(*chunk));
  }
  golden::Labels out;
  if (ids.empty()) return out;
  auto labels = model.label(item.question, passages);
  if (!labels) return tl::unexpected(labels.error());
  for (std::size_t i = 0; i < ids.size(); ++i) out[ids[i]] = (*labels)[i].answers;
  return out;
}

}  // namespace polygraph::cli
