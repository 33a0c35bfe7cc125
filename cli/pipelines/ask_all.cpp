#include "cli/pipelines/ask_all.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace polygraph::pipelines {
namespace {

Asked ask(Pipeline& pipeline, const std::string& question, unsigned k) {
  Asked asked{pipeline.retrieve(question, k), {}};
  // Also over no chunks at all: an empty retrieval is a result, and what the pipeline makes of it another.
  if (asked.retrieval && pipeline.generates()) asked.generation = pipeline.generate(question, asked.retrieval->chunks);
  return asked;
}

/// Calls `use` with 0 … count - 1 on up to `concurrency` threads, this one among them.
void each(std::size_t count, unsigned concurrency, const std::function<void(std::size_t)>& use) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t place = next++; place < count; place = next++) use(place);
  };
  std::vector<std::jthread> others;
  const std::size_t wanted = std::min<std::size_t>(std::max(1u, concurrency), count);
  for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(work);
  work();
}

}  // namespace

void ask_all(Pipeline& pipeline, std::span<const std::string> questions, const AskOptions& options,
             const std::function<bool(std::size_t, Asked)>& use) {
  each(std::min<std::size_t>(options.warm_up, questions.size()), options.concurrency,
       [&](std::size_t place) { ask(pipeline, questions[place], options.k); });
  std::mutex mutex;
  std::atomic<bool> go_on{true};
  each(questions.size(), options.concurrency, [&](std::size_t place) {
    if (!go_on) return;
    auto asked = ask(pipeline, questions[place], options.k);
    const std::lock_guard lock(mutex);
    if (!use(place, std::move(asked))) go_on = false;
  });
}

}  // namespace polygraph::pipelines
