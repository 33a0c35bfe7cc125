#include "index/passage_vectors.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace polygraph::corpus {
namespace {

/// Texts handed to the embedder at a time, and stored in the cache together: what an interruption can cost.
constexpr std::size_t batch_texts = 16;

/// How far the length of an embedder's vector may be from 1.
constexpr double norm_tolerance = 1e-3;

Result<void> check(const std::vector<float>& vector, std::size_t dimensions, const std::string& name) {
  if (vector.size() != dimensions) {
    return fail(ErrorCode::provider_failed, "the embedder gave " + std::to_string(vector.size()) + " values for " + name + " where the model has " + std::to_string(dimensions));
  }
  double squares = 0;
  for (const float value : vector) squares += static_cast<double>(value) * static_cast<double>(value);
  if (!std::isfinite(squares) || std::fabs(std::sqrt(squares) - 1) > norm_tolerance) {
    return fail(ErrorCode::provider_failed, "the embedder's vector for " + name + " is not normalised");
  }
  return {};
}

}  // namespace

void PassageVectors::add(std::string name, std::string_view text, std::vector<text::TokenId> tokens) {
  const std::size_t dimensions = embedder_.dimensions, row = rows_++;
  values_.resize(rows_ * dimensions);
  const text::Digest128 digest = text::digest128(text);
  const auto keep = [&](const std::vector<float>& vector) { std::copy(vector.begin(), vector.end(), values_.begin() + static_cast<std::ptrdiff_t>(row * dimensions)); };
  const std::optional<std::vector<float>> known = cache_ == nullptr ? std::nullopt : cache_->find(key(), digest, dimensions);
  if (known && check(*known, dimensions, name)) {
    keep(*known);
    ++from_cache_;
  } else if (const auto before = previous_ == nullptr ? std::nullopt : previous_->find(digest)) {
    keep(*before);
    ++from_previous_;
  } else {
    pending_.push_back({row, std::move(name), digest, std::move(tokens)});
  }
}

Result<void> PassageVectors::embed(const Embedder& embedder, const std::function<void(const Progress&)>& progress, const std::function<bool()>& cancelled) {
  const auto start = std::chrono::steady_clock::now();
  const auto tell = [&] {
    if (!progress) return;
    const std::size_t left = pending_.size() - embedded_;
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    progress({found() + embedded_, rows_, embedded_ == 0 ? 0 : ms / static_cast<double>(embedded_) * static_cast<double>(left)});
  };
  tell();
  for (std::size_t at = 0; at < pending_.size();) {
    if (cancelled && cancelled()) {
      return fail(ErrorCode::io, "cancelled after " + std::to_string(found() + embedded_) + " of " + std::to_string(rows_) + " passages; what was embedded is kept, and the next time goes on from there", "cancelled");
    }
    const std::size_t count = std::min(batch_texts, pending_.size() - at);
    std::vector<std::vector<text::TokenId>> texts;
    texts.reserve(count);
    for (std::size_t i = 0; i < count; ++i) texts.push_back(std::move(pending_[at + i].tokens));
    const Result<std::vector<std::vector<float>>> vectors = embedder(texts);
    if (!vectors) return tl::unexpected(vectors.error());
    if (vectors->size() != count) {
      return fail(ErrorCode::provider_failed, "the embedder gave " + std::to_string(vectors->size()) + " vectors for " + std::to_string(count) + " texts");
    }
    std::vector<VectorCache::Entry> entries;
    for (std::size_t i = 0; i < count; ++i) {
      const Pending& passage = pending_[at + i];
      const std::vector<float>& vector = (*vectors)[i];
      if (const Result<void> sound = check(vector, embedder_.dimensions, passage.name); !sound) return tl::unexpected(sound.error());
      std::copy(vector.begin(), vector.end(), values_.begin() + static_cast<std::ptrdiff_t>(passage.row * embedder_.dimensions));
      entries.push_back({passage.digest, vector});
    }
    if (cache_ != nullptr) {
      if (const Result<void> stored = cache_->store(key(), entries); !stored) return tl::unexpected(stored.error());
    }
    at += count;
    embedded_ += count;
    tell();
  }
  pending_.clear();
  return {};
}

}  // namespace polygraph::corpus
