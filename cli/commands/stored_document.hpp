// A document to be diagnosed or compared, with the text that it refers to.
#pragma once

#include <memory>
#include <string>

#include "cli/kept_results.hpp"
#include "cli/mapped_file.hpp"
#include "wasm/diagnosis/document.hpp"
#include "wasm/report/layout.hpp"

namespace polygraph::cli {

class StoredDocument {
 public:
  /// Opens and reads `file`: a path (of a run, too), `-` for stdin, or the name of a kept result. `file()` then says what was read. Fails as
  /// diagnosis::read_document() does, or with `not_found` or `io`.
  static Result<std::unique_ptr<StoredDocument>> open(const std::string& file, const KeptResults& kept, const diagnosis::ReadOptions& options,
                                                      const diagnosis::Rules& rules);

  const diagnosis::Document& document() const noexcept { return document_; }
  diagnosis::Document& document() noexcept { return document_; }
  /// Lets the pages of the text go that were read, so that a file's size is no bound.
  std::function<void(std::size_t)> passed() const;

 private:
  StoredDocument() = default;
  std::optional<MappedFile> mapped_;
  std::string text_;
  diagnosis::Document document_;
};

/// The file that a name of the command line means, for messages: the kept result's own, or the name itself.
std::string file_of(const std::string& name, const KeptResults& kept);

report::Ink ink(int file_descriptor);

}  // namespace polygraph::cli
