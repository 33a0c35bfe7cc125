// What an index says about itself: which corpus, which models, which settings. Stored as one JSON section.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph::index {

/// A model as the index knows it. `sha256` is that of its model.onnx, lower-case hex; empty when there is none.
struct ModelIdentity {
  std::string name;
  std::string sha256;
  std::uint32_t dimensions = 0;   ///< of its vectors; 0 for a reranker
  std::string query_prefix;       ///< put before a query, never before a passage
  std::uint32_t max_tokens = 512; ///< longest input
  bool operator==(const ModelIdentity&) const = default;
};

struct Metadata {
  std::string corpus;        ///< `docker-doc`, `dir:docs`, …
  std::string revision;      ///< what pins the corpus: a package version, a commit, or a digest of its files
  std::string title;         ///< for people: "Docker Engine documentation"
  std::string licence;       ///< SPDX identifier or a sentence
  std::string source_url;    ///< where the corpus comes from
  std::string language = "en";
  text::Analysis analysis = text::Analysis::english;
  ModelIdentity embedder;
  ModelIdentity reranker;
  std::string chunker;       ///< its settings, in one readable line; equal settings give equal lines
  std::string builder;       ///< version of Polygraph that wrote the index
  std::uint32_t chunks_truncated = 0;  ///< chunks longer than the embedder's input
  std::vector<std::string> skipped;    ///< pages that could not be read: "path: why"

  bool operator==(const Metadata&) const = default;
};

std::string to_json(const Metadata& metadata);
Result<Metadata> parse_metadata(std::string_view json);

}  // namespace polygraph::index
