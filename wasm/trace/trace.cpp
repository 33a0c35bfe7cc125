// Run to JSON and back. What is written here is described by assets/schemas/trace.schema.json.
#include "wasm/trace/trace.hpp"

#include <cstddef>
#include <utility>

#include "wasm/trace/document.hpp"
#include "wasm/trace/effect_json.hpp"
#include "wasm/trace/json_reader.hpp"

namespace polygraph::trace {
namespace {

using agent::Citation;
using agent::Generated;
using agent::Graded;
using agent::Node;
using agent::RecordedEffect;
using agent::Refused;
using agent::Retrieved;
using agent::Rewritten;
using agent::Run;
using agent::Status;
using agent::Step;

#ifdef __EMSCRIPTEN__
constexpr std::string_view target = "wasm32";
#else
constexpr std::string_view target = "native";
#endif

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// --- configuration --------------------------------------------------------------------------------------------------

/// Options that are numbers or booleans in JSON keep that type: TOP_K "4" is written 4.
Json config_to_json(const agent::Config& config) {
  const retrieval::Config& r = config.retrieval;
  const auto text = [&](std::string_view option) { return agent::get(config, option).value_or(std::string()); };
  Json json = Json::object();
  json["retrieval_mode"] = text("RETRIEVAL_MODE");
  json["use_reranker"] = r.use_reranker;
  json["use_reflection"] = config.use_reflection;
  json["max_rewrites"] = config.max_rewrites;
  json["top_k"] = config.top_k;
  json["fusion"] = text("FUSION");
  json["bm25_weight"] = r.bm25_weight;
  json["page_cap"] = r.page_cap;
  json["candidates"] = r.depth;
  json["rerank_candidates"] = r.rerank_candidates;
  json["rerank_mix"] = r.rerank_mix;
  json["rrf_k"] = r.rrf_k;
  json["max_pair_tokens"] = r.max_pair_tokens;
  json["rerank_budget_ms"] = r.rerank_budget_ms;
  json["list_length"] = r.list_length;
  json["provider"] = text("PROVIDER");
  return json;
}

agent::Config config_from_json(const JsonReader& json) {
  agent::Config config;
  retrieval::Config& r = config.retrieval;
  const auto named = [&](const char* key, std::string_view option) {
    const std::string value = json.text(key);
    if (!json.failed() && !agent::set(config, option, value)) json.wrong(key, "a known name");
  };
  // The bounds are those of agent::set: a trace from outside must not ask for more than an option may.
  const auto bounded = [&](const char* key, std::string_view option, std::uint32_t& into) {
    const std::uint32_t value = json.count32(key);
    if (!json.failed() && !agent::set(config, option, std::to_string(value))) json.wrong(key, "a number within the option's bounds");
    if (!json.failed()) into = value;
  };
  const auto real = [&](const char* key, double most) {
    const double value = json.number(key);
    if (value < 0 || value > most) json.wrong(key, "a number within the option's bounds");
    return value;
  };
  named("retrieval_mode", "RETRIEVAL_MODE");
  r.use_reranker = json.boolean("use_reranker");
  config.use_reflection = json.boolean("use_reflection");
  bounded("max_rewrites", "MAX_REWRITES", config.max_rewrites);
  bounded("top_k", "TOP_K", config.top_k);
  named("fusion", "FUSION");
  r.bm25_weight = real("bm25_weight", 1);
  bounded("page_cap", "PAGE_CAP", r.page_cap);
  bounded("candidates", "CANDIDATES", r.depth);
  bounded("rerank_candidates", "RERANK_CANDIDATES", r.rerank_candidates);
  r.rerank_mix = real("rerank_mix", 1000);
  bounded("rrf_k", "RRF_K", r.rrf_k);
  bounded("max_pair_tokens", "MAX_PAIR_TOKENS", r.max_pair_tokens);
  r.rerank_budget_ms = real("rerank_budget_ms", 600000);
  constexpr std::uint32_t longest_list = 1000;
  r.list_length = json.count32("list_length");
  if (r.list_length > longest_list) json.wrong("list_length", "at most 1000");
  named("provider", "PROVIDER");
  return config;
}

Json missing_to_json(const std::string& embedder, const std::string& reranker) {
  Json json = Json::object();
  json["embedder"] = or_null(embedder);
  json["reranker"] = or_null(reranker);
  return json;
}

// --- steps ----------------------------------------------------------------------------------------------------------

Json data_to_json(const Retrieved& data, const WriteOptions& options) {
  Json json = Json::object();
  json["query"] = data.query;
  Json candidates = Json::array();
  for (std::size_t i = 0; i < data.candidates.size(); ++i) {
    const retrieval::Candidate& candidate = data.candidates[i];
    Json& added = candidates.emplace_back(Json::object());
    added["id"] = data.candidate_ids[i];
    added["rank"] = candidate.rank;
    Json& ranks = added["ranks"];
    ranks["bm25"] = or_null(candidate.bm25_rank);
    ranks["dense"] = or_null(candidate.dense_rank);
    ranks["fused"] = or_null(candidate.fused_rank);
    ranks["rerank"] = or_null(candidate.rerank_rank);
    Json& scores = added["scores"];
    scores["bm25"] = or_null(candidate.bm25_score);
    scores["dense"] = or_null(candidate.dense_score);
    scores["fused"] = or_null(candidate.fused_score);
    scores["rerank"] = or_null(candidate.rerank_score);
  }
  json["candidates"] = std::move(candidates);
  json["retrieved_ids"] = data.retrieved_ids;
  if (options.with_text && options.index != nullptr) {
    Json passages = Json::array();
    for (const std::string& id : data.retrieved_ids) {
      const auto number = options.index->find_chunk(id);
      if (!number) continue;
      const index::Chunk chunk = options.index->chunk(*number);
      Json& added = passages.emplace_back(Json::object());
      added["id"] = id;
      added["title"] = options.index->document(chunk.document).title;
      added["heading_path"] = chunk.heading_path;
      added["url"] = options.index->chunk_url(*number);
      added["text"] = chunk.text;
    }
    json["passages"] = std::move(passages);
  }
  return json;
}

Json data_to_json(const Graded& data, const WriteOptions&) {
  Json json = Json::object();
  json["relevant"] = data.relevant;
  json["reason"] = data.reason;
  json["relevant_chunk_ids"] = data.relevant_chunk_ids;
  json["graded_ids"] = data.graded_ids;
  json["dropped_ids"] = data.dropped_ids;
  json["probability"] = or_null(data.probability);
  json["unsure"] = data.unsure;
  Json features = Json::object();
  for (const auto& [name, value] : data.features) features[name] = value;
  json["features"] = std::move(features);
  return json;
}

Json data_to_json(const Rewritten& data, const WriteOptions&) {
  Json json = Json::object();
  json["from"] = data.from;
  json["to"] = data.to;
  json["attempt"] = data.attempt;
  json["repeated"] = data.repeated;
  return json;
}

Json data_to_json(const Generated& data, const WriteOptions&) {
  Json json = Json::object();
  json["context_ids"] = data.context_ids;
  json["cited_ids"] = data.cited_ids;
  json["dropped_ids"] = data.dropped_ids;
  json["declined"] = data.declined;
  json["draft"] = data.draft;
  return json;
}

Json data_to_json(const Refused& data, const WriteOptions&) {
  Json json = Json::object();
  json["reason"] = data.reason;
  json["last_grader_reason"] = or_null(data.last_grader_reason);
  Json closest = Json::array();
  for (const agent::Closest& page : data.closest) {
    Json& added = closest.emplace_back(Json::object());
    added["title"] = page.title;
    added["url"] = page.url;
  }
  json["closest"] = std::move(closest);
  return json;
}

Json effect_record(const RecordedEffect& recorded) {
  const agent::EffectResult& result = recorded.result;
  Json json = Json::object();
  json["id"] = recorded.effect.id;
  json["kind"] = agent::name(recorded.effect.kind());
  if (const auto* complete = std::get_if<agent::CompleteRequest>(&recorded.effect.request)) json["task"] = agent::name(complete->task);
  json["digest"] = recorded.effect.digest;
  json["result"] = effect_value_to_json(result);
  json["result_digest"] = agent::result_digest(result);
  json["ms"] = result.ms;
  json["model"] = or_null(result.model);
  json["tokens"] = {{"in", result.tokens.in}, {"out", result.tokens.out}};
  json["cost_usd"] = or_null(result.cost_usd);
  json["cached"] = result.cached;
  json["finish"] = result.finish;
  return json;
}

RecordedEffect effect_from_record(const JsonReader& json) {
  RecordedEffect recorded;
  recorded.effect.id = json.count32("id");
  const std::string kind = json.text("kind");
  if (kind == agent::name(agent::EffectKind::embed)) {
    recorded.effect.request = agent::EmbedRequest{};
  } else if (kind == agent::name(agent::EffectKind::score)) {
    recorded.effect.request = agent::ScoreRequest{};
  } else if (kind == agent::name(agent::EffectKind::complete)) {
    agent::CompleteRequest request;
    const std::string task = json.text("task");
    if (task == agent::name(agent::Task::rewrite)) {
      request.task = agent::Task::rewrite;
    } else if (task == agent::name(agent::Task::generate)) {
      request.task = agent::Task::generate;
    } else if (task != agent::name(agent::Task::grade)) {
      json.wrong("task", "grade, rewrite or generate");
    }
    recorded.effect.request = std::move(request);
  } else if (kind == agent::name(agent::EffectKind::time)) {
    recorded.effect.request = agent::TimeRequest{};
  } else {
    json.wrong("kind", "embed, score, complete or time");
  }
  recorded.effect.digest = json.text("digest");
  if (const Json* value = json.find("result")) {
    auto read = effect_value_from_json(*value, json.at("result"));
    if (read) {
      recorded.result.value = std::move(*read);
    } else {
      json.raise(read.error());
    }
  } else {
    json.wrong("result", "an object");
  }
  recorded.result.ms = json.number("ms");
  recorded.result.model = json.text_or_null("model");
  const JsonReader tokens = json.object("tokens");
  recorded.result.tokens = {tokens.count("in"), tokens.count("out")};
  recorded.result.cost_usd = json.number_or_null("cost_usd");
  recorded.result.cached = json.boolean("cached");
  recorded.result.finish = json.text("finish");
  return recorded;
}

Retrieved retrieved_from_json(const JsonReader& json) {
  Retrieved data;
  data.query = json.text("query");
  json.objects("candidates", [&](const JsonReader& each) {
    retrieval::Candidate& candidate = data.candidates.emplace_back();
    data.candidate_ids.push_back(each.text("id"));
    candidate.rank = each.count32("rank");
    const JsonReader ranks = each.object("ranks");
    candidate.bm25_rank = ranks.count_or_null("bm25");
    candidate.dense_rank = ranks.count_or_null("dense");
    candidate.fused_rank = ranks.count_or_null("fused");
    candidate.rerank_rank = ranks.count_or_null("rerank");
    const JsonReader scores = each.object("scores");
    candidate.bm25_score = scores.number_or_null("bm25");
    candidate.dense_score = scores.number_or_null("dense");
    candidate.fused_score = scores.number_or_null("fused");
    candidate.rerank_score = scores.number_or_null("rerank");
  });
  data.retrieved_ids = json.texts("retrieved_ids");
  return data;
}

Graded graded_from_json(const JsonReader& json) {
  Graded data;
  data.relevant = json.boolean("relevant");
  data.reason = json.text("reason");
  data.relevant_chunk_ids = json.texts("relevant_chunk_ids");
  data.graded_ids = json.texts("graded_ids");
  data.dropped_ids = json.texts("dropped_ids");
  data.probability = json.number_or_null("probability");
  data.unsure = json.boolean("unsure");
  const JsonReader features = json.object("features");
  if (const Json* object = json.find("features"); object != nullptr && object->is_object()) {
    for (const auto& item : object->items()) data.features.emplace_back(item.key(), features.number(item.key().c_str()));
  }
  return data;
}

Generated generated_from_json(const JsonReader& json) {
  Generated data;
  data.context_ids = json.texts("context_ids");
  data.cited_ids = json.texts("cited_ids");
  data.dropped_ids = json.texts("dropped_ids");
  data.declined = json.boolean("declined");
  data.draft = json.text("draft");
  return data;
}

Refused refused_from_json(const JsonReader& json) {
  Refused data;
  data.reason = json.text("reason");
  data.last_grader_reason = json.text_or_null("last_grader_reason");
  json.objects("closest", [&](const JsonReader& each) { data.closest.push_back({each.text("title"), each.text("url")}); });
  return data;
}

Step step_from_json(const JsonReader& json) {
  Step step;
  step.n = json.count32("n");
  step.started_ms = json.number("started_ms");
  step.ms = json.number("ms");
  const std::string node = json.text("node");
  const JsonReader data = json.object("data");
  if (node == agent::name(Node::retrieve)) {
    step.data = retrieved_from_json(data);
  } else if (node == agent::name(Node::grade_context)) {
    step.data = graded_from_json(data);
  } else if (node == agent::name(Node::rewrite_query)) {
    step.data = Rewritten{data.text("from"), data.text("to"), data.count32("attempt"), data.boolean("repeated")};
  } else if (node == agent::name(Node::generate)) {
    step.data = generated_from_json(data);
  } else if (node == agent::name(Node::refuse)) {
    step.data = refused_from_json(data);
  } else {
    json.wrong("node", "retrieve, grade_context, rewrite_query, generate or refuse");
  }
  json.objects("effects", [&](const JsonReader& each) { step.effects.push_back(effect_from_record(each)); });
  return step;
}

Status status_from(const std::string& text, const JsonReader& json) {
  for (const Status status : {Status::running, Status::answered, Status::refused, Status::failed}) {
    if (text == agent::name(status)) return status;
  }
  json.wrong("status", "answered, refused or failed");
  return Status::failed;
}

}  // namespace

Json to_document(const Run& run, const WriteOptions& options) {
  Json json = Json::object();
  json["kind"] = "trace";
  json["schema"] = schema_version;
  json["id"] = run.id;
  json["question"] = run.question;
  json["status"] = agent::name(run.status);
  json["answer"] = run.answer;
  json["config"] = config_to_json(run.config);
  json["engine"] = {{"version", POLYGRAPH_VERSION}, {"target", target}};
  json["index_digest"] = run.index_digest;
  json["corpus_revision"] = run.corpus_revision;
  Json& models = json["models"];
  models["embedder"] = or_null(run.embedder);
  models["reranker"] = or_null(run.reranker);
  models["grader"] = or_null(run.grader);
  models["rewriter"] = or_null(run.rewriter);
  models["generator"] = or_null(run.generator);
  json["missing"] = missing_to_json(run.embedder_missing, run.reranker_missing);
  Json earlier = Json::array();
  for (const agent::Earlier& part : run.earlier) {
    Json& added = earlier.emplace_back(Json::object());
    added["id"] = part.run_id;
    added["until_step"] = part.until_step;
    added["config"] = config_to_json(part.config);
    added["missing"] = missing_to_json(part.embedder_missing, part.reranker_missing);
  }
  json["forked_from"] = std::move(earlier);
  json["started_at"] = run.started_at;
  Json steps = Json::array();
  for (const Step& step : run.steps) {
    Json& added = steps.emplace_back(Json::object());
    added["n"] = step.n;
    added["node"] = agent::name(step.node());
    added["started_ms"] = step.started_ms;
    added["ms"] = step.ms;
    added["data"] = std::visit([&](const auto& data) { return data_to_json(data, options); }, step.data);
    Json effects = Json::array();
    for (const RecordedEffect& recorded : step.effects) effects.push_back(effect_record(recorded));
    added["effects"] = std::move(effects);
  }
  json["steps"] = std::move(steps);
  Json citations = Json::array();
  for (const Citation& citation : run.citations) {
    Json& added = citations.emplace_back(Json::object());
    added["chunk_id"] = citation.chunk_id;
    added["title"] = citation.title;
    added["url"] = citation.url;
    added["start"] = citation.begin;
    added["end"] = citation.end;
  }
  json["citations"] = std::move(citations);
  const agent::Totals sums = agent::totals(run);
  Json& totals = json["totals"];
  totals["ms"] = run.total_ms;
  totals["steps"] = sums.steps;
  totals["rewrites"] = sums.rewrites;
  totals["tokens"] = {{"in", sums.tokens.in}, {"out", sums.tokens.out}};
  totals["cost_usd"] = or_null(sums.cost_usd);
  json["stages"] = {{"lexical", run.stages.lexical}, {"dense", run.stages.dense}, {"rerank", run.stages.rerank}};
  json["error"] = nullptr;
  if (run.error) json["error"] = {{"code", name(run.error->code)}, {"message", run.error->message}};
  return json;
}

Result<Json> parse_document(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.substr(0, byte_order_mark.size()) == byte_order_mark) text.remove_prefix(byte_order_mark.size());
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::invalid_json, "the trace is not JSON");
  return json;
}

