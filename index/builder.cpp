#include "index/builder.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "index/previous_vectors.hpp"
#include "index/vector_cache.hpp"
#include "wasm/index/model_text.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::corpus {
namespace {

/// Texts handed to the embedder at a time, and stored in the cache together: what an interruption can cost.
constexpr std::size_t batch_texts = 16;

/// How far the length of an embedder's vector may be from 1.
constexpr double norm_tolerance = 1e-3;

using Clock = std::chrono::steady_clock;

double since_ms(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

/// One text that has no vector yet.
struct Pending {
  std::size_t row;
  text::Digest128 digest;
  std::vector<text::TokenId> tokens;
};

Result<void> check(const std::vector<float>& vector, std::size_t dimensions, const std::string& chunk) {
  if (vector.size() != dimensions) {
    return fail(ErrorCode::provider_failed, "the embedder gave " + std::to_string(vector.size()) + " values for " + chunk + " where the model has " + std::to_string(dimensions));
  }
  double squares = 0;
  for (const float value : vector) squares += static_cast<double>(value) * static_cast<double>(value);
  if (!std::isfinite(squares) || std::fabs(std::sqrt(squares) - 1) > norm_tolerance) {
    return fail(ErrorCode::provider_failed, "the embedder's vector for " + chunk + " is not normalised");
  }
  return {};
}

std::string chunk_name(const index::DocumentInput& document, std::size_t ordinal) {
  std::string number = std::to_string(ordinal);
  if (number.size() < 3) number.insert(0, 3 - number.size(), '0');
  return document.id + "#" + number;
}

}  // namespace

std::vector<index::DocumentInput> documents(const Corpus& corpus, const ChunkSizes& sizes) {
  std::vector<index::DocumentInput> out;
  out.reserve(corpus.pages.size());
  for (const Page& page : corpus.pages) {
    index::DocumentInput document{page.id, page.title, page.url, {}, chunk(page.sections, sizes)};
    if (!document.chunks.empty()) out.push_back(std::move(document));
  }
  return out;
}

Result<Built> build(const Corpus& corpus, const BuildOptions& options, const Embedder& embedder) {
  const Clock::time_point start = Clock::now();
  Built built;
  BuildReport& report = built.report;
  report.skipped = corpus.skipped;
  report.passed_over = corpus.passed_over;
  report.warnings = corpus.warnings;
  report.counts = corpus.counts;

  index::IndexInput input;
  input.documents = documents(corpus, options.sizes);
  report.documents = input.documents.size();
  for (const index::DocumentInput& document : input.documents) report.chunks += document.chunks.size();
  if (report.chunks == 0) return fail(ErrorCode::not_found, "the corpus " + corpus.name + " has no text to index");

  std::optional<text::Vocabulary> vocabulary;
  if (!options.vocabulary.empty()) {
    Result<text::Vocabulary> parsed = text::Vocabulary::parse(options.vocabulary);
    if (!parsed) return tl::unexpected(parsed.error());
    vocabulary = *std::move(parsed);
  } else if (embedder) {
    return fail(ErrorCode::invalid_argument, "an embedder needs the model's vocab.txt", "vocabulary");
  }

  std::size_t truncated = 0;
  if (vocabulary) {
    const std::size_t dimensions = options.embedder.dimensions;
    if (embedder && dimensions == 0) return fail(ErrorCode::invalid_argument, "the embedder's dimensions are not given", "embedder");
    std::optional<VectorCache> cache;
    if (embedder && !options.cache.empty()) {
      Result<VectorCache> opened = VectorCache::open(options.cache);
      if (!opened) return tl::unexpected(opened.error());
      cache.emplace(*std::move(opened));
      report.cache_replaced = cache->replaced();
    }
    std::optional<PreviousVectors> previous;
    if (embedder && options.previous != nullptr) previous.emplace(*options.previous, options.embedder);
    // The vector of a text depends on the model and on where its input is cut, on nothing else.
    const std::string model = options.embedder.sha256 + "/" + std::to_string(options.embedder.max_tokens);
    if (embedder) input.vectors.resize(report.chunks * dimensions);

    const text::WordPiece tokenizer(*vocabulary);
    std::vector<Pending> pending;
    std::vector<std::string> names;
    std::size_t row = 0, tokens = 0;
    for (const index::DocumentInput& document : input.documents) {
      for (std::size_t ordinal = 0; ordinal < document.chunks.size(); ++ordinal, ++row) {
        const index::ChunkInput& chunk = document.chunks[ordinal];
        const std::string text = index::model_text(document.title, chunk.heading_path, chunk.text);
        text::Encoding encoding = tokenizer.encode(text, options.embedder.max_tokens);
        tokens += encoding.ids.size() + encoding.tokens_cut;
        if (encoding.tokens_cut > 0) ++truncated;
        if (!embedder) continue;
        const text::Digest128 digest = text::digest128(text);
        const std::optional<std::vector<float>> known = cache ? cache->find(model, digest, dimensions) : std::nullopt;
        const auto keep = [&](const std::vector<float>& vector) {
          std::copy(vector.begin(), vector.end(), input.vectors.begin() + static_cast<std::ptrdiff_t>(row * dimensions));
        };
        if (known && check(*known, dimensions, document.id)) {
          keep(*known);
          ++report.from_cache;
        } else if (const auto before = previous ? previous->find(digest) : std::nullopt) {
          keep(*before);
          ++report.from_previous;
        } else {
          pending.push_back({row, digest, std::move(encoding.ids)});
          names.push_back(chunk_name(document, ordinal));
        }
      }
    }
    report.mean_tokens = static_cast<double>(tokens) / static_cast<double>(report.chunks);

    const Clock::time_point embedding = Clock::now();
    const auto tell = [&] {
      if (!options.progress) return;
      const std::size_t left = pending.size() - report.embedded;
      const double each = report.embedded == 0 ? 0 : since_ms(embedding) / static_cast<double>(report.embedded);
      options.progress({report.from_cache + report.from_previous + report.embedded, report.chunks, each * static_cast<double>(left)});
    };
    if (embedder) tell();
    for (std::size_t at = 0; at < pending.size();) {
      if (options.cancelled && options.cancelled()) {
        return fail(ErrorCode::io, "cancelled after " + std::to_string(report.from_cache + report.from_previous + report.embedded) + " of " + std::to_string(report.chunks) + " passages; the next build goes on from there", "cancelled");
      }
      const std::size_t count = std::min(batch_texts, pending.size() - at);
      std::vector<std::vector<text::TokenId>> texts;
      texts.reserve(count);
      for (std::size_t i = 0; i < count; ++i) texts.push_back(std::move(pending[at + i].tokens));
      const Result<std::vector<std::vector<float>>> vectors = embedder(texts);
      if (!vectors) return tl::unexpected(vectors.error());
      if (vectors->size() != count) {
        return fail(ErrorCode::provider_failed, "the embedder gave " + std::to_string(vectors->size()) + " vectors for " + std::to_string(count) + " texts");
      }
      std::vector<VectorCache::Entry> entries;
      for (std::size_t i = 0; i < count; ++i) {
        const std::vector<float>& vector = (*vectors)[i];
        const Result<void> sound = check(vector, dimensions, names[at + i]);
        if (!sound) return tl::unexpected(sound.error());
        std::copy(vector.begin(), vector.end(), input.vectors.begin() + static_cast<std::ptrdiff_t>(pending[at + i].row * dimensions));
        entries.push_back({pending[at + i].digest, vector});
      }
      if (cache) {
        const Result<void> stored = cache->store(model, entries);
        if (!stored) return tl::unexpected(stored.error());
      }
      at += count;
      report.embedded += count;
      tell();
    }
  }
  report.chunks_truncated = truncated;

  index::Metadata& metadata = input.metadata;
  metadata.corpus = corpus.name;
  metadata.revision = corpus.revision;
  metadata.title = corpus.title;
  metadata.licence = corpus.licence;
  metadata.source_url = corpus.source_url;
  metadata.language = !options.language.empty() ? options.language : corpus.language.empty() ? "en" : corpus.language;
  metadata.analysis = metadata.language == "en" || metadata.language.starts_with("en-") ? text::Analysis::english : text::Analysis::plain;
  if (embedder) {
    metadata.embedder = options.embedder;
    input.vocabulary = options.vocabulary;
  }
  metadata.reranker = options.reranker;
  metadata.chunker = describe(options.sizes);
  metadata.builder = POLYGRAPH_VERSION;
  metadata.chunks_truncated = static_cast<std::uint32_t>(truncated);
  metadata.skipped = corpus.skipped;

  Result<std::vector<std::byte>> bytes = index::write_index(input);
  if (!bytes) return tl::unexpected(bytes.error());
  built.bytes = *std::move(bytes);
  report.ms = since_ms(start);
  return built;
}

Result<void> write_file(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  const std::string temporary = file.string() + ".writing-" + std::to_string(::getpid());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const auto failed = [&](const char* what) {
    const int error = errno;
    if (descriptor >= 0) {
      ::close(descriptor);
      ::unlink(temporary.c_str());
    }
    return fail(ErrorCode::io, std::string(what) + " " + file.string() + ": " + std::strerror(error));
  };
  if (descriptor < 0) return failed("cannot write");
  for (std::size_t written = 0; written < bytes.size();) {
    const ::ssize_t count = ::write(descriptor, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failed("cannot write");
    written += static_cast<std::size_t>(count);
  }
  if (::fsync(descriptor) != 0) return failed("cannot flush");
  if (::close(descriptor) != 0 || ::rename(temporary.c_str(), file.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return fail(ErrorCode::io, "cannot replace " + file.string() + ": " + std::strerror(error));
  }
  return {};
}

}  // namespace polygraph::corpus
