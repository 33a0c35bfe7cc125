// The extractive grader: does the retrieved context hold the answer? A logistic model over what the stages already
// measured; it asks no model and reads no words of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/agent/extractive/weights.hpp"
#include "wasm/agent/run.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/retrieval/retrieval.hpp"

namespace polygraph::agent::extractive {

enum class Evidence : std::uint8_t { reranked, dense, lexical };

/// t1 is the chunk with the highest logit among the reranked (without a reranker: the first in the list); its page is P:
/// all text, titles and headings. Shares are of idf; `top` is the idf of a term in no chunk.
struct GraderFeatures {
  Evidence evidence = Evidence::lexical;
  bool any = false;         ///< false: nothing was retrieved, and no other member says anything
  index::ChunkNo best = 0;  ///< t1
  std::optional<double> s1;    ///< logit of t1; only with a reranker
  std::optional<double> cosz;  ///< (max - mean) / standard deviation of the cosines over all chunks; only with dense search
  double covp = 0;          ///< share of the question's terms that P holds
  double namemissp = 0;     ///< largest idf of a name not in P / top
  std::vector<std::string> missing;  ///< terms not in P, in question order: for the reason
};

/// Features of a finished retrieval. `question` is the person's own, also after a rewrite: a rewrite may find another
/// page, but must not make up for what the question asks and the page does not say.
GraderFeatures grader_features(const index::Index& index, const retrieval::Retrieval& retrieval, std::string_view question);
/// The same for a list and a summary of cosines that did not come from one retrieval: calibration takes pages out.
GraderFeatures grader_features(const index::Index& index, std::span<const retrieval::Candidate> ranked,
                               const std::optional<retrieval::DenseSummary>& dense, std::string_view question);

/// Name and value of each feature that was measured, in the order of GateWeights.
std::vector<std::pair<std::string, double>> named(const GraderFeatures& features);

/// A highest logit below this says that the passages are about something else altogether: the question is refused whatever
/// its words have in common with a page. The cross-encoder gives questions of another field -10 and less; no question of
/// the development split that is answered with its page lies below -7.7.
inline constexpr double least_logit = -9.0;

/// Probability that the context holds the answer.
double probability(const GraderFeatures& features, const GraderWeights& weights = default_weights);

/// Name of grader and weights, as a trace's `models.grader` says it.
std::string grader_name(const GraderWeights& weights = default_weights);

/// What counts after a retrieval with a rewritten query: `now`, where it found a passage that the cross-encoder holds above
/// all that were `before`, else `before`. A query made of the corpus's own words leads away from the passages nearest to
/// the question, and a page that merely holds its words must not answer in their place. Without logits the cosine counts
/// at most as much as before.
GraderFeatures best_so_far(GraderFeatures now, const GraderFeatures& before);

/// The verdict. `handed_on` are the chunks that went on from the retrieve step; those that support an answer are named.
Graded grade(const index::Index& index, const retrieval::Retrieval& retrieval, const std::vector<index::ChunkNo>& handed_on,
             std::string_view question, const GraderFeatures& features, const GraderWeights& weights = default_weights);

}  // namespace polygraph::agent::extractive
