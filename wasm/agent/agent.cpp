// The loop of agent.hpp. A step opens a batch of effects (its time, and its first request where it has one); when the
// whole batch is answered the step goes on, opens another batch, or ends and the next step begins. Nothing depends on the
// order in which a batch is answered, and every number of the record comes from the results: so a run replays.
#include "wasm/agent/agent.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "wasm/agent/citations.hpp"
#include "wasm/agent/extractive/answerer.hpp"
#include "wasm/agent/extractive/grader.hpp"
#include "wasm/agent/extractive/rewriter.hpp"
#include "wasm/agent/refusal.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/text/digest.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::agent {
namespace {

constexpr std::string_view finish_aborted = "aborted";
constexpr std::string_view finish_length = "length";
constexpr std::string_view extractive_name = "extractive";

std::string identity(const index::ModelIdentity& model) { return model.name + '\n' + model.sha256; }

std::string_view provider_name(Provider provider) {
  switch (provider) {
    case Provider::extractive: return extractive_name;
    case Provider::proxy: return "proxy";
    case Provider::openai_compatible: break;
  }
  return "openai-compatible";
}

void append_part(std::string& bytes, std::string_view part) {
  bytes += std::to_string(part.size());
  bytes += ':';
  bytes += part;
}

void append_config(std::string& bytes, const Config& config) {
  for (const std::string_view option : option_names()) append_part(bytes, get(config, option).value_or(std::string()));
  append_part(bytes, std::to_string(config.retrieval.list_length));
}

/// Two runs of one question under one configuration differ by when they began.
std::string run_id(const Run& run) {
  std::string bytes;
  append_part(bytes, run.question);
  append_config(bytes, run.config);
  append_part(bytes, run.index_digest);
  append_part(bytes, run.embedder_missing);
  append_part(bytes, run.reranker_missing);
  for (const Earlier& earlier : run.earlier) {
    append_part(bytes, earlier.run_id);
    append_part(bytes, std::to_string(earlier.until_step));
    append_config(bytes, earlier.config);
    append_part(bytes, earlier.embedder_missing);
    append_part(bytes, earlier.reranker_missing);
  }
  append_part(bytes, run.started_at);
  constexpr std::size_t prefix = 7;  // "xxh128:"
  return "run-" + text::digest(bytes).substr(prefix, 16);
}

bool degrades(const Effect& effect, const EffectResult& result) {
  const auto* error = std::get_if<Error>(&result.value);
  const bool model = effect.kind() == EffectKind::embed || effect.kind() == EffectKind::score;
  return error != nullptr && model && error->code == ErrorCode::model_unavailable && result.finish != finish_aborted;
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

struct Agent::State {
  struct Open {
    Effect effect;
    std::optional<EffectResult> result;
  };
  enum class Phase : std::uint8_t { created, opening, scoring, repairing, closing, finished };

  const index::Index* index = nullptr;
  Run run;
  std::string embedder, reranker;  ///< identities, for digests

  Phase phase = Phase::created;
  Status outcome = Status::running;
  std::vector<Open> open;
  EffectId next_id = 1;

  std::string query;
  std::vector<std::string> queries;  ///< all that were searched, in order
  std::optional<retrieval::Retrieval> retrieval;
  std::vector<index::ChunkNo> handed_on;
  std::vector<retrieval::Retrieval::Logit> known_logits;  ///< of the question, by the retrievals so far
  std::uint32_t logits_tokens = 0;                        ///< the length their pairs were cut at
  std::vector<index::ChunkNo> context;  ///< what generate may use
  std::optional<extractive::Answerer> answerer;
  std::optional<extractive::GraderFeatures> best_features;  ///< of all grades so far
  std::vector<Closest> closest;
  std::string grader_reason;
  std::string refusal_reason;
  bool unsure = false;

  std::optional<double> clock_zero;
  double charged_ms = 0;  ///< original latency of cached effects, in finished steps

  Step& step() { return run.steps.back(); }

  /// What the step being run, or about to be, is configured with.
  const Config& config_at(std::uint32_t n) const {
    for (const Earlier& earlier : run.earlier) {
      if (n < earlier.until_step) return earlier.config;
    }
    return run.config;
  }
  const Config& config() const { return config_at(run.steps.back().n); }
  const Config& next_config() const { return config_at(static_cast<std::uint32_t>(run.steps.size() + 1)); }
  const std::string& missing(std::string Run::*now, std::string Earlier::*before) const {
    for (const Earlier& earlier : run.earlier) {
      if (run.steps.back().n < earlier.until_step) return earlier.*before;
    }
    return run.*now;
  }

  void ask(decltype(Effect::request) request) {
    Effect effect;
    effect.id = next_id++;
    const DigestContext about{embedder, reranker, run.index_digest, provider_name(config().provider)};
    effect.digest = request_digest(request, about);
    effect.request = std::move(request);
    open.push_back({std::move(effect), std::nullopt});
  }

  // --- beginning a step -------------------------------------------------------------------------------------------

  template <class Data>
  void begin() {
    Step& added = run.steps.emplace_back();
    added.n = static_cast<std::uint32_t>(run.steps.size());
    added.data = Data{};
    phase = Phase::opening;
    ask(TimeRequest{});
  }

  bool extractive_provider() const { return config().provider == Provider::extractive; }

  void begin_retrieve() {
    begin<Retrieved>();
    // The extractive rewriter adds words to find other passages by; what they must answer is still the question. A model
    // that rewrites says the question better, so its passages are held against its own words.
    retrieval.emplace(*index, query, config().retrieval, extractive_provider() ? run.question : query);
    queries.push_back(query);
    std::get<Retrieved>(step().data).query = query;
    if (retrieval->wanted_embedding() != nullptr) {
      const std::string& why = missing(&Run::embedder_missing, &Earlier::embedder_missing);
      if (why.empty()) {
        ask(EmbedRequest{retrieval->wanted_embedding()->ids});
        return;
      }
      retrieval->skip_embedding(why);
    }
    ask_for_scores();
  }

  /// True if scores were asked for.
  bool ask_for_scores() {
    // Only the extractive provider's rewrites leave the cross-encoder's question as it is.
    const std::uint32_t tokens = config().retrieval.max_pair_tokens;
    if (!extractive_provider() || std::exchange(logits_tokens, tokens) != tokens) known_logits.clear();
    retrieval->reuse(known_logits);
    const auto wanted = retrieval->wanted_pairs();
    if (wanted.empty()) return false;
    const std::string& why = missing(&Run::reranker_missing, &Earlier::reranker_missing);
    if (!why.empty()) {
      retrieval->skip_rerank(why);
      return false;
    }
    ScoreRequest request;
    request.budget_ms = config().retrieval.rerank_budget_ms;
    for (const index::ChunkNo chunk : wanted) request.pairs.push_back(token_pair(retrieval->pair(chunk)));
    ask(std::move(request));
    return true;
  }

  CompleteRequest grade_request() const {
    CompleteRequest request;
    request.task = Task::grade;
    request.question = run.question;
    for (const index::ChunkNo chunk : handed_on) request.chunk_ids.push_back(index->chunk_id(chunk));
    request.schema = grade_schema;
    return request;
  }
  CompleteRequest rewrite_request() const {
    CompleteRequest request;
    request.task = Task::rewrite;
    request.question = run.question;
    request.failed_query = query;
    request.reason = grader_reason;
    request.schema = rewrite_schema;
    return request;
  }

  void begin_grade() {
    begin<Graded>();
    if (!extractive_provider() && !handed_on.empty()) ask(grade_request());
  }

  void begin_rewrite() {
    begin<Rewritten>();
    if (!extractive_provider()) ask(rewrite_request());
  }

  void begin_generate(std::vector<index::ChunkNo> from) {
    begin<Generated>();
    context = std::move(from);
    if (extractive_provider()) return ask_which_quotes();
    if (context.empty()) return;
    CompleteRequest request;
    request.task = Task::generate;
    request.question = run.question;
    for (const index::ChunkNo chunk : context) request.chunk_ids.push_back(index->chunk_id(chunk));
    ask(std::move(request));
  }

  /// The cross-encoder's view of the sentences that may be quoted, where there is a cross-encoder.
  void ask_which_quotes() {
    answerer.emplace(*index, run.question, context);
    const retrieval::Config& stages = config().retrieval;
    if (!stages.use_reranker || !missing(&Run::reranker_missing, &Earlier::reranker_missing).empty()) return;
    ScoreRequest request;
    request.budget_ms = stages.rerank_budget_ms;
    for (text::Encoding& pair : answerer->pairs(stages.max_pair_tokens)) request.pairs.push_back(token_pair(std::move(pair)));
    if (!request.pairs.empty()) ask(std::move(request));
  }

  void begin_refuse(std::string reason) {
    begin<Refused>();
    refusal_reason = std::move(reason);
  }

  // --- ending -----------------------------------------------------------------------------------------------------

  void close(Status status) {
    outcome = status;
    phase = Phase::closing;
    ask(TimeRequest{});
  }

  void fail_run(Error error) {
    run.error = std::move(error);
    close(Status::failed);
  }

  void finish_now() {
    run.status = outcome;
    phase = Phase::finished;
    open.clear();
    if (run.id.empty()) run.id = run_id(run);
  }

  // --- time -------------------------------------------------------------------------------------------------------

  double elapsed(const Time& time) {
    if (!clock_zero) {
      clock_zero = time.ms;
      run.started_at = time.utc;
      run.id = run_id(run);
    }
    // A clock that runs backwards must not give negative durations.
    return std::max(0.0, time.ms - *clock_zero) + charged_ms;
  }

  /// What a step's cached results cost when they were first computed: a cache makes an answer fast, not the pipeline.
  static double cached_ms(const Step& of) {
    double sum = 0;
    for (const RecordedEffect& recorded : of.effects) {
      if (recorded.result.cached) sum += recorded.result.ms;
    }
    return sum;
  }

  void step_began(const Time& time) {
    double before = 0;
    if (run.steps.size() > 1) {
      Step& previous = run.steps[run.steps.size() - 2];
      charged_ms += cached_ms(previous);
      before = previous.started_ms;
      step().started_ms = std::max(before, elapsed(time));
      previous.ms = step().started_ms - before;
    } else {
      step().started_ms = elapsed(time);
    }
    run.total_ms = step().started_ms;
  }

  void run_ended(const Time& time) {
    charged_ms += cached_ms(step());
    run.total_ms = std::max(step().started_ms, elapsed(time));
    step().ms = run.total_ms - step().started_ms;
  }

  // --- going on ---------------------------------------------------------------------------------------------------

  /// The whole batch is answered.
  void advance() {
    const std::size_t first = step().effects.size();
    for (Open& entry : open) step().effects.push_back({std::move(entry.effect), std::move(*entry.result)});
    open.clear();
    const auto batch_end = step().effects.size();

    std::optional<Error> fatal;
    bool at_once = false;
    for (std::size_t i = first; i < batch_end; ++i) {
      const RecordedEffect& recorded = step().effects[i];
      const auto* error = std::get_if<Error>(&recorded.result.value);
      if (error == nullptr) {
        if (const auto* time = std::get_if<Time>(&recorded.result.value)) phase == Phase::closing ? run_ended(*time) : step_began(*time);
        continue;
      }
      if (degrades(recorded.effect, recorded.result)) continue;
      if (!fatal) fatal = *error;
      at_once = at_once || recorded.result.finish == finish_aborted || recorded.effect.kind() == EffectKind::time;
    }
    if (fatal) {
      // Without a clock, or a host, there is nobody to ask for the time of the end.
      if (at_once || phase == Phase::closing) {
        run.error = std::move(fatal);
        outcome = Status::failed;
        run.answer.clear();
        run.citations.clear();
        finish_now();
      } else {
        fail_run(std::move(*fatal));
      }
      return;
    }
    if (phase == Phase::closing) {
      finish_now();
      return;
    }
    switch (step().node()) {
      case Node::retrieve: return go_on_retrieving(first);
      case Node::grade_context: return go_on_grading();
      case Node::rewrite_query: return go_on_rewriting();
      case Node::generate: return go_on_generating();
      case Node::refuse: return go_on_refusing();
    }
  }

  static void note_model(std::string& model, const EffectResult& result, std::string_view otherwise) {
    model = result.model.empty() ? std::string(otherwise) : result.model;
  }

  void go_on_retrieving(std::size_t first) {
    for (std::size_t i = first; i < step().effects.size(); ++i) {
      const EffectResult& result = step().effects[i].result;
      const EffectKind kind = step().effects[i].effect.kind();
      if (const auto* error = std::get_if<Error>(&result.value)) {
        kind == EffectKind::embed ? retrieval->skip_embedding(error->message) : retrieval->skip_rerank(error->message);
      } else if (const auto* embedding = std::get_if<Embedding>(&result.value)) {
        if (const auto taken = retrieval->set_embedding(embedding->vector); !taken) return fail_run(taken.error());
        note_model(run.embedder, result, index->metadata().embedder.name);
      } else if (const auto* scored = std::get_if<Logits>(&result.value)) {
        const auto wanted = retrieval->wanted_pairs();
        for (std::size_t place = 0; place < std::min(wanted.size(), scored->values.size()); ++place) known_logits.push_back({wanted[place], scored->values[place]});
        if (const auto taken = retrieval->set_logits(scored->values); !taken) return fail_run(taken.error());
        note_model(run.reranker, result, index->metadata().reranker.name);
      }
    }
    if (phase == Phase::opening && ask_for_scores()) {
      phase = Phase::scoring;
      return;
    }
    Retrieved& data = std::get<Retrieved>(step().data);
    data.candidates = retrieval->ranked();
    for (const retrieval::Candidate& candidate : data.candidates) data.candidate_ids.push_back(index->chunk_id(candidate.chunk));
    handed_on = retrieval->handed_on(config().top_k);
    for (const index::ChunkNo chunk : handed_on) data.retrieved_ids.push_back(index->chunk_id(chunk));
    note_stages(retrieval->stages());
    if (queries.size() == 1) closest = closest_pages(*index, data.candidates);
    if (next_config().use_reflection) {
      begin_grade();
    } else {
      begin_generate(handed_on);
    }
  }

  /// One degraded retrieval makes the run a degraded one.
  void note_stages(const retrieval::Stages& now) {
    if (queries.size() == 1) {
      run.stages = now;
      return;
    }
    // A stage that ran ("used", or "used: 6 of 10 …") gives way to a reason, and "used" to how far a later one came.
    const auto note = [](std::string& stage, const std::string& later) {
      constexpr std::string_view used = "used";
      if (stage == used || (stage.starts_with(used) && !later.starts_with(used))) stage = later;
    };
    note(run.stages.lexical, now.lexical);
    note(run.stages.dense, now.dense);
    note(run.stages.rerank, now.rerank);
  }

  const RecordedEffect* last_completion() {
    const RecordedEffect& last = step().effects.back();
    return last.effect.kind() == EffectKind::complete ? &last : nullptr;
  }

  /// A reply that could not be read: asked again once, then the run fails.
  void repair(CompleteRequest request, const RecordedEffect& reply, const Error& wrong) {
    const bool cut = reply.result.finish == finish_length;
    const std::string limit = "the reply was cut by the token limit after " + std::to_string(reply.result.tokens.out) + " tokens";
    if (phase == Phase::opening) {
      request.repair = cut ? limit : wrong.message;
      ask(std::move(request));
      phase = Phase::repairing;
      return;
    }
    const std::string who(name(request.task));
    if (cut) return fail_run({ErrorCode::provider_failed, who + ": " + limit + ", also after one repair attempt", wrong.field});
    fail_run({ErrorCode::invalid_json, who + ": " + wrong.message + ", also after one repair attempt", wrong.field});
  }

  void go_on_grading() {
    Graded graded;
    if (extractive_provider()) {
      extractive::GraderFeatures features = extractive::grader_features(*index, *retrieval, run.question);
      if (best_features) features = extractive::best_so_far(std::move(features), *best_features);
      best_features = features;
      graded = extractive::grade(*index, *retrieval, handed_on, run.question, features);
      run.grader = extractive::grader_name();
    } else if (const RecordedEffect* reply = last_completion(); reply == nullptr) {
      graded.reason = "Nothing was found for this query.";
    } else {
      auto verdict = parse_grade(std::get<Completion>(reply->result.value).text);
      if (!verdict) return repair(grade_request(), *reply, verdict.error());
      note_model(run.grader, reply->result, provider_name(config().provider));
      for (const index::ChunkNo chunk : handed_on) graded.graded_ids.push_back(index->chunk_id(chunk));
      const auto add_once = [](std::vector<std::string>& ids, std::string& id) {
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(std::move(id));
      };
      for (std::string& id : verdict->relevant_chunk_ids) {
        const bool known = std::find(graded.graded_ids.begin(), graded.graded_ids.end(), id) != graded.graded_ids.end();
        add_once(known ? graded.relevant_chunk_ids : graded.dropped_ids, id);
      }
      graded.relevant = verdict->relevant && !graded.relevant_chunk_ids.empty();
      graded.reason = std::move(verdict->reason);
      if (verdict->relevant && !graded.relevant) graded.reason += " [called relevant without naming a retrieved passage: counts as not relevant]";
    }
    grader_reason = graded.reason;
    unsure = graded.unsure;
    const bool relevant = graded.relevant;
    std::vector<index::ChunkNo> kept;
    for (const index::ChunkNo chunk : handed_on) {
      const std::string id = index->chunk_id(chunk);
      const auto& ids = graded.relevant_chunk_ids;
      if (std::find(ids.begin(), ids.end(), id) != ids.end()) kept.push_back(chunk);
    }
    step().data = std::move(graded);
    if (relevant) return begin_generate(std::move(kept));
    if (rewrites() < next_config().max_rewrites) return begin_rewrite();
    begin_refuse(rewrites() == 0 ? "the retrieved passages do not answer the question"
                                 : "no rewritten query found passages that answer the question");
  }

  std::uint32_t rewrites() const {
    return static_cast<std::uint32_t>(
        std::count_if(run.steps.begin(), run.steps.end(), [](const Step& each) { return each.node() == Node::rewrite_query; }));
  }

  void go_on_rewriting() {
    Rewritten rewritten;
    rewritten.from = query;
    rewritten.attempt = rewrites();
    if (extractive_provider()) {
      rewritten.to = extractive::rewrite(*index, run.question, *retrieval, rewritten.attempt, queries);
      run.rewriter = extractive_name;
    } else {
      const RecordedEffect* reply = last_completion();
      auto to = parse_rewrite(std::get<Completion>(reply->result.value).text, max_question_bytes);
      if (!to) return repair(rewrite_request(), *reply, to.error());
      note_model(run.rewriter, reply->result, provider_name(config().provider));
      rewritten.to = std::move(*to);
    }
    const std::string wanted = folded(rewritten.to);
    rewritten.repeated = std::any_of(queries.begin(), queries.end(), [&](const std::string& earlier) { return folded(earlier) == wanted; });
    const bool repeated = rewritten.repeated;
    query = rewritten.to;
    step().data = std::move(rewritten);
    if (repeated) return begin_refuse("the rewritten query repeats an earlier one");
    begin_retrieve();
  }

  void go_on_generating() {
    Generated generated;
    for (const index::ChunkNo chunk : context) generated.context_ids.push_back(index->chunk_id(chunk));
    std::string why = "nothing was found to answer from";
    if (extractive_provider()) {
      std::span<const float> logits;
      for (const RecordedEffect& recorded : step().effects) {
        const auto* scored = std::get_if<Logits>(&recorded.result.value);
        if (scored == nullptr) continue;
        logits = scored->values;
        const std::size_t pairs = std::get<ScoreRequest>(recorded.effect.request).pairs.size();
        if (logits.size() > pairs) {
          return fail_run(retrieval::too_many_logits(logits.size(), pairs));
        }
        if (!all_finite(logits)) return fail_run({ErrorCode::mismatch, "the reranker returned a value that is not finite", "logits"});
        note_model(run.reranker, recorded.result, index->metadata().reranker.name);
      }
      extractive::Answer quoted = answerer->answer(logits, unsure);
      run.generator = extractive_name;
      generated.draft = quoted.text;
      generated.cited_ids = std::move(quoted.cited_ids);
      generated.declined = generated.cited_ids.empty();
      if (!generated.declined) {
        run.answer = std::move(quoted.text);
        run.citations = std::move(quoted.citations);
      } else {
        why = "no sentence of the retrieved passages says anything of the question";
      }
    } else if (const RecordedEffect* reply = last_completion(); reply != nullptr) {
      if (reply->result.finish == finish_length) {
        return fail_run({ErrorCode::provider_failed,
                         "generate: the reply was cut by the token limit after " + std::to_string(reply->result.tokens.out) + " tokens", "finish"});
      }
      note_model(run.generator, reply->result, provider_name(config().provider));
      generated.draft = std::get<Completion>(reply->result.value).text;
      CheckedAnswer checked = check_citations(*index, generated.draft, generated.context_ids);
      generated.cited_ids = std::move(checked.cited_ids);
      generated.dropped_ids = std::move(checked.dropped_ids);
      const bool says_so = declines(generated.draft);
      generated.declined = says_so || checked.citations.empty();
      why = says_so ? "the generator said that the passages do not answer the question" : "the generated answer had no valid citation";
      if (!generated.declined) {
        run.answer = std::move(checked.text);
        run.citations = std::move(checked.citations);
      }
    } else {
      generated.declined = true;
    }
    const bool declined = generated.declined;
    step().data = std::move(generated);
    if (declined) return begin_refuse(std::move(why));
    close(Status::answered);
  }

  void go_on_refusing() {
    Refused refused;
    refused.reason = std::move(refusal_reason);
    refused.last_grader_reason = grader_reason;
    refused.closest = closest;
    run.answer = refusal_text(refused.closest);
    step().data = std::move(refused);
    close(Status::refused);
  }

  std::vector<Effect> opened() const {
    std::vector<Effect> effects;
    for (const Open& entry : open) {
      if (!entry.result) effects.push_back(entry.effect);
    }
    return effects;
  }
};

Agent::Agent(std::unique_ptr<State> state) : state_(std::move(state)) {}
Agent::Agent(Agent&&) noexcept = default;
Agent& Agent::operator=(Agent&&) noexcept = default;
Agent::~Agent() = default;

Result<Agent> Agent::create(const index::Index& index, std::string question, const Config& config, Options options) {
  if (question.size() > max_question_bytes) {
    return fail(ErrorCode::invalid_argument,
                "the question has " + std::to_string(question.size()) + " bytes; at most " + std::to_string(max_question_bytes) + " are allowed",
                "question");
  }
  if (const auto offset = text::first_invalid(question)) {
    return fail(ErrorCode::invalid_text, "the question is not UTF-8: ill-formed at byte " + std::to_string(*offset), "question");
  }
  if (folded(question).empty()) return fail(ErrorCode::invalid_argument, "the question is empty", "question");
  auto state = std::make_unique<State>();
  state->index = &index;
  state->embedder = identity(index.metadata().embedder);
  state->reranker = identity(index.metadata().reranker);
  state->query = question;
  state->run.question = std::move(question);
  state->run.config = config;
  state->run.index_digest = index.digest();
  state->run.corpus_revision = index.metadata().revision;
  state->run.embedder_missing = well_formed(options.embedder_missing);
  state->run.reranker_missing = well_formed(options.reranker_missing);
  state->run.earlier = std::move(options.earlier);
  return Agent(std::move(state));
}

std::vector<Effect> Agent::start() {
  if (state_->phase != State::Phase::created) return {};
  state_->begin_retrieve();
  return state_->opened();
}

Result<std::vector<Effect>> Agent::resume(EffectId id, EffectResult result) {
  State& state = *state_;
  const auto entry = std::find_if(state.open.begin(), state.open.end(), [&](const State::Open& each) { return each.effect.id == id; });
  if (entry == state.open.end() || entry->result) {
    return fail(ErrorCode::invalid_argument, "effect " + std::to_string(id) + " is not open", "id");
  }
  const EffectKind kind = entry->effect.kind();
  if (result.value.index() != static_cast<std::size_t>(kind) && !std::holds_alternative<Error>(result.value)) {
    return fail(ErrorCode::invalid_argument,
                "effect " + std::to_string(id) + " is of kind " + std::string(name(kind)) + "; its result is of another kind", "value");
  }
  const auto sound = [](double value) { return std::isfinite(value) && value >= 0; };
  const auto* time = std::get_if<Time>(&result.value);
  if (!sound(result.ms) || (result.cost_usd && !sound(*result.cost_usd)) || (time != nullptr && !std::isfinite(time->ms))) {
    return fail(ErrorCode::invalid_argument, "effect " + std::to_string(id) + ": ms, cost and time must be finite and not negative", "ms");
  }
  // The record is JSON: what a host hands in is made UTF-8 here, once.
  result.model = well_formed(result.model);
  result.finish = well_formed(result.finish);
  if (auto* completion = std::get_if<Completion>(&result.value)) completion->text = well_formed(completion->text);
  if (auto* read = std::get_if<Time>(&result.value)) read->utc = well_formed(read->utc);
  if (auto* error = std::get_if<Error>(&result.value)) {
    error->message = well_formed(error->message);
    error->field = well_formed(error->field);
  }
  entry->result = std::move(result);
  const bool waiting = std::any_of(state.open.begin(), state.open.end(), [](const State::Open& each) { return !each.result; });
  if (waiting) return std::vector<Effect>{};
  state.advance();
  return state.opened();
}

void Agent::abort(Error error) {
  if (state_->phase == State::Phase::finished) return;
  start();
  for (const EffectId id : open_effects()) {
    EffectResult given_up;
    given_up.value = error;
    given_up.finish = finish_aborted;
    (void)resume(id, std::move(given_up));
  }
}

bool Agent::finished() const noexcept { return state_->phase == State::Phase::finished; }
const Run& Agent::run() const noexcept { return state_->run; }

std::vector<EffectId> Agent::open_effects() const {
  std::vector<EffectId> ids;
  for (const State::Open& entry : state_->open) {
    if (!entry.result) ids.push_back(entry.effect.id);
  }
  return ids;
}

}  // namespace polygraph::agent
