#include "wasm/judges/offline.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "wasm/agent/extractive/logistic.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph::judges {
namespace {

struct Words {
  std::set<std::string, std::less<>> terms, literals;
};

Words words_of(std::string_view text) {
  Words words;
  for (const text::Term& term : text::terms(text, text::Analysis::english)) {
    words.terms.insert(term.text);
    if (term.whole && term.text.find_first_of("0123456789_./") != std::string::npos) words.literals.insert(term.text);
  }
  return words;
}

/// Share of `wanted` that is in `held`; `of_none` where nothing is wanted.
double share(const std::set<std::string, std::less<>>& wanted, const std::set<std::string, std::less<>>& held, double of_none) {
  if (wanted.empty()) return of_none;
  const auto found = std::count_if(wanted.begin(), wanted.end(), [&](const std::string& term) { return held.contains(term); });
  return static_cast<double>(found) / static_cast<double>(wanted.size());
}

double lexical(const Words& claim, const Words& passage) { return share(claim.terms, passage.terms, 0) * share(claim.literals, passage.terms, 1); }

}  // namespace

double lexical_support(std::string_view claim, std::string_view passage) { return lexical(words_of(claim), words_of(passage)); }

struct OfflineJudge::Work {
  JudgeInput input;
  CitedAnswer cited, reference;
  Judgement decided;                     ///< what needs no logits; the others stand as unscorable until there are some
  agent::ScoreRequest request;
  /// A claim beside a passage. Where the words alone decide, the cross-encoder is not asked.
  struct Pair {
    double lexical = 0;
    std::optional<std::size_t> asked;    ///< its place in `request`
  };
  std::vector<Pair> pairs;               ///< sentences by passages, then the reference's sentences
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;  ///< of what is asked: each pair once
  std::vector<agent::EmbedRequest> embeddings;
  bool sentences_scored = false, reference_scored = false;

  /// Entailment is at most 1, so a pair whose words give less than `least` has no support that matters.
  void add(const text::WordPiece& tokenizer, std::string_view claim, std::string_view passage, double lexical_part, double least, std::size_t max_tokens) {
    Pair& pair = pairs.emplace_back(Pair{lexical_part, std::nullopt});
    if (lexical_part < least || lexical_part <= 0) return;
    const auto [place, fresh] = places.try_emplace({claim, passage}, request.pairs.size());
    if (fresh) request.pairs.push_back(agent::token_pair(tokenizer.encode_pair(claim, passage, max_tokens)));
    pair.asked = place->second;
  }

  void prepare(const text::WordPiece& tokenizer, std::size_t max_tokens) {
    decided.judge = "offline";
    for (const Metric metric : all_metrics) {
      if (std::find(input.metrics.begin(), input.metrics.end(), metric) == input.metrics.end()) continue;
      if (decide_unasked(input, cited, metric, decided)) continue;
      decided.of(metric) = MetricVerdict{};
      sentences_scored = sentences_scored || (metric != Metric::correctness && metric != Metric::answer_relevancy);
      reference_scored = reference_scored || metric == Metric::correctness;
      if (metric != Metric::answer_relevancy) continue;
      embeddings.push_back({tokenizer.encode(input.question, max_tokens).ids});
      embeddings.push_back({tokenizer.encode(cited.text, max_tokens).ids});
    }
    if (sentences_scored) {
      std::vector<Words> passages;
      for (const Passage& passage : input.context) passages.push_back(words_of(passage.text));
      for (const AnswerSentence& sentence : cited.sentences) {
        const Words words = words_of(sentence.text);
        for (std::size_t p = 0; p < passages.size(); ++p) add(tokenizer, sentence.text, input.context[p].text, lexical(words, passages[p]), least_support, max_tokens);
      }
    }
    const Words answer = words_of(cited.text);
    if (reference_scored) {
      for (const AnswerSentence& sentence : reference.sentences) add(tokenizer, sentence.text, cited.text, lexical(words_of(sentence.text), answer), 0, max_tokens);
    }
  }
};

OfflineJudge::OfflineJudge(std::unique_ptr<Work> work) : work_(std::move(work)) {}
OfflineJudge::OfflineJudge(OfflineJudge&&) noexcept = default;
OfflineJudge& OfflineJudge::operator=(OfflineJudge&&) noexcept = default;
OfflineJudge::~OfflineJudge() = default;

Result<OfflineJudge> OfflineJudge::create(JudgeInput input, const text::WordPiece& tokenizer, std::size_t max_tokens) {
  if (agent::folded(input.question).empty()) return fail(ErrorCode::invalid_argument, "the question is empty", "question");
  for (std::string* text : {&input.question, &input.answer, &input.reference_answer}) *text = agent::well_formed(*text);
  for (Passage& passage : input.context) passage.text = agent::well_formed(passage.text);
  auto work = std::make_unique<Work>();
  work->cited = cited_answer(input.answer, input.citations);
  work->reference = cited_answer(input.reference_answer, {});
  work->input = std::move(input);
  work->prepare(tokenizer, std::max<std::size_t>(3, max_tokens));
  return OfflineJudge(std::move(work));
}

