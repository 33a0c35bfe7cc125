// The corpus of a BEIR data set (https://github.com/beir-cellar/beir): corpus.jsonl, one document a line.
#pragma once

#include <filesystem>

#include "index/corpus.hpp"

namespace polygraph::corpus {

/// `folder` holds corpus.jsonl: {"_id", "title", "text", "metadata": {"url"}}. Ids stay as they are; the text is plain, its
/// paragraphs are blocks. A line that is no such document is named by its number and skipped.
Result<Corpus> read_beir(const std::filesystem::path& folder, const CorpusOptions& options);

}  // namespace polygraph::corpus
