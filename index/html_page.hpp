// A page of a built site as sections of blocks, the same that the Markdown reader makes, and what its head says about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "index/markdown.hpp"
#include "wasm/error.hpp"

namespace polygraph::corpus {

struct HtmlPage {
  PageText text;                    ///< the title is that of the page's `<h1>`; empty when there is none
  std::string head_title;           ///< `<title>`, with whatever the site adds to it
  std::string canonical;            ///< href of `<link rel=canonical>`
  std::string language;             ///< lang of `<html>`: "en-GB"
  std::string redirect;             ///< where `<meta http-equiv=refresh>` leads
  bool noindex = false;             ///< `<meta name=robots>`
  std::vector<std::string> lists;   ///< hrefs of `<link rel=index>` and `<link rel=search>`: pages that only find others
  bool search_form = false;
  /// Most of the words, or of the headings, are links to elsewhere.
  bool is_listing = false;
  std::size_t links = 0;            ///< of the content
};

/// `html`: UTF-8. Fails with `invalid_text` and a reason that reads behind a file's name, where the markup passes the limits
/// of HtmlTree. A section has the id of its heading as anchor, whichever element around or inside the heading bears it;
/// definitions with an address of their own (an API's functions, a glossary's terms) are sections, too. Link targets are
/// as they stand in the page.
Result<HtmlPage> read_html_page(std::string_view html);

}  // namespace polygraph::corpus
