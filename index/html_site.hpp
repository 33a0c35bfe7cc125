// A built site as a corpus: what Hugo, MkDocs, Docusaurus, VitePress, Sphinx and their like write to be served.
#pragma once

#include <filesystem>

#include "index/corpus.hpp"

namespace polygraph::corpus {

/// Reads every page under a folder, or the one page that `path` is. Pages come in the order of sitemap.xml, then in that of
/// their paths. Passed over and named: redirects, error and search pages, lists of tags, copies that name another page of the
/// site as canonical, pages that ask not to be indexed (unless all do), and pages in another language than the corpus's.
/// URLs are `base_url` with the page's path; without a `base_url` the site's own, from canonical links or the sitemap, and
/// relative where neither is. The revision is a digest of what was read from the pages, so that building a site again
/// without changing a word gives the same index.
Result<Corpus> read_html_site(const std::filesystem::path& path, const CorpusOptions& options);

}  // namespace polygraph::corpus
