#include "cli/runs/subject.hpp"

#include <algorithm>
#include <optional>
#include <regex>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/mapped_file.hpp"
#include "cli/pipelines/ask_all.hpp"
#include "wasm/agent/agent.hpp"
#include "wasm/agent/citations.hpp"
#include "wasm/agent/extractive/answerer.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/report/agent_result.hpp"
#include "wasm/text/digest.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::take_from_item;

class Agents final : public Subject {
 public:
  Agents(AgentSubject of, const index::Index& index, const Models::Available& models) : of_(std::move(of)), index_(index), models_(models) {
    Json config = Json::object();
    for (const std::string_view option : agent::option_names()) config[std::string(option)] = agent::get(of_.config, option).value_or("");
    Json names = {{"embedder", index.metadata().embedder.sha256}, {"reranker", index.metadata().reranker.sha256}};
    if (models.llm != nullptr) {
      const auto& llm = models.llm->models();
      names["generator"] = llm.generator;
      names["grader"] = llm.grader;
      names["rewriter"] = llm.rewriter;
    }
    identity_ = Json{{"kind", "agent"}, {"name", of_.preset}, {"config", config}, {"models", names}, {"version", POLYGRAPH_VERSION}}.dump();
  }

  const std::string& name() const noexcept override { return of_.preset; }
  bool known_whole() const noexcept override { return true; }
  const std::string& identity() const noexcept override { return identity_; }

  Result<void> answer(std::span<const golden::Item* const> items, const Use& use) override {
    for (std::size_t place = 0; place < items.size(); ++place) {
      auto answered = answer(*items[place]);
      if (!answered) return tl::unexpected(answered.error());
      if (!use(place, std::move(*answered))) return {};
    }
    return {};
  }

  Result<Answer> answer_over(const golden::Item& item, std::span<const judges::Passage> chunks) override {
    std::vector<index::ChunkNo> context;
    for (const auto& chunk : chunks) {
      const auto known = index_.find_chunk(chunk.id);
      if (!known) return fail(ErrorCode::mismatch, "the index has no chunk " + chunk.id + ", which the agent is to answer from", "--index");
      context.push_back(*known);
    }
    Answer out;
    take_from_item(out.result, item);
    out.context.assign(chunks.begin(), chunks.end());
    auto generated = of_.config.provider == agent::Provider::extractive ? quote(item.question, context) : complete(item.question, chunks);
    if (!generated && (generated.error().code == ErrorCode::quota_spent || generated.error().code == ErrorCode::model_unavailable)) {
      return tl::unexpected(std::move(generated.error()));
    }
    if (!generated) {
      out.status = judges::AnswerStatus::failed;
      out.result.status = "failed";
      out.result.error = "generate: " + generated.error().message;
      return out;
    }
    const bool refused = generated->citations.empty();
    out.status = refused ? judges::AnswerStatus::refused : judges::AnswerStatus::answered;
    out.result.refused = refused;
    out.result.generated_answer = std::move(generated->text);
    for (const agent::Citation& citation : generated->citations) out.citations.push_back({citation.chunk_id, citation.begin, citation.end});
    return out;
  }

 private:
  /// What the agent's generate node makes of a context: an answer with its citations; none where it declines.
  struct Written {
    std::string text;
    std::vector<agent::Citation> citations;
  };

  agent::EffectResult ask(decltype(agent::Effect::request) request) const {
    agent::Effect effect;
    effect.request = std::move(request);
    return perform(effect, models_);
  }

  Result<Written> quote(const std::string& question, const std::vector<index::ChunkNo>& context) const {
    const agent::extractive::Answerer answerer(index_, question, context);
    agent::Logits logits;
    if (of_.config.retrieval.use_reranker) {
      agent::ScoreRequest request;
      for (text::Encoding& pair : answerer.pairs(of_.config.retrieval.max_pair_tokens)) request.pairs.push_back(agent::token_pair(std::move(pair)));
      if (!request.pairs.empty()) {
        agent::EffectResult scored = ask(std::move(request));
        if (const auto* error = std::get_if<Error>(&scored.value)) return tl::unexpected(*error);
        logits = std::get<agent::Logits>(std::move(scored.value));
      }
    }
    agent::extractive::Answer answer = answerer.answer(logits.values, false);
    return Written{std::move(answer.text), std::move(answer.citations)};
  }

