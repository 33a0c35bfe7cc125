// A Markdown page as sections of blocks. cmark-gfm parses (CommonMark with GitHub's tables, strikethrough and links, and
// footnotes); the text is rendered from its tree.
//
// The text that comes out is light Markdown: code fences and code spans, `**strong**`, list markers and table rows stay;
// link targets go to Block::links, images and HTML comments are dropped, emphasis loses its markers. Nothing is escaped, so
// identifiers stand there literally.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "index/block.hpp"
#include "index/front_matter.hpp"

namespace polygraph::corpus {

struct PageText {
  std::string title;
  std::vector<Section> sections;  ///< in text order; a section may have no blocks
};

/// `body`: UTF-8, line ends `\n`, shortcodes resolved. The title is the front matter's, else the first `# heading`, else
/// `fallback_title`. A first heading that says the title again opens no section of its own.
PageText read_markdown(std::string_view body, const FrontMatter& front, std::string_view fallback_title);

}  // namespace polygraph::corpus
