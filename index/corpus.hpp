// A corpus: the pages of a documentation, read and parsed, ready to be cut into passages.
//
// Corpora are named on the command line: `docker-doc` (Debian's package of the Docker Engine documentation), `dir:PATH`
// (a folder of Markdown, also a Hugo checkout), `html:PATH` (a site as its generator built it) and `beir:DIR` (a BEIR data
// set's corpus.jsonl). Whatever kind it is, a reader reduces it to the same pages of sections of blocks.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "index/block.hpp"
#include "wasm/error.hpp"

namespace polygraph::corpus {

struct CorpusOptions {
  std::string base_url;               ///< goes before every page's URL: "https://docs.example.org/"; empty for the corpus's default
  std::string title;                  ///< empty: the corpus's own
  std::string licence;                ///< empty: the corpus's own
  std::string language;               ///< of a built site: the language to read; empty: that of most of its pages
  std::filesystem::path docker_doc = "/usr/share/doc/docker-doc";  ///< where Debian's package puts its files
  std::filesystem::path dpkg_status = "/var/lib/dpkg/status";      ///< knows the package's version
};

struct Page {
  std::string id;
  std::string title;
  std::string url;
  std::string source;             ///< the file it comes from, relative to the corpus root
  std::vector<Section> sections;
};

/// What reading a corpus met, beside its pages.
struct ReadingCounts {
  std::size_t files = 0;                        ///< pages that were found
  std::size_t skipped = 0;                      ///< pages that could not be used
  std::size_t front_matter_broken = 0;          ///< pages whose body is indexed without its front matter
  std::size_t shortcodes_resolved = 0;
  std::size_t shortcodes_unresolved = 0;
  std::map<std::string, std::size_t> shortcodes_dropped;  ///< by name
  std::size_t links = 0;
};

struct Corpus {
  std::string name;        ///< `docker-doc`, `dir:docs`, `beir:scifact`: without this machine's folders
  std::string revision;    ///< a package version, or a digest of all files
  std::string title;
  std::string licence;     ///< SPDX identifier; empty when nothing tells
  std::string source_url;
  std::string language;    ///< as its pages state it, without a region; empty when they don't
  std::vector<Page> pages;  ///< in the order of their files; ids are unique
  std::vector<std::string> skipped;   ///< "path: why"
  std::vector<std::string> passed_over;  ///< "path: why", of files that are no page of their own: redirects, error pages, lists
  std::vector<std::string> warnings;  ///< "path: what", for pages that are indexed all the same
  ReadingCounts counts;
};

/// Opens the corpus that `name` names. Fails with `invalid_argument` for an unknown name (the message lists the known ones),
/// `not_found` for a missing folder or one without pages, `io` when nothing can be read.
Result<Corpus> open_corpus(std::string_view name, const CorpusOptions& options = {});

/// The kinds of corpora, for messages and help: "docker-doc, dir:PATH (…), beir:DIR (…)".
std::string known_corpora();

/// The version of an installed Debian package, read from dpkg's status file; empty when it is not installed.
std::string debian_version(const std::filesystem::path& dpkg_status, std::string_view package);

}  // namespace polygraph::corpus
