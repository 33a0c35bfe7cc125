#include "wasm/agent/extractive/grader.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "wasm/agent/extractive/logistic.hpp"
#include "wasm/agent/extractive/question.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/text/digest.hpp"
#include "wasm/bits.hpp"

namespace polygraph::agent::extractive {
namespace {

const GateWeights& gate(const GraderWeights& weights, Evidence evidence) {
  switch (evidence) {
    case Evidence::reranked: return weights.reranked;
    case Evidence::dense: return weights.dense;
    case Evidence::lexical: break;
  }
  return weights.lexical;
}

std::string percent(double share) { return std::to_string(static_cast<int>(share * 100 + 0.5)) + " %"; }

std::string two_digits(double p) {
  const int hundredths = static_cast<int>(p * 100 + 0.5);
  return std::to_string(hundredths / 100) + "." + (hundredths % 100 < 10 ? "0" : "") + std::to_string(hundredths % 100);
}

/// Names up to three missing terms.
std::string listed(const std::vector<std::string>& terms) {
  constexpr std::size_t most = 3;
  std::string out;
  for (std::size_t i = 0; i < terms.size() && i < most; ++i) {
    if (i > 0) out += ", ";
    out += "\"" + terms[i] + "\"";
  }
  if (terms.size() > most) out += " and " + std::to_string(terms.size() - most) + " more";
  return out;
}

std::string reason(const index::Index& index, const GraderFeatures& features, double p, bool rewritten) {
  std::string out = "The best passage is on \"";
  out += index.document(index.chunk(features.best).document).title;
  out += "\", which holds " + percent(features.covp) + " of what the ";
  out += rewritten ? "original question" : "question";
  out += " weighs";
  if (!features.missing.empty()) out += " (not there: " + listed(features.missing) + ")";
  out += "; probability that it answers: " + two_digits(p) + ".";
  if (features.evidence == Evidence::dense) out += " Graded without the reranker.";
  if (features.evidence == Evidence::lexical) out += " Graded on words alone.";
  return out;
}

}  // namespace

GraderFeatures grader_features(const index::Index& index, const retrieval::Retrieval& retrieval, std::string_view question_text) {
  return grader_features(index, retrieval.ranked(), retrieval.dense_summary(), question_text);
}

GraderFeatures grader_features(const index::Index& index, std::span<const retrieval::Candidate> ranked,
                               const std::optional<retrieval::DenseSummary>& dense, std::string_view question_text) {
  GraderFeatures features;
  if (ranked.empty()) return features;
  features.any = true;
  features.best = ranked.front().chunk;
  const retrieval::Candidate* top = nullptr;
  for (const retrieval::Candidate& candidate : ranked) {
    if (!candidate.rerank_score) continue;
    if (top == nullptr || *candidate.rerank_score > *top->rerank_score ||
        (*candidate.rerank_score == *top->rerank_score && candidate.chunk < top->chunk)) {
      top = &candidate;
    }
  }
  if (dense) {
    features.evidence = Evidence::dense;
    features.cosz = dense->standard_deviation > 0 ? (dense->max - dense->mean) / dense->standard_deviation : 0.0;
  }
  if (top != nullptr) {
    features.evidence = Evidence::reranked;
    features.best = top->chunk;
    features.s1 = *top->rerank_score;
  }

  // Without a model the vocabulary may not have arrived: names are then told by spelling alone.
  const Question question(index, question_text, features.evidence == Evidence::lexical ? Pieces::ignore : Pieces::count);
  const index::DocumentNo page = index.chunk(features.best).document;
  double held = 0;
  for (std::size_t i = 0; i < question.terms().size(); ++i) {
    const QuestionTerm& term = question.terms()[i];
    if (question.presence().in_document(i, page)) {
      held += term.idf;
      continue;
    }
    features.missing.push_back(term.text);
    if (term.name) features.namemissp = std::max(features.namemissp, term.idf / index.idf_unseen());
  }
  if (question.total_idf() > 0) features.covp = held / question.total_idf();
  return features;
}

std::vector<std::pair<std::string, double>> named(const GraderFeatures& features) {
  std::vector<std::pair<std::string, double>> out;
  if (!features.any) return out;
  if (features.s1) out.emplace_back("s1", *features.s1);
  if (features.cosz) out.emplace_back("cosz", *features.cosz);
  out.emplace_back("covp", features.covp);
  out.emplace_back("namemissp", features.namemissp);
  return out;
}

double probability(const GraderFeatures& features, const GraderWeights& weights) {
  if (!features.any || (features.s1 && *features.s1 < least_logit)) return 0;
  const GateWeights& w = gate(weights, features.evidence);
  const double z = w.bias + w.s1 * features.s1.value_or(0) + w.cosz * features.cosz.value_or(0) + w.covp * features.covp + w.namemissp * features.namemissp;
  return logistic(z);
}

std::string grader_name(const GraderWeights& weights) {
  // The bytes of the doubles, little-endian, are the same on every target.
  std::string bytes;
  for (const GateWeights& w : {weights.reranked, weights.dense, weights.lexical}) {
    for (const double value : {w.bias, w.s1, w.cosz, w.covp, w.namemissp, w.answer, w.unsure}) {
      const auto bits = bit_cast<std::uint64_t>(value);
      for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>((bits >> shift) & 0xFF));
    }
  }
  // "xxh128:" and the first eight digits: enough to tell two sets apart.
  return "extractive-" + text::digest(bytes).substr(7, 8);
}

