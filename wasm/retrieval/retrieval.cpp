#include "wasm/retrieval/retrieval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "wasm/retrieval/dense.hpp"
#include "wasm/retrieval/fusion.hpp"
#include "wasm/retrieval/lexical.hpp"
#include "wasm/retrieval/spelling.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph::retrieval {
namespace {

const char* const used = "used";
const char* const not_asked_for = "not asked for";

/// Under a page cap the kept list is lengthened until this many of its chunks can be handed on: metrics are given down to
/// rank 10.
constexpr std::size_t handed_on_at_least = 10;
/// … but to no more than so many times its configured length.
constexpr std::size_t longest_list_factor = 8;

/// Counts chunks per page and says which still fit under the cap.
class PageCap {
 public:
  PageCap(const index::Index& index, std::uint32_t cap) : index_(index), cap_(cap), taken_(cap == 0 ? 0 : index.documents()) {}
  bool take(ChunkNo chunk) {
    if (cap_ == 0) return true;
    std::uint32_t& taken = taken_[index_.chunk(chunk).document];
    if (taken == cap_) return false;
    ++taken;
    return true;
  }

 private:
  const index::Index& index_;
  std::uint32_t cap_;
  std::vector<std::uint32_t> taken_;
};

/// 1 + the number of chunks that stand before `chunk` in a list by score.
std::uint32_t rank_of(std::span<const double> scores, ChunkNo chunk) {
  std::uint32_t before = 0;
  for (ChunkNo c = 0; c < chunk; ++c) before += scores[c] >= scores[chunk] ? 1 : 0;
  for (ChunkNo c = chunk + 1; c < scores.size(); ++c) before += scores[c] > scores[chunk] ? 1 : 0;
  return before + 1;
}

bool any_positive(std::span<const double> scores) {
  return std::any_of(scores.begin(), scores.end(), [](double s) { return s > 0; });
}

/// Corpus terms one typo away from each word of a query of which the corpus holds no term at all.
std::vector<QueryTerm> corrected(const index::Index& index, std::string_view query) {
  std::vector<index::TermNo> found;
  for (const auto& word : text::terms(query, text::Analysis::plain)) {
    if (!word.whole || text::is_stop_word(word.text)) continue;
    const auto near = one_typo_away(index, word.text);
    found.insert(found.end(), near.begin(), near.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<QueryTerm> terms;
  for (const auto no : found) terms.push_back({std::string(index.term(no)), no, index.document_frequency(no), index.idf(no)});
  return terms;
}

DenseSummary summarise(std::span<const double> scores) {
  DenseSummary summary;
  const auto count = static_cast<double>(scores.size());
  summary.max = scores[0];
  double sum = 0;
  for (const double s : scores) {
    summary.max = std::max(summary.max, s);
    sum += s;
  }
  summary.mean = sum / count;
  double squares = 0;
  for (const double s : scores) squares += (s - summary.mean) * (s - summary.mean);
  summary.standard_deviation = std::sqrt(squares / count);  // correctly rounded by IEEE 754, unlike log and pow
  return summary;
}

}  // namespace

Retrieval::Retrieval(const index::Index& index, std::string query, const Config& config, std::string question)
    : index_(&index), query_(std::move(query)), question_(question.empty() ? query_ : std::move(question)), config_(config) {
  if (!config_.use_reranker) stages_.rerank = not_asked_for;
  if (config_.mode == Mode::bm25) {
    stages_.dense = not_asked_for;
  } else if (index.part() == index::Part::lexical) {
    stages_.dense = "the vectors of the index are not loaded";
  } else if (!index.has_vectors()) {
    stages_.dense = "the index has no vectors";
  } else {
    const index::ModelIdentity& embedder = index.metadata().embedder;
    query_tokens_ = text::WordPiece(*index.vocabulary()).encode(embedder.query_prefix + query_, std::max(2U, embedder.max_tokens));
    phase_ = Phase::embedding;
  }
  if (config_.mode == Mode::dense && phase_ == Phase::embedding) {
    stages_.lexical = not_asked_for;
  } else {
    search_lexically();
  }
  if (phase_ != Phase::embedding) order_by_first_stages();
}

void Retrieval::search_lexically() {
  stages_.lexical = used;
  bm25_ = bm25f_scores(*index_, with_joined_forms(*index_, query_terms(*index_, query_)));
  if (!any_positive(bm25_)) bm25_ = bm25f_scores(*index_, corrected(*index_, query_));
  promotions_ = promotions(*index_, query_);
}

const text::Encoding* Retrieval::wanted_embedding() const noexcept {
  return phase_ == Phase::embedding ? &*query_tokens_ : nullptr;
}

Result<void> Retrieval::set_embedding(std::span<const float> vector) {
  if (phase_ != Phase::embedding) return fail(ErrorCode::invalid_argument, "no embedding is wanted now", "embedding");
  if (vector.size() != index_->dimensions()) {
    return fail(ErrorCode::mismatch,
                "the query's vector has " + std::to_string(vector.size()) + " dimensions, the index has " +
                    std::to_string(index_->dimensions()) + ": use the embedder that built the index (" +
                    index_->metadata().embedder.name + ")",
                "embedding");
  }
  if (!std::all_of(vector.begin(), vector.end(), [](float x) { return std::isfinite(x); })) {
    return fail(ErrorCode::mismatch, "the query's vector holds a value that is not finite", "embedding");
  }
  dense_ = retrieval::dense_scores(*index_, vector);
  dense_summary_ = summarise(dense_);
  order_by_first_stages();
  return {};
}

// Not called by set_embedding(): the page's engine, whose size is limited, then holds nothing of it.
void Retrieval::set_dense_scores(std::vector<double> scores) {
  dense_ = std::move(scores);
  dense_summary_ = summarise(dense_);
  order_by_first_stages();
}

void Retrieval::skip_embedding(std::string why) {
  if (phase_ != Phase::embedding) return;
  stages_.dense = why.empty() ? "no embedding" : std::move(why);
  if (bm25_.empty()) search_lexically();
  order_by_first_stages();
}

bool Retrieval::stands_above(ChunkNo a, ChunkNo b) const noexcept {
  return !promotions_.empty() && promotions_[a] > promotions_[b];
}

void Retrieval::order_by_first_stages() {
  const std::size_t chunks = index_->chunks();
  const bool lexical = !bm25_.empty(), dense = !dense_.empty();

  // What decides the order, and what breaks its ties where fusion says nothing (rrf knows only the head of each list).
  std::span<const double> key, behind;
  if (lexical && dense) {
    if (config_.fusion == Fusion::rrf) {
      constexpr double everything = -std::numeric_limits<double>::infinity();
      fused_ = reciprocal_rank_fusion(chunks, best_first(bm25_, config_.depth, 0.0), best_first(dense_, config_.depth, everything),
                                      config_.rrf_k);
    } else {
      fused_ = mix_fusion(chunks, bm25_, dense_, config_.bm25_weight);
    }
    key = fused_;
    if (config_.fusion == Fusion::rrf) behind = dense_;
  } else {
    fused_ = mix_fusion(chunks, bm25_, dense_, lexical ? 1.0 : 0.0);
    key = lexical ? std::span<const double>(bm25_) : std::span<const double>(dense_);
  }

  // A list of word matches holds only chunks that match. A question always finds something: when nothing matches, the
  // corpus is listed from its beginning.
  const bool only_matches = !dense && (any_positive(bm25_) || !is_question(query_));
  order_.clear();
  for (ChunkNo c = 0; c < chunks; ++c) {
    if (!only_matches || key[c] > 0 || (!promotions_.empty() && promotions_[c] > Promotion::none)) order_.push_back(c);
  }
  const auto better = [&](ChunkNo a, ChunkNo b) {
    if (stands_above(a, b) || stands_above(b, a)) return stands_above(a, b);
    if (key[a] != key[b]) return key[a] > key[b];
    if (!behind.empty() && key[a] == 0 && behind[a] != behind[b]) return behind[a] > behind[b];
    return a < b;
  };
  const std::size_t length = longest_list_factor * std::max<std::size_t>({config_.list_length, config_.rerank_candidates, 1});
  if (length < order_.size()) {
    std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(length), order_.end(), better);
    order_.resize(length);
  }
  std::sort(order_.begin(), order_.end(), better);

  phase_ = Phase::finished;
  if (config_.use_reranker) {
    if (index_->vocabulary() == nullptr) {
      stages_.rerank = "the index's vocabulary is not loaded";
    } else if (order_.empty() || config_.rerank_candidates == 0) {
      stages_.rerank = "there are no candidates to score";
    } else {
      logits_.assign(std::min<std::size_t>(order_.size(), config_.rerank_candidates), std::numeric_limits<float>::quiet_NaN());
      wanted_.assign(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(logits_.size()));
      phase_ = Phase::scoring;
    }
  }
  list_candidates();
}

std::span<const ChunkNo> Retrieval::wanted_pairs() const noexcept {
  return phase_ == Phase::scoring ? std::span<const ChunkNo>(wanted_) : std::span<const ChunkNo>();
}

void Retrieval::reuse(std::span<const Logit> known) {
  if (phase_ != Phase::scoring) return;
  wanted_.clear();
  for (std::size_t place = 0; place < logits_.size(); ++place) {
    for (const Logit& each : known) {
      if (each.chunk == order_[place]) logits_[place] = each.value;
    }
    if (!scored(place)) wanted_.push_back(order_[place]);
  }
  if (wanted_.empty()) finish_scoring();
}

void Retrieval::finish_scoring() {
  phase_ = Phase::finished;
  list_candidates();
}

text::Encoding Retrieval::pair(ChunkNo chunk) const {
  constexpr std::uint32_t shortest_pair = 3;  // [CLS] [SEP] [SEP]
  return text::WordPiece(*index_->vocabulary())
      .encode_pair(question_, index_->chunk_model_text(chunk), std::max(shortest_pair, config_.max_pair_tokens));
}

Error too_many_logits(std::size_t came, std::size_t asked) {
  return {ErrorCode::mismatch, std::to_string(came) + " logits came back for " + std::to_string(asked) + " pairs", "logits"};
}

Result<void> Retrieval::set_logits(std::span<const float> logits) {
  if (phase_ != Phase::scoring) return fail(ErrorCode::invalid_argument, "no scores are wanted now", "logits");
  if (logits.size() > wanted_.size()) {
    return tl::unexpected(too_many_logits(logits.size(), wanted_.size()));
  }
  if (!std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); })) {
    return fail(ErrorCode::mismatch, "the reranker returned a value that is not finite", "logits");
  }
  std::size_t count = 0, next = 0;
  for (std::size_t place = 0; place < logits_.size(); ++place) {
    if (!scored(place) && next < logits.size()) logits_[place] = logits[next++];
    if (scored(place)) ++count;
  }
  if (count == 0) {
    stages_.rerank = "no candidate was scored in time";
  } else if (count < logits_.size()) {
    stages_.rerank = "used: " + std::to_string(count) + " of " + std::to_string(logits_.size()) + " candidates scored";
  }
  finish_scoring();
  return {};
}

