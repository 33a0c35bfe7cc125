// How long retrieval takes on a real index, natively: opening, BM25F, dense search per kernel, and typing.
//
//   POLYGRAPH_BENCH_INDEX=docker-doc.polygraph retrieval_bench
//
// Nothing is asserted here: a figure depends on the machine. The query vector is a row of the index, since no model runs.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/index/reader.hpp"
#include "wasm/retrieval/dense.hpp"
#include "wasm/retrieval/dot_product.hpp"
#include "wasm/retrieval/lexical.hpp"
#include "wasm/retrieval/retrieval.hpp"
#include "wasm/retrieval/typeahead.hpp"

namespace {

namespace index = polygraph::index;
namespace retrieval = polygraph::retrieval;

constexpr std::array<const char*, 6> questions = {
    "How do I limit a container's memory?",       "Why can my container not resolve DNS names?",
    "What does the --mount flag do differently?", "change the default address pool of bridge networks",
    "Where does Docker keep volumes on disk?",    "daemon.json",
};

std::vector<float> row_as_query(const index::Index& opened) {
  std::vector<float> vector;
  for (std::size_t i = 0; i < opened.dimensions(); ++i) vector.push_back(static_cast<float>(opened.vectors()[i]) * opened.vector_scales()[0]);
  return vector;
}

void open_index(benchmark::State& state, const std::vector<std::byte>& file, index::Part part) {
  for (auto _ : state) benchmark::DoNotOptimize(index::Index::open(file, part));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * file.size()));
}

void bm25_scores(benchmark::State& state, const index::Index& opened) {
  std::size_t i = 0;
  for (auto _ : state) {
    const auto terms = retrieval::query_terms(opened, questions[i++ % questions.size()]);
    benchmark::DoNotOptimize(retrieval::bm25f_scores(opened, terms));
  }
}

void search(benchmark::State& state, const index::Index& opened, retrieval::Mode mode, const std::vector<float>& vector) {
  retrieval::Config config;
  config.mode = mode;
  std::size_t i = 0;
  for (auto _ : state) {
    retrieval::Retrieval r(opened, questions[i++ % questions.size()], config);
    if (r.wanted_embedding() != nullptr) benchmark::DoNotOptimize(r.set_embedding(vector));
    benchmark::DoNotOptimize(r.ranked().data());
  }
}

void dense_scores(benchmark::State& state, const index::Index& opened, retrieval::DotProduct kernel, const std::vector<float>& vector) {
  for (auto _ : state) benchmark::DoNotOptimize(retrieval::dense_scores(opened, vector, kernel));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * opened.chunks()));
}

/// One keypress after the other, as a person types a question.
void typeahead(benchmark::State& state, const index::Index& opened) {
  const std::string question = questions[0];
  std::size_t typed = 0;
  for (auto _ : state) {
    typed = typed % question.size() + 1;
    benchmark::DoNotOptimize(retrieval::typeahead(opened, std::string_view(question).substr(0, typed), 8));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = std::getenv("POLYGRAPH_BENCH_INDEX");
  if (path == nullptr) {
    std::cerr << "POLYGRAPH_BENCH_INDEX names no index file; build one with `polygraph index` and set it\n";
    return 2;
  }
  std::ifstream stream(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(stream), {}};
  const auto bytes = std::as_bytes(std::span(content));
  const std::vector<std::byte> file(bytes.begin(), bytes.end());
  const auto opened = index::Index::open(file);
  if (!opened) {
    std::cerr << path << ": " << opened.error().field << ": " << opened.error().message << '\n';
    return 2;
  }
  std::cerr << path << ": " << opened->chunks() << " chunks, " << opened->terms() << " terms, " << file.size() << " bytes\n";

  benchmark::RegisterBenchmark("open/all", [&](benchmark::State& s) { open_index(s, file, index::Part::all); });
  benchmark::RegisterBenchmark("open/lexical", [&](benchmark::State& s) { open_index(s, file, index::Part::lexical); });
  benchmark::RegisterBenchmark("bm25f", [&](benchmark::State& s) { bm25_scores(s, *opened); });
  benchmark::RegisterBenchmark("search/bm25", [&](benchmark::State& s) { search(s, *opened, retrieval::Mode::bm25, {}); });
  benchmark::RegisterBenchmark("typeahead/keypress", [&](benchmark::State& s) { typeahead(s, *opened); });
  if (opened->has_vectors()) {
    const auto vector = row_as_query(*opened);
    for (const auto& kernel : retrieval::dot_product_kernels()) {
      benchmark::RegisterBenchmark(("dense/" + std::string(kernel.name)).c_str(),
                                   [&opened, kernel, vector](benchmark::State& s) { dense_scores(s, *opened, kernel.function, vector); });
    }
    benchmark::RegisterBenchmark("search/hybrid",
                                 [&opened, vector](benchmark::State& s) { search(s, *opened, retrieval::Mode::hybrid, vector); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
