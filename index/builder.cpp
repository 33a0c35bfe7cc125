#include "index/builder.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "index/previous_vectors.hpp"
#include "wasm/index/model_text.hpp"

namespace polygraph::corpus {
namespace {

using Clock = std::chrono::steady_clock;

double since_ms(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

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
    if (embedder && options.embedder.dimensions == 0) return fail(ErrorCode::invalid_argument, "the embedder's dimensions are not given", "embedder");
    std::optional<VectorCache> cache;
    if (embedder && !options.cache.empty()) {
      Result<VectorCache> opened = VectorCache::open(options.cache);
      if (!opened) return tl::unexpected(opened.error());
      cache.emplace(*std::move(opened));
      report.cache_replaced = cache->replaced();
    }
    std::optional<PreviousVectors> previous;
    if (embedder && options.previous != nullptr) previous.emplace(*options.previous, options.embedder);
    PassageVectors vectors(options.embedder, cache ? &*cache : nullptr, previous ? &*previous : nullptr);
    const text::WordPiece tokenizer(*vocabulary);
    std::size_t tokens = 0;
    for (const index::DocumentInput& document : input.documents) {
      for (std::size_t ordinal = 0; ordinal < document.chunks.size(); ++ordinal) {
        const index::ChunkInput& chunk = document.chunks[ordinal];
        const std::string text = index::model_text(document.title, chunk.heading_path, chunk.text);
        text::Encoding encoding = tokenizer.encode(text, options.embedder.max_tokens);
        tokens += encoding.ids.size() + encoding.tokens_cut;
        if (encoding.tokens_cut > 0) ++truncated;
        if (embedder) vectors.add(chunk_name(document, ordinal), text, std::move(encoding.ids));
      }
    }
    report.mean_tokens = static_cast<double>(tokens) / static_cast<double>(report.chunks);
    if (embedder) {
      if (auto done = vectors.embed(embedder, options.progress, options.cancelled); !done) return tl::unexpected(done.error());
    }
    report.embedded = vectors.embedded();
    report.from_cache = vectors.from_cache();
    report.from_previous = vectors.from_previous();
    input.vectors = std::move(vectors.values());
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
