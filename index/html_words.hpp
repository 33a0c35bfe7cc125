// Words of HTML: running text as light Markdown with its links, and plain or preformatted text.
#pragma once

#include <string>
#include <string_view>

#include "index/block.hpp"
#include "index/html_content.hpp"

namespace polygraph::corpus {

/// `text` without what nobody sees: control characters, directional marks and overrides, zero-width spaces, soft hyphens, tag
/// characters. No-break spaces become spaces, line and paragraph separators line ends.
std::string visible(std::string_view text);

/// The text of a code element as it stands, line by line; line numbers and buttons are left out.
std::string code_text(const GumboNode* node);

/// Running text. White space collapses as in a browser.
class InlineText {
 public:
  enum class Style {
    text,   ///< light Markdown
    cell,   ///< the same on one line, `|` escaped
    plain,  ///< words only: a heading in a path, a title, a label
  };
  InlineText(const Content& content, Style style) : content_(content), style_(style) {}

  /// Appends a node; content that is none is passed over.
  void add(const GumboNode* node);
  /// Appends what stands in an element.
  void add_children(const GumboNode* node);
  /// What has been added, tidied; empty again afterwards.
  Block take();

 private:
  void element(const GumboNode* node);
  void words(std::string_view text);
  void put(std::string_view text);
  void mark(std::string_view marker, const GumboNode* node);
  void link(const GumboNode* node);
  bool at_line_start() const { return block_.text.empty() || block_.text.back() == '\n'; }

  const Content& content_;
  Style style_;
  Block block_;
  bool pending_space_ = false;
};

/// The words of an element on one line.
std::string plain_words(const Content& content, const GumboNode* node);

}  // namespace polygraph::corpus
