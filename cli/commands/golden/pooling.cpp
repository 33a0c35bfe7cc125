#include "cli/commands/golden/pooling.hpp"

namespace polygraph::cli {

Result<std::vector<index::ChunkNo>> found_for(const index::Index& index, const std::string& question, const Models::Available& models) {
  std::vector<index::ChunkNo> out;
  for (const auto mode : {retrieval::Mode::bm25, retrieval::Mode::dense}) {
    if (mode == retrieval::Mode::dense && models.worker == nullptr) continue;
    retrieval::Config config;
    config.mode = mode;
    config.list_length = golden::pool_of_each;
    retrieval::Retrieval retrieval(index, question, config);
    if (auto done = perform(retrieval, models); !done) return tl::unexpected(done.error());
    // A worker that failed leaves a lexical list, which must not pass for a dense one.
    if (mode == retrieval::Mode::dense && retrieval.stages().dense != "used") return fail(ErrorCode::model_unavailable, retrieval.stages().dense);
    const auto& ranked = retrieval.ranked();
    for (std::size_t i = 0; i < ranked.size() && i < golden::pool_of_each; ++i) out.push_back(ranked[i].chunk);
  }
  return out;
}

nlohmann::ordered_json labels_json(const golden::Labels& labels) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [id, answers] : labels) out[id] = golden::name(answers);
  return out;
}

std::optional<golden::Labels> labels_of(const nlohmann::ordered_json& line) {
  const auto labels = line.find("labels");
  if (labels == line.end() || !labels->is_object()) return std::nullopt;
  golden::Labels out;
  for (const auto& [id, value] : labels->items()) {
    const auto answers = value.is_string() ? golden::parse_answers(value.get_ref<const std::string&>()) : std::nullopt;
    if (!answers) return std::nullopt;
    out[id] = *answers;
  }
  return out;
}

}  // namespace polygraph::cli
