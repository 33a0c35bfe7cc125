// A host with a scripted model: answers every request of a judge from a function, and keeps what was asked.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wasm/judges/judge.hpp"

namespace polygraph::judges::test {

using nlohmann::json;

/// A reply that fits `call` when it is about to be right.
using Script = std::function<RequestResult(const JudgeCall&)>;
/// The vector of the n-th text that is embedded, from 0: the question, then the questions made from the answer.
using Vectors = std::function<RequestResult(std::size_t)>;

struct Asked {
  Judgement judgement;
  std::vector<JudgeCall> calls;
  std::vector<agent::EmbedRequest> embeddings;

  const MetricVerdict& of(Metric metric) const { return *judgement.of(metric); }
  std::size_t calls_of(JudgeTask task) const {
    std::size_t count = 0;
    for (const auto& call : calls) count += call.task == task ? 1 : 0;
    return count;
  }
  const JudgeCall& call(JudgeTask task) const {
    for (const auto& each : calls) {
      if (each.task == task) return each;
    }
    static const JudgeCall none;
    return none;
  }
};

inline JudgeReply reply(const json& value) { return {value.dump(), "stop", {}}; }

/// A verdict list over the claims of `call`.
inline json verdict_list(const JudgeCall& call, const std::function<json(std::size_t)>& label) {
  json out = {{"id", call.nonce}, {"verdicts", json::array()}};
  for (std::size_t i = 0; i < call.claims.size(); ++i) out["verdicts"].push_back({{"id", call.claims[i].id}, {"reason", "because"}, {"verdict", label(i)}});
  return out;
}

/// What a judge without complaints replies.
inline json content(const JudgeCall& call) {
  switch (call.task) {
    case JudgeTask::statements: return {{"id", call.nonce}, {"statements", {"Soup is hot.", "Bread is cold."}}};
    case JudgeTask::questions: return {{"id", call.nonce}, {"noncommittal", false}, {"questions", {"How is soup?", "Is soup hot?", "What is hot?"}}};
    case JudgeTask::correctness: return {{"id", call.nonce}, {"reason", "all there"}, {"confidence", 0.9}, {"score", 5}};
    case JudgeTask::groundedness: return {{"id", call.nonce}, {"reason", "all stated"}, {"unsupported_claims", json::array()}, {"confidence", 0.8}, {"grounded", true}};
    case JudgeTask::statement_verdicts:
    case JudgeTask::citation_verdicts: break;
  }
  return verdict_list(call, [](std::size_t) { return json("supported"); });
}

/// A tokenizer over a few letters: which text it was is of no interest.
inline const text::WordPiece& tokenizer() {
  static const text::Vocabulary vocabulary = text::Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nsoup\nhot\nis\n").value();
  static const text::WordPiece wordpiece(vocabulary);
  return wordpiece;
}

/// Runs a judge to its end, the newest request first.
inline Asked run(JudgeInput input, const Script& script, const Vectors& vectors = {}, const text::WordPiece* words = &tokenizer()) {
  auto judge = Judge::create(std::move(input), words).value();
  Asked asked;
  std::vector<Request> open = judge.start();
  while (!open.empty()) {
    const Request request = open.back();
    open.pop_back();
    RequestResult result;
    if (const auto* call = std::get_if<JudgeCall>(&request.request)) {
      asked.calls.push_back(*call);
      result = script(*call);
    } else {
      asked.embeddings.push_back(std::get<agent::EmbedRequest>(request.request));
      // The newest comes first: of the four the question is the last.
      result = vectors ? vectors(4 - asked.embeddings.size()) : agent::Embedding{{1, 0}};
    }
    const auto next = judge.resume(request.id, std::move(result)).value();
    open.insert(open.end(), next.begin(), next.end());
  }
  if (!judge.finished()) throw std::logic_error("the judge asks nothing and is not finished");
  asked.judgement = judge.judgement();
  return asked;
}

/// Two sentences with a citation each, over two passages.
inline JudgeInput two_sentences() {
  JudgeInput input;
  input.question = "How are soup and bread?";
  input.answer = "Soup is hot. [galley/soup#000] Bread is cold. [galley/bread#000]";
  input.context = {{"galley/soup#000", "Soup is kept hot."}, {"galley/bread#000", "Bread is served cold."}};
  input.citations = {{"galley/soup#000", 0, 12}, {"galley/bread#000", 31, 45}};
  input.reference_answer = "Hot and cold.";
  input.salt = "a run";
  return input;
}

inline JudgeInput only(JudgeInput input, std::vector<Metric> metrics) {
  input.metrics = std::move(metrics);
  return input;
}

}  // namespace polygraph::judges::test
