#include "cli/whole_file.hpp"

#include <unistd.h>

#include <fstream>

#include <fmt/format.h>

#include "cli/console.hpp"

namespace polygraph::cli {
namespace fs = std::filesystem;

Result<void> write_whole(const fs::path& file, std::string_view text) {
  if (file == "-") {
    print(text);
    return {};
  }
  const fs::path beside = file.parent_path() / fmt::format(".{}.{}", file.filename().string(), ::getpid());
  std::error_code error;
  bool written = false;
  {
    std::ofstream stream(beside, std::ios::binary);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    stream.flush();
    written = stream.good();
  }
  if (written) fs::rename(beside, file, error);
  if (!written || error) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    return fail(ErrorCode::io, "can't be written" + (error ? ": " + error.message() : std::string()));
  }
  return {};
}

}  // namespace polygraph::cli
