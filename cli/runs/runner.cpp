#include "cli/runs/runner.hpp"

#include <chrono>
#include <ctime>
#include <optional>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include "wasm/diagnosis/agent_run.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;
using Steady = std::chrono::steady_clock;

/// What the judge says becomes part of the result, so that it reads like any other.
void take_judgement(diagnosis::QueryResult& result, const judges::Judgement& judgement, double ms) {
  const judges::ResultFields fields = judges::result_fields(judgement);
  result.metrics.answer_correct = fields.answer_correct;
  result.metrics.grounded = fields.grounded;
  result.metrics.judge_confidence = fields.judge_confidence;
  result.metrics.judge_reason = fields.judge_reason;
  result.judge_error = fields.judge_error;
  result.latency.judge_ms = ms;
}

bool has_judge_error(const judges::Judgement& judgement) {
  for (const auto& verdict : judgement.metrics) {
    if (verdict && verdict->state == judges::State::judge_error) return true;
  }
  return false;
}

}  // namespace

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

RunHeader header_of(const Subject& subject, const JudgeHost* judge, const RunScope& scope, const golden::Set& set, std::string created_at) {
  Json judged_by = judge == nullptr ? Json() : Json::parse(judge->identity());
  if (judge != nullptr && scope.judge_items > 0) judged_by["items"] = scope.judge_items;
  const Json identity = {
      {"subject", Json::parse(subject.identity())},
      {"index_digest", scope.index_digest.empty() ? Json() : Json(scope.index_digest)},
      {"golden", {{"name", scope.golden_name}, {"digest", scope.golden_digest}, {"source", scope.golden_source},
                  {"subset", scope.subset.empty() ? Json() : Json(scope.subset)}}},
      {"k", scope.k},
      {"repeats", scope.repeats},
      {"judge", std::move(judged_by)},
      {"shard", scope.shard.empty() ? Json() : Json::parse(scope.shard)},
  };
  return run_header(identity.dump(), set.items.size() * scope.repeats, std::move(created_at));
}

Result<RunProgress> run_items(RunFile& file, Subject& subject, JudgeHost* judge, const std::set<std::string>* judged, const golden::Set& set,
                              const RunScope& scope, const std::function<bool(const RunProgress&)>& go_on,
                              const std::function<void(const std::string&)>& on_trace) {
  std::vector<RunItem> all, open;
  std::vector<const golden::Item*> items;
  for (const golden::Item& item : set.items) {
    for (std::uint32_t repeat = 1; repeat <= scope.repeats; ++repeat) {
      all.push_back({item.id, repeat});
      if (file.has(all.back())) continue;
      open.push_back(all.back());
      items.push_back(&item);
    }
  }
  RunProgress progress;
  progress.total = all.size();
  progress.done = all.size() - open.size();
  progress.failed = file.failures().failed;
  progress.judge_errors = file.failures().judge_errors;
  progress.first_failure = file.failures().first;
  if (!go_on(progress)) progress.interrupted = true;
  std::optional<Error> error;
  const auto stop = [&](Error why) {
    error = std::move(why);
    return false;
  };
  if (!open.empty() && !progress.interrupted) {
    auto asked = subject.answer(items, [&](std::size_t place, Answer answer) {
      std::string judgement;
      if (judge != nullptr && (judged == nullptr || judged->contains(items[place]->id))) {
        const auto begun = Steady::now();
        auto verdicts = judge->judge(*items[place], answer);
        if (!verdicts) return stop(verdicts.error());
        take_judgement(answer.result, *verdicts, std::chrono::duration<double, std::milli>(Steady::now() - begun).count());
        judgement = judges::to_json(*verdicts);
        if (has_judge_error(*verdicts)) ++progress.judge_errors;
      }
      diagnosis::complete_agent(answer.result);
      std::string golden = golden::write_item(*items[place]);
      while (golden.ends_with('\n')) golden.pop_back();
      if (auto written = file.append(open[place], golden, diagnosis::to_json(answer.result, scope.k), judgement, utc_now()); !written) return stop(written.error());
      if (on_trace && !answer.result.trace.empty()) on_trace(answer.result.trace);
      ++progress.done;
      if (!answer.result.completed() && progress.failed++ == 0) progress.first_failure = items[place]->id + ": " + answer.result.error.value_or("no reason was given");
      progress.interrupted = !go_on(progress);
      return !progress.interrupted;
    });
    if (!asked && !error) error = asked.error();
  }
  if (error) return tl::unexpected(*error);
  if (progress.done == progress.total) {
    if (auto finished = file.finish(all); !finished) return tl::unexpected(finished.error());
  }
  return progress;
}

}  // namespace polygraph::cli
