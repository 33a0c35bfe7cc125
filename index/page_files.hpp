// Finds and reads the files of a corpus folder. Nothing outside the folder is ever read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::corpus {

/// A page larger than this (unpacked, in bytes) is skipped: it is a dump, not a page.
inline constexpr std::size_t page_size_limit = 16u << 20;

struct PageFile {
  std::string path;  ///< relative to the root, with '/'
  std::filesystem::path file;
};

struct FoundFiles {
  std::vector<PageFile> files;       ///< in byte order of their paths
  std::vector<std::string> skipped;  ///< "path: why"
};

/// Every file under `root` whose relative path `wanted` accepts. Hidden entries and node_modules are passed over; a link to
/// a folder, or to a file outside `root`, is not followed and is named in `skipped`.
Result<FoundFiles> find_files(const std::filesystem::path& root, const std::function<bool(std::string_view path)>& wanted);

/// The bytes of a file; a name that ends in `.gz` is unpacked. The error's message is a reason without the file's name, ready
/// for "path: why".
Result<std::string> read_bytes(const std::filesystem::path& file, std::size_t limit = page_size_limit);

/// The text of a file as UTF-8 with `\n` line ends and no byte order mark; otherwise as read_bytes.
Result<std::string> read_text(const std::filesystem::path& file, std::size_t limit = page_size_limit);

/// The last folder of a path, also of `.` and `docs/`.
std::string folder_name(const std::filesystem::path& path);

/// The licence that a folder's LICENSE file names, as an SPDX identifier; empty when there is none or it is another.
std::string licence_of(const std::filesystem::path& folder);

}  // namespace polygraph::corpus
