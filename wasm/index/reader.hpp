// Reads an index file in place. Every offset, length and checksum is validated before it is used; after `open` returned
// a value, no accessor can read outside the bytes.
//
// An Index views the bytes that it was opened from, which must outlive it and not move. It is immutable and may be read
// from several threads. Moving an Index keeps its views valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/index/metadata.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::index {

using DocumentNo = std::uint32_t;  ///< 0 … documents() - 1, in id order
using ChunkNo = std::uint32_t;     ///< 0 … chunks() - 1; the chunks of a document are consecutive
using TermNo = std::uint32_t;      ///< 0 … terms() - 1, in byte order of the terms

struct Document {
  std::string_view id, title, url, licence;
  ChunkNo first_chunk = 0;
  std::uint32_t chunk_count = 0;
};

struct LinkView {
  std::uint32_t begin, end;
  std::string_view target;
};

struct Chunk {
  DocumentNo document = 0;
  std::uint32_t ordinal = 0;       ///< NNN of its id, counted within the page
  std::string_view heading_path, anchor, text;
};

/// The fields of BM25F, in the order of every per-field array.
enum class Field : std::uint8_t { body, title, heading };
inline constexpr std::size_t field_count = 3;

struct Posting {
  ChunkNo chunk;
  std::uint32_t tf[field_count];  ///< occurrences in each field
};

/// Walks the postings of one term in chunk order:  for (auto c = index.postings(t); auto p = c.next();) …
class PostingCursor {
 public:
  std::optional<Posting> next() noexcept;

 private:
  friend class Index;
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  ChunkNo previous_ = 0;
  std::uint32_t left_ = 0;
};

enum class Part : std::uint8_t {
  lexical,  ///< documents, chunks, terms: enough for BM25, in a prefix of the file
  all,      ///< and vocabulary and vectors
};

/// How many leading bytes of the file `Part::lexical` needs, and how many the whole file has. `prefix` must hold the
/// header and the section table; otherwise `truncated`.
struct Extent {
  std::uint64_t lexical = 0;
  std::uint64_t all = 0;
};
Result<Extent> extent(std::span<const std::byte> prefix);

class Index {
 public:
  /// Fails with `truncated`, `corrupt` or `unsupported_version`; `field` names the section.
  static Result<Index> open(std::span<const std::byte> bytes, Part part = Part::all);

  Part part() const noexcept;
  const Metadata& metadata() const noexcept;
  /// Identifies the content: digest of the section table, which holds a checksum of each section.
  const std::string& digest() const noexcept;

  std::uint32_t documents() const noexcept;
  Document document(DocumentNo no) const noexcept;
  std::optional<DocumentNo> find_document(std::string_view id) const noexcept;

  std::uint32_t chunks() const noexcept;
  Chunk chunk(ChunkNo no) const noexcept;
  /// `path/of/page#003`
  std::string chunk_id(ChunkNo no) const;
  std::optional<ChunkNo> find_chunk(std::string_view id) const noexcept;
  /// The document's URL with the chunk's anchor.
  std::string chunk_url(ChunkNo no) const;
  std::vector<LinkView> links(ChunkNo no) const;
  /// model_text() of the chunk.
  std::string chunk_model_text(ChunkNo no) const;

  std::uint32_t terms() const noexcept;
  std::string_view term(TermNo no) const noexcept;
  std::optional<TermNo> find_term(std::string_view term) const noexcept;
  /// [first, last) of the terms that begin with `prefix`.
  std::pair<TermNo, TermNo> terms_with_prefix(std::string_view prefix) const noexcept;
  std::uint32_t document_frequency(TermNo no) const noexcept;  ///< chunks that hold the term in any field
  double idf(TermNo no) const noexcept;                        ///< ln(1 + (N - df + 0.5) / (df + 0.5)), stored
  double idf_unseen() const noexcept;                          ///< the same for df = 0
  PostingCursor postings(TermNo no) const noexcept;
  std::uint32_t field_length(ChunkNo no, Field field) const noexcept;  ///< in terms
  double mean_field_length(Field field) const noexcept;

  bool has_vectors() const noexcept;  ///< false for Part::lexical
  std::uint32_t dimensions() const noexcept;
  /// All rows, chunk-major: row c is [c * dimensions(), (c + 1) * dimensions()); vector ≈ row * scale.
  std::span<const std::int8_t> vectors() const noexcept;
  std::span<const float> vector_scales() const noexcept;
  /// Only with Part::all.
  const text::Vocabulary* vocabulary() const noexcept;

 private:
  struct State;
  explicit Index(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace polygraph::index
