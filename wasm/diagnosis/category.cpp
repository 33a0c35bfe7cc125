#include "wasm/diagnosis/category.hpp"

namespace polygraph::diagnosis {
namespace {

struct Row {
  Category category;
  std::string_view name;
  Severity severity;
  int comparison_rank;
  std::string_view action;
};

constexpr std::array<Row, category_count> table = {{
    {Category::pass, "PASS", Severity::info, 0, "No action is needed."},
    {Category::wrong_chunk_retrieved, "WRONG_CHUNK_RETRIEVED", Severity::major, 6,
     "Look at what the query shares with the expected chunks: the embedding model, how the text is cut into chunks, and whether a lexical "
     "search beside the dense one finds them."},
    {Category::wrong_chunk_rank, "WRONG_CHUNK_RANK", Severity::warning, 2,
     "Look at the ranking: the expected chunk is found but stands low; rerank the candidates, or weigh the searches otherwise."},
    {Category::insufficient_context, "INSUFFICIENT_CONTEXT", Severity::warning, 3,
     "Look at how many chunks are retrieved and how they are cut: raise K, or keep what belongs together in one chunk."},
    {Category::retrieved_but_not_grounded, "RETRIEVED_BUT_NOT_GROUNDED", Severity::major, 5,
     "Look at the generation prompt: the right chunks were there, and the answer says more than they do; have it cite them and refuse otherwise."},
    {Category::answer_incorrect, "ANSWER_INCORRECT", Severity::major, 4,
     "Look at the answer beside the expected one: the generating model, its prompt, when it refuses, and whether the expected answer is right."},
    {Category::latency_outlier, "LATENCY_OUTLIER", Severity::warning, 1,
     "Look at where the retrieval's time goes: the index, the reranker, the network, and whether a cold start was measured."},
    {Category::unknown, "UNKNOWN", Severity::major, 7,
     "Look at the error and the pipeline's log: the query did not finish, so nothing can be said about its quality."},
}};

}  // namespace

std::string_view name(Category category) noexcept { return table[index(category)].name; }
Severity severity(Category category) noexcept { return table[index(category)].severity; }
std::string_view action(Category category) noexcept { return table[index(category)].action; }
int comparison_rank(Category category) noexcept { return table[index(category)].comparison_rank; }

std::optional<Category> category(std::string_view name) noexcept {
  for (const Row& row : table) {
    if (row.name == name) return row.category;
  }
  return std::nullopt;
}

std::string_view name(Severity severity) noexcept {
  switch (severity) {
    case Severity::info: return "info";
    case Severity::warning: return "warning";
    case Severity::major: return "major";
  }
  return "";
}

std::optional<Severity> severity(std::string_view name) noexcept {
  for (const auto one : {Severity::info, Severity::warning, Severity::major}) {
    if (polygraph::diagnosis::name(one) == name) return one;
  }
  return std::nullopt;
}

}  // namespace polygraph::diagnosis
