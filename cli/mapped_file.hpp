// A file in memory, read-only, for as long as the object lives.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "wasm/error.hpp"

namespace polygraph::cli {

class MappedFile {
 public:
  /// Fails with `not_found` or `io`; the message says why.
  static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Lets go of the memory that its first `length` bytes take; they come from the file again when they are looked at.
  void release(std::size_t length) const noexcept;
  void release() const noexcept { release(bytes_.size()); }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

/// All of a file, or of stdin for "-". At most `max_bytes`; a UTF-8 byte order mark is dropped.
Result<std::string> read_text(const std::string& path, std::size_t max_bytes = std::size_t{1} << 30);

}  // namespace polygraph::cli
