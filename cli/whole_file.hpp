// Files that a reader never meets half written.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

#include "wasm/error.hpp"

namespace polygraph::cli {

/// Writes beside `file`, then renames; "-" is stdout. Fails with `io`; what stood there before is left as it was.
Result<void> write_whole(const std::filesystem::path& file, std::string_view text);

/// The same piece by piece, for what does not fit into memory.
class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path file);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  /// Unless it was finished, nothing of it stays.
  ~WholeFile();
  void write(std::string_view text);
  /// Fails with `io` where a piece could not be written.
  Result<void> finish();

 private:
  std::filesystem::path file_, beside_;
  std::ofstream stream_;
};

}  // namespace polygraph::cli
