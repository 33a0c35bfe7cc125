// A document to be diagnosed or compared, with the text that it refers to.
#pragma once

#include <memory>
#include <string>

#include "cli/kept_results.hpp"
#include "cli/mapped_file.hpp"
#include "wasm/diagnosis/document.hpp"

namespace polygraph::cli {

class StoredDocument {
 public:
  /// Opens and reads `file`: a path (of a run, too), `-` for stdin, or the name of a kept result. `file()` then says what was read. Fails as
  /// diagnosis::read_document() does, or with `not_found` or `io`.
  static Result<std::unique_ptr<StoredDocument>> open(const std::string& file, const KeptResults& kept, const diagnosis::ReadOptions& options,
                                                      const diagnosis::Rules& rules);

  const diagnosis::Document& document() const noexcept { return document_; }
  diagnosis::Document& document() noexcept { return document_; }
  /// Of a run: the JSON object that says what was run over what; empty for any other document.
  const std::string& run_identity() const noexcept { return run_identity_; }
  /// Writes the document's results as an array into each of `writers`; each result is read once, and the pages of the text that
  /// were read go, so that a file's size is no bound.
  void write_results(const std::vector<json::Writer*>& writers) const;

 private:
  StoredDocument() = default;
  /// Lets the pages of the text go up to an offset.
  std::function<void(std::size_t)> passed() const;
  std::optional<MappedFile> mapped_;
  std::string text_, run_identity_;
  diagnosis::Document document_;
};

/// The file that a name of the command line means, for messages: the kept result's own, or the name itself.
std::string file_of(const std::string& name, const KeptResults& kept);

}  // namespace polygraph::cli
