// A static site out of the built one: which files, with which content, and how they get into their folder.
//
// The export holds all that the pages load, under names that carry their digests, so a page never meets a file of another
// version; what names a version (pages, service worker, site.json) is written anew with the export's own. The same built site,
// index, recordings and options give the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/mapped_file.hpp"
#include "cli/site/built_site.hpp"
#include "cli/site/staging.hpp"
#include "proxy/recordings/recordings.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::cli::site {

/// The manifest of an export, in its folder; by it an earlier export is told from anything else.
inline constexpr const char* manifest_name = "export.json";

struct IndexFile {
  std::filesystem::path path;
  MappedFile file;
  index::Index index;
  std::string sha256;  ///< of the file
};
/// Fails with what MappedFile::open and Index::open fail with.
Result<IndexFile> open_index_file(const std::filesystem::path& path);

struct Choices {
  std::string base = "/";                         ///< where the folder will be mounted; ends with a slash
  std::vector<std::string> connect;               ///< origins that the pages may connect to beside their own
  bool asks_server = false;                       ///< `polygraph serve` stands behind it: pages ask it for live answers
  std::optional<std::string> examples;            ///< the example questions' document; none: the built site's
  std::string indexed_at;                         ///< of an index that isn't the built site's; ISO 8601
};

/// A file of the export, of which only one of `source` and `bytes` is used.
struct PlannedFile {
  std::string path, kind;
  std::filesystem::path source;  ///< copied from here; empty: `bytes`
  std::string bytes;
};

struct Plan {
  std::string version;
  std::filesystem::path site;  ///< whose compressed variants are taken where they fit
  nlohmann::ordered_json index;             ///< for people: corpus, revision, digests, passages
  std::vector<PlannedFile> files;           ///< in order of their paths
  std::vector<std::string> first_visit;     ///< paths that a first visit loads before any model
  std::vector<std::string> notes;           ///< what whoever exports should know
};

/// Kinds of files, in the order in which they are shown.
extern const std::vector<std::string> kinds;

/// `recordings` are those to carry. Fails with `invalid_json` for example questions that are none.
Result<Plan> plan_export(const BuiltSite& site, const IndexFile& index, const std::vector<proxy::Recording>& recordings, const Choices& choices);

/// Whether the built site's index and this one are of the same corpus: only then do its example questions fit.
bool same_corpus(const BuiltSite& site, const IndexFile& index);

/// Passes for a target that does not exist, is empty, or holds an earlier export and nothing else. Fails with
/// `invalid_argument` and names what would be lost.
Result<void> check_target(const std::filesystem::path& target);

struct Written {
  std::uint64_t files = 0, bytes = 0;       ///< all, with the compressed variants and the manifest
  std::uint64_t variant_bytes = 0;
  std::map<std::string, std::uint64_t> by_kind;  ///< without the variants
  std::uint64_t first_visit_bytes = 0, first_visit_brotli_bytes = 0;
};

/// Writes everything below the staging folder. `progress` is told of bytes done and in all, without the variants, and ends
/// the work with false: then nothing is returned. Fails with `io`, or `corrupt` for a file whose name holds another digest.
Result<std::optional<Written>> write_export(const Plan& plan, const Choices& choices, Staging& staging,
                                            const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress);

}  // namespace polygraph::cli::site