  Result<Written> complete(const std::string& question, std::span<const judges::Passage> chunks) const {
    agent::CompleteRequest request;
    request.task = agent::Task::generate;
    request.question = question;
    for (const auto& chunk : chunks) request.chunk_ids.push_back(chunk.id);
    const std::vector<std::string> context = request.chunk_ids;
    const agent::EffectResult reply = ask(std::move(request));
    if (const auto* error = std::get_if<Error>(&reply.value)) return tl::unexpected(*error);
    if (reply.finish == "length") return fail(ErrorCode::provider_failed, "the reply was cut by the token limit after " + std::to_string(reply.tokens.out) + " tokens");
    const std::string& draft = std::get<agent::Completion>(reply.value).text;
    agent::CheckedAnswer checked = agent::check_citations(index_, draft, context);
    if (agent::declines(draft)) checked.citations.clear();
    return Written{std::move(checked.text), std::move(checked.citations)};
  }

  Result<Answer> answer(const golden::Item& item) const {
    auto agent = agent::Agent::create(index_, item.question, of_.config);
    if (!agent) return tl::unexpected(agent.error());
    if (auto done = perform(*agent, models_); !done) return tl::unexpected(done.error());
    const agent::Run& run = agent->run();
    if (run.error && (run.error->code == ErrorCode::quota_spent || run.error->code == ErrorCode::model_unavailable)) return tl::unexpected(*run.error);
    // The agent goes on without a model that failed; figures of such a run would be another configuration's.
    for (const agent::Step& step : run.steps) {
      for (const auto& [effect, effect_result] : step.effects) {
        const auto* error = std::get_if<Error>(&effect_result.value);
        const bool of_model = effect.kind() == agent::EffectKind::embed || effect.kind() == agent::EffectKind::score;
        if (error != nullptr && of_model) return fail(ErrorCode::model_unavailable, error->message, "models");
      }
    }
    return of_run(run, item);
  }

  Answer of_run(const agent::Run& run, const golden::Item& item) const {
    Answer out;
    out.result = report::result_of(run, trace::to_json(run), item, of_.k, [&](const agent::Retrieved& retrieved, std::size_t place) {
      return std::string(index_.chunk(retrieved.candidates[place].chunk).text);
    });
    switch (run.status) {
      case agent::Status::failed: out.status = judges::AnswerStatus::failed; break;
      case agent::Status::refused: out.status = judges::AnswerStatus::refused; break;
      default: out.status = judges::AnswerStatus::answered;
    }
    std::vector<std::string> context;  // of the last generation
    for (const agent::Step& step : run.steps) {
      if (const auto* generated = std::get_if<agent::Generated>(&step.data)) context = generated->context_ids;
    }
    for (const std::string& id : context) {
      if (const auto chunk = index_.find_chunk(id)) out.context.push_back({id, std::string(index_.chunk(*chunk).text)});
    }
    for (const agent::Citation& citation : run.citations) out.citations.push_back({citation.chunk_id, citation.begin, citation.end});
    return out;
  }

  AgentSubject of_;
  const index::Index& index_;
  const Models::Available& models_;
  std::string identity_;
};

class Pipelines final : public Subject {
 public:
  Pipelines(PipelineSubject of, std::unique_ptr<pipelines::Pipeline> pipeline, std::optional<std::regex> refusal)
      : of_(std::move(of)), pipeline_(std::move(pipeline)), refusal_(std::move(refusal)) {
    const auto file = MappedFile::open(of_.pipeline);
    const auto bytes = file ? std::string_view(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()) : std::string_view();
    identity_ = Json{{"kind", "pipeline"}, {"name", pipeline_->name()}, {"pipeline", of_.pipeline}, {"file_digest", file ? Json(text::digest(bytes)) : Json()},
                     {"refusal_pattern", of_.refusal_pattern}}.dump();
  }

  const std::string& name() const noexcept override { return pipeline_->name(); }
  bool known_whole() const noexcept override { return false; }
  const std::string& identity() const noexcept override { return identity_; }

  Result<void> answer(std::span<const golden::Item* const> items, const Use& use) override {
    std::vector<std::string> questions;
    for (const golden::Item* item : items) questions.push_back(item->question);
    const pipelines::AskOptions ask{of_.k, of_.concurrency, of_.warm_up};
    pipelines::ask_all(*pipeline_, questions, ask, [&](std::size_t place, pipelines::Asked asked) { return use(place, of_asked(asked, *items[place])); });
    return {};
  }

  Result<Answer> answer_over(const golden::Item& item, std::span<const judges::Passage> chunks) override {
    if (!pipeline_->generates()) return fail(ErrorCode::invalid_argument, "the pipeline " + name() + " only retrieves: there is no generation to ask", "--pipeline");
    std::vector<pipelines::Chunk> given;
    for (const auto& chunk : chunks) given.push_back({chunk.id, chunk.text, std::nullopt, ""});
    Answer out;
    take_from_item(out.result, item);
    out.context.assign(chunks.begin(), chunks.end());
    const auto generated = pipeline_->generate(item.question, given);
    if (generated) {
      take_generated(out, *generated);
    } else {
      fail_with(out, generated.error(), "generate");
    }
    return out;
  }

