#include "wasm/judges/judge.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "wasm/agent/reply.hpp"

namespace polygraph::judges {
namespace {

MetricVerdict scored(double value, std::string reason = {}) {
  MetricVerdict verdict;
  verdict.state = State::scored;
  verdict.value = value;
  verdict.reason = std::move(reason);
  return verdict;
}

MetricVerdict unscored(State state, std::string reason) {
  MetricVerdict verdict;
  verdict.state = state;
  verdict.reason = std::move(reason);
  return verdict;
}

bool asked_for(const JudgeInput& input, Metric metric) { return std::find(input.metrics.begin(), input.metrics.end(), metric) != input.metrics.end(); }

/// What an answer without a judge's reply is worth; nothing where a judge must be asked.
std::optional<MetricVerdict> unasked(const JudgeInput& input, const CitedAnswer& cited, Metric metric) {
  if (input.status == AnswerStatus::failed) return unscored(State::failed, "the run failed");
  if (input.status == AnswerStatus::refused || input.marked_refused) return unscored(State::unscorable, "the answer is a refusal");
  const bool silent = cited.sentences.empty();
  const std::string says_nothing = "the answer says nothing";
  switch (metric) {
    case Metric::faithfulness:
      if (silent) return unscored(State::unscorable, says_nothing);
      if (!input.context.empty()) break;
      {
        auto verdict = scored(0, "there is no context");
        for (const auto& sentence : cited.sentences) verdict.statements.push_back({sentence.text, Label::unsupported, "there is no context"});
        return verdict;
      }
    case Metric::answer_relevancy:
      if (!silent) break;
      {
        auto verdict = scored(0, says_nothing);
        verdict.noncommittal = true;
        return verdict;
      }
    case Metric::correctness:
      if (agent::folded(input.reference_answer).empty()) return unscored(State::unscorable, "there is no reference answer");
      if (!silent) break;
      {
        auto verdict = scored(0, says_nothing);
        verdict.score = 1;
        verdict.verdict = false;
        return verdict;
      }
    case Metric::groundedness:
      if (silent) return unscored(State::unscorable, says_nothing);
      if (!input.context.empty()) break;
      {
        auto verdict = scored(0, "there is no context");
        verdict.verdict = false;
        for (const auto& sentence : cited.sentences) verdict.unsupported_claims.push_back(sentence.text);
        return verdict;
      }
    case Metric::citation_precision:
      if (silent || cited.citations.empty()) return unscored(State::unscorable, silent ? says_nothing : "the answer cites nothing");
      break;
    case Metric::citation_recall:
      if (silent) return unscored(State::unscorable, says_nothing);
      if (cited.citations.empty()) return scored(0, "the answer cites nothing");
      break;
  }
  if (input.answer.size() > longest_answer_bytes) {
    return unscored(State::judge_error, "the answer has " + std::to_string(input.answer.size()) + " bytes; at most " + std::to_string(longest_answer_bytes) + " are judged");
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> cosine(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size() || a.empty()) return std::nullopt;
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  const double norms = std::sqrt(aa) * std::sqrt(bb);
  if (!(norms > 0) || !std::isfinite(norms) || !std::isfinite(dot)) return std::nullopt;
  return std::clamp(dot / norms, -1.0, 1.0);
}

bool decide_unasked(const JudgeInput& input, const CitedAnswer& cited, Metric metric, Judgement& judgement) {
  auto verdict = unasked(input, cited, metric);
  if (!verdict) return false;
  if (metric == Metric::citation_recall && verdict->state == State::scored) {
    for (const auto& each : cited.sentences) judgement.sentences.push_back({each.text, each.begin, each.end, {}, {}});
  }
  judgement.of(metric) = std::move(verdict);
  return true;
}

void score_citations(const CitedAnswer& cited, const std::vector<std::vector<bool>>& supports, Judgement& judgement) {
  std::vector<bool> sound(cited.citations.size(), false);
  std::size_t supported_sentences = 0;
  judgement.sentences.clear();
  for (std::size_t s = 0; s < cited.sentences.size(); ++s) {
    const AnswerSentence& sentence = cited.sentences[s];
    SentenceSupport& out = judgement.sentences.emplace_back(SentenceSupport{sentence.text, sentence.begin, sentence.end, {}, {}});
    for (std::size_t i = 0; i < sentence.citations.size(); ++i) {
      const std::size_t citation = sentence.citations[i];
      const std::string& id = cited.citations[citation].chunk_id;
      out.cited_ids.push_back(id);
      if (!supports[s][i]) continue;
      out.supporting_ids.push_back(id);
      sound[citation] = true;
    }
    if (!out.supporting_ids.empty()) ++supported_sentences;
  }
  const auto fill = [&](Metric metric, std::size_t part, std::size_t whole) {
    auto& verdict = judgement.of(metric);
    if (verdict && !verdict->value && whole > 0) *verdict = scored(static_cast<double>(part) / static_cast<double>(whole));
  };
  fill(Metric::citation_precision, static_cast<std::size_t>(std::count(sound.begin(), sound.end(), true)), sound.size());
  fill(Metric::citation_recall, supported_sentences, cited.sentences.size());
}

struct Judge::Work {
  /// A request that waits for its result.
  struct Open {
    Metric metric = Metric::faithfulness;  ///< citation_precision stands for both
    std::optional<JudgeCall> call;         ///< nothing: an embedding
    std::size_t index = 0;                 ///< which embedding
    std::optional<std::vector<ClaimVerdict>> before;  ///< the first reply's verdicts, one of them missing
  };
  /// Where the verdict of a claim goes: citation `which` of a sentence.
  struct Place {
    std::size_t sentence = 0, which = 0;
  };

  JudgeInput input;
  const text::WordPiece* tokenizer = nullptr;
  std::size_t max_tokens = 0;
  CitedAnswer cited;
  Judgement judgement;
  std::map<RequestId, Open> open;
  RequestId last = 0;
  std::vector<Request> out;

  std::vector<std::string> statements;
  std::vector<std::optional<std::vector<float>>> vectors;  ///< of the question, then of the questions made from the answer
  MetricVerdict relevancy;
  std::map<std::string, Place> places;                     ///< by claim id
  std::vector<std::vector<bool>> supports;
  std::size_t open_citation_calls = 0;
  std::uint32_t missing_citations = 0;

  bool pending_citations = false;                          ///< the citation metrics are still to be decided

  void hand_out(Open task) {
    Request& request = out.emplace_back();
    request.id = ++last;
    request.request = *task.call;
    open.emplace(last, std::move(task));
  }
  void ask(Metric metric, JudgeCall call) {
    Open task;
    task.metric = metric;
    task.call = std::move(call);
    hand_out(std::move(task));
  }
  void decide(Metric metric, MetricVerdict verdict) { judgement.of(metric) = std::move(verdict); }

  std::vector<Passage> labelled_context() const {
    std::vector<Passage> passages;
    for (const Passage& chunk : input.context) passages.push_back({"P" + std::to_string(passages.size() + 1), chunk.text});
    return passages;
  }
  JudgeCall call_of(JudgeTask task) const {
    JudgeCall call;
    call.task = task;
    call.question = input.question;
    // Citation marks are no part of what is said; a judge that sees them takes them for evidence.
    call.answer = cited.text;
    if (task == JudgeTask::correctness) call.reference_answer = input.reference_answer;
    if (task == JudgeTask::statement_verdicts || task == JudgeTask::groundedness) call.passages = labelled_context();
    call.nonce = nonce_of(input.salt, call);
    return call;
  }

  void start() {
    for (const Metric metric : all_metrics) {
      if (!asked_for(input, metric) || decide_unasked(input, cited, metric, judgement)) continue;
      // Until it is decided. Both citation metrics come from the same replies.
      judgement.of(metric) = MetricVerdict{};
      switch (metric) {
        case Metric::faithfulness: ask(metric, call_of(JudgeTask::statements)); break;
        case Metric::answer_relevancy: ask(metric, call_of(JudgeTask::questions)); break;
        case Metric::correctness: ask(metric, call_of(JudgeTask::correctness)); break;
        case Metric::groundedness: ask(metric, call_of(JudgeTask::groundedness)); break;
        case Metric::citation_precision:
        case Metric::citation_recall: pending_citations = true; break;
      }
    }
    if (pending_citations) ask_citations();
  }

  void ask_citations() {
    const JudgeCall empty = call_of(JudgeTask::citation_verdicts);
    JudgeCall call = empty;
    std::map<std::string, std::string> labels;  // by chunk id, of the call that is being filled
    const auto send = [&] {
      if (call.claims.empty()) return;
      ++open_citation_calls;
      ask(Metric::citation_precision, std::exchange(call, empty));
      labels.clear();
    };
    std::size_t number = 0;
    for (std::size_t s = 0; s < cited.sentences.size(); ++s) {
      const AnswerSentence& sentence = cited.sentences[s];
      supports.emplace_back(sentence.citations.size(), false);
      for (std::size_t i = 0; i < sentence.citations.size(); ++i) {
        const std::string& id = cited.citations[sentence.citations[i]].chunk_id;
        const auto chunk = std::find_if(input.context.begin(), input.context.end(), [&](const Passage& each) { return each.id == id; });
        if (chunk == input.context.end()) continue;
        if (call.claims.size() == most_claims_per_call) send();
        auto label = labels.find(id);
        if (label == labels.end()) {
          label = labels.emplace(id, "P" + std::to_string(labels.size() + 1)).first;
          call.passages.push_back({label->second, chunk->text});
        }
        Claim claim{claim_id(input.salt, empty, ++number, sentence.text + '\n' + id), sentence.text, label->second};
        places[claim.id] = {s, i};
        call.claims.push_back(std::move(claim));
      }
    }
    send();
    if (open_citation_calls == 0) finish_citations();
  }

  void finish_citations() {
    pending_citations = false;
    score_citations(cited, supports, judgement);
    for (const Metric metric : {Metric::citation_precision, Metric::citation_recall}) {
      if (auto& verdict = judgement.of(metric)) verdict->missing = missing_citations;
    }
  }
  void fail_citations(const std::string& reason) {
    if (!pending_citations) return;
    pending_citations = false;
    for (const Metric metric : {Metric::citation_precision, Metric::citation_recall}) {
      if (judgement.of(metric) && !judgement.of(metric)->value) decide(metric, unscored(State::judge_error, reason));
    }
  }

  void fail_metric(Metric metric, const std::string& reason) {
    if (metric == Metric::citation_precision) {
      fail_citations(reason);
    } else {
      decide(metric, unscored(State::judge_error, reason));
    }
  }

  /// Once more, saying what was wrong; the second time the metric is lost.
  void repair_or_fail(Open task, const Error& error) {
    if (!task.call->repair.empty()) return fail_metric(task.metric, error.message + ", after one repair attempt");
    task.call->repair = error.message;
    hand_out(std::move(task));
  }

  void take_reply(Open task, const JudgeReply& reply) {
    const JudgeCall& call = *task.call;
    switch (call.task) {
      case JudgeTask::statements:
        if (auto read = read_statements(reply, call.nonce)) return take_statements(std::move(*read));
        else return repair_or_fail(std::move(task), read.error());
      case JudgeTask::statement_verdicts:
      case JudgeTask::citation_verdicts: return take_verdicts(std::move(task), reply);
      case JudgeTask::questions:
        if (auto read = read_questions(reply, call.nonce)) return take_questions(std::move(*read));
        else return repair_or_fail(std::move(task), read.error());
      case JudgeTask::correctness:
        if (auto read = read_rubric(reply, call.nonce)) {
          auto verdict = scored((read->score - 1) / 4, std::move(read->reason));
          verdict.score = read->score;
          verdict.weighted = read->weighted;
          verdict.confidence = read->confidence;
          verdict.verdict = *verdict.value >= 0.5;
          return decide(Metric::correctness, std::move(verdict));
        } else {
          return repair_or_fail(std::move(task), read.error());
        }
      case JudgeTask::groundedness:
        if (auto read = read_grounding(reply, call.nonce)) {
          auto verdict = scored(read->grounded ? 1 : 0, std::move(read->reason));
          verdict.verdict = read->grounded;
          verdict.unsupported_claims = std::move(read->unsupported_claims);
          verdict.confidence = read->confidence;
          return decide(Metric::groundedness, std::move(verdict));
        } else {
          return repair_or_fail(std::move(task), read.error());
        }
    }
  }

  void take_statements(std::vector<std::string> read) {
    statements = std::move(read);
    JudgeCall call = call_of(JudgeTask::statement_verdicts);
    for (const std::string& statement : statements) {
      call.claims.push_back({claim_id(input.salt, call, call.claims.size() + 1, statement), statement, ""});
    }
    ask(Metric::faithfulness, std::move(call));
  }

  void take_verdicts(Open task, const JudgeReply& reply) {
    auto read = read_verdicts(reply, task.call->nonce, task.call->claims);
    const bool repaired = !task.call->repair.empty();
    const auto missing_in = [](const std::vector<ClaimVerdict>& verdicts) {
      return static_cast<std::size_t>(std::count_if(verdicts.begin(), verdicts.end(), [](const ClaimVerdict& each) { return each.label == Label::missing; }));
    };
    // One may be missing in the end, where at least one was given.
    const auto bearable = [&](const std::vector<ClaimVerdict>& verdicts) { return missing_in(verdicts) <= 1 && missing_in(verdicts) < verdicts.size(); };
    if (read && missing_in(*read) == 0) return use_verdicts(task, *read);
    if (!repaired) {
      if (read && bearable(*read)) task.before = *read;
      const Error error = read ? Error{ErrorCode::invalid_json, std::to_string(missing_in(*read)) + " of " + std::to_string(read->size()) + " verdicts have no label", "verdict"}
                               : read.error();
      return repair_or_fail(std::move(task), error);
    }
    if (read && bearable(*read)) return use_verdicts(task, *read);
    if (task.before) return use_verdicts(task, *task.before);
    const std::string reason = read ? std::to_string(missing_in(*read)) + " of " + std::to_string(read->size()) + " verdicts have no label" : read.error().message;
    fail_metric(task.metric, reason + ", after one repair attempt");
  }

  void use_verdicts(const Open& task, const std::vector<ClaimVerdict>& verdicts) {
    if (task.call->task == JudgeTask::citation_verdicts) {
      for (std::size_t i = 0; i < verdicts.size(); ++i) {
        const Place place = places.at(task.call->claims[i].id);
        supports[place.sentence][place.which] = verdicts[i].label == Label::supported;
        if (verdicts[i].label == Label::missing) ++missing_citations;
      }
      if (--open_citation_calls == 0 && pending_citations) finish_citations();
      return;
    }
    auto verdict = scored(0);
    std::size_t supported = 0;
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i].label == Label::supported) ++supported;
      if (verdicts[i].label == Label::missing) ++verdict.missing;
      verdict.statements.push_back({statements[i], verdicts[i].label, verdicts[i].reason});
    }
    verdict.value = static_cast<double>(supported) / static_cast<double>(statements.size());
    decide(Metric::faithfulness, std::move(verdict));
  }

