// The settings of retrieval, and what each stage did.
#pragma once

#include <cstdint>
#include <string>

namespace polygraph::retrieval {

enum class Mode : std::uint8_t { dense, bm25, hybrid };
enum class Fusion : std::uint8_t {
  rrf,  ///< reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009) over the first `depth` of each list
  mix,  ///< weighted normalised scores over all chunks
};

struct Config {
  Mode mode = Mode::hybrid;
  Fusion fusion = Fusion::rrf;
  std::uint32_t rrf_k = 60;
  std::uint32_t depth = 50;             ///< CANDIDATES: length of each list that rrf fuses
  double bm25_weight = 0.4;             ///< of `mix`; the dense score has 1 - bm25_weight
  bool use_reranker = false;
  std::uint32_t rerank_candidates = 20; ///< pairs that the cross-encoder scores
  double rerank_mix = 0.0;              ///< order by logit + rerank_mix * fused score; 0: the reranker's own order
  std::uint32_t max_pair_tokens = 512;  ///< longest (query, passage) pair; the passage is cut
  std::uint32_t page_cap = 0;           ///< at most so many chunks of a page are handed on; 0: no cap
  std::uint32_t list_length = 20;       ///< the ranked list that is kept
  double rerank_budget_ms = 0.0;        ///< for the host: stop scoring after this; 0: no budget

  bool operator==(const Config&) const = default;
};

}  // namespace polygraph::retrieval
