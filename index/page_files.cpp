#include "index/page_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <system_error>

#include <zlib.h>

#include "wasm/text/utf8.hpp"

namespace polygraph::corpus {
namespace fs = std::filesystem;
namespace {

std::string megabytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

Result<std::string> read_plain(const fs::path& file, std::size_t limit) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(ErrorCode::io, std::string("cannot be opened: ") + std::strerror(errno));
  std::string bytes;
  char buffer[1 << 16];
  while (in.read(buffer, sizeof buffer), in.gcount() > 0) {
    bytes.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (bytes.size() > limit) return fail(ErrorCode::io, "is larger than " + megabytes(limit));
  }
  if (in.bad()) return fail(ErrorCode::io, std::string("cannot be read: ") + std::strerror(errno));
  return bytes;
}

struct GzCloser {
  void operator()(gzFile_s* file) const { gzclose_r(file); }
};

Result<std::string> read_gzip(const fs::path& file, std::size_t limit) {
  errno = 0;
  std::unique_ptr<gzFile_s, GzCloser> in(gzopen(file.c_str(), "rb"));
  if (!in) return fail(ErrorCode::io, std::string("cannot be opened: ") + std::strerror(errno));
  std::string bytes;
  char buffer[1 << 16];
  for (int read; (read = gzread(in.get(), buffer, sizeof buffer)) != 0;) {
    if (read < 0) return fail(ErrorCode::corrupt, "is not a sound gzip file");
    if (gzdirect(in.get()) != 0) return fail(ErrorCode::corrupt, "is not a gzip file");
    bytes.append(buffer, static_cast<std::size_t>(read));
    if (bytes.size() > limit) return fail(ErrorCode::io, "is larger than " + megabytes(limit) + " unpacked");
  }
  if (gzclose_r(in.release()) != Z_OK) return fail(ErrorCode::truncated, "is a gzip file that ends too early");
  return bytes;
}

}  // namespace

Result<FoundFiles> find_files(const fs::path& root, const std::function<bool(std::string_view path)>& wanted) {
  std::error_code error;
  const fs::path real_root = fs::canonical(root, error);
  if (error) return fail(ErrorCode::not_found, "there is no folder " + root.string() + ": " + error.message());
  if (!fs::is_directory(real_root, error)) return fail(ErrorCode::invalid_argument, root.string() + " is not a folder");

  FoundFiles found;
  const auto inside = [&](const fs::path& path) {
    return std::mismatch(real_root.begin(), real_root.end(), path.begin(), path.end()).first == real_root.end();
  };
  // Folders are read by hand, not with a recursive iterator: that one gives up at the first folder it may not read.
  std::vector<fs::path> folders{real_root};
  while (!folders.empty()) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    fs::directory_iterator entries(folder, error);
    if (error) {
      if (folder == real_root) return fail(ErrorCode::io, "the folder " + root.string() + " cannot be read: " + error.message());
      found.skipped.push_back(folder.lexically_relative(real_root).generic_string() + ": the folder cannot be read (" + error.message() + ")");
      continue;
    }
    for (const fs::directory_iterator end; entries != end; entries.increment(error)) {
      const fs::path path = entries->path();
      const std::string name = path.filename().string();
      if (name.starts_with('.') || name == "node_modules") continue;
      const std::string relative = path.lexically_relative(real_root).generic_string();
      std::error_code ignored;
      if (entries->is_symlink(ignored)) {
        const fs::path target = fs::canonical(path, error);
        if (error) {
          if (wanted(relative)) found.skipped.push_back(relative + ": is a link that leads nowhere");
        } else if (fs::is_directory(target, ignored)) {
          found.skipped.push_back(relative + ": is a link to a folder, which is not followed");
        } else if (wanted(relative)) {
          if (inside(target)) {
            found.files.push_back({relative, target});
          } else {
            found.skipped.push_back(relative + ": is a link that leads out of the folder");
          }
        }
        error.clear();
      } else if (entries->is_directory(ignored)) {
        folders.push_back(path);
      } else if (wanted(relative)) {
        if (entries->is_regular_file(ignored)) {
          found.files.push_back({relative, path});
        } else {
          found.skipped.push_back(relative + ": is not a regular file");
        }
      }
    }
    error.clear();
  }
  std::sort(found.files.begin(), found.files.end(), [](const PageFile& a, const PageFile& b) { return a.path < b.path; });
  std::sort(found.skipped.begin(), found.skipped.end());
  return found;
}

Result<std::string> read_bytes(const fs::path& file, std::size_t limit) {
  return file.extension() == ".gz" ? read_gzip(file, limit) : read_plain(file, limit);
}

Result<std::string> read_text(const fs::path& file, std::size_t limit) {
  Result<std::string> bytes = read_bytes(file, limit);
  if (!bytes) return bytes;
  if (bytes->starts_with("\xFF\xFE") || bytes->starts_with("\xFE\xFF")) {
    return fail(ErrorCode::invalid_text, "is UTF-16; save it as UTF-8");
  }
  if (bytes->starts_with("\xEF\xBB\xBF")) bytes->erase(0, 3);
  if (const std::optional<std::size_t> invalid = text::first_invalid(*bytes)) {
    return fail(ErrorCode::invalid_text, "is not UTF-8 (byte " + std::to_string(*invalid) + ")");
  }
  // CommonMark takes \n, \r\n and a lone \r for a line end.
  std::string text;
  text.reserve(bytes->size());
  for (std::size_t i = 0; i < bytes->size(); ++i) {
    const char c = (*bytes)[i];
    if (c == '\r') {
      if (i + 1 < bytes->size() && (*bytes)[i + 1] == '\n') continue;
      text += '\n';
    } else if (c == '\0') {
      text += "\xEF\xBF\xBD";  // CommonMark 2.3
    } else {
      text += c;
    }
  }
  return text;
}

std::string folder_name(const fs::path& path) {
  std::error_code ignored;
  const fs::path real = fs::weakly_canonical(path, ignored);
  std::string name = (real.has_filename() ? real : real.parent_path()).filename().string();
  return name.empty() ? "root" : name;
}

std::string licence_of(const fs::path& folder) {
  for (const char* name : {"LICENSE", "LICENSE.md", "LICENSE.txt", "COPYING"}) {
    std::error_code ignored;
    if (!fs::is_regular_file(folder / name, ignored)) continue;
    const Result<std::string> text = read_text(folder / name);
    if (!text) continue;
    const auto says = [&](std::string_view words) { return text->find(words) != std::string::npos; };
    if (says("Apache License") && says("Version 2.0")) return "Apache-2.0";
    if (says("Permission is hereby granted, free of charge")) return "MIT";
    if (says("Attribution-ShareAlike 4.0")) return "CC-BY-SA-4.0";
    if (says("Attribution 4.0 International")) return "CC-BY-4.0";
    if (says("CC0 1.0 Universal")) return "CC0-1.0";
    if (says("Mozilla Public License") && says("2.0")) return "MPL-2.0";
  }
  return {};
}

}  // namespace polygraph::corpus
