// A language model as judge: the engine's requests, asked through the one caller that every command uses.
#include <fmt/format.h>

#include <fstream>
#include <random>

#include <nlohmann/json.hpp>

#include "cli/provider.hpp"
#include "cli/runs/judging.hpp"
#include "cli/whole_file.hpp"
#include "proxy/tasks/judge_prompts.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::cli {
namespace {

constexpr unsigned most_probable_tokens = 5;

/// What nobody who writes an answer knows, and what stays the same so that kept verdicts are found again: drawn once for this
/// machine.
Result<std::string> salt_of(const Settings& settings) {
  const auto file = settings.home() / "judge-salt";
  if (std::ifstream stream(file); stream) {
    std::string salt;
    stream >> salt;
    if (salt.size() >= 32) return salt;
  }
  std::random_device random;
  std::string salt;
  for (int i = 0; i < 4; ++i) salt += fmt::format("{:08x}", random());
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  if (auto written = write_whole(file, salt + '\n'); !written) return fail(ErrorCode::io, file.string() + ": " + written.error().message, "POLYGRAPH_DIR");
  return salt;
}

class LanguageModel final : public JudgeHost {
 public:
  LanguageModel(std::string model, Provider provider, std::unique_ptr<proxy::Caller> caller, std::string salt, const index::Index* index, models::ModelWorker* worker)
      : model_(std::move(model)), provider_(std::move(provider)), caller_(std::move(caller)), salt_(std::move(salt)), worker_(worker) {
    if (index != nullptr && worker != nullptr && index->vocabulary() != nullptr) tokenizer_.emplace(*index->vocabulary());
    nlohmann::ordered_json prompts = nlohmann::ordered_json::array();
    for (std::size_t task = 0; task < judges::judge_tasks; ++task) prompts.push_back(proxy::judge_prompt_version(static_cast<judges::JudgeTask>(task)));
    identity_ = nlohmann::ordered_json{{"provider", provider_.name}, {"model", model_}, {"temperature", proxy::judge_temperature}, {"prompts", prompts}}.dump();
  }

  const std::string& identity() const noexcept override { return identity_; }

  Result<judges::Judgement> judge(const golden::Item& item, const Answer& answer, std::span<const judges::Metric> metrics) override {
    judges::JudgeInput input = judge_input(item, answer, metrics);
    input.salt = salt_;
    if (!tokenizer_) std::erase(input.metrics, judges::Metric::answer_relevancy);
    auto judge = judges::Judge::create(std::move(input), tokenizer_ ? &*tokenizer_ : nullptr);
    if (!judge) return tl::unexpected(judge.error());
    std::vector<judges::Request> open = judge->start();
    while (!open.empty()) {
      const judges::Request request = std::move(open.back());
      open.pop_back();
      auto result = perform(request);
      if (!result) return tl::unexpected(result.error());
      auto more = judge->resume(request.id, std::move(*result));
      if (!more) return tl::unexpected(more.error());
      for (auto& each : *more) open.push_back(std::move(each));
    }
    return judge->judgement();
  }

 private:
  Result<judges::RequestResult> perform(const judges::Request& request) {
    if (const auto* embed = std::get_if<agent::EmbedRequest>(&request.request)) {
      auto vectors = worker_->embed(std::span(&embed->token_ids, 1));
      if (!vectors) return tl::unexpected(vectors.error());
      return judges::RequestResult(agent::Embedding{std::move(vectors->front())});
    }
    const proxy::JudgePrompt prompt = proxy::judge_prompt(std::get<judges::JudgeCall>(request.request));
    proxy::ModelRequest ask;
    ask.role = "judge";
    ask.model = model_;
    ask.system = prompt.system;
    ask.user = {prompt.user};
    ask.schema = std::string(prompt.schema);
    ask.schema_name = prompt.schema_name;
    ask.describes_reply = true;
    ask.max_tokens = prompt.max_tokens;
    ask.temperature = proxy::judge_temperature;
    ask.top_logprobs = prompt.wants_probabilities ? most_probable_tokens : 0;
    proxy::Ask how;
    how.repair = false;  // the engine asks again by itself, and says what was wrong
    auto reply = caller_->ask(std::move(ask), std::move(how));
    if (!reply) {
      const proxy::ModelFailure& failure = reply.error();
      switch (failure.kind) {
        case proxy::FailureKind::too_large:
        case proxy::FailureKind::malformed:
        case proxy::FailureKind::timed_out: return judges::RequestResult(Error{ErrorCode::provider_failed, failure.message});
        case proxy::FailureKind::cut: {
          judges::JudgeReply cut;
          cut.finish = "length";
          return judges::RequestResult(std::move(cut));
        }
        default: return tl::unexpected(to_error(failure, provider_, "JUDGE_MODEL"));
      }
    }
    judges::JudgeReply out;
    out.text = reply->text;
    out.finish = reply->finish;
    for (const auto& position : reply->probabilities) {
      judges::ReplyToken token;
      token.text = position.token;
      for (const auto& choice : position.top) token.top.emplace_back(choice.token, choice.logprob);
      out.tokens.push_back(std::move(token));
    }
    return judges::RequestResult(std::move(out));
  }

  std::string model_;
  Provider provider_;
  std::unique_ptr<proxy::Caller> caller_;
  std::string salt_, identity_;
  std::optional<text::WordPiece> tokenizer_;
  models::ModelWorker* worker_;
};

}  // namespace

Result<std::unique_ptr<JudgeHost>> llm_judge(const Settings& settings, const LlmJudge& of, const index::Index* index, const Models::Available& models) {
  auto provider = provider_of(settings, of.provider);
  if (!provider) return tl::unexpected(provider.error());
  std::string model = of.model;
  if (model.empty()) {
    auto named = model_of(settings, *provider, "JUDGE_MODEL");
    if (!named) return tl::unexpected(named.error());
    model = std::move(*named);
  }
  auto caller = make_caller(settings, *provider, {.use_cache = !of.no_cache, .wait = of.wait, .concurrency = 1});
  if (!caller) return tl::unexpected(caller.error());
  auto salt = salt_of(settings);
  if (!salt) return tl::unexpected(salt.error());
  return std::make_unique<LanguageModel>(std::move(model), std::move(*provider), std::move(*caller), std::move(*salt), index, models.worker);
}

}  // namespace polygraph::cli
