// A golden set as files of another form, and what that form can't hold.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/golden/golden_set.hpp"

namespace polygraph::golden {

struct ConvertedFile {
  std::string name;  ///< within the folder of a collection (`qrels/test.tsv`); empty for a form that is one file
  std::string text;
};

struct Conversion {
  std::vector<ConvertedFile> files;
  std::vector<Problem> left_out;  ///< items as a whole, and fields of items
  std::size_t items = 0;          ///< of the set
  std::size_t written = 0;        ///< of them in the files
  std::size_t ragdiag_refuses = 0;  ///< samples: how many of them RAGDiag 0.1.0 would refuse
};

/// `to`: `items`, `samples` (both lossless), `ragdiag` (samples without those that RAGDiag refuses; a set without a name or version gets
/// `golden set` and `1`), `csv`, `tsv`, `trec`, or `beir` (without corpus.jsonl, whose texts are the index's). Fails with
/// `invalid_argument` for another name.
Result<Conversion> convert(Set set, std::string_view to);

}  // namespace polygraph::golden
