// Corpora made for one test each: texts of its own, vectors where it wants dense search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wasm/index/reader.hpp"
#include "wasm/index/writer.hpp"

namespace polygraph::tests {

struct Passage {
  std::string page, title, heading_path, text;
};

/// An index together with the bytes that it views.
struct TinyCorpus {
  std::vector<std::byte> file;
  index::Index index;
};

/// Passages with the same page follow each other in one document. `rows`: one vector per passage, or none.
TinyCorpus corpus_of(const std::vector<Passage>& passages, const std::vector<std::vector<float>>& rows = {});
/// One page per text, `p000`, `p001`, …, so chunk i is texts[i].
TinyCorpus corpus_of_texts(const std::vector<std::string>& texts, const std::vector<std::vector<float>>& rows = {});

std::vector<std::string> texts(const index::Index& index, const std::vector<index::ChunkNo>& chunks);

}  // namespace polygraph::tests
