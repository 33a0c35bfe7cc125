#include "cli/site/staging.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace polygraph::cli::site {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr mode_t folder_mode = 0777, file_mode = 0666;  // the umask takes its share

tl::unexpected<Error> cannot(std::string_view what, const fs::path& path, int reason) {
  return fail(ErrorCode::io, fmt::format("{} {}: {}", what, path.string(), std::strerror(reason)));
}

/// `.NAME.export-`: hidden, beside NAME, and told from every other's.
std::string prefix_of(const fs::path& target) { return fmt::format(".{}.export-", target.filename().string()); }

/// Opens and locks a folder; -1 where somebody else holds it, or it is none.
int hold(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return -1;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

void remove_leftovers(const fs::path& target) {
  std::error_code error;
  const auto prefix = prefix_of(target);
  for (fs::directory_iterator each(target.parent_path(), error); !error && each != fs::directory_iterator(); each.increment(error)) {
    if (!each->path().filename().string().starts_with(prefix)) continue;
    const int held = hold(each->path());
    if (held < 0) continue;
    std::error_code ignored;
    fs::remove_all(each->path(), ignored);
    ::close(held);
  }
}

Result<bool> write_all(int descriptor, const fs::path& file, std::string_view bytes, const std::function<bool(std::size_t)>& each) {
  while (!bytes.empty()) {
    const auto written = ::write(descriptor, bytes.data(), std::min(bytes.size(), piece_bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("can't write", file, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    if (each && !each(static_cast<std::size_t>(written))) return false;
  }
  // Some file systems notice only now that there was no room.
  if (::fdatasync(descriptor) != 0 && errno != EINVAL && errno != EROFS) return cannot("can't write", file, errno);
  return true;
}

}  // namespace

Result<Staging> Staging::create(const fs::path& target) {
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error) return cannot("can't make the folder", target.parent_path(), error.value());
  remove_leftovers(target);
  constexpr int attempts = 100;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto folder = target.parent_path() / fmt::format("{}{}-{}", prefix_of(target), ::getpid(), attempt);
    if (::mkdir(folder.c_str(), folder_mode) != 0) {
      if (errno == EEXIST) continue;
      return cannot("can't make a folder beside", target, errno);
    }
    const int lock = hold(folder);
    if (lock >= 0) return Staging(target, folder, lock);
    return cannot("can't use the folder", folder, errno);
  }
  return cannot("can't make a folder beside", target, EEXIST);
}

Staging::Staging(Staging&& other) noexcept
    : target_(std::move(other.target_)), folder_(std::exchange(other.folder_, {})), lock_(std::exchange(other.lock_, -1)) {}

Staging::~Staging() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

Result<bool> Staging::write(const std::string& path, std::string_view bytes, const std::function<bool(std::size_t)>& each) {
  const auto file = folder_ / path;
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return cannot("can't make the folder", file.parent_path(), error.value());
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode);
  if (descriptor < 0) return cannot("can't write", file, errno);
  auto written = write_all(descriptor, file, bytes, each);
  if (::close(descriptor) != 0 && written) return cannot("can't write", file, errno);
  return written;
}

Result<void> Staging::take_place() {
  std::error_code ignored;
  if (!fs::exists(target_, ignored)) {
    if (::rename(folder_.c_str(), target_.c_str()) != 0) return cannot("can't rename the finished folder to", target_, errno);
    folder_.clear();
    return {};
  }
  // In one step where the file system can: there is no moment without a folder. What stood there is removed as ours is.
  if (::renameat2(AT_FDCWD, folder_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return cannot("can't put the finished folder in the place of", target_, errno);
  const fs::path old = folder_.string() + "-old";
  if (::rename(target_.c_str(), old.c_str()) != 0) return cannot("can't move away the earlier", target_, errno);
  if (::rename(folder_.c_str(), target_.c_str()) != 0) {
    const int reason = errno;
    ::rename(old.c_str(), target_.c_str());
    return cannot("can't rename the finished folder to", target_, reason);
  }
  folder_ = old;
  return {};
}

}  // namespace polygraph::cli::site