  void take_questions(Questions read) {
    relevancy.questions = std::move(read.questions);
    relevancy.noncommittal = read.noncommittal;
    if (read.noncommittal) {
      relevancy.state = State::scored;
      relevancy.value = 0;
      relevancy.reason = "the answer is noncommittal";
      return decide(Metric::answer_relevancy, std::move(relevancy));
    }
    if (tokenizer == nullptr) return fail_metric(Metric::answer_relevancy, "there is no embedder");
    vectors.assign(1 + relevancy.questions.size(), std::nullopt);
    embed(0, input.question);
    for (std::size_t q = 0; q < relevancy.questions.size(); ++q) embed(q + 1, relevancy.questions[q]);
  }
  /// As a passage: without the prefix of queries on either side.
  void embed(std::size_t index, const std::string& text) {
    Open task;
    task.metric = Metric::answer_relevancy;
    task.index = index;
    out.push_back({++last, agent::EmbedRequest{tokenizer->encode(text, max_tokens).ids}});
    open.emplace(last, std::move(task));
  }
  void take_vector(std::size_t index, std::vector<float> vector) {
    vectors[index] = std::move(vector);
    if (!std::all_of(vectors.begin(), vectors.end(), [](const auto& each) { return each.has_value(); })) return;
    double sum = 0;
    for (std::size_t q = 1; q < vectors.size(); ++q) {
      const auto similarity = cosine(*vectors[0], *vectors[q]);
      if (!similarity) return fail_metric(Metric::answer_relevancy, "the embedder gave vectors that can't be compared");
      relevancy.cosines.push_back(*similarity);
      sum += std::max(0.0, *similarity);
    }
    relevancy.state = State::scored;
    relevancy.value = sum / static_cast<double>(vectors.size() - 1);
    decide(Metric::answer_relevancy, std::move(relevancy));
  }
};

