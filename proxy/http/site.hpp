// The static site: files below one folder, with their precompressed variants, strong ETags, ranges and caching rules.
//
// Small files are kept in memory, large ones are sent from the page cache; each file is looked at again no more often
// than once a second, so a rebuilt site shows without a restart. Nothing outside the folder is ever served, also through
// links: a file is opened first, and where it really lies is checked on what was opened.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "proxy/http/answer.hpp"
#include "proxy/http/negotiation.hpp"
#include "proxy/http/request.hpp"
#include "wasm/error.hpp"

namespace polygraph::http {

class Site {
 public:
  /// Fails, naming the folder, when it can't be read. Reads every file once, so that no request waits for a digest.
  static Result<std::unique_ptr<Site>> open(const std::filesystem::path& folder);

  /// GET and HEAD only; any thread.
  Answer answer(const Request& request);

 private:
  /// What tells one state of a file from another without reading it.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    std::int64_t bytes = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  /// One representation of a file: the file itself, or its .br or .gz.
  struct Representation {
    Stamp stamp;
    std::string etag;
    std::string fields;        // for 200 and 206
    std::string fields_short;  // for 304
    std::optional<std::string> bytes;  // small files only
    std::string path;
  };
  using RepresentationPtr = std::shared_ptr<const Representation>;
  struct Entry {
    std::array<RepresentationPtr, 3> by_coding;  // indexed by Coding; identity is always there
    Clock::time_point checked_at;
  };

  explicit Site(std::string root) : root_(std::move(root)) {}
  std::shared_ptr<const Entry> find(const std::string& name);
  /// nullptr when there is no such file that may be served. `known` is returned again when it still holds.
  RepresentationPtr load(const std::string& name, Coding coding, bool vary, const RepresentationPtr& known) const;
  /// -1 when `path` is no regular file below the folder.
  int open_inside(const std::string& path) const;

  static Stamp stamp_of(const struct stat& status);

  std::string root_;  // canonical, without a slash at its end
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Entry>> entries_;
};

}  // namespace polygraph::http
