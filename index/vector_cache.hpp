// Vectors that an embedder has computed before, kept on disk by model and text digest.
//
// One SQLite file; several builds may use it at once. It holds nothing that cannot be computed again: a file that is not a
// sound database is replaced.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/text/digest.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace polygraph::corpus {

class VectorCache {
 public:
  /// Opens (or makes) `folder`/vectors.sqlite3.
  static Result<VectorCache> open(const std::filesystem::path& folder);

  VectorCache(VectorCache&&) noexcept;
  VectorCache& operator=(VectorCache&&) noexcept;
  ~VectorCache();

  /// The vector of a text under a model, if it is there with this many dimensions and every value is finite.
  std::optional<std::vector<float>> find(std::string_view model, const text::Digest128& text, std::size_t dimensions);

  struct Entry {
    text::Digest128 text;
    std::span<const float> vector;
  };
  /// Stores all entries or none.
  Result<void> store(std::string_view model, std::span<const Entry> entries);

  /// Whether a damaged file was replaced when the cache was opened.
  bool replaced() const noexcept { return replaced_; }

 private:
  struct DatabaseCloser {
    void operator()(sqlite3* database) const;
  };
  struct StatementCloser {
    void operator()(sqlite3_stmt* statement) const;
  };
  VectorCache();

  std::unique_ptr<sqlite3, DatabaseCloser> database_;
  std::unique_ptr<sqlite3_stmt, StatementCloser> find_, store_;
  bool replaced_ = false;
};

}  // namespace polygraph::corpus
