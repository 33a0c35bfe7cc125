// The content of a page of a built site as sections of blocks: headings, lists, tables, code, callouts, tab panels, definitions.
#pragma once

#include <cstddef>

#include "index/html_content.hpp"
#include "index/markdown.hpp"

namespace polygraph::corpus {

struct HtmlSections {
  PageText text;
  std::size_t headings = 0, linked_headings = 0;  ///< below the title; those of them that are links to elsewhere
};

/// Link targets are as they stand in the page.
HtmlSections write_sections(const Content& content);

}  // namespace polygraph::corpus
