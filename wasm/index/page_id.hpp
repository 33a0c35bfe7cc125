// Ids of pages, from the paths that corpora and golden sets name them by.
#pragma once

#include <string>
#include <string_view>

namespace polygraph::index {

/// The id of the page at `path`, which is relative to the corpus root: without `.md`, `.md.gz` or `.html`; `_index`, `index`
/// and `README` stand for their folder, the root's for `index`.
std::string page_id(std::string_view path);

/// The id of the page that a golden set names by its file: `content/manuals/engine/logging/drivers/local.md` ->
/// `engine/logging/drivers/local`. An id or a chunk id's page comes back as it is.
std::string page_id_of_reference(std::string_view reference);

/// The path without `.md`, `.md.gz` or `.html`; nothing else is changed.
std::string_view without_extension(std::string_view path) noexcept;

}  // namespace polygraph::index
