#include "cli/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <deque>

#include "cli/installation.hpp"
#include "cli/model_manifest.hpp"
#include "proxy/models/model_store.hpp"

namespace polygraph::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

double milliseconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

agent::Time read_time() {
  const auto now = std::chrono::system_clock::now();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const std::time_t stamp = std::chrono::system_clock::to_time_t(seconds);
  std::tm utc{};
  gmtime_r(&stamp, &utc);
  agent::Time time;
  time.utc = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                         utc.tm_min, utc.tm_sec, std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds).count());
  time.ms = std::chrono::duration<double, std::milli>(SteadyClock::now().time_since_epoch()).count();
  return time;
}

bool is_cancelled(const Models::Available& models) { return models.cancelled && models.cancelled(); }

/// As ModelWorker::score. A pair's logit depends on the pair alone, so work that may be cancelled is asked for in pieces.
Result<std::vector<float>> score(const Models::Available& models, std::span<const agent::TokenPair> pairs, double budget_ms) {
  constexpr std::size_t piece = 4;
  const std::size_t step = models.cancelled ? piece : std::max<std::size_t>(pairs.size(), 1);
  std::vector<float> logits;
  double spent_ms = 0;
  for (std::size_t at = 0; at < pairs.size() && (budget_ms <= 0 || at == 0 || spent_ms < budget_ms); at += step) {
    if (is_cancelled(models)) return tl::unexpected(interrupted_work());
    const auto part = pairs.subspan(at, std::min(step, pairs.size() - at));
    auto scores = models.worker->score(part, budget_ms > 0 ? budget_ms - spent_ms : 0);
    if (!scores) return tl::unexpected(scores.error());
    logits.insert(logits.end(), scores->logits.begin(), scores->logits.end());
    spent_ms += scores->ms;
    if (scores->logits.size() < part.size()) break;
  }
  return logits;
}

struct Performer {
  const Models::Available& models;
  agent::EffectResult result{};

  Error no_worker() const { return {ErrorCode::model_unavailable, models.why_missing, "models"}; }

  void operator()(const agent::EmbedRequest& request) {
    auto* worker = models.worker;
    if (worker == nullptr) {
      result.value = no_worker();
      return;
    }
    auto vectors = worker->embed(std::span(&request.token_ids, 1));
    if (!vectors) {
      result.value = vectors.error();
      return;
    }
    result.value = agent::Embedding{std::move(vectors->front())};
    result.model = worker->embedder().name;
    result.tokens.in = request.token_ids.size();
  }

  void operator()(const agent::ScoreRequest& request) {
    if (models.worker == nullptr) {
      result.value = no_worker();
      return;
    }
    auto logits = score(models, request.pairs, request.budget_ms);
    if (!logits) {
      result.value = logits.error();
      return;
    }
    for (std::size_t i = 0; i < logits->size(); ++i) result.tokens.in += request.pairs[i].token_ids.size();
    result.value = agent::Logits{std::move(*logits)};
    result.model = models.worker->reranker().name;
  }

  void operator()(const agent::CompleteRequest& request) {
    if (models.llm == nullptr) {
      result.value = Error{ErrorCode::provider_failed, "PROVIDER=proxy is for the page; use PROVIDER=extractive or openai-compatible", "provider"};
      return;
    }
    result = models.llm->complete(request, models.cancelled);
  }

  void operator()(const agent::TimeRequest&) { result.value = read_time(); }
};

}  // namespace

Result<std::unique_ptr<models::ModelWorker>> Models::start() const {
  auto manifest = model_manifest();
  if (!manifest) return tl::unexpected(manifest.error());
  const models::ModelStore store(settings_->home());
  for (const auto& file : store.list(*manifest)) {
    if (file.state == models::FileState::present) continue;
    return fail(ErrorCode::model_unavailable, fmt::format("{} of {} is not here; get it with `polygraph models fetch`", file.file, file.model), "models");
  }
  auto options = store.worker_options(*manifest);
  options.node = node_program(*settings_);
  const auto script = settings_->get("POLYGRAPH_WORKER").value;
  options.script = script.empty() ? distribution(*settings_) / "model-worker.mjs" : std::filesystem::path(script);
  const std::string threads = settings_->get("POLYGRAPH_THREADS").value;
  if (!threads.empty()) {
    const auto [end, error] = std::from_chars(threads.data(), threads.data() + threads.size(), options.threads);
    if (error != std::errc{} || end != threads.data() + threads.size() || options.threads < 1 || options.threads > 256) {
      return fail(ErrorCode::invalid_argument, fmt::format("expected a number from 1 to 256, got \"{}\"", threads), "POLYGRAPH_THREADS");
    }
  }
  return models::ModelWorker::start(std::move(options));
}

