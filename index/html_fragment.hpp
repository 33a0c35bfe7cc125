// The text of raw HTML inside Markdown: tags dropped, words, links and preformatted code kept.
#pragma once

#include <string>
#include <string_view>

#include "index/block.hpp"

namespace polygraph::corpus {

/// What a single tag or comment inside a paragraph stands for.
struct InlineTag {
  enum class Kind {
    dropped,      ///< a tag of HTML, or a comment: only its content counts
    line_break,   ///< `<br>`
    link_open,    ///< `<a href=…>`
    link_close,   ///< `</a>`
    placeholder,  ///< `<container>`, `<your-name>`: not HTML, so it is text that people must see
  };
  Kind kind = Kind::dropped;
  std::string target;  ///< of a link_open
};

InlineTag read_inline_tag(std::string_view html);

/// A block of HTML as a block of text: block elements on lines of their own, list items with a dash, table rows as
/// `| a | b |`, `<pre>` as a code fence. Scripts, styles and comments are dropped.
Block read_html_block(std::string_view html);

/// A fenced code block. The fence is longer than any run of backticks in `code`.
Block fenced_code(std::string_view code, std::string_view info);

}  // namespace polygraph::corpus
