#include "wasm/gaps/nearness.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "wasm/text/terms.hpp"

namespace polygraph::gaps {
namespace {

constexpr double near_by_meaning = 0.67, near_by_words = 0.37;

double idf_of(const index::Index& index, std::string_view term) {
  const auto no = index.find_term(term);
  return no ? index.idf(*no) : index.idf_unseen();
}

}  // namespace

std::string_view name(Measure measure) noexcept { return measure == Measure::meaning ? "meaning" : "words"; }
double near_from(Measure measure) noexcept { return measure == Measure::meaning ? near_by_meaning : near_by_words; }

double covered(const index::Index& index, std::string_view question, std::span<const index::ChunkNo> passages) {
  const auto analysis = index.metadata().analysis;
  const auto wanted = text::distinct(text::terms(question, analysis));
  double all = 0, best = 0;
  for (const auto& term : wanted) all += idf_of(index, term);
  if (all <= 0) return 0;
  for (const auto passage : passages) {
    const auto held = text::distinct(text::terms(index.chunk_model_text(passage), analysis));
    const std::set<std::string_view> words(held.begin(), held.end());
    double sum = 0;
    for (const auto& term : wanted) sum += words.contains(term) ? idf_of(index, term) : 0;
    best = std::max(best, sum / all);
  }
  return best;
}

SparseVector WordVectors::of(std::string_view question) {
  std::map<std::uint32_t, double> weights;
  double squares = 0;
  for (const auto& term : text::distinct(text::terms(question, index_ == nullptr ? text::Analysis::english : index_->metadata().analysis))) {
    const auto dimension = dimensions_.emplace(term, static_cast<std::uint32_t>(dimensions_.size())).first->second;
    const double weight = index_ == nullptr ? 1.0 : idf_of(*index_, term);
    weights[dimension] = weight;
    squares += weight * weight;
  }
  SparseVector out;
  for (const auto& [dimension, weight] : weights) out.emplace_back(dimension, static_cast<float>(weight / std::sqrt(squares)));
  return out;
}

}  // namespace polygraph::gaps
