#include "cli/whole_file.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "cli/console.hpp"

namespace polygraph::cli {
namespace fs = std::filesystem;

WholeFile::WholeFile(fs::path file) : file_(std::move(file)) {
  if (file_ == "-") return;
  beside_ = file_.parent_path() / fmt::format(".{}.{}", file_.filename().string(), ::getpid());
  stream_.open(beside_, std::ios::binary);
}

WholeFile::~WholeFile() {
  if (beside_.empty()) return;
  stream_.close();
  std::error_code ignored;
  fs::remove(beside_, ignored);
}

void WholeFile::write(std::string_view text) {
  if (beside_.empty()) print(text);
  else stream_.write(text.data(), static_cast<std::streamsize>(text.size()));
}

Result<void> WholeFile::finish() {
  if (beside_.empty()) return {};
  stream_.flush();
  const bool written = stream_.good();
  stream_.close();
  std::error_code error;
  if (written) fs::rename(beside_, file_, error);
  if (!written || error) return fail(ErrorCode::io, "can't be written" + (error ? ": " + error.message() : std::string()));
  beside_.clear();
  return {};
}

Result<void> write_whole(const fs::path& file, std::string_view text) {
  WholeFile whole(file);
  whole.write(text);
  return whole.finish();
}

}  // namespace polygraph::cli
