// What a call of a pipeline costs whoever calls it, where the pipeline itself does next to nothing: each retrieval gives five
// passages of 1,000 bytes. Prints one JSON object: the wall time of each call in microseconds, by kind of pipeline.
#include <chrono>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/pipelines/pipeline.hpp"

namespace {

constexpr int warm_up = 200, calls = 2000;

int fail(const std::string& message) {
  std::cerr << "pipelines_bench: " << message << '\n';
  return 1;
}

}  // namespace

int main() {
  polygraph::pipelines::Options options;
  options.shims = POLYGRAPH_SOURCE_DIR "/assets/pipelines";
  const std::string files = POLYGRAPH_SOURCE_DIR "/tests/bench/";
  const char* separator = "{";
  for (const auto& [kind, pipeline] : std::vector<std::pair<std::string, std::string>>{
           {"command", "cmd:exec '" SCRIPTED_PIPELINE "'"}, {"python", files + "pipelines_passages.py"}, {"javascript", files + "pipelines_passages.mjs"}}) {
    const auto opened = polygraph::pipelines::open(pipeline, options);
    if (!opened) return fail(opened.error().message);
    std::cout << separator << '"' << kind << "\":[";
    separator = ",";
    for (int i = -warm_up; i < calls; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const auto retrieved = (*opened)->retrieve("passages:5", 5);
      const auto took = std::chrono::steady_clock::now() - begin;
      if (!retrieved) return fail(retrieved.error().message);
      if (retrieved->chunks.size() != 5) return fail("the pipeline gave another number of passages");
      if (i >= 0) std::cout << (i > 0 ? "," : "") << std::chrono::duration<double, std::micro>(took).count();
    }
    std::cout << ']';
  }
  std::cout << "}\n";
  return 0;
}
