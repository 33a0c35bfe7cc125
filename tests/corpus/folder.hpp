// A folder of this test's own, gone when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace polygraph::corpus {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "polygraph-corpus-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = std::filesystem::canonical(pattern);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  void write(std::string_view name, std::string_view content) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  }

 private:
  std::filesystem::path path_;
};

/// The docker-docs snapshot beside the checkout, or where POLYGRAPH_SHARED says; empty when it is not there.
inline std::filesystem::path docker_docs() {
  const char* given = std::getenv("POLYGRAPH_SHARED");
  const std::filesystem::path shared = given != nullptr ? std::filesystem::path(given) : std::filesystem::path(POLYGRAPH_SOURCE_DIR) / ".." / "shared";
  const std::filesystem::path folder = shared / "corpus" / "docker-docs";
  std::error_code ignored;
  return std::filesystem::is_directory(folder, ignored) ? folder : std::filesystem::path();
}

}  // namespace polygraph::corpus
