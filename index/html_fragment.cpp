#include "index/html_fragment.hpp"

#include <algorithm>

#include "index/html_tree.hpp"

namespace polygraph::corpus {
namespace {

bool is_block(GumboTag tag) {
  switch (tag) {
    case GUMBO_TAG_P: case GUMBO_TAG_DIV: case GUMBO_TAG_SECTION: case GUMBO_TAG_ARTICLE: case GUMBO_TAG_UL: case GUMBO_TAG_OL:
    case GUMBO_TAG_DL: case GUMBO_TAG_DT: case GUMBO_TAG_DD: case GUMBO_TAG_TABLE: case GUMBO_TAG_BLOCKQUOTE: case GUMBO_TAG_DETAILS:
    case GUMBO_TAG_SUMMARY: case GUMBO_TAG_H1: case GUMBO_TAG_H2: case GUMBO_TAG_H3: case GUMBO_TAG_H4: case GUMBO_TAG_H5:
    case GUMBO_TAG_H6: case GUMBO_TAG_FIGURE: case GUMBO_TAG_FIGCAPTION: case GUMBO_TAG_HEADER: case GUMBO_TAG_FOOTER:
    case GUMBO_TAG_NAV: case GUMBO_TAG_ASIDE: case GUMBO_TAG_MAIN: case GUMBO_TAG_HR: case GUMBO_TAG_CENTER:
      return true;
    default:
      return false;
  }
}

/// What stands between tags, for HTML that is not parsed.
Block words_between_tags(std::string_view html) {
  Block block;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (!inside) block.text += c;
    if (c == '>' && inside) {
      inside = false;
      block.text += ' ';
    }
  }
  tidy(block);
  return block;
}

/// HTML's own elements; what is not one of them is a placeholder that somebody wrote without backticks.
bool is_html(GumboTag tag) { return tag != GUMBO_TAG_UNKNOWN && tag != GUMBO_TAG_IMAGE; }

class HtmlText {
 public:
  Block block;

  void children(const GumboNode* node) {
    for (const GumboNode* child : Children(node)) visit(child);
  }

 private:
  void visit(const GumboNode* node) {
    switch (node->type) {
      case GUMBO_NODE_TEXT:
      case GUMBO_NODE_CDATA:
        words(node->v.text.text);
        break;
      case GUMBO_NODE_WHITESPACE:
        words(" ");
        break;
      case GUMBO_NODE_ELEMENT:
        element(node);
        break;
      default:
        break;
    }
  }

