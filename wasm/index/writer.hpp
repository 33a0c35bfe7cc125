// Writes an index file. The same input gives the same bytes, on every machine and in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/index/metadata.hpp"

namespace polygraph::index {

/// A link inside a chunk's text: the words that carry it and where it leads.
struct Link {
  std::uint32_t begin = 0;  ///< byte offsets into the chunk's text, [begin, end)
  std::uint32_t end = 0;
  std::string target;       ///< absolute URL, or a URL relative to the corpus root
  bool operator==(const Link&) const = default;
};

struct ChunkInput {
  std::string heading_path;  ///< "Install > On Linux"; empty above the first heading
  std::string anchor;        ///< of its heading, without '#'; empty for the page itself
  std::string text;          ///< UTF-8, not empty
  std::vector<Link> links;
};

struct DocumentInput {
  std::string id;       ///< `path/of/page`, unique
  std::string title;
  std::string url;      ///< absolute, or relative to the page that shows it; may be empty
  std::string licence;  ///< empty: the corpus's
  std::vector<ChunkInput> chunks;
};

/// Everything an index is made of. `vectors` holds one row of `metadata.embedder.dimensions` floats (L2-normalised) per
/// chunk, in document and chunk order; it is empty for an index without dense search.
struct IndexInput {
  Metadata metadata;
  std::vector<DocumentInput> documents;  ///< sorted by id by the writer
  std::vector<float> vectors;            ///< in the order of `documents` as given
  std::string vocabulary;                ///< content of the models' vocab.txt; empty only without vectors
};

/// The bytes of the index file. Fails with `invalid_argument` (field: document id or "vectors") on duplicate or empty
/// ids, empty or ill-formed text, a link outside its text, or rows that do not match the chunks.
Result<std::vector<std::byte>> write_index(const IndexInput& input);

}  // namespace polygraph::index
