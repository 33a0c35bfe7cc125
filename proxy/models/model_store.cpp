#include "proxy/models/model_store.hpp"

#include <array>
#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proxy/models/sha256.hpp"

namespace polygraph::models {
namespace {

constexpr double bytes_a_megabyte = 1e6;

std::filesystem::path variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string_view name(FileState state) noexcept {
  constexpr std::array<std::string_view, 4> names{"present", "missing", "wrong size", "wrong digest"};
  return names[static_cast<std::size_t>(state)];
}

std::filesystem::path ModelStore::default_root() {
  if (auto own = variable("POLYGRAPH_DIR"); !own.empty()) return own;
  // A relative XDG_CACHE_HOME is invalid and to be ignored (XDG Base Directory Specification).
  if (auto cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "polygraph";
  return variable("HOME") / ".cache" / "polygraph";
}

std::filesystem::path ModelStore::path(const Model& model, const ModelFile& file) const {
  return root_ / "models" / model.role / file.sha256 / file.name;
}

std::filesystem::path ModelStore::downloads() const { return root_ / "models" / "downloads"; }

std::vector<FileStatus> ModelStore::list(const Manifest& manifest) const {
  std::vector<FileStatus> files;
  for (const Model& model : manifest.models)
    for (const ModelFile& file : model.files) {
      FileStatus status{model.role, model.name, file.name, file.licence, file.sha256, file.bytes, FileState::missing, path(model, file)};
      std::error_code error;
      const auto bytes = std::filesystem::file_size(status.path, error);
      if (!error) status.state = bytes == file.bytes ? FileState::present : FileState::wrong_size;
      files.push_back(std::move(status));
    }
  return files;
}

std::vector<FileStatus> ModelStore::verify(const Manifest& manifest) const {
  auto files = list(manifest);
  for (FileStatus& file : files)
    if (file.state == FileState::present && sha256_of(file.path) != file.sha256) file.state = FileState::wrong_digest;
  return files;
}

ModelWorkerOptions ModelStore::worker_options(const Manifest& manifest) const {
  ModelWorkerOptions options;
  for (const auto& [role, target] : {std::pair("embedder", &options.embedder), std::pair("reranker", &options.reranker)}) {
    const Model* const model = manifest.find(role);
    const ModelFile* const file = model ? model->file("model.onnx") : nullptr;
    if (file) *target = {model->name, file->sha256, path(*model, *file)};
  }
  return options;
}

nlohmann::json to_json(const std::vector<FileStatus>& files) {
  auto list = nlohmann::json::array();
  for (const FileStatus& file : files)
    list.push_back({{"role", file.role},
                    {"model", file.model},
                    {"file", file.file},
                    {"licence", file.licence},
                    {"sha256", file.sha256},
                    {"bytes", file.bytes},
                    {"state", name(file.state)},
                    {"path", file.path.string()}});
  return list;
}

std::string to_rows(const std::vector<FileStatus>& files) {
  std::size_t model_width = 5, file_width = 4;
  for (const FileStatus& file : files) {
    model_width = std::max(model_width, file.model.size());
    file_width = std::max(file_width, file.file.size());
  }
  const auto row = [&](std::string_view role, std::string_view model, std::string_view file, std::string_view megabytes,
                       std::string_view state, std::string_view licence) {
    return fmt::format("{:<8}  {:<{}}  {:<{}}  {:>6}  {:<12}  {}\n", role, model, model_width, file, file_width, megabytes, state, licence);
  };
  std::string rows = row("role", "model", "file", "MB", "state", "licence");
  for (const FileStatus& file : files)
    rows += row(file.role, file.model, file.file, fmt::format("{:.1f}", static_cast<double>(file.bytes) / bytes_a_megabyte), name(file.state),
                file.licence);
  return rows;
}

}  // namespace polygraph::models
