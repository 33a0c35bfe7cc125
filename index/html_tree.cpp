#include "index/html_tree.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace polygraph::corpus {
namespace {

bool letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool space(char c) noexcept { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <std::size_t N>
bool one_of(std::string_view name, const std::array<std::string_view, N>& names) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Elements without content, and those whose end the parser supplies before the next of their kind: they don't nest by
/// themselves (WHATWG HTML, 13.1.2 and 13.1.2.4).
constexpr std::array<std::string_view, 34> never_deep{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
                                                      "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "tbody", "thead", "tfoot", "colgroup", "option",
                                                      "optgroup", "rt", "rp", "rb", "rtc", "html", "head", "body"};
/// Elements that the parser opens again in the next block when their end is missing (13.2.4.3).
constexpr std::array<std::string_view, 14> formatting{"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"};
/// Their content is no markup (13.2.5).
constexpr std::array<std::string_view, 4> raw{"script", "style", "textarea", "title"};

/// Reads tags without building anything and adds up what a parser would have to hold. It may count too much, never much too
/// little.
class Guard {
 public:
  explicit Guard(std::string_view html) : html_(html) {}

  /// What is wrong, or nothing.
  std::string check() {
    for (std::size_t at = html_.find('<'); at != std::string_view::npos && at + 1 < html_.size() && problem_.empty(); at = html_.find('<', at)) {
      const char next = html_[at + 1];
      if (letter(next)) {
        at = start_tag(at + 1);
      } else if (next == '/' && at + 2 < html_.size() && letter(html_[at + 2])) {
        at = end_tag(at + 2);
      } else if (html_.substr(at).starts_with("<!--")) {
        at = comment(at + 4);
      } else {
        ++at;
      }
    }
    return problem_;
  }

 private:
  std::string name(std::size_t& at) const {
    std::string out;
    for (; at < html_.size() && !space(html_[at]) && html_[at] != '/' && html_[at] != '>'; ++at) {
      if (out.size() < 32) out += lower(html_[at]);
    }
    return out;
  }

  /// Behind the tag's `>`; counts attributes.
  std::size_t tag_end(std::size_t at, std::size_t& attributes, bool& closed) const {
    attributes = 0;
    closed = false;
    while (at < html_.size() && html_[at] != '>') {
      if (space(html_[at]) || html_[at] == '/') {
        closed = html_[at] == '/';
        ++at;
        continue;
      }
      ++attributes;
      closed = false;
      while (at < html_.size() && !space(html_[at]) && html_[at] != '/' && html_[at] != '>' && html_[at] != '=') ++at;
      while (at < html_.size() && space(html_[at])) ++at;
      if (at >= html_.size() || html_[at] != '=') continue;
      ++at;
      while (at < html_.size() && space(html_[at])) ++at;
      if (at < html_.size() && (html_[at] == '"' || html_[at] == '\'')) {
        at = std::min(html_.find(html_[at], at + 1), html_.size());
        if (at < html_.size()) ++at;
      } else {
        while (at < html_.size() && !space(html_[at]) && html_[at] != '>') ++at;
      }
    }
    return std::min(at + 1, html_.size());
  }

  std::size_t start_tag(std::size_t at) {
    const std::string tag = name(at);
    std::size_t attributes = 0;
    bool closed = false;
    at = tag_end(at, attributes, closed);
    if (attributes > attributes_limit) problem_ = "has a tag with more than " + std::to_string(attributes_limit) + " attributes";
    const bool foreign = tag == "svg" || tag == "math";
    const bool is_formatting = one_of(tag, formatting);
    elements_ += 1 + (is_formatting ? 0 : formatting_);
    if (elements_ > elements_limit) problem_ = "has more than " + std::to_string(elements_limit) + " elements";
    if (one_of(tag, never_deep) || (foreign && closed)) return at;
    ++open_;
    if (is_formatting) ++formatting_;
    if (foreign) ++foreign_;
    if (open_ > open_elements_limit) problem_ = "nests more than " + std::to_string(open_elements_limit) + " elements";
    if (foreign_ == 0 && one_of(tag, raw)) {
      for (std::size_t end = html_.find("</", at); end != std::string_view::npos; end = html_.find("</", end + 2)) {
        std::size_t behind = end + 2;
        if (html_.size() - behind >= tag.size() && name(behind) == tag) return end;
      }
      return html_.size();
    }
    return at;
  }

  std::size_t end_tag(std::size_t at) {
    const std::string tag = name(at);
    std::size_t attributes = 0;
    bool closed = false;
    at = tag_end(at, attributes, closed);
    if (one_of(tag, never_deep)) return at;
    if (open_ > 0) --open_;
    if (formatting_ > 0 && one_of(tag, formatting)) --formatting_;
    if (foreign_ > 0 && (tag == "svg" || tag == "math")) --foreign_;
    return at;
  }

  std::size_t comment(std::size_t at) const {
    if (html_.substr(at).starts_with(">") || html_.substr(at).starts_with("->")) return at;
    for (std::size_t end = html_.find("--", at); end != std::string_view::npos; end = html_.find("--", end + 1)) {
      const std::string_view behind = html_.substr(end + 2);
      if (behind.starts_with(">") || behind.starts_with("!>")) return end + 2;
    }
    return html_.size();
  }

  std::string_view html_;
  std::string problem_;
  std::size_t open_ = 0, formatting_ = 0, foreign_ = 0, elements_ = 0;
};

/// Whether the tree is deeper than the guard allows. Walks without recursion.
bool too_deep(const GumboNode* root) {
  std::vector<std::pair<const GumboNode*, std::size_t>> left{{root, 0}};
  while (!left.empty()) {
    const auto [node, depth] = left.back();
    left.pop_back();
    if (depth > 2 * open_elements_limit) return true;
    for (const GumboNode* child : Children(node)) {
      if (is_element(child)) left.emplace_back(child, depth + 1);
    }
  }
  return false;
}

}  // namespace

void HtmlTree::Free::operator()(GumboOutput* output) const { gumbo_destroy_output(&kGumboDefaultOptions, output); }

HtmlTree HtmlTree::parse_short(std::string_view html) {
  return HtmlTree(gumbo_parse_with_options(&kGumboDefaultOptions, html.data(), html.size()));
}

Result<HtmlTree> HtmlTree::parse(std::string_view html) {
  if (std::string problem = Guard(html).check(); !problem.empty()) return fail(ErrorCode::invalid_text, std::move(problem));
  HtmlTree tree = parse_short(html);
  if (too_deep(tree.root())) {
    // The guard was led astray. Gumbo frees a tree by recursion, which this one may be too deep for: it is left where it is.
    (void)tree.output_.release();
    return fail(ErrorCode::invalid_text, "nests more than " + std::to_string(open_elements_limit) + " elements");
  }
  return tree;
}

const GumboNode* HtmlTree::root() const noexcept { return output_->root; }
const GumboNode* HtmlTree::document() const noexcept { return output_->document; }

Children::Children(const GumboNode* node) noexcept {
  const GumboVector* list = nullptr;
  if (node->type == GUMBO_NODE_ELEMENT || node->type == GUMBO_NODE_TEMPLATE) list = &node->v.element.children;
  if (node->type == GUMBO_NODE_DOCUMENT) list = &node->v.document.children;
  if (list == nullptr) return;
  begin_ = reinterpret_cast<const GumboNode* const*>(list->data);
  size_ = list->length;
}

std::vector<const GumboNode*> elements(const GumboNode* node) {
  std::vector<const GumboNode*> out;
  for (const GumboNode* child : Children(node)) {
    if (is_element(child)) out.push_back(child);
  }
  return out;
}

std::string_view attribute(const GumboNode* node, const char* name) noexcept {
  if (!is_element(node)) return {};
  const GumboAttribute* found = gumbo_get_attribute(&node->v.element.attributes, name);
  return found == nullptr ? std::string_view() : std::string_view(found->value);
}

bool has_attribute(const GumboNode* node, const char* name) noexcept {
  return is_element(node) && gumbo_get_attribute(&node->v.element.attributes, name) != nullptr;
}

const GumboNode* find(const GumboNode* node, GumboTag tag) noexcept {
  if (is_element(node, tag)) return node;
  for (const GumboNode* child : Children(node)) {
    if (const GumboNode* found = find(child, tag)) return found;
  }
  return nullptr;
}

}  // namespace polygraph::corpus
