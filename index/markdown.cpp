#include "index/markdown.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>

#include "index/anchors.hpp"
#include "index/html_fragment.hpp"
#include "index/light_markdown.hpp"

namespace polygraph::corpus {
namespace {

struct ParserDeleter {
  void operator()(cmark_parser* parser) const { cmark_parser_free(parser); }
};
struct NodeDeleter {
  void operator()(cmark_node* node) const { cmark_node_free(node); }
};
struct IteratorDeleter {
  void operator()(cmark_iter* iterator) const { cmark_iter_free(iterator); }
};
using Tree = std::unique_ptr<cmark_node, NodeDeleter>;
using Iterator = std::unique_ptr<cmark_iter, IteratorDeleter>;

Tree parse(std::string_view markdown) {
  cmark_gfm_core_extensions_ensure_registered();
  constexpr int options = CMARK_OPT_VALIDATE_UTF8 | CMARK_OPT_FOOTNOTES | CMARK_OPT_STRIKETHROUGH_DOUBLE_TILDE;
  const std::unique_ptr<cmark_parser, ParserDeleter> parser(cmark_parser_new(options));
  for (const char* name : {"table", "strikethrough", "autolink"}) {
    if (cmark_syntax_extension* extension = cmark_find_syntax_extension(name)) cmark_parser_attach_syntax_extension(parser.get(), extension);
  }
  cmark_parser_feed(parser.get(), markdown.data(), markdown.size());
  Tree tree(cmark_parser_finish(parser.get()));
  cmark_consolidate_text_nodes(tree.get());
  return tree;
}

std::string_view literal(cmark_node* node) {
  const char* text = cmark_node_get_literal(node);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

bool is(cmark_node* node, std::string_view type) { return cmark_node_get_type_string(node) == type; }

/// `text` without kramdown's attribute lists, `{: .class target="_blank" }`.
std::string without_attributes(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find("{:", at);
    if (open == std::string_view::npos) {
      out += text.substr(at);
      break;
    }
    const std::size_t close = text.find('}', open);
    const bool attributes = close != std::string_view::npos && open + 2 < text.size() &&
                            (std::strchr(" .#", text[open + 2]) != nullptr || (text[open + 2] >= 'a' && text[open + 2] <= 'z'));
    if (!attributes) {
      out += text.substr(at, open + 2 - at);
      at = open + 2;
      continue;
    }
    out += text.substr(at, open - at);
    at = close + 1;
  }
  return out;
}

enum class Style {
  text,   ///< light Markdown
  cell,   ///< the same on one line, `|` escaped
  plain,  ///< words only: a heading in a path, a title
};

/// The inline content of `node`. Walks with an iterator: emphasis and links may nest as deep as a page likes.
Block render_inline(cmark_node* node, Style style) {
  Block block;
  std::string& out = block.text;
  std::vector<std::pair<std::size_t, std::string>> open_links;
  const bool marked = style != Style::plain;
  const auto close_link = [&] {
    if (open_links.empty()) return;
    auto [begin, target] = std::move(open_links.back());
    open_links.pop_back();
    if (out.size() > begin && !target.empty()) {
      block.links.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(out.size()), std::move(target)});
    }
  };
  const auto words = [&](std::string_view text) {
    if (style != Style::cell) {
      out += text;
      return;
    }
    for (const char c : text) {
      if (c == '|') out += '\\';
      out += c == '\n' ? ' ' : c;
    }
  };
  const auto mark = [&](std::string_view marker, bool entering) {
    if (!marked) return;
    if (!entering && out.ends_with(marker)) {  // nothing between the markers: they held an image
      out.resize(out.size() - marker.size());
    } else {
      out += marker;
    }
  };