Judge::Judge(std::unique_ptr<Work> work) : work_(std::move(work)) {}
Judge::Judge(Judge&&) noexcept = default;
Judge& Judge::operator=(Judge&&) noexcept = default;
Judge::~Judge() = default;

Result<Judge> Judge::create(JudgeInput input, const text::WordPiece* tokenizer, std::size_t max_tokens) {
  if (agent::folded(input.question).empty()) return fail(ErrorCode::invalid_argument, "the question is empty", "question");
  for (std::string* text : {&input.question, &input.answer, &input.reference_answer}) *text = agent::well_formed(*text);
  for (Passage& passage : input.context) passage.text = agent::well_formed(passage.text);
  auto work = std::make_unique<Work>();
  work->cited = cited_answer(input.answer, input.citations);
  work->input = std::move(input);
  work->tokenizer = tokenizer;
  work->max_tokens = std::max<std::size_t>(2, max_tokens);
  return Judge(std::move(work));
}

std::vector<Request> Judge::start() {
  work_->start();
  return std::exchange(work_->out, {});
}

Result<std::vector<Request>> Judge::resume(RequestId id, RequestResult result) {
  const auto found = work_->open.find(id);
  if (found == work_->open.end()) return fail(ErrorCode::invalid_argument, "request " + std::to_string(id) + " is not open", "id");
  const bool embedding = !found->second.call;
  if (std::holds_alternative<JudgeReply>(result) ? embedding : std::holds_alternative<agent::Embedding>(result) && !embedding) {
    return fail(ErrorCode::invalid_argument, "request " + std::to_string(id) + " got a result of another kind", "result");
  }
  Work::Open task = std::move(found->second);
  work_->open.erase(found);
  // Another part of these citations is lost, and with it both figures.
  if (task.metric == Metric::citation_precision && !work_->pending_citations) return std::vector<Request>{};
  if (const auto* error = std::get_if<Error>(&result)) {
    work_->fail_metric(task.metric, error->message);
  } else if (const auto* reply = std::get_if<JudgeReply>(&result)) {
    work_->take_reply(std::move(task), *reply);
  } else if (!work_->judgement.of(Metric::answer_relevancy)->value && work_->judgement.of(Metric::answer_relevancy)->state != State::judge_error) {
    work_->take_vector(task.index, std::move(std::get<agent::Embedding>(result).vector));
  }
  return std::exchange(work_->out, {});
}

bool Judge::finished() const noexcept { return work_->open.empty(); }
const Judgement& Judge::judgement() const noexcept { return work_->judgement; }

}  // namespace polygraph::judges
