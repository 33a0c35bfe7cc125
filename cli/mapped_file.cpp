#include "cli/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace polygraph::cli {
namespace {

tl::unexpected<Error> failed(const std::string& doing) {
  const int reason = errno;
  return fail(reason == ENOENT ? ErrorCode::not_found : ErrorCode::io, fmt::format("{}: {}", doing, std::strerror(reason)));
}

/// Closes a descriptor at the end of its scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value > STDERR_FILENO) ::close(value);
  }
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  if (path.empty()) return fail(ErrorCode::not_found, "a file's name is empty");
  // Without O_NONBLOCK a named pipe would hold the program up before it can be refused.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0) return failed("can't open it");
  struct stat status {};
  if (::fstat(file.value, &status) != 0) return failed("can't read its size");
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::io, "is not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile({});
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (address == MAP_FAILED) return failed("can't map it into memory");
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedFile::release(std::size_t length) const noexcept {
  constexpr std::size_t page = 4096;
  if (const std::size_t whole = std::min(length, bytes_.size()) / page * page; whole > 0) ::madvise(const_cast<std::byte*>(bytes_.data()), whole, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<std::string> read_text(const std::string& path, std::size_t max_bytes) {
  if (path.empty()) return fail(ErrorCode::not_found, "a file's name is empty");
  const Descriptor file{path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0) return failed("can't open it");
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.value, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("can't read it");
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > max_bytes) return fail(ErrorCode::io, fmt::format("is larger than {} bytes", max_bytes));
  }
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

}  // namespace polygraph::cli