GraderFeatures best_so_far(GraderFeatures now, const GraderFeatures& before) {
  if (now.evidence != before.evidence || !before.any) return now;
  if (now.s1 && before.s1 && *now.s1 <= *before.s1) return before;
  if (now.cosz && before.cosz) now.cosz = std::min(*now.cosz, *before.cosz);
  return now;
}

Graded grade(const index::Index& index, const retrieval::Retrieval& retrieval, const std::vector<index::ChunkNo>& handed_on,
             std::string_view question_text, const GraderFeatures& features, const GraderWeights& weights) {
  Graded graded;
  for (const index::ChunkNo chunk : handed_on) graded.graded_ids.push_back(index.chunk_id(chunk));
  graded.features = named(features);
  const double p = probability(features, weights);
  graded.probability = p;
  if (!features.any || handed_on.empty()) {
    graded.reason = "Nothing was found for this query.";
    return graded;
  }
  const GateWeights& thresholds = gate(weights, features.evidence);
  graded.relevant = p >= thresholds.unsure;
  graded.unsure = graded.relevant && p < thresholds.answer;
  graded.reason = reason(index, features, p, folded(retrieval.query()) != folded(question_text));
  if (!graded.relevant) return graded;

  // Chunks that support the answer: near the best in coverage of the question, or in the cross-encoder's eyes.
  constexpr double coverage_share = 0.6;
  constexpr double logit_margin = 2.0;
  const Question question(index, question_text, Pieces::ignore);
  std::vector<double> coverage(handed_on.size(), 0.0);
  std::vector<double> logits(handed_on.size(), 0.0);
  std::vector<bool> has_logit(handed_on.size(), false);
  double best_coverage = 0;
  for (std::size_t i = 0; i < handed_on.size(); ++i) {
    for (std::size_t t = 0; t < question.terms().size(); ++t) {
      if (question.presence().in_chunk(t, handed_on[i])) coverage[i] += question.terms()[t].idf;
    }
    best_coverage = std::max(best_coverage, coverage[i]);
    for (const retrieval::Candidate& candidate : retrieval.ranked()) {
      if (candidate.chunk == handed_on[i] && candidate.rerank_score) {
        logits[i] = *candidate.rerank_score;
        has_logit[i] = true;
      }
    }
  }
  for (std::size_t i = 0; i < handed_on.size(); ++i) {
    const bool near_by_words = best_coverage > 0 && coverage[i] >= coverage_share * best_coverage;
    const bool near_by_logit = has_logit[i] && features.s1 && logits[i] >= *features.s1 - logit_margin;
    if (i == 0 || near_by_words || near_by_logit) graded.relevant_chunk_ids.push_back(graded.graded_ids[i]);
  }
  return graded;
}

}  // namespace polygraph::agent::extractive