  const Iterator iterator(cmark_iter_new(node));
  std::size_t images = 0;
  for (cmark_event_type event; (event = cmark_iter_next(iterator.get())) != CMARK_EVENT_DONE;) {
    cmark_node* at = cmark_iter_get_node(iterator.get());
    const bool entering = event == CMARK_EVENT_ENTER;
    const cmark_node_type type = cmark_node_get_type(at);
    if (type == CMARK_NODE_IMAGE) {
      entering ? ++images : --images;
      continue;
    }
    if (images > 0 || at == node) continue;
    switch (type) {
      case CMARK_NODE_TEXT:
        words(without_attributes(literal(at)));
        break;
      case CMARK_NODE_SOFTBREAK:
        if (!out.empty() && out.back() != ' ' && out.back() != '\n') out += ' ';
        break;
      case CMARK_NODE_LINEBREAK:
        out += style == Style::text ? '\n' : ' ';
        break;
      case CMARK_NODE_CODE:
        words(marked ? code_span(literal(at)) : std::string(literal(at)));
        break;
      case CMARK_NODE_HTML_INLINE: {
        InlineTag tag = read_inline_tag(literal(at));
        switch (tag.kind) {
          case InlineTag::Kind::dropped: break;
          case InlineTag::Kind::line_break: out += style == Style::text ? '\n' : ' '; break;
          case InlineTag::Kind::link_open: open_links.emplace_back(out.size(), std::move(tag.target)); break;
          case InlineTag::Kind::link_close: close_link(); break;
          case InlineTag::Kind::placeholder: words(literal(at)); break;
        }
        break;
      }
      case CMARK_NODE_STRONG:
        mark("**", entering);
        break;
      case CMARK_NODE_LINK:
        if (entering) {
          open_links.emplace_back(out.size(), cmark_node_get_url(at));
        } else {
          close_link();
        }
        break;
      default:
        if (type == CMARK_NODE_FOOTNOTE_REFERENCE) {
          if (entering) words("[^" + std::string(literal(at)) + "]");
        } else if (is(at, "strikethrough")) {
          mark("~~", entering);
        }
    }
  }
  while (!open_links.empty()) close_link();
  std::stable_sort(block.links.begin(), block.links.end(), [](const index::Link& a, const index::Link& b) { return a.begin < b.begin; });
  return block;
}

