// Pages and passages of an index as URIs (RFC 3986):
//
//   polygraph://page/storage/volumes           every passage of a page
//   polygraph://passage/storage/volumes/003    the passage storage/volumes#003
//
// What is neither unreserved nor a slash is percent-encoded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace polygraph::cli::mcp {

inline constexpr std::string_view passage_template = "polygraph://passage/{+page}/{number}";
inline constexpr std::string_view page_template = "polygraph://page/{+page}";

std::string page_uri(std::string_view page_id);
/// Of an id `path/of/page#003`.
std::string passage_uri(std::string_view chunk_id);

/// The id of a page, or of a passage (with `#`); nothing for a URI of another form.
std::optional<std::string> id_of_uri(std::string_view uri);

}  // namespace polygraph::cli::mcp
