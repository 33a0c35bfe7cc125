#include "index/html_content.hpp"

#include <algorithm>
#include <array>

namespace polygraph::corpus {
namespace {

bool space(char c) noexcept { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) noexcept {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A class that begins so says something about its element's surroundings or state, not what the element is.
constexpr std::array<std::string_view, 10> about_others{"has", "no", "with", "without", "is", "hide", "show", "not", "needs", "js"};

/// Names of what is never text.
constexpr std::array<std::string_view, 15> chrome{"breadcrumb", "breadcrumbs", "pagination", "paginator", "headerlink", "permalink", "copybtn", "clipboard",
                                                  "skiplink", "giscus", "disqus", "utterances", "viewcode", "backtotop", "lastmod"};
struct Pair {
  std::string_view first, second;
};
constexpr std::array<Pair, 30> chrome_pairs{{{"skip", "link"}, {"skip", "to"}, {"header", "anchor"}, {"hash", "link"}, {"heading", "anchor"},
                                             {"anchor", "link"}, {"self", "link"}, {"edit", "link"}, {"edit", "page"}, {"edit", "this"},
                                             {"edit", "info"}, {"copy", "button"}, {"copy", "code"}, {"copy", "btn"}, {"code", "copy"},
                                             {"btn", "copy"}, {"last", "updated"}, {"last", "update"}, {"last", "modified"}, {"page", "meta"},
                                             {"source", "file"}, {"prev", "next"}, {"page", "nav"}, {"visually", "hidden"}, {"sr", "only"},
                                             {"screen", "reader"}, {"reading", "time"}, {"version", "badge"}, {"page", "feedback"}, {"cookie", "banner"}}};
/// Text that has such a name is longer than this only where the name means something else.
constexpr std::size_t chrome_words_limit = 400;

/// Names that content bears, too: they tell only when what they name is mostly links.
constexpr std::array<std::string_view, 20> chrome_if_links{"sidebar", "toc", "menu", "nav", "navbar", "navigation", "pager", "related", "share", "social",
                                                           "comments", "sponsor", "sponsors", "contributors", "announcement", "promo", "newsletter",
                                                           "search", "footer", "contents"};

bool block_tag(GumboTag tag) noexcept {
  switch (tag) {
    case GUMBO_TAG_ADDRESS: case GUMBO_TAG_ARTICLE: case GUMBO_TAG_ASIDE: case GUMBO_TAG_BLOCKQUOTE: case GUMBO_TAG_CENTER:
    case GUMBO_TAG_DD: case GUMBO_TAG_DETAILS: case GUMBO_TAG_DIV: case GUMBO_TAG_DL: case GUMBO_TAG_DT: case GUMBO_TAG_FIELDSET:
    case GUMBO_TAG_FIGCAPTION: case GUMBO_TAG_FIGURE: case GUMBO_TAG_FOOTER: case GUMBO_TAG_FORM: case GUMBO_TAG_H1: case GUMBO_TAG_H2:
    case GUMBO_TAG_H3: case GUMBO_TAG_H4: case GUMBO_TAG_H5: case GUMBO_TAG_H6: case GUMBO_TAG_HEADER: case GUMBO_TAG_HGROUP:
    case GUMBO_TAG_HR: case GUMBO_TAG_LI: case GUMBO_TAG_MAIN: case GUMBO_TAG_MENU: case GUMBO_TAG_NAV: case GUMBO_TAG_OL:
    case GUMBO_TAG_P: case GUMBO_TAG_PRE: case GUMBO_TAG_SECTION: case GUMBO_TAG_SUMMARY: case GUMBO_TAG_TABLE: case GUMBO_TAG_UL:
    case GUMBO_TAG_TBODY: case GUMBO_TAG_THEAD: case GUMBO_TAG_TFOOT: case GUMBO_TAG_TR: case GUMBO_TAG_TD: case GUMBO_TAG_TH:
    case GUMBO_TAG_CAPTION:
      return true;
    default:
      return false;
  }
}

bool heading_tag(GumboTag tag) noexcept { return tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6; }

/// A panel of tabs may be hidden now and is text all the same.
bool is_panel(const GumboNode* node) {
  if (attribute(node, "role") == "tabpanel") return true;
  for (const auto& words : class_words(attribute(node, "class"))) {
    const bool tab = std::any_of(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("tab"); });
    if (tab && std::any_of(words.begin(), words.end(), [](const std::string& word) {
          return word == "pane" || word == "panel" || word == "content" || word == "block" || word == "item" || word == "panels";
        })) {
      return true;
    }
  }
  return false;
}

bool hidden(const GumboNode* node) {
  if (attribute(node, "aria-hidden") == "true") return true;
  const bool not_shown = (has_attribute(node, "hidden") && attribute(node, "hidden") != "until-found") ||
                         [&] {
                           std::string style;
                           for (const char c : attribute(node, "style")) {
                             if (!space(c)) style += c;
                           }
                           return style.find("display:none") != std::string::npos;
                         }();
  return not_shown && !is_panel(node);
}

/// An element of the foreign languages SVG and MathML is no part of HTML's text; formulas are read by whoever asks for them.
bool picture(GumboTag tag) noexcept {
  switch (tag) {
    case GUMBO_TAG_SVG: case GUMBO_TAG_CANVAS: case GUMBO_TAG_VIDEO: case GUMBO_TAG_AUDIO: case GUMBO_TAG_IFRAME: case GUMBO_TAG_OBJECT:
    case GUMBO_TAG_EMBED: case GUMBO_TAG_IMG: case GUMBO_TAG_IMAGE: case GUMBO_TAG_MAP:
      return true;
    default:
      return false;
  }
}

/// Whether the text is numbers and white space: a name alone does not make a line number.
bool only_digits(const GumboNode* node) {
  if (is_text(node)) return std::string_view(node->v.text.text).find_first_not_of("0123456789 \t\r\n") == std::string_view::npos;
  const Children children(node);
  return std::all_of(children.begin(), children.end(), only_digits);
}

/// `<dialog>`, which not every version of Gumbo has a name for.
bool is_dialog(const GumboNode* node) noexcept {
  const GumboStringPiece& tag = node->v.element.original_tag;
  return tag.length > 7 && std::string_view(tag.data, 7) == "<dialog";
}

bool control(GumboTag tag) noexcept {
  switch (tag) {
    case GUMBO_TAG_BUTTON: case GUMBO_TAG_INPUT: case GUMBO_TAG_SELECT: case GUMBO_TAG_TEXTAREA: case GUMBO_TAG_OPTION: case GUMBO_TAG_PROGRESS:
      return true;
    default:
      return false;
  }
}

bool machinery(GumboTag tag) noexcept {
  switch (tag) {
    case GUMBO_TAG_SCRIPT: case GUMBO_TAG_STYLE: case GUMBO_TAG_TEMPLATE: case GUMBO_TAG_NOSCRIPT: case GUMBO_TAG_HEAD: case GUMBO_TAG_TITLE:
    case GUMBO_TAG_META: case GUMBO_TAG_LINK:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::vector<std::string>> class_words(std::string_view classes) {
  std::vector<std::vector<std::string>> out;
  bool new_class = true, new_word = true, lower_before = false;
  for (const char c : classes) {
    if (space(c)) {
      new_class = new_word = true;
      lower_before = false;
      continue;
    }
    const bool upper = c >= 'A' && c <= 'Z';
    const bool lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
    if (!upper && !lower && !digit) {
      new_word = true;
      lower_before = false;
      continue;
    }
    if (new_class) out.emplace_back();
    if (new_class || new_word || (upper && lower_before)) out.back().emplace_back();
    new_class = new_word = false;
    lower_before = lower;
    out.back().back() += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

bool has_class_word(const GumboNode* node, std::initializer_list<std::string_view> wanted) {
  for (const auto& words : class_words(attribute(node, "class"))) {
    for (const std::string& word : words) {
      if (std::find(wanted.begin(), wanted.end(), word) != wanted.end()) return true;
    }
  }
  return false;
}

Content::Content(const GumboNode* body) {
  measure(body, false);
  choose_root(body);
}

const Held& Content::held(const GumboNode* node) const {
  static const Held nothing;
  const auto found = held_.find(node);
  return found == held_.end() ? nothing : found->second;
}

/// What is not counted, and never text: the elements and roles of machinery, pictures, controls and navigation.
bool Content::silent(const GumboNode* node) const {
  const GumboTag tag = node->v.element.tag;
  if (machinery(tag) || picture(tag) || control(tag) || tag == GUMBO_TAG_NAV || is_dialog(node)) return true;
  if (tag == GUMBO_TAG_FOOTER) return !is_element(node->parent, GUMBO_TAG_BLOCKQUOTE) && !is_element(node->parent, GUMBO_TAG_FIGURE);
  constexpr std::array<std::string_view, 10> roles{"navigation", "search", "contentinfo", "menu", "menubar", "toolbar", "dialog", "alertdialog", "button",
                                                   "doc-toc"};
  if (one_of(attribute(node, "role"), roles)) return true;
  return has_attribute(node, "data-pagefind-ignore") || has_attribute(node, "data-search-exclude") || hidden(node);
}

Held Content::measure(const GumboNode* node, bool linked) {
  Held sum;
  const GumboTag tag = node->v.element.tag;
  if (tag == GUMBO_TAG_INPUT) {
    const std::string_view type = attribute(node, "type");
    if (type == "radio" && has_attribute(node, "id")) radios_.emplace(attribute(node, "id"));
    const std::string_view name = attribute(node, "name");
    if (type == "search" || ((type.empty() || type == "text") && (name == "q" || name == "query" || name == "search"))) search_fields_.push_back(node);
  }
  const bool is_main = tag == GUMBO_TAG_MAIN || attribute(node, "role") == "main";
  sum.main = is_main;
  sum.links = tag == GUMBO_TAG_A && has_attribute(node, "href");
  sum.code = tag == GUMBO_TAG_PRE;
  sum.headings = heading_tag(tag);
  sum.tabs = attribute(node, "role") == "tab" || (tag == GUMBO_TAG_LABEL && has_attribute(node, "for") && radios_.contains(std::string(attribute(node, "for"))));
  const bool in_link = linked || sum.links > 0;
  for (const GumboNode* child : Children(node)) {
    if (child->type == GUMBO_NODE_TEXT || child->type == GUMBO_NODE_CDATA) {
      const std::string_view text = child->v.text.text;
      const auto count = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !space(c); }));
      sum.words += count;
      if (in_link) sum.linked += count;
    }
    if (!is_element(child)) continue;
    const Held inner = measure(child, in_link);
    sum.main |= inner.main;
    if (silent(child) && !inner.main) continue;
    sum.words += inner.words;
    sum.linked += inner.linked;
    sum.links += inner.links;
    sum.code += inner.code;
    sum.blocks |= inner.blocks || block_tag(child->v.element.tag);
    sum.headings |= inner.headings;
    sum.tabs |= inner.tabs;
  }
  if (sum.words > 0) {
    if (has_attribute(node, "data-pagefind-body")) marked_.push_back(node);
    if (is_main) mains_.push_back(node);
    if (tag == GUMBO_TAG_ARTICLE) articles_.push_back(node);
  }
  held_.emplace(node, sum);
  return sum;
}

namespace {

bool inside(const GumboNode* node, const GumboNode* ancestor) {
  for (; node != nullptr; node = node->parent) {
    if (node == ancestor) return true;
  }
  return false;
}

/// May hold the blocks of a text.
bool container(GumboTag tag) noexcept {
  switch (tag) {
    case GUMBO_TAG_BODY: case GUMBO_TAG_DIV: case GUMBO_TAG_SECTION: case GUMBO_TAG_ARTICLE: case GUMBO_TAG_MAIN: case GUMBO_TAG_CENTER:
    case GUMBO_TAG_FORM: case GUMBO_TAG_TABLE: case GUMBO_TAG_TBODY: case GUMBO_TAG_TR: case GUMBO_TAG_TD: case GUMBO_TAG_UNKNOWN:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Content::choose_root(const GumboNode* body) {
  const auto most = [&](const std::vector<const GumboNode*>& nodes, const GumboNode* within) -> const GumboNode* {
    const GumboNode* best = nullptr;  // the outermost of equals: it comes behind what it holds
    for (const GumboNode* node : nodes) {
      if (inside(node, within) && (best == nullptr || held(node).words >= held(best).words)) best = node;
    }
    return best;
  };
  root_ = most(marked_, body);
  if (root_ == nullptr) {
    const GumboNode* main = most(mains_, body);
    const GumboNode* around = main == nullptr ? body : main;
    // One article is the page's text; of many, as in a blog's list, none is.
    const GumboNode* article = most(articles_, around);
    const auto text = [&](const GumboNode* node) { return held(node).words - held(node).linked; };
    std::size_t outer = 0, in_articles = 0;
    for (const GumboNode* each : articles_) {
      const bool nested = std::any_of(articles_.begin(), articles_.end(), [&](const GumboNode* other) { return other != each && inside(each, other); });
      if (!inside(each, around) || nested) continue;
      ++outer;
      in_articles += text(each);
    }
    const std::size_t of = main == nullptr ? in_articles : text(main);
    const bool one = article != nullptr && (outer == 1 ? text(article) * 2 >= of : text(article) * 4 > of * 3);
    root_ = one ? article : main;
    if (root_ != nullptr && held(root_).words * 20 < held(body).words - held(body).linked) root_ = nullptr;  // an empty shell
  }
  if (root_ == nullptr) {
    // Where most of the words that are no links stand.
    root_ = body;
    const auto text = [&](const GumboNode* node) { return held(node).words - held(node).linked; };
    for (bool deeper = true; deeper;) {
      deeper = false;
      for (const GumboNode* child : Children(root_)) {
        if (!is_element(child) || !container(child->v.element.tag) || silent(child) || text(child) * 4 < text(root_) * 3 || text(child) == 0) continue;
        root_ = child;
        deeper = true;
        break;
      }
    }
    while (is_element(root_, GUMBO_TAG_TABLE) || is_element(root_, GUMBO_TAG_TBODY) || is_element(root_, GUMBO_TAG_TR)) root_ = root_->parent;
  }
  search_form_ = std::any_of(search_fields_.begin(), search_fields_.end(), [&](const GumboNode* field) { return inside(field, root_); });
  for (const GumboNode* around = root_; title_ == nullptr && around != nullptr && is_element(around); around = around->parent) {
    std::vector<const GumboNode*> left{around};  // in document order, without recursion
    while (!left.empty() && title_ == nullptr) {
      const GumboNode* node = left.back();
      left.pop_back();
      if (is_element(node, GUMBO_TAG_H1) && held(node).words > 0) title_ = node;
      const Children children(node);
      for (auto child = children.end(); child != children.begin();) {
        --child;
        const bool page_header = is_element(*child, GUMBO_TAG_HEADER) && is_element(around, GUMBO_TAG_BODY);
        if (is_element(*child) && !page_header && !dropped(*child)) left.push_back(*child);
      }
    }
  }
}

bool Content::named_chrome(const GumboNode* node) const {
  const GumboTag tag = node->v.element.tag;
  if (heading_tag(tag) || tag == GUMBO_TAG_ARTICLE || tag == GUMBO_TAG_MAIN || tag == GUMBO_TAG_BODY || tag == GUMBO_TAG_PRE || tag == GUMBO_TAG_CODE) {
    return false;
  }
  const Held& here = held(node);
  if (here.main || here.tabs || node == root_) return false;
  const bool is_link = tag == GUMBO_TAG_A;
  const bool mostly_links = !is_link && here.linked * 2 >= here.words;
  const bool grouping = tag == GUMBO_TAG_DIV || tag == GUMBO_TAG_ASIDE || tag == GUMBO_TAG_UL;
  std::string names(attribute(node, "class"));
  if (grouping) names.append(" ").append(attribute(node, "id"));
  for (const auto& words : class_words(names)) {
    if (one_of(words.front(), about_others)) continue;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (here.words <= chrome_words_limit) {
        if (one_of(words[i], chrome)) return true;
        for (const Pair& pair : chrome_pairs) {
          if (i + 1 < words.size() && words[i] == pair.first && words[i + 1] == pair.second) return true;
        }
        if ((words[i] == "feedback" || words[i] == "rating") && grouping) return true;
      }
      if (mostly_links && (grouping || tag == GUMBO_TAG_SECTION) && one_of(words[i], chrome_if_links)) return true;
    }
  }
  return false;
}

bool Content::dropped(const GumboNode* node) const {
  const Held& here = held(node);
  if (silent(node)) return !here.main;
  if (is_element(node, GUMBO_TAG_FORM)) return here.words <= chrome_words_limit;
  return named_chrome(node);
}

bool Content::dropped_in_code(const GumboNode* node) {
  if (!is_element(node)) return false;
  if (control(node->v.element.tag) || machinery(node->v.element.tag) || picture(node->v.element.tag) || attribute(node, "aria-hidden") == "true") return true;
  if (attribute(node, "style").find("user-select:none") != std::string_view::npos) return true;
  bool named = false;
  for (const auto& words : class_words(attribute(node, "class"))) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      named |= word == "linenos" || word == "lineno" || word == "linenodiv" || word == "lnt" || word == "gutter" || (word == "ln" && words.size() == 1);
      named |= word == "line" && i + 1 < words.size() && (words[i + 1] == "number" || words[i + 1] == "numbers");
    }
  }
  return named && only_digits(node);
}

bool Content::is_tab_label(const GumboNode* node) const {
  return is_element(node, GUMBO_TAG_LABEL) && has_attribute(node, "for") && radios_.contains(std::string(attribute(node, "for")));
}

bool Content::is_block(const GumboNode* node) const { return block_tag(node->v.element.tag) || held(node).blocks; }

}  // namespace polygraph::corpus