  void element(const GumboNode* node) {
    const GumboElement& element = node->v.element;
    if (!is_html(element.tag)) {
      if (element.original_tag.length > 0) words(std::string(element.original_tag.data, element.original_tag.length));
      children(node);
      return;
    }
    switch (element.tag) {
      case GUMBO_TAG_SCRIPT:
      case GUMBO_TAG_STYLE:
      case GUMBO_TAG_TEMPLATE:
      case GUMBO_TAG_SVG:
        return;
      case GUMBO_TAG_BR:
        new_line();
        return;
      case GUMBO_TAG_PRE: {
        std::string code;
        raw_text(node, code);
        new_line();
        append(block, "", fenced_code(code, ""), 1);
        new_line();
        return;
      }
      case GUMBO_TAG_CODE: {
        words("`");
        children(node);
        pending_space_ = false;
        block.text += '`';
        return;
      }
      case GUMBO_TAG_LI:
        new_line();
        block.cuts.push_back({block.text.size(), 0});
        block.text += "- ";
        children(node);
        new_line();
        return;
      case GUMBO_TAG_TR:
        new_line();
        block.cuts.push_back({block.text.size(), 0});
        block.text += "|";
        in_row_ = true;
        children(node);
        in_row_ = false;
        new_line();
        return;
      case GUMBO_TAG_TD:
      case GUMBO_TAG_TH:
        pending_space_ = false;
        block.text += ' ';
        children(node);
        pending_space_ = false;
        block.text += " |";
        return;
      case GUMBO_TAG_A: {
        if (pending_space_ && !at_line_start()) block.text += ' ';
        pending_space_ = false;
        const std::size_t begin = block.text.size();
        children(node);
        const std::string target(attribute(node, "href"));
        if (block.text.size() > begin && !target.empty()) {
          block.links.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(block.text.size()), target});
        }
        return;
      }
      default:
        if (is_block(element.tag)) {
          new_line();
          children(node);
          new_line();
        } else {
          children(node);
        }
    }
  }

  static void raw_text(const GumboNode* node, std::string& out) {
    if (is_text(node)) out += node->v.text.text;
    if (is_element(node)) {
      for (const GumboNode* child : Children(node)) raw_text(child, out);
    }
  }

  bool at_line_start() const { return block.text.empty() || block.text.back() == '\n'; }

  void new_line() {
    pending_space_ = false;
    if (in_row_) {
      pending_space_ = !block.text.ends_with("| ");
    } else if (!at_line_start()) {
      block.text += '\n';
    }
  }

  /// White space collapses to one space, as it does in a browser.
  void words(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        pending_space_ = true;
        continue;
      }
      if (pending_space_ && !at_line_start() && !block.text.ends_with("- ") && !block.text.ends_with("| ")) block.text += ' ';
      pending_space_ = false;
      // Backticks that are words must not read as the fence of a code block.
      if (at_line_start() && text.substr(i).starts_with("```")) block.text += '\\';
      block.text += c;
    }
  }

  bool pending_space_ = false;
  bool in_row_ = false;
};

}  // namespace

InlineTag read_inline_tag(std::string_view html) {
  if (html.starts_with("<!") || html.starts_with("<?")) return {};
  GumboStringPiece name{html.data(), html.size()};
  gumbo_tag_from_original_text(&name);
  const GumboTag tag = name.data == nullptr ? GUMBO_TAG_UNKNOWN : gumbo_tagn_enum(name.data, static_cast<unsigned>(name.length));
  if (!is_html(tag)) return {InlineTag::Kind::placeholder, {}};
  if (tag == GUMBO_TAG_BR) return {InlineTag::Kind::line_break, {}};
  if (tag == GUMBO_TAG_A) {
    if (html.starts_with("</")) return {InlineTag::Kind::link_close, {}};
    const HtmlTree tree = HtmlTree::parse_short(html);
    const GumboNode* anchor = find(tree.root(), GUMBO_TAG_A);
    std::string target(anchor == nullptr ? std::string_view() : attribute(anchor, "href"));
    if (!target.empty()) return {InlineTag::Kind::link_open, std::move(target)};
  }
  return {};
}

Block read_html_block(std::string_view html) {
  const Result<HtmlTree> tree = HtmlTree::parse(html);
  if (!tree) return words_between_tags(html);
  HtmlText reader;
  const GumboNode* body = find(tree->root(), GUMBO_TAG_BODY);
  reader.children(body == nullptr ? tree->root() : body);
  tidy(reader.block);
  return std::move(reader.block);
}

Block fenced_code(std::string_view code, std::string_view info) {
  while (code.ends_with('\n')) code.remove_suffix(1);
  std::size_t run = 0, longest = 0;
  for (const char c : code) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
  Block block;
  block.text = fence + std::string(info) + "\n";
  Fence lines{block.text.size(), 0, fence + std::string(info), fence};
  for (std::size_t at = code.find('\n'); at != std::string_view::npos; at = code.find('\n', at + 1)) {
    block.cuts.push_back({lines.begin + at + 1, finest_rank});
  }
  block.text += code;
  block.text += '\n';
  lines.end = block.text.size();
  block.text += fence;
  block.fences.push_back(std::move(lines));
  return block;
}

}  // namespace polygraph::corpus
