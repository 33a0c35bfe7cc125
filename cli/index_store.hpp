// Index files on disk: opened in place, found by digest.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cli/mapped_file.hpp"
#include "cli/settings.hpp"
#include "wasm/error.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::cli {

/// An index together with the mapped file that it views.
struct OpenIndex {
  std::filesystem::path path;
  MappedFile file;
  index::Index index;
};

/// Opens `path`; an empty path stands for POLYGRAPH_INDEX, or else the index that set-up built. Remembers the file under
/// its digest, so that `replay` finds it. Errors carry the path in `file_of_error`.
Result<std::unique_ptr<OpenIndex>> open_index(const Settings& settings, const std::string& path, std::string& file_of_error);

/// The index with this digest among those that were built or opened on this machine.
Result<std::unique_ptr<OpenIndex>> open_index_by_digest(const Settings& settings, const std::string& digest);

/// Where set-up puts the index of the default corpus.
std::filesystem::path default_index(const Settings& settings);

/// Lets open_index_by_digest find `path`. Best effort: a cache folder that can't be written to is no error.
void remember(const Settings& settings, const std::string& digest, const std::filesystem::path& path);

}  // namespace polygraph::cli
