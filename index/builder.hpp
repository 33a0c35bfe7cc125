// Builds an index file from a corpus: cuts its pages into passages, has them embedded, and writes the bytes.
//
// The same corpus and settings give the same bytes, whatever the vector cache or an earlier index held and wherever an earlier
// build was interrupted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "index/chunker.hpp"
#include "index/corpus.hpp"
#include "index/passage_vectors.hpp"
#include "wasm/error.hpp"
#include "wasm/index/metadata.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/index/writer.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::corpus {

struct BuildOptions {
  ChunkSizes sizes;
  index::ModelIdentity embedder;       ///< ignored without an embedder
  index::ModelIdentity reranker;
  std::string vocabulary;              ///< content of the models' vocab.txt; needed with an embedder
  std::filesystem::path cache;         ///< folder of the vector cache; empty: no cache
  const index::Index* previous = nullptr;  ///< an earlier build; passages that it holds word for word keep their vectors
  std::string language;                ///< empty: the corpus's, else "en"
  std::function<void(const Progress&)> progress;
  std::function<bool()> cancelled;     ///< asked between batches; what was embedded until then is in the cache
};

struct BuildReport {
  std::size_t documents = 0;
  std::size_t chunks = 0;
  std::size_t chunks_truncated = 0;   ///< longer than the embedder's input: their end is not in the vector
  double mean_tokens = 0;             ///< of a chunk as the models read it, [CLS] and [SEP] included; 0 without a vocabulary
  std::size_t embedded = 0;           ///< new vectors
  std::size_t from_cache = 0;
  std::size_t from_previous = 0;
  bool cache_replaced = false;        ///< the cache was damaged and begun anew
  std::vector<std::string> skipped;   ///< "path: why"
  std::vector<std::string> passed_over;  ///< "path: why", of files that are no page of their own
  std::vector<std::string> warnings;
  ReadingCounts counts;
  double ms = 0;
};

struct Built {
  std::vector<std::byte> bytes;
  BuildReport report;
};

/// The pages of a corpus as the writer wants them. A page that has no passage is left out.
std::vector<index::DocumentInput> documents(const Corpus& corpus, const ChunkSizes& sizes = {});

/// Without `embedder` the index is lexical only. Fails with the embedder's error, with `provider_failed` when a vector has
/// another shape than the model's, and with `io` (field "cancelled") when it was cancelled.
Result<Built> build(const Corpus& corpus, const BuildOptions& options, const Embedder& embedder = {});

/// Writes a file so that a reader sees the old one or the whole new one: into a temporary beside it, flushed, then renamed.
Result<void> write_file(const std::filesystem::path& file, std::span<const std::byte> bytes);

}  // namespace polygraph::corpus
