#include "index/html_page.hpp"

#include <algorithm>
#include <utility>

#include "index/html_content.hpp"
#include "index/html_sections.hpp"
#include "index/html_tree.hpp"
#include "index/html_words.hpp"

namespace polygraph::corpus {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\r\f");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\n\r\f") - begin + 1));
}

/// Where `5; url='next/'` leads; empty for a page that only reloads itself (WHATWG HTML, 4.2.5.3, "refresh").
std::string refresh_target(std::string_view content) {
  const std::size_t separator = content.find_first_of(";,");
  if (separator == std::string_view::npos) return {};
  std::string target = trimmed(content.substr(separator + 1));
  if (lower(target.substr(0, 3)) == "url") {
    const std::size_t equals = target.find('=');
    if (equals == std::string::npos) return {};
    target = trimmed(target.substr(equals + 1));
  }
  if (target.size() >= 2 && (target.front() == '\'' || target.front() == '"')) target = target.substr(1, target.find(target.front(), 1) - 1);
  return target;
}

void read_head(const GumboNode* root, HtmlPage& page) {
  page.language = trimmed(attribute(root, "lang"));
  if (page.language.empty()) page.language = trimmed(attribute(root, "xml:lang"));
  for (const GumboNode* node : outermost(root, [](const GumboNode* each) {
         return is_element(each, GUMBO_TAG_META) || is_element(each, GUMBO_TAG_LINK) || is_element(each, GUMBO_TAG_TITLE) || is_element(each, GUMBO_TAG_SVG);
       })) {
    if (is_element(node, GUMBO_TAG_TITLE) && page.head_title.empty()) {
      for (const char c : code_text(node)) {
        const bool gap = c == ' ' || c == '\n' || c == '\t';
        if (!gap || (!page.head_title.empty() && page.head_title.back() != ' ')) page.head_title += gap ? ' ' : c;
      }
      if (page.head_title.ends_with(' ')) page.head_title.pop_back();
    }
    if (is_element(node, GUMBO_TAG_META)) {
      if (lower(attribute(node, "http-equiv")) == "refresh" && page.redirect.empty()) page.redirect = refresh_target(attribute(node, "content"));
      const std::string name = lower(attribute(node, "name"));
      if (name == "robots" && lower(attribute(node, "content")).find("noindex") != std::string::npos) page.noindex = true;
    }
    if (is_element(node, GUMBO_TAG_LINK)) {
      const std::string rel = " " + lower(attribute(node, "rel")) + " ";
      const std::string target = trimmed(attribute(node, "href"));
      if (rel.find(" canonical ") != std::string::npos && page.canonical.empty()) page.canonical = target;
      if (rel.find(" index ") != std::string::npos || rel.find(" search ") != std::string::npos) page.lists.push_back(target);
    }
  }
}

}  // namespace

Result<HtmlPage> read_html_page(std::string_view html) {
  const Result<HtmlTree> tree = HtmlTree::parse(html);
  if (!tree) return tl::unexpected(tree.error());
  HtmlPage page;
  read_head(tree->root(), page);
  const GumboNode* body = nullptr;
  for (const GumboNode* child : elements(tree->root())) {
    if (is_element(child, GUMBO_TAG_BODY)) body = child;
  }
  if (body == nullptr) return page;  // a frameset
  const Content content(body);
  HtmlSections sections = write_sections(content);
  page.text = std::move(sections.text);
  page.search_form = content.search_form();
  const Held& held = content.held(content.root());
  page.links = held.links;
  const std::size_t words = held.words - std::min(held.words, content.title() == nullptr ? 0 : content.held(content.title()).words);
  page.is_listing = held.links > 0 && (held.linked * 2 >= words || (sections.headings > 0 && sections.linked_headings * 2 > sections.headings));
  return page;
}

}  // namespace polygraph::corpus