 private:
  Answer of_asked(const pipelines::Asked& asked, const golden::Item& item) const {
    Answer out;
    auto& result = out.result;
    take_from_item(result, item);
    Json log = Json::object();
    const auto failed = [&](const pipelines::Failed& why, std::string_view call) {
      fail_with(out, why, call);
      note(log, why.log);
    };
    if (!asked.retrieval) {
      failed(asked.retrieval.error(), "retrieve");
    } else {
      for (const auto& chunk : asked.retrieval->chunks) {
        result.retrieved_chunks.push_back({chunk.id, chunk.text, chunk.score, chunk.metadata, {}});
        out.context.push_back({chunk.id, chunk.text});
      }
      result.latency.retrieval_ms = asked.retrieval->ms;
      note(log, asked.retrieval->log);
    }
    if (asked.generation && !*asked.generation) failed(asked.generation->error(), "generate");
    if (asked.generation && *asked.generation) {
      take_generated(out, **asked.generation);
      note(log, (**asked.generation).log);
    }
    if (!log.empty()) result.others.emplace_back("log", log.dump(-1, ' ', false, Json::error_handler_t::replace));
    diagnosis::complete_metrics(result, of_.k);
    return out;
  }

  void take_generated(Answer& out, const pipelines::Generated& generated) const {
    auto& result = out.result;
    result.generated_answer = generated.answer;
    result.latency.generation_ms = generated.ms;
    result.refused = generated.refused;
    if (!result.refused && refusal_) result.refused = std::regex_search(generated.answer, *refusal_);
    if (result.refused.value_or(false)) out.status = judges::AnswerStatus::refused;
    for (const std::string& id : generated.citations.value_or(std::vector<std::string>())) out.citations.push_back({id, 0, 0});
    if (generated.usage) {
      Json usage = Json::object();
      if (generated.usage->tokens_in) usage["tokens_in"] = *generated.usage->tokens_in;
      if (generated.usage->tokens_out) usage["tokens_out"] = *generated.usage->tokens_out;
      if (generated.usage->cost_usd) usage["cost_usd"] = *generated.usage->cost_usd;
      result.others.emplace_back("usage", usage.dump());
    }
  }

  static void fail_with(Answer& out, const pipelines::Failed& why, std::string_view call) {
    out.status = judges::AnswerStatus::failed;
    out.result.status = "failed";
    out.result.error = std::string(call) + ": " + why.type + ": " + why.message;
    if (!why.file.empty()) *out.result.error += " (" + why.file + ':' + std::to_string(why.line) + ')';
  }

  static void note(Json& log, const pipelines::Log& of) {
    if (!of.errors.empty()) log["stderr"] = log.value("stderr", std::string()) + of.errors;
    if (of.stray_lines > 0) {
      log["stray_stdout"] = of.stray;
      log["stray_lines"] = of.stray_lines;
    }
  }

  PipelineSubject of_;
  std::unique_ptr<pipelines::Pipeline> pipeline_;
  std::optional<std::regex> refusal_;
  std::string identity_;
};

}  // namespace

Result<std::unique_ptr<Subject>> agent_subject(AgentSubject of, const index::Index& index, const Models::Available& models) {
  const bool needs_models = of.config.retrieval.mode != retrieval::Mode::bm25 || of.config.retrieval.use_reranker;
  if (needs_models && models.worker == nullptr) {
    return fail(ErrorCode::model_unavailable, "the configuration " + of.preset + " needs the models, and figures without them would be another's: " + models.why_missing);
  }
  return std::make_unique<Agents>(std::move(of), index, models);
}

Result<std::unique_ptr<Subject>> pipeline_subject(PipelineSubject of, pipelines::Options options) {
  std::optional<std::regex> refusal;
  if (!of.refusal_pattern.empty()) {
    try {
      refusal.emplace(of.refusal_pattern, std::regex::ECMAScript | std::regex::icase);
    } catch (const std::regex_error& error) {
      return fail(ErrorCode::invalid_argument, "\"" + of.refusal_pattern + "\" is no regular expression: " + error.what(), "--refusal-pattern");
    }
  }
  options.concurrency = of.concurrency;
  auto pipeline = pipelines::open(of.pipeline, options);
  if (!pipeline) return tl::unexpected(pipeline.error());
  return std::make_unique<Pipelines>(std::move(of), std::move(*pipeline), std::move(refusal));
}

}  // namespace polygraph::cli
