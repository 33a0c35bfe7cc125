#include "proxy/http/site.hpp"

#include <fcntl.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <utility>
#include <vector>

#include "proxy/http/media_type.hpp"
#include "proxy/http/site_path.hpp"

namespace polygraph::http {
namespace {

namespace fs = std::filesystem;

/// Up to this size one gathered write from memory beats sendfile's second system call; past it memory is the scarcer.
constexpr std::int64_t max_bytes_in_memory = 256 * 1024;
/// A file's state is trusted for this long before it is looked at again.
constexpr std::chrono::seconds trusted_for{1};
/// Bounds what a site of very many files can hold in memory: past it, all are forgotten and come back as they are asked for.
constexpr std::size_t max_entries = 4096;
/// What is read ahead at the start; a larger folder's later files are read when they are first asked for.
constexpr std::size_t max_files_read_at_start = 4096;
constexpr std::uint64_t max_bytes_read_at_start = 1ULL << 30;
constexpr std::size_t read_block_bytes = 256 * 1024;

constexpr std::array<std::string_view, 3> variant_suffix = {"", ".br", ".gz"};
constexpr std::array<std::string_view, 3> content_coding = {"", "br", "gzip"};

class Descriptor {
 public:
  explicit Descriptor(int value) noexcept : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return value_; }
  int release() noexcept { return std::exchange(value_, -1); }

 private:
  int value_;
};

std::string digest_text(const XXH128_hash_t& hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  constexpr std::string_view hex = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += hex[byte >> 4];
    text += hex[byte & 15];
  }
  return text;
}

/// Reads a whole file through its descriptor: its digest, and its bytes when it is small. False on a read error.
bool read_content(int descriptor, std::int64_t size, std::string& digest, std::optional<std::string>& bytes) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  if (!state) return false;
  XXH3_128bits_reset(state.get());
  if (size <= max_bytes_in_memory) bytes.emplace();
  std::string block(read_block_bytes, '\0');
  std::int64_t position = 0;
  for (;;) {
    const auto got = ::pread(descriptor, block.data(), block.size(), position);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    XXH3_128bits_update(state.get(), block.data(), static_cast<std::size_t>(got));
    if (bytes) bytes->append(block.data(), static_cast<std::size_t>(got));
    position += got;
    if (position > size) return false;
  }
  digest = digest_text(XXH3_128bits_digest(state.get()));
  return position == size;
}

Answer not_found() { return error_answer({404, "not_found", "there is nothing at this address"}); }

}  // namespace

Site::Stamp Site::stamp_of(const struct stat& status) {
  constexpr std::int64_t ns_per_second = 1'000'000'000;
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec * ns_per_second + status.st_mtim.tv_nsec};
}

