// HTML as a tree: Gumbo's, behind a guard against markup that would cost it its stack, its memory or the day.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <gumbo.h>

#include "wasm/error.hpp"

namespace polygraph::corpus {

/// Elements that stay open one inside the other. Gumbo and the walks over its tree recurse, and its look-ups are linear in
/// the depth; no page for people nests like this.
inline constexpr std::size_t open_elements_limit = 1'000;
/// Attributes of one tag; Gumbo compares each with every other.
inline constexpr std::size_t attributes_limit = 1'000;
/// Elements of one page, those included that the parser makes again in every block because their end is missing.
inline constexpr std::size_t elements_limit = 2'000'000;

class HtmlTree {
 public:
  /// Parses UTF-8. `html` must outlive the tree: names of unknown tags are views of it. Fails with `invalid_text`, and a
  /// reason that reads behind a file's name, when a limit is passed.
  static Result<HtmlTree> parse(std::string_view html);
  /// The same for a piece of HTML that is known to be short.
  static HtmlTree parse_short(std::string_view html);

  const GumboNode* root() const noexcept;
  const GumboNode* document() const noexcept;

 private:
  struct Free {
    void operator()(GumboOutput* output) const;
  };
  explicit HtmlTree(GumboOutput* output) : output_(output) {}
  std::unique_ptr<GumboOutput, Free> output_;
};

inline bool is_element(const GumboNode* node) noexcept { return node->type == GUMBO_NODE_ELEMENT; }
inline bool is_element(const GumboNode* node, GumboTag tag) noexcept { return is_element(node) && node->v.element.tag == tag; }
inline bool is_text(const GumboNode* node) noexcept {
  return node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_WHITESPACE || node->type == GUMBO_NODE_CDATA;
}

/// The children of an element, template or document, in order; none for anything else.
class Children {
 public:
  explicit Children(const GumboNode* node) noexcept;
  const GumboNode* const* begin() const noexcept { return begin_; }
  const GumboNode* const* end() const noexcept { return begin_ + size_; }

 private:
  const GumboNode* const* begin_ = nullptr;
  std::size_t size_ = 0;
};

/// The elements among the children.
std::vector<const GumboNode*> elements(const GumboNode* node);

/// Elements at or below `node` for which `wanted` holds, in document order; nothing below one of them.
template <class Wanted>
std::vector<const GumboNode*> outermost(const GumboNode* node, Wanted wanted) {
  std::vector<const GumboNode*> out, left{node};
  while (!left.empty()) {
    const GumboNode* at = left.back();
    left.pop_back();
    if (is_element(at) && wanted(at)) {
      out.push_back(at);
      continue;
    }
    const Children children(at);
    for (auto child = children.end(); child != children.begin();) left.push_back(*--child);
  }
  return out;
}

/// The value of an attribute; empty when it is missing or the node is no element.
std::string_view attribute(const GumboNode* node, const char* name) noexcept;
bool has_attribute(const GumboNode* node, const char* name) noexcept;

/// The first element with this tag at or below `node`, in document order; null when there is none.
const GumboNode* find(const GumboNode* node, GumboTag tag) noexcept;

}  // namespace polygraph::corpus
