// Where the models are kept on this machine: a cache outside any checkout, one folder per content.
//
//   <root>/models/<role>/<sha256>/<file name>     a verified file; another version of a model never overwrites it
//   <root>/models/downloads/                      archives and partial downloads (model_fetch.hpp)
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "proxy/models/manifest.hpp"
#include "proxy/models/model_worker.hpp"
#include "wasm/error.hpp"

namespace polygraph::models {

enum class FileState : std::uint8_t {
  present,       ///< there, with the right size (`list`) or the right digest (`verify`)
  missing,       ///< not there
  wrong_size,    ///< there, cut or grown
  wrong_digest,  ///< there, with other content (found by `verify` only)
};

std::string_view name(FileState state) noexcept;

struct FileStatus {
  std::string role, model, file, licence, sha256;
  std::uint64_t bytes = 0;  ///< as the manifest says
  FileState state = FileState::missing;
  std::filesystem::path path;
};

class ModelStore {
 public:
  explicit ModelStore(std::filesystem::path root) : root_(std::move(root)) {}

  /// POLYGRAPH_DIR, else $XDG_CACHE_HOME/polygraph, else ~/.cache/polygraph.
  static std::filesystem::path default_root();

  const std::filesystem::path& root() const noexcept { return root_; }
  std::filesystem::path path(const Model& model, const ModelFile& file) const;
  std::filesystem::path downloads() const;

  /// What is there, by size alone: cheap enough for every start.
  std::vector<FileStatus> list(const Manifest& manifest) const;
  /// What is there, with every file read and its digest compared.
  std::vector<FileStatus> verify(const Manifest& manifest) const;

  /// The models as a worker wants them; it is for the worker to say which are missing, when one is needed.
  ModelWorkerOptions worker_options(const Manifest& manifest) const;

 private:
  std::filesystem::path root_;
};

/// `[{"role","model","file","licence","sha256","bytes","state","path"}, …]`
nlohmann::json to_json(const std::vector<FileStatus>& files);
/// The same for people: one aligned row a file under a heading, with a line break after each.
std::string to_rows(const std::vector<FileStatus>& files);

}  // namespace polygraph::models