Result<std::unique_ptr<Site>> Site::open(const fs::path& folder) {
  const auto unusable = [&](std::string_view why) {
    return fail(ErrorCode::io, "the site folder " + folder.string() + " can't be served: " + std::string(why), "site");
  };
  std::error_code error;
  const auto root = fs::canonical(folder, error);
  if (error) return unusable(error.message());
  if (!fs::is_directory(root, error)) return unusable("it is not a folder");
  if (::access(root.c_str(), R_OK | X_OK) != 0) return unusable(std::strerror(errno));
  if (root == "/") return unusable("it is the root of the file system");
  std::unique_ptr<Site> site(new Site(root.string()));

  std::size_t files = 0;
  std::uint64_t bytes = 0;
  fs::recursive_directory_iterator walk(root, fs::directory_options::skip_permission_denied, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    if (walk->path().filename().native().front() == '.') {
      walk.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;
    if (!walk->is_regular_file(ignored)) continue;
    const auto size = walk->file_size(ignored);
    if (ignored) continue;
    bytes += size;
    if (++files > max_files_read_at_start || bytes > max_bytes_read_at_start) break;
    site->find(walk->path().lexically_relative(root).generic_string());
  }
  if (error) return unusable(error.message());
  return site;
}

int Site::open_inside(const std::string& path) const {
  // O_PATH touches nothing: a device or a pipe that somebody put there has no side effect.
  const Descriptor handle(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (handle.get() < 0) return -1;
  struct stat status {};
  if (::fstat(handle.get(), &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  const auto self = "/proc/self/fd/" + std::to_string(handle.get());
  std::array<char, PATH_MAX> real{};
  const auto length = ::readlink(self.c_str(), real.data(), real.size());
  if (length <= 0 || static_cast<std::size_t>(length) == real.size()) return -1;
  const std::string_view real_path(real.data(), static_cast<std::size_t>(length));
  if (real_path.size() <= root_.size() + 1 || real_path.substr(0, root_.size()) != root_ || real_path[root_.size()] != '/') return -1;
  // A link to a dot file is that dot file.
  if (real_path.substr(root_.size()).find("/.") != std::string_view::npos) return -1;
  return ::open(self.c_str(), O_RDONLY | O_CLOEXEC);
}

Site::RepresentationPtr Site::load(const std::string& name, Coding coding, bool vary, const RepresentationPtr& known) const {
  const auto index = static_cast<std::size_t>(coding);
  const auto path = root_ + '/' + name + std::string(variant_suffix[index]);
  struct stat status {};
  if (known) {
    if (::stat(path.c_str(), &status) == 0 && stamp_of(status) == known->stamp) return known;
  }
  constexpr int attempts = 3;  // a file that changes under every reading is not served
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const Descriptor file(open_inside(path));
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return nullptr;
    auto loaded = std::make_shared<Representation>();
    loaded->stamp = stamp_of(status);
    loaded->path = path;
    std::string digest;
    if (!read_content(file.get(), status.st_size, digest, loaded->bytes)) continue;
    if (::fstat(file.get(), &status) != 0 || stamp_of(status) != loaded->stamp) continue;

    const auto file_name = std::string_view(name).substr(name.rfind('/') + 1);
    loaded->etag = '"' + digest + (coding == Coding::identity ? "" : '-' + std::string(content_coding[index])) + '"';
    auto& fields = loaded->fields_short;
    fields = "ETag: " + loaded->etag + "\r\nCache-Control: ";
    fields += is_hashed_name(file_name) ? "public, max-age=31536000, immutable" : "no-cache";
    fields += "\r\n";
    if (vary) fields += "Vary: Accept-Encoding\r\n";
    loaded->fields = "Content-Type: " + std::string(media_type(file_name)) + "\r\nAccept-Ranges: bytes\r\n" + fields;
    if (coding != Coding::identity) loaded->fields += "Content-Encoding: " + std::string(content_coding[index]) + "\r\n";
    return loaded;
  }
  return nullptr;
}

std::shared_ptr<const Site::Entry> Site::find(const std::string& name) {
  const auto now = Clock::now();
  std::shared_ptr<const Entry> known;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found != entries_.end()) known = found->second;
  }
  if (known && now - known->checked_at < trusted_for) return known;

  // Read outside the lock: two threads may read the same file once each, and neither waits for the other.
  auto fresh = std::make_shared<Entry>();
  fresh->checked_at = now;
  const auto previous = [&](Coding coding) { return known ? known->by_coding[static_cast<std::size_t>(coding)] : nullptr; };
  const auto exists = [&](Coding coding) {
    return ::access((root_ + '/' + name + std::string(variant_suffix[static_cast<std::size_t>(coding)])).c_str(), R_OK) == 0;
  };
  const bool vary = exists(Coding::br) || exists(Coding::gzip);
  // Whether there are variants stands in every representation's fields, so a change of that makes all of them anew.
  const bool same_kind = known && vary == (known->by_coding[1] || known->by_coding[2]);
  for (const auto coding : {Coding::identity, Coding::br, Coding::gzip}) {
    if (coding != Coding::identity && !vary) break;
    auto loaded = load(name, coding, vary, same_kind ? previous(coding) : nullptr);
    if (coding == Coding::identity && !loaded) {
      const std::lock_guard lock(mutex_);
      entries_.erase(name);
      return nullptr;
    }
    fresh->by_coding[static_cast<std::size_t>(coding)] = std::move(loaded);
  }
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= max_entries && !entries_.contains(name)) entries_.clear();
  entries_[name] = fresh;
  return fresh;
}

Answer Site::answer(const Request& request) {
  using beast_http::field;
  const auto name = site_path(request.path());
  if (!name) return not_found();
  const auto entry = find(*name);
  if (!entry) return not_found();

  auto coding = choose_coding(request.list(field::accept_encoding), request.has(field::accept_encoding),
                              entry->by_coding[1] != nullptr, entry->by_coding[2] != nullptr);
  const auto chosen = entry->by_coding[static_cast<std::size_t>(coding)];
  const auto size = static_cast<std::uint64_t>(chosen->stamp.bytes);

  Answer answer;
  if (request.has(field::if_none_match) && matches_any(request.list(field::if_none_match), chosen->etag)) {
    answer.status = 304;
    answer.shared_fields = {chosen, &chosen->fields_short};
    return answer;
  }
  answer.shared_fields = {chosen, &chosen->fields};

  ByteRange bytes{0, size};
  // RFC 9110 §14.2: Range means something for GET only. If-Range holds when it is this representation's strong tag;
  // a date never does, since no Last-Modified is given out.
  if (request.method() == beast_http::verb::get && request.has(field::range)) {
    const auto condition = request.list(field::if_range);
    if (!request.has(field::if_range) || condition == chosen->etag) {
      const auto range = choose_range(request.list(field::range), size);
      if (range.kind == RangeChoice::unsatisfiable) {
        auto refused = error_answer({416, "bad_range", "the file has " + std::to_string(size) + " bytes"});
        refused.fields += "Content-Range: bytes */" + std::to_string(size) + "\r\n";
        return refused;
      }
      if (range.kind == RangeChoice::part) {
        bytes = range.bytes;
        answer.status = 206;
        answer.fields = "Content-Range: bytes " + std::to_string(bytes.offset) + '-' +
                        std::to_string(bytes.offset + bytes.length - 1) + '/' + std::to_string(size) + "\r\n";
      }
    }
  }

  if (chosen->bytes) {
    answer.body = SharedBytes{{chosen, &*chosen->bytes}, static_cast<std::size_t>(bytes.offset),
                              static_cast<std::size_t>(bytes.length)};
    return answer;
  }
  Descriptor file(open_inside(chosen->path));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || stamp_of(status) != chosen->stamp) {
    // It was replaced within the last second: the entry is out of date, so look again rather than send mixed content.
    {
      const std::lock_guard lock(mutex_);
      entries_.erase(*name);
    }
    return error_answer({503, "busy", "the file is being replaced"}, 1);
  }
  answer.body = FileBytes{std::make_shared<const OpenFile>(file.release()), bytes.offset, bytes.length};
  return answer;
}

}  // namespace polygraph::http
