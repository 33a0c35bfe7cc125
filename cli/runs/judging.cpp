#include "cli/runs/judging.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "wasm/judges/offline.hpp"
#include "wasm/text/wordpiece.hpp"

namespace polygraph::cli {

judges::JudgeInput judge_input(const golden::Item& item, const Answer& answer, std::span<const judges::Metric> metrics) {
  judges::JudgeInput input;
  input.question = item.question;
  input.answer = answer.result.generated_answer.value_or("");
  input.status = answer.status;
  input.marked_refused = answer.result.refused.value_or(false);
  input.context = answer.context;
  input.citations = answer.citations;
  input.reference_answer = item.reference_answer;
  input.metrics.assign(metrics.begin(), metrics.end());
  return input;
}

namespace {

class Offline final : public JudgeHost {
 public:
  Offline(const index::Index& index, models::ModelWorker& worker) : tokenizer_(*index.vocabulary()), worker_(worker) {
    identity_ = nlohmann::ordered_json{{"provider", "offline"}, {"model", index.metadata().reranker.name}, {"digest", index.metadata().reranker.sha256}}.dump();
  }

  const std::string& identity() const noexcept override { return identity_; }

  Result<judges::Judgement> judge(const golden::Item& item, const Answer& answer, std::span<const judges::Metric> metrics) override {
    auto judge = judges::OfflineJudge::create(judge_input(item, answer, metrics), tokenizer_);
    if (!judge) return tl::unexpected(judge.error());
    agent::Logits logits;
    if (const auto request = judge->request()) {
      if (auto scored = score(request->pairs, logits.values); !scored) return tl::unexpected(scored.error());
    }
    std::vector<agent::Embedding> vectors;
    for (const agent::EmbedRequest& request : judge->embeddings()) {
      auto [known, fresh] = vectors_.try_emplace(request.token_ids);
      if (fresh) {
        auto embedded = worker_.embed(std::span(&request.token_ids, 1));
        if (!embedded) {
          vectors_.erase(known);
          return tl::unexpected(embedded.error());
        }
        known->second = std::move(embedded->front());
      }
      vectors.push_back({known->second});
    }
    return judge->judgement(logits, vectors);
  }

 private:
  /// A logit depends on its pair alone (model_worker.hpp), and configurations give many of the same answers from the same passages: a
  /// pair is scored once.
  Result<void> score(const std::vector<agent::TokenPair>& pairs, std::vector<float>& logits) {
    std::vector<agent::TokenPair> fresh;
    for (const agent::TokenPair& pair : pairs) {
      if (!logits_.contains({pair.token_ids, pair.split})) fresh.push_back(pair);
    }
    if (!fresh.empty()) {
      auto scores = worker_.score(fresh, 0);
      if (!scores) return tl::unexpected(scores.error());
      for (std::size_t i = 0; i < scores->logits.size(); ++i) logits_[{fresh[i].token_ids, fresh[i].split}] = scores->logits[i];
    }
    for (const agent::TokenPair& pair : pairs) logits.push_back(logits_.at({pair.token_ids, pair.split}));
    return {};
  }

  text::WordPiece tokenizer_;
  models::ModelWorker& worker_;
  std::string identity_;
  std::map<std::pair<std::vector<text::TokenId>, std::uint32_t>, float> logits_;
  std::map<std::vector<text::TokenId>, std::vector<float>> vectors_;
};

}  // namespace

Result<std::unique_ptr<JudgeHost>> offline_judge(const index::Index& index, const Models::Available& models) {
  if (models.worker == nullptr) return fail(ErrorCode::model_unavailable, "the offline judge needs the reranker: " + models.why_missing, "--judge");
  if (index.vocabulary() == nullptr) return fail(ErrorCode::mismatch, "the offline judge needs the index's vocabulary", "--judge");
  return std::make_unique<Offline>(index, *models.worker);
}

}  // namespace polygraph::cli