Result<models::ModelWorker*> Models::worker() {
  if (failed_) return tl::unexpected(*failed_);
  if (!worker_) {
    auto started = start();
    if (!started) {
      failed_ = started.error();
      return tl::unexpected(*failed_);
    }
    worker_ = std::move(*started);
  }
  return worker_.get();
}

Result<models::ModelWorker*> Models::worker(const index::Index& index) {
  const auto& metadata = index.metadata();
  if (!index.has_vectors()) return fail(ErrorCode::model_unavailable, "this index was built without vectors", "vectors");
  auto started = worker();
  if (!started) return started;
  const auto check = [](std::string_view role, const index::ModelIdentity& wanted, const std::string& sha256) -> Result<void> {
    if (wanted.sha256 == sha256) return {};
    return fail(ErrorCode::mismatch,
                fmt::format("the index was built for the {} {} with SHA-256 {}, but the one here has {}; rebuild the index or fetch that model", role,
                            wanted.name, wanted.sha256, sha256),
                "metadata");
  };
  if (auto same = check("embedder", metadata.embedder, (*started)->embedder().sha256); !same) return tl::unexpected(same.error());
  if (auto same = check("reranker", metadata.reranker, (*started)->reranker().sha256); !same) return tl::unexpected(same.error());
  return started;
}

Result<Models::Available> Models::available(const index::Index& index) {
  auto started = worker(index);
  if (started) return Available{.worker = *started};
  if (started.error().code != ErrorCode::model_unavailable) return tl::unexpected(started.error());
  return Available{.why_missing = started.error().message};
}

Models::Available SharedModels::available() {
  const std::lock_guard lock(mutex_);
  auto found = models_.available(*index_);
  return found ? std::move(*found) : Models::Available{.why_missing = found.error().message};
}

Error interrupted_work() { return {ErrorCode::provider_failed, "interrupted"}; }

agent::EffectResult perform(const agent::Effect& effect, const Models::Available& models) {
  const auto start = SteadyClock::now();
  Performer performer{models};
  std::visit(performer, effect.request);
  if (!performer.result.cached) performer.result.ms = milliseconds_since(start);  // a cached one keeps what it took
  return std::move(performer.result);
}

Result<void> perform(agent::Agent& agent, const Models::Available& models, const OnProgress& on_progress) {
  std::deque<agent::Effect> open;
  for (auto& effect : agent.start()) open.push_back(std::move(effect));
  while (!open.empty()) {
    const agent::Effect effect = std::move(open.front());
    open.pop_front();
    if (is_cancelled(models)) {
      agent.abort(interrupted_work());
      break;
    }
    auto more = agent.resume(effect.id, perform(effect, models));
    if (!more) return tl::unexpected(more.error());
    for (auto& next : *more) open.push_back(std::move(next));
    if (on_progress) on_progress(agent.run());
  }
  return {};
}

Result<void> perform(retrieval::Retrieval& retrieval, const Models::Available& models) {
  auto* worker = models.worker;
  const std::string& why_missing = models.why_missing;
  if (const auto* tokens = retrieval.wanted_embedding()) {
    if (worker == nullptr) {
      retrieval.skip_embedding(why_missing);
    } else {
      auto vectors = worker->embed(std::span(&tokens->ids, 1));
      if (vectors) {
        if (auto done = retrieval.set_embedding(vectors->front()); !done) return done;
      } else if (vectors.error().code == ErrorCode::model_unavailable) {
        retrieval.skip_embedding(vectors.error().message);
      } else {
        return tl::unexpected(vectors.error());
      }
    }
  }
  if (const auto chunks = retrieval.wanted_pairs(); !chunks.empty()) {
    if (worker == nullptr) {
      retrieval.skip_rerank(why_missing);
    } else {
      std::vector<agent::TokenPair> pairs;
      pairs.reserve(chunks.size());
      for (const auto chunk : chunks) pairs.push_back(agent::token_pair(retrieval.pair(chunk)));
      auto logits = score(models, pairs, retrieval.config().rerank_budget_ms);
      if (logits) {
        if (auto done = retrieval.set_logits(*logits); !done) return done;
      } else if (logits.error().code == ErrorCode::model_unavailable) {
        retrieval.skip_rerank(logits.error().message);
      } else {
        return tl::unexpected(logits.error());
      }
    }
  }
  return {};
}

}  // namespace polygraph::cli