std::optional<agent::ScoreRequest> OfflineJudge::request() const {
  if (work_->request.pairs.empty()) return std::nullopt;
  return work_->request;
}

std::vector<agent::EmbedRequest> OfflineJudge::embeddings() const { return work_->embeddings; }

Judgement OfflineJudge::judgement(const Result<agent::Logits>& logits, const Result<std::vector<agent::Embedding>>& vectors) const {
  const Work& work = *work_;
  Judgement out = work.decided;
  const auto undecided = [&](Metric metric) { return out.of(metric) && out.of(metric)->state == State::unscorable && out.of(metric)->reason.empty(); };
  std::string error;
  std::vector<double> support;
  if (!logits) {
    error = logits.error().message;
  } else if (logits->values.size() != work.request.pairs.size()) {
    error = "the cross-encoder scored " + std::to_string(logits->values.size()) + " of " + std::to_string(work.request.pairs.size()) + " pairs";
  } else {
    for (const float logit : logits->values) {
      if (!std::isfinite(logit)) error = "the cross-encoder gave a logit that is no number";
    }
    for (const Work::Pair& pair : work.pairs) support.push_back(pair.asked ? agent::extractive::logistic(logits->values[*pair.asked]) * pair.lexical : 0);
  }
  if (!work.embeddings.empty()) {
    MetricVerdict& verdict = *out.of(Metric::answer_relevancy);
    verdict.noncommittal = agent::declines(work.cited.text);
    const bool two = vectors && vectors->size() == 2;
    const auto similarity = two ? cosine((*vectors)[0].vector, (*vectors)[1].vector) : std::nullopt;
    if (similarity) {
      verdict.state = State::scored;
      verdict.cosines = {*similarity};
      verdict.value = *verdict.noncommittal ? 0 : std::max(0.0, *similarity);
    } else {
      verdict.state = State::judge_error;
      verdict.reason = !vectors ? vectors.error().message : "the embedder gave vectors that can't be compared";
    }
  }
  if (!error.empty()) {
    for (const Metric metric : all_metrics) {
      if (!undecided(metric)) continue;
      out.of(metric)->state = State::judge_error;
      out.of(metric)->reason = error;
    }
    return out;
  }

  const std::size_t sentences = work.cited.sentences.size(), passages = work.input.context.size();
  const auto supported = [&](std::size_t sentence, std::size_t passage) { return support[sentence * passages + passage] >= least_support; };
  if (work.sentences_scored) {
    std::vector<bool> by_any(sentences, false);
    for (std::size_t s = 0; s < sentences; ++s) {
      for (std::size_t p = 0; p < passages; ++p) by_any[s] = by_any[s] || supported(s, p);
    }
    const auto count = std::count(by_any.begin(), by_any.end(), true);
    if (undecided(Metric::faithfulness)) {
      MetricVerdict& verdict = *out.of(Metric::faithfulness);
      verdict.state = State::scored;
      verdict.value = static_cast<double>(count) / static_cast<double>(sentences);
      for (std::size_t s = 0; s < sentences; ++s) verdict.statements.push_back({work.cited.sentences[s].text, by_any[s] ? Label::supported : Label::unsupported, ""});
    }
    if (undecided(Metric::groundedness)) {
      MetricVerdict& verdict = *out.of(Metric::groundedness);
      verdict.state = State::scored;
      verdict.verdict = static_cast<std::size_t>(count) == sentences;
      verdict.value = *verdict.verdict ? 1 : 0;
      for (std::size_t s = 0; s < sentences; ++s) {
        if (!by_any[s]) verdict.unsupported_claims.push_back(work.cited.sentences[s].text);
      }
    }
    if (undecided(Metric::citation_precision) || undecided(Metric::citation_recall)) {
      std::vector<std::vector<bool>> supports;
      for (std::size_t s = 0; s < sentences; ++s) {
        auto& row = supports.emplace_back();
        for (const std::size_t citation : work.cited.sentences[s].citations) {
          const auto& id = work.cited.citations[citation].chunk_id;
          const auto chunk = std::find_if(work.input.context.begin(), work.input.context.end(), [&](const Passage& each) { return each.id == id; });
          row.push_back(chunk != work.input.context.end() && supported(s, static_cast<std::size_t>(chunk - work.input.context.begin())));
        }
      }
      score_citations(work.cited, supports, out);
    }
  }
  std::size_t next = work.sentences_scored ? sentences * passages : 0;
  if (work.reference_scored) {
    MetricVerdict& verdict = *out.of(Metric::correctness);
    const std::size_t claims = work.reference.sentences.size();
    double sum = 0;
    for (std::size_t i = 0; i < claims; ++i) sum += support[next++];
    if (claims == 0) {
      verdict.reason = "the reference answer says nothing";
    } else {
      verdict.state = State::scored;
      verdict.value = sum / static_cast<double>(claims);
      verdict.score = 1 + 4 * *verdict.value;
      verdict.verdict = *verdict.value >= 0.5;
    }
  }
  return out;
}

}  // namespace polygraph::judges