std::string plain_text(cmark_node* node) {
  Block block = render_inline(node, Style::plain);
  std::string out;
  for (const char c : block.text) {
    if (c == ' ' || c == '\n' || c == '\t') {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      out += c;
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// Takes `{#id .class}` off the end of a heading; the id, or nothing.
std::string take_attributes(std::string& heading) {
  if (!heading.ends_with('}')) return {};
  const std::size_t open = heading.rfind('{');
  if (open == std::string::npos) return {};
  const std::string inside = heading.substr(open + 1, heading.size() - open - 2);
  const std::size_t first = inside.find_first_not_of(" :");
  if (first == std::string::npos || (inside[first] != '#' && inside[first] != '.')) return {};
  heading.resize(open);
  while (!heading.empty() && heading.back() == ' ') heading.pop_back();
  const std::size_t id = inside.find('#');
  return id == std::string::npos ? std::string() : inside.substr(id + 1, inside.find_first_of(" }", id) - id - 1);
}

Block paragraph(cmark_node* node) {
  Block block = render_inline(node, Style::text);
  tidy(block);
  if (block.text.starts_with('{') && block.text.ends_with('}') && block.text.size() > 2 &&
      (block.text[1] == '.' || block.text[1] == '#')) {
    return {};  // Hugo's attributes of the block above
  }
  // Backticks that are words must not read as the fence of a code block.
  if (block.text.starts_with("```")) block = indented(std::move(block), "\\", "");
  mark_sentences(block);
  return block;
}

/// The language of a code fence and, where there is one, the title: it is usually the name of the file.
std::string fence_info(cmark_node* node) {
  const char* given = cmark_node_get_fence_info(node);
  const std::string_view info = given == nullptr ? std::string_view() : std::string_view(given);
  if (info.find('`') != std::string_view::npos) return {};
  std::string out(info.substr(0, std::min(info.find_first_of(" \t{"), info.size())));
  const std::size_t title = info.find("title=");
  if (title == std::string_view::npos) return out;
  std::string_view value = info.substr(title + 6);
  if (value.starts_with('"')) {
    value = value.substr(1, value.find('"', 1) == std::string_view::npos ? value.size() : value.find('"', 1) - 1);
  } else {
    value = value.substr(0, std::min(value.find_first_of(", }"), value.size()));
  }
  return (out.empty() ? "text" : out) + " title=\"" + std::string(value) + "\"";
}

/// Every word under `node`, on one line.
Block flattened(cmark_node* node) {
  Block block;
  const Iterator iterator(cmark_iter_new(node));
  for (cmark_event_type event; (event = cmark_iter_next(iterator.get())) != CMARK_EVENT_DONE;) {
    if (event != CMARK_EVENT_ENTER) continue;
    const std::string_view text = literal(cmark_iter_get_node(iterator.get()));
    if (text.empty()) continue;
    if (!block.text.empty()) block.text += ' ';
    block.text += text;
  }
  std::replace(block.text.begin(), block.text.end(), '\n', ' ');
  tidy(block);
  mark_sentences(block);
  return block;
}

Block render(cmark_node* node, int depth);

Block item(cmark_node* node, std::string_view marker, bool tight, int depth) {
  Block inner;
  for (cmark_node* child = cmark_node_first_child(node); child != nullptr; child = cmark_node_next(child)) {
    append(inner, tight ? "\n" : "\n\n", render(child, depth + 1), 0);
  }
  if (inner.text.empty()) return {};
  return indented(std::move(inner), marker, std::string(marker.size(), ' '));
}

/// The items of a list, each with its marker.
std::vector<Block> items(cmark_node* list, int depth) {
  const bool ordered = cmark_node_get_list_type(list) == CMARK_ORDERED_LIST;
  const bool tight = cmark_node_get_list_tight(list) != 0;
  int number = cmark_node_get_list_start(list);
  std::vector<Block> out;
  for (cmark_node* child = cmark_node_first_child(list); child != nullptr; child = cmark_node_next(child)) {
    Block block = item(child, ordered ? std::to_string(number++) + ". " : "- ", tight, depth);
    if (!block.empty()) out.push_back(std::move(block));
  }
  return out;
}

Block table(cmark_node* node) {
  Block block;
  bool header = true;
  for (cmark_node* row = cmark_node_first_child(node); row != nullptr; row = cmark_node_next(row)) {
    Block line;
    line.text = "|";
    std::string rule = "\n|";
    for (cmark_node* cell = cmark_node_first_child(row); cell != nullptr; cell = cmark_node_next(cell)) {
      Block content = render_inline(cell, Style::cell);
      tidy(content);
      append(line, " ", std::move(content), 0);
      line.text += " |";
      rule += "---|";
    }
    line.cuts.clear();  // a row is cut only where nothing else is left
    if (header) line.text += rule;
    append(block, "\n", std::move(line), 0);
    if (header && characters(block.text) <= repeated_header_limit) block.continuation = block.text + "\n";
    header = false;
  }
  // The header alone is no piece: the first cut follows the first row.
  if (!block.cuts.empty()) block.cuts.erase(block.cuts.begin());
  return block;
}

/// The label of a GitHub alert (`> [!NOTE]`): taken out of the tree and returned as "Note".
std::string take_alert(cmark_node* quote) {
  cmark_node* first = cmark_node_first_child(quote);
  if (first == nullptr || cmark_node_get_type(first) != CMARK_NODE_PARAGRAPH) return {};
  cmark_node* words = cmark_node_first_child(first);
  if (words == nullptr || cmark_node_get_type(words) != CMARK_NODE_TEXT) return {};
  const std::string text(literal(words));
  const std::size_t close = text.find(']');
  if (!text.starts_with("[!") || close == std::string::npos || close < 3) return {};
  std::string label = text.substr(2, close - 2);
  for (std::size_t i = 0; i < label.size(); ++i) {
    const char c = label[i];
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    if (!upper && !lower && c != '-') return {};
    if (i == 0 && lower) label[i] = static_cast<char>(c - 'a' + 'A');
    if (i > 0 && upper) label[i] = static_cast<char>(c - 'A' + 'a');
  }
  std::size_t rest = close + 1;
  while (rest < text.size() && std::strchr("-+: ", text[rest]) != nullptr) ++rest;
  cmark_node_set_literal(words, text.substr(rest).c_str());
  return label;
}

/// `> **Note**`, alone in its paragraph: the way callouts were written before alerts. Taken out of the tree.
std::string take_callout(cmark_node* quote) {
  cmark_node* first = cmark_node_first_child(quote);
  if (first == nullptr || cmark_node_get_type(first) != CMARK_NODE_PARAGRAPH || cmark_node_next(first) == nullptr) return {};
  cmark_node* strong = cmark_node_first_child(first);
  if (strong == nullptr || cmark_node_get_type(strong) != CMARK_NODE_STRONG) return {};
  cmark_node* behind = cmark_node_next(strong);
  if (behind != nullptr && (cmark_node_next(behind) != nullptr || literal(behind) != ":")) return {};
  std::string label = plain_text(strong);
  while (!label.empty() && (label.back() == ':' || label.back() == ' ')) label.pop_back();
  if (label.empty()) return {};
  cmark_node_unlink(first);
  cmark_node_free(first);
  return label;
}

/// A quote keeps its words, without `>`: most are callouts. Their label opens them.
Block quote(cmark_node* node, int depth) {
  std::string label = take_alert(node);
  if (label.empty()) label = take_callout(node);
  Block block;
  for (cmark_node* child = cmark_node_first_child(node); child != nullptr; child = cmark_node_next(child)) {
    Block inner = render(child, depth + 1);
    if (inner.empty()) continue;
    if (!label.empty()) {
      if (cmark_node_get_type(child) == CMARK_NODE_PARAGRAPH) {
        inner = indented(std::move(inner), "**" + label + ":** ", "");
      } else {
        block.text = "**" + label + ":**";
      }
      label.clear();
    }
    append(block, "\n\n", std::move(inner), 0);
  }
  return block;
}

Block render(cmark_node* node, int depth) {
  if (depth > nesting_limit) return flattened(node);
  switch (cmark_node_get_type(node)) {
    case CMARK_NODE_PARAGRAPH:
      return paragraph(node);
    case CMARK_NODE_HEADING: {
      Block block = render_inline(node, Style::cell);
      if (block.text.empty()) return {};
      return indented(std::move(block), std::string(static_cast<std::size_t>(cmark_node_get_heading_level(node)), '#') + " ", "");
    }
    case CMARK_NODE_CODE_BLOCK: {
      const std::string_view code = literal(node);
      if (code.find_first_not_of(" \t\n") == std::string_view::npos) return {};
      return fenced_code(code, fence_info(node));
    }
    case CMARK_NODE_HTML_BLOCK: {
      Block block = read_html_block(literal(node));
      if (block.cuts.empty()) mark_sentences(block);
      return block;
    }
    case CMARK_NODE_LIST: {
      Block block;
      for (Block& each : items(node, depth)) append(block, "\n", std::move(each), 0);
      return block;
    }
    case CMARK_NODE_BLOCK_QUOTE:
      return quote(node, depth);
    case CMARK_NODE_THEMATIC_BREAK:
      return {};
    default:
      break;
  }
  if (is(node, "table")) return table(node);
  Block block;
  for (cmark_node* child = cmark_node_first_child(node); child != nullptr; child = cmark_node_next(child)) {
    append(block, "\n\n", render(child, depth + 1), 0);
  }
  if (cmark_node_get_type(node) == CMARK_NODE_FOOTNOTE_DEFINITION && !block.empty()) {
    // cmark sorts the definitions by first reference and numbers the references; a definition's number is its place.
    int number = 1;
    for (cmark_node* before = cmark_node_previous(node); before != nullptr; before = cmark_node_previous(before)) {
      if (cmark_node_get_type(before) == CMARK_NODE_FOOTNOTE_DEFINITION) ++number;
    }
    return indented(std::move(block), "[^" + std::to_string(number) + "]: ", "    ");
  }
  return block;
}

struct Heading {
  int level;
  std::string words;
};

}  // namespace

PageText read_markdown(std::string_view body, const FrontMatter& front, std::string_view fallback_title) {
  const Tree tree = parse(body);
  PageText page;
  page.title = front.title;
  page.sections.emplace_back();
  std::vector<Heading> open;  // the headings that lead to the current section
  Anchors anchors;
  bool first_heading = true;
  for (cmark_node* node = cmark_node_first_child(tree.get()); node != nullptr; node = cmark_node_next(node)) {
    const cmark_node_type type = cmark_node_get_type(node);
    if (type == CMARK_NODE_HEADING) {
      const int level = cmark_node_get_heading_level(node);
      std::string words = plain_text(node);
      const std::string id = take_attributes(words);
      const std::string anchor = id.empty() ? anchors.of_heading(words) : anchors.of_id(id);
      while (!open.empty() && open.back().level >= level) open.pop_back();
      if (page.title.empty() && level == 1) page.title = words;
      const bool says_title = first_heading && level == 1 && same_words(words, page.title);
      first_heading = false;
      if (says_title) {
        if (!page.sections.back().blocks.empty()) page.sections.emplace_back();
        continue;
      }
      Section section;
      if (!words.empty()) open.push_back({level, words});
      for (const Heading& heading : open) section.path.push_back(heading.words);
      section.anchor = anchor;
      if (!words.empty()) {
        std::string line = render_inline(node, Style::cell).text;
        take_attributes(line);
        section.heading_line = std::string(static_cast<std::size_t>(level), '#') + " " + line;
      }
      page.sections.push_back(std::move(section));
      continue;
    }
    std::vector<Block>& blocks = page.sections.back().blocks;
    if (type == CMARK_NODE_LIST && cmark_node_get_list_tight(node) == 0) {
      // The items of a loose list are blocks of their own: long ones hold paragraphs and code.
      for (Block& each : items(node, 0)) blocks.push_back(std::move(each));
      continue;
    }
    Block block = render(node, 0);
    if (!block.empty()) blocks.push_back(std::move(block));
  }
  if (page.title.empty()) page.title = fallback_title;
  return page;
}

}  // namespace polygraph::corpus