Result<Run> from_document(const Json& document) {
  std::optional<Error> error;
  const JsonReader json(document, "", error);
  if (json.text("kind") != "trace") json.wrong("kind", "\"trace\"");
  if (const std::uint64_t version = json.count("schema"); !error && version != schema_version) {
    return fail(ErrorCode::unsupported_version,
                "the trace has schema " + std::to_string(version) + "; this version reads " + std::to_string(schema_version), "schema");
  }
  Run run;
  run.id = json.text("id");
  run.question = json.text("question");
  run.status = status_from(json.text("status"), json);
  run.answer = json.text("answer");
  run.config = config_from_json(json.object("config"));
  run.index_digest = json.text("index_digest");
  run.corpus_revision = json.text("corpus_revision");
  const JsonReader models = json.object("models");
  run.embedder = models.text_or_null("embedder");
  run.reranker = models.text_or_null("reranker");
  run.grader = models.text_or_null("grader");
  run.rewriter = models.text_or_null("rewriter");
  run.generator = models.text_or_null("generator");
  const JsonReader missing = json.object("missing");
  run.embedder_missing = missing.text_or_null("embedder");
  run.reranker_missing = missing.text_or_null("reranker");
  json.objects("forked_from", [&](const JsonReader& each) {
    agent::Earlier& part = run.earlier.emplace_back();
    part.run_id = each.text("id");
    part.until_step = each.count32("until_step");
    part.config = config_from_json(each.object("config"));
    const JsonReader part_missing = each.object("missing");
    part.embedder_missing = part_missing.text_or_null("embedder");
    part.reranker_missing = part_missing.text_or_null("reranker");
  });
  run.started_at = json.text("started_at");
  json.objects("steps", [&](const JsonReader& each) { run.steps.push_back(step_from_json(each)); });
  json.objects("citations", [&](const JsonReader& each) {
    run.citations.push_back({each.text("chunk_id"), each.text("title"), each.text("url"), each.count32("start"), each.count32("end")});
  });
  run.total_ms = json.object("totals").number("ms");
  const JsonReader stages = json.object("stages");
  run.stages = {stages.text("lexical"), stages.text("dense"), stages.text("rerank")};
  if (const Json* found = json.find("error"); found == nullptr) {
    json.wrong("error", "null or an object");
  } else if (!found->is_null()) {
    const JsonReader inner = json.object("error");
    run.error = Error{error_code(inner.text("code")), inner.text("message"), {}, 0};
  }
  if (error) return tl::unexpected(*error);
  return run;
}

std::string to_json(const Run& run, const WriteOptions& options) {
  // Everything in a run is UTF-8 already; `replace` keeps this function from ever throwing.
  return to_document(run, options).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Run> parse(std::string_view json) {
  const auto document = parse_document(json);
  if (!document) return tl::unexpected(document.error());
  return from_document(*document);
}

}  // namespace polygraph::trace
