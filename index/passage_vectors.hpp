// Vectors of passages, from the vector cache or an index that was built before where they are there, and from the embedder where not.
//
// What was embedded is stored in the cache batch by batch, so an interruption costs one batch.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/previous_vectors.hpp"
#include "index/vector_cache.hpp"
#include "wasm/error.hpp"
#include "wasm/index/metadata.hpp"
#include "wasm/text/digest.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::corpus {

/// Embeds texts, given as token ids with [CLS] and [SEP]; one L2-normalised vector each, in order. int8 models scale their
/// activations over a batch, so each text must be run through the model alone: its vector must not depend on its neighbours.
using Embedder = std::function<Result<std::vector<std::vector<float>>>(std::span<const std::vector<text::TokenId>> texts)>;

struct Progress {
  std::size_t done = 0;   ///< passages that have their vector
  std::size_t total = 0;
  double eta_ms = 0;      ///< estimate of what is left; 0 while nothing tells
};

class PassageVectors {
 public:
  /// `cache` and `previous` may be null, and must outlive it otherwise.
  PassageVectors(index::ModelIdentity embedder, VectorCache* cache, const PreviousVectors* previous = nullptr)
      : embedder_(std::move(embedder)), cache_(cache), previous_(previous) {}

  /// The next passage: its text as the model reads it, and that as token ids. `name` is for errors.
  void add(std::string name, std::string_view text, std::vector<text::TokenId> tokens);

  /// Embeds what was found nowhere. Fails with the embedder's error, with `provider_failed` when a vector has another shape than
  /// the model's or is not normalised, and with `io` (field "cancelled") when `cancelled` said so between two batches.
  Result<void> embed(const Embedder& embedder, const std::function<void(const Progress&)>& progress = {}, const std::function<bool()>& cancelled = {});

  std::size_t embedded() const noexcept { return embedded_; }
  std::size_t from_cache() const noexcept { return from_cache_; }
  std::size_t from_previous() const noexcept { return from_previous_; }
  /// Row after row, in the order of add(). Complete once embed() succeeded.
  std::vector<float>& values() noexcept { return values_; }

 private:
  std::size_t found() const noexcept { return from_cache_ + from_previous_; }
  /// A passage that has no vector yet.
  struct Pending {
    std::size_t row;
    std::string name;
    text::Digest128 digest;
    std::vector<text::TokenId> tokens;
  };
  /// The vector of a text depends on the model and on where its input is cut, on nothing else.
  std::string key() const { return embedder_.sha256 + "/" + std::to_string(embedder_.max_tokens); }

  index::ModelIdentity embedder_;
  VectorCache* cache_;
  const PreviousVectors* previous_;
  std::vector<Pending> pending_;
  std::vector<float> values_;
  std::size_t rows_ = 0, embedded_ = 0, from_cache_ = 0, from_previous_ = 0;
};

}  // namespace polygraph::corpus
