// What stands at the top whatever its score: the section whose heading is the query, and, for a query that is one
// identifier (`--memory`, `daemon.json`, `COMPOSE_PROJECT_NAME`, `172.17.0.1`), the chunks that hold it literally.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/index/reader.hpp"

namespace polygraph::retrieval {

/// How far a chunk is promoted; a higher level stands above every lower one.
enum class Promotion : std::uint8_t {
  none,
  literal_part,  ///< holds the identifier inside a longer one (`--memory` in `--memory-swap`)
  literal,       ///< holds the identifier, not as a part of a longer one
  heading,       ///< its heading, or its page's title where it has none, is the query
};

/// The identifier that `query` consists of, without quotes and a closing question mark; nothing for any other query. An
/// identifier has no white space and holds a letter or digit, and `_ . - / : = @`, a digit, or a capital after a small
/// letter.
std::optional<std::string_view> sole_identifier(std::string_view query) noexcept;

/// One level per chunk; empty when no chunk is promoted. A chunk holds what its text and its headings hold; its page's
/// title is not its own. ASCII letters match in either case.
std::vector<Promotion> promotions(const index::Index& index, std::string_view query);

/// Finds a needle in texts, ASCII letters in either case (Horspool, Software: Practice and Experience 10, 1980).
class LiteralSearch {
 public:
  /// `needle` must not be empty.
  explicit LiteralSearch(std::string_view needle);
  /// Offset of the first occurrence at or after `from`, or npos.
  std::size_t find(std::string_view text, std::size_t from = 0) const noexcept;
  std::size_t size() const noexcept { return needle_.size(); }

 private:
  std::string needle_;
  std::vector<std::size_t> shift_;  ///< by the byte under the needle's end
};

}  // namespace polygraph::retrieval
