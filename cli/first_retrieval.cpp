#include "cli/first_retrieval.hpp"

#include "cli/console.hpp"
#include "index/passage_vectors.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::cli {
namespace {

tl::unexpected<Error> no_models(const Models::Available& models) { return fail(ErrorCode::model_unavailable, "the configuration needs the models: " + models.why_missing, "models"); }

/// Scores what is still wanted, and takes the list.
Result<void> finish(retrieval::Retrieval& retrieval, const index::Index& index, const Models::Available& models, FirstRetrieval& out) {
  if (const auto wanted = retrieval.wanted_pairs(); !wanted.empty()) {
    if (models.worker == nullptr) return no_models(models);
    std::vector<agent::TokenPair> pairs;
    for (const auto chunk : wanted) pairs.push_back(agent::token_pair(retrieval.pair(chunk)));
    auto scores = models.worker->score(pairs, retrieval.config().rerank_budget_ms);
    if (!scores) return tl::unexpected(scores.error());
    for (std::size_t i = 0; i < scores->logits.size(); ++i) out.logits.push_back({wanted[i], scores->logits[i]});
    if (auto done = retrieval.set_logits(scores->logits); !done) return done;
  }
  out.candidates = retrieval.ranked();
  for (const auto& candidate : out.candidates) out.ids.push_back(index.chunk_id(candidate.chunk));
  return {};
}

/// Plain and in one order: what the int8 kernel's figures are held against.
std::vector<double> dot_products(std::span<const float> rows, std::span<const float> query) {
  std::vector<double> scores(rows.size() / query.size());
  for (std::size_t row = 0; row < scores.size(); ++row) {
    for (std::size_t i = 0; i < query.size(); ++i) scores[row] += static_cast<double>(rows[row * query.size() + i]) * static_cast<double>(query[i]);
  }
  return scores;
}

}  // namespace

Result<FirstRetrieval> retrieve_first(const index::Index& index, const std::string& question, const retrieval::Config& config, const Models::Available& models) {
  retrieval::Retrieval retrieval(index, question, config);
  FirstRetrieval out;
  if (const auto* tokens = retrieval.wanted_embedding()) {
    if (models.worker == nullptr) return no_models(models);
    auto vectors = models.worker->embed(std::span(&tokens->ids, 1));
    if (!vectors) return tl::unexpected(vectors.error());
    out.vector = std::move(vectors->front());
    if (auto done = retrieval.set_embedding(out.vector); !done) return tl::unexpected(done.error());
  }
  if (auto done = finish(retrieval, index, models, out); !done) return tl::unexpected(done.error());
  return out;
}

Result<FloatVectors> float_vectors(const Settings& settings, const index::Index& index, models::ModelWorker& worker) {
  auto cache = corpus::VectorCache::open(settings.home() / "vectors");
  if (!cache) return tl::unexpected(cache.error());
  const index::ModelIdentity& embedder = index.metadata().embedder;
  corpus::PassageVectors vectors(embedder, &*cache);
  const text::WordPiece tokenizer(*index.vocabulary());
  for (index::ChunkNo chunk = 0; chunk < index.chunks(); ++chunk) {
    const std::string text = index.chunk_model_text(chunk);
    vectors.add(index.chunk_id(chunk), text, tokenizer.encode(text, embedder.max_tokens).ids);
  }
  ProgressLine line("embedding the passages in float32");
  auto embedded = vectors.embed([&](std::span<const std::vector<text::TokenId>> texts) { return worker.embed(texts); },
                                [&](const corpus::Progress& progress) {
                                  if (progress.done < progress.total) line.update(progress.done, progress.total, "passages");
                                },
                                [] { return interrupted(); });
  line.finish();
  if (!embedded) return tl::unexpected(embedded.error());
  return FloatVectors{std::move(vectors.values()), vectors.embedded()};
}

Result<FirstRetrieval> retrieve_first(const index::Index& index, const std::string& question, const retrieval::Config& config, const Models::Available& models,
                                      const FirstRetrieval& known, const FloatVectors& passages) {
  retrieval::Retrieval retrieval(index, question, config);
  FirstRetrieval out;
  out.vector = known.vector;
  out.logits = known.logits;
  if (retrieval.wanted_embedding() != nullptr) retrieval.set_dense_scores(dot_products(passages.values, known.vector));
  retrieval.reuse(known.logits);
  if (auto done = finish(retrieval, index, models, out); !done) return tl::unexpected(done.error());
  return out;
}

}  // namespace polygraph::cli
