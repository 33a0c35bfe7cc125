#include "cli/index_store.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace polygraph::cli {
namespace {

/// A link named after the digest, to the index file. `:` is kept out of file names.
std::filesystem::path link_of(const Settings& settings, std::string digest) {
  for (char& c : digest) {
    if (c == ':' || c == '/') c = '-';
  }
  return settings.home() / "index" / "by-digest" / (digest + ".polygraph");
}

Result<std::unique_ptr<OpenIndex>> open_file(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  auto index = index::Index::open(file->bytes());
  if (!index) return tl::unexpected(index.error());
  return std::make_unique<OpenIndex>(OpenIndex{path, std::move(*file), std::move(*index)});
}

}  // namespace

std::filesystem::path default_index(const Settings& settings) {
  if (const auto own = settings.get("POLYGRAPH_INDEX"); !own.value.empty()) return own.value;
  return settings.home() / "index" / "docker-doc.polygraph";
}

void remember(const Settings& settings, const std::string& digest, const std::filesystem::path& path) {
  std::error_code error;
  const auto link = link_of(settings, digest);
  const auto target = std::filesystem::absolute(path, error);
  if (error || std::filesystem::read_symlink(link, error) == target) return;
  std::filesystem::create_directories(link.parent_path(), error);
  // Renamed into place, so that a program that looks it up at the same time finds the old or the new one.
  const auto fresh = link.string() + ".new-" + std::to_string(::getpid());
  std::filesystem::create_symlink(target, fresh, error);
  if (!error) std::filesystem::rename(fresh, link, error);
}

Result<std::unique_ptr<OpenIndex>> open_index(const Settings& settings, const std::string& path, std::string& file_of_error) {
  const std::filesystem::path chosen = path.empty() ? default_index(settings) : std::filesystem::path(path);
  file_of_error = chosen.string();
  auto opened = open_file(chosen);
  if (!opened) {
    Error error = opened.error();
    if (path.empty() && error.code == ErrorCode::not_found) {
      error.message += "; build it with `polygraph index --corpus docker-doc`, or name one with --index";
    }
    return tl::unexpected(error);
  }
  remember(settings, (*opened)->index.digest(), chosen);
  return opened;
}

Result<std::unique_ptr<OpenIndex>> open_index_by_digest(const Settings& settings, const std::string& digest) {
  constexpr std::size_t digest_bytes = 39;  // "xxh128:" and 32 hex digits
  if (digest.size() != digest_bytes) return fail(ErrorCode::invalid_json, "is no index's digest", "index_digest");
  auto opened = open_file(link_of(settings, digest));
  if (!opened) {
    std::string file;
    opened = open_index(settings, "", file);
    if (!opened) {
      return fail(ErrorCode::mismatch, fmt::format("the trace belongs to the index {}, which is not known here; name its file with --index", digest),
                  "index_digest");
    }
  }
  if ((*opened)->index.digest() != digest) {
    return fail(ErrorCode::mismatch,
                fmt::format("the trace belongs to the index {}, but {} holds {}; name the right file with --index", digest,
                            (*opened)->path.string(), (*opened)->index.digest()),
                "index_digest");
  }
  return opened;
}

}  // namespace polygraph::cli