void Retrieval::skip_rerank(std::string why) {
  if (phase_ != Phase::scoring) return;
  stages_.rerank = why.empty() ? "no reranker" : std::move(why);
  std::fill(logits_.begin(), logits_.end(), std::numeric_limits<float>::quiet_NaN());
  phase_ = Phase::finished;
}

bool Retrieval::finished() const noexcept { return phase_ == Phase::finished; }

double Retrieval::order_score(const Candidate& candidate) const noexcept {
  if (candidate.rerank_score) return *candidate.rerank_score + config_.rerank_mix * candidate.fused_score.value_or(0);
  if (bm25_.empty()) return candidate.dense_score.value_or(0);
  return dense_.empty() ? candidate.bm25_score.value_or(0) : candidate.fused_score.value_or(0);
}

void Retrieval::list_candidates() {
  // Each is known by its place in order_.
  std::vector<std::size_t> places(order_.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto value = [&](std::size_t place) {
    return static_cast<double>(logits_[place]) + config_.rerank_mix * fused_[order_[place]];
  };
  if (!logits_.empty()) {
    std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      const ChunkNo x = order_[a], y = order_[b];
      if (stands_above(x, y) || stands_above(y, x)) return stands_above(x, y);
      const bool a_scored = scored(a), b_scored = scored(b);
      if (a_scored != b_scored) return a_scored;
      if (!a_scored) return a < b;
      const double u = value(a), v = value(b);
      return u != v ? u > v : x < y;
    });
  }

  ranked_.clear();
  PageCap cap(*index_, config_.page_cap);
  const std::size_t length = std::max<std::size_t>(config_.list_length, logits_.size());
  const bool in_score_order = promotions_.empty();  // a single list's ranks are the places in order_
  std::size_t can_be_handed_on = 0;
  std::uint32_t reranked = 0;
  for (const std::size_t place : places) {
    if (ranked_.size() >= length && can_be_handed_on >= handed_on_at_least) break;
    if (ranked_.size() >= length && config_.page_cap == 0) break;
    const ChunkNo chunk = order_[place];
    if (cap.take(chunk)) ++can_be_handed_on;

    Candidate candidate;
    candidate.chunk = chunk;
    candidate.rank = static_cast<std::uint32_t>(ranked_.size() + 1);
    if (!bm25_.empty() && bm25_[chunk] > 0) {
      candidate.bm25_score = bm25_[chunk];
      candidate.bm25_rank = in_score_order && dense_.empty() ? static_cast<std::uint32_t>(place + 1) : rank_of(bm25_, chunk);
    }
    if (!dense_.empty()) {
      candidate.dense_score = dense_[chunk];
      candidate.dense_rank = in_score_order && bm25_.empty() ? static_cast<std::uint32_t>(place + 1) : rank_of(dense_, chunk);
    }
    candidate.fused_score = fused_[chunk];
    candidate.fused_rank = static_cast<std::uint32_t>(place + 1);
    if (scored(place)) {
      candidate.rerank_score = static_cast<double>(logits_[place]);
      candidate.rerank_rank = ++reranked;
    }
    ranked_.push_back(candidate);
  }
}

std::vector<ChunkNo> Retrieval::handed_on(std::uint32_t top_k) const {
  std::vector<ChunkNo> chunks;
  PageCap cap(*index_, config_.page_cap);
  for (const Candidate& candidate : ranked_) {
    if (chunks.size() == top_k) break;
    if (cap.take(candidate.chunk)) chunks.push_back(candidate.chunk);
  }
  return chunks;
}

}  // namespace polygraph::retrieval
