// Which part of a page is its content, and what inside it is not: navigation, buttons, permalinks, templates.
//
// The rules are those of HTML and ARIA first (`<main>`, `<article>`, `<nav>`, role, hidden), then words of class names that
// every generator of sites uses, each with a condition on what the element holds, so that a name alone removes no text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "index/html_tree.hpp"

namespace polygraph::corpus {

/// The words of each class: `docItemCol_VOVn md-nav` -> {{doc, item, col, vovn}, {md, nav}}. Lower case.
std::vector<std::vector<std::string>> class_words(std::string_view classes);

/// Whether any class of the element has one of these words.
bool has_class_word(const GumboNode* node, std::initializer_list<std::string_view> words);

/// What stands in a subtree, without scripts, navigation and controls.
struct Held {
  std::size_t words = 0;    ///< bytes of text that are no white space
  std::size_t linked = 0;   ///< those of them inside links
  std::size_t links = 0;
  std::size_t code = 0;     ///< `<pre>` elements
  bool blocks = false;      ///< elements that open a new line in a browser
  bool headings = false;
  bool tabs = false;        ///< tabs, or labels of radio buttons that stand for them
  bool main = false;        ///< holds, or is, the page's main element
};

class Content {
 public:
  explicit Content(const GumboNode* body);

  /// The element whose children are the page's text; the body where nothing tells.
  const GumboNode* root() const noexcept { return root_; }
  /// The first `<h1>` of the root, else of the page; null when there is none.
  const GumboNode* title() const noexcept { return title_; }
  const Held& held(const GumboNode* node) const;

  /// Whether nothing of this element belongs to the text, judged without its ancestors.
  bool dropped(const GumboNode* node) const;
  /// The same inside code, where fewer names mean anything.
  static bool dropped_in_code(const GumboNode* node);
  /// A label that selects one of several panels by a radio button.
  bool is_tab_label(const GumboNode* node) const;

  bool is_block(const GumboNode* node) const;
  /// Whether the text holds a field to search with; one in a header or a sidebar is none of it.
  bool search_form() const noexcept { return search_form_; }

 private:
  Held measure(const GumboNode* node, bool linked);
  bool silent(const GumboNode* node) const;
  bool named_chrome(const GumboNode* node) const;
  void choose_root(const GumboNode* body);

  std::unordered_map<const GumboNode*, Held> held_;  // looked up, never walked
  std::unordered_set<std::string> radios_;           // ids of radio buttons
  std::vector<const GumboNode*> mains_, articles_, marked_, search_fields_;
  const GumboNode* root_ = nullptr;
  const GumboNode* title_ = nullptr;
  bool search_form_ = false;
};

}  // namespace polygraph::corpus
