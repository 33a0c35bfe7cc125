#include "index/html_words.hpp"

#include <algorithm>
#include <cstdint>

#include "index/light_markdown.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::corpus {
namespace {

bool space(char c) noexcept { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }

/// Whether a code point is without a glyph and without a meaning for search. Joiners (U+200C, U+200D) have one: Persian and
/// emoji need them.
bool invisible(char32_t c) noexcept {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x061C || c == 0x180E || c == 0x200B || c == 0x200E ||
         c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) ||
         (c >= 0xE0000 && c <= 0xE007F);
}

void code_into(const GumboNode* node, std::string& out) {
  if (is_text(node)) {
    out += node->v.text.text;
    return;
  }
  if (!is_element(node) || Content::dropped_in_code(node)) return;
  const GumboTag tag = node->v.element.tag;
  if (tag == GUMBO_TAG_BR) {
    out += '\n';
    return;
  }
  // Lines may be elements of their own: blocks, or rows of a table.
  const bool line = tag == GUMBO_TAG_DIV || tag == GUMBO_TAG_P || tag == GUMBO_TAG_LI || tag == GUMBO_TAG_TR;
  if (line && !out.empty() && out.back() != '\n') out += '\n';
  const std::size_t before = out.size();
  for (const GumboNode* child : Children(node)) code_into(child, out);
  if (line && (out.size() == before || out.back() != '\n')) out += '\n';
}

/// A link within the page that says nothing in letters or digits: a mark that people copy an address from, or a way back.
bool is_permalink(const GumboNode* node) {
  if (!attribute(node, "href").starts_with('#')) return false;
  const std::string text = visible(code_text(node));
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    // Of what opens a code point beyond ASCII, letters stand behind all but C2 ("¶", "§"), E2 (signs) and F0 (pictures).
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (byte >= 0xC3 && byte < 0xF0 && byte != 0xE2);
  });
}

/// Whether an element holds nothing but a link within the page: the raised number of a footnote.
bool is_footnote_mark(const GumboNode* node) {
  std::size_t links = 0;
  for (const GumboNode* child : Children(node)) {
    if (is_text(child) && visible(child->v.text.text).find_first_not_of(" \n\t") != std::string::npos) return false;
    if (is_element(child)) links += is_element(child, GUMBO_TAG_A) && attribute(child, "href").starts_with('#') && !code_text(child).starts_with('[') ? 1 : 2;
  }
  return links == 1;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte < 0x7F) {
      out += text[at++];
      continue;
    }
    const text::CodePoint point = text::decode(text, at);
    if (!point.valid) {
      text::append(out, 0xFFFD);
    } else if (point.value == 0xA0 || point.value == 0x202F || point.value == 0x2007) {
      out += ' ';
    } else if (point.value == 0x2028 || point.value == 0x2029 || point.value == 0x85) {
      out += '\n';
    } else if (point.value == '\r') {
      if (at + 1 >= text.size() || text[at + 1] != '\n') out += '\n';
    } else if (!invisible(point.value)) {
      out.append(text, at, point.length);
    }
    at += point.length;
  }
  return out;
}

std::string code_text(const GumboNode* node) {
  std::string out;
  for (const GumboNode* child : Children(node)) code_into(child, out);
  return visible(out);
}

void InlineText::add(const GumboNode* node) {
  if (is_text(node)) {
    words(visible(node->v.text.text));
  } else if (is_element(node)) {
    element(node);
  }
}

void InlineText::add_children(const GumboNode* node) {
  // A title made of spans alone stands on several lines: a hero's name and its motto.
  const Children children(node);
  const bool lines = is_element(node, GUMBO_TAG_H1) && std::all_of(children.begin(), children.end(), [](const GumboNode* child) { return is_element(child, GUMBO_TAG_SPAN); });
  for (const GumboNode* child : children) {
    add(child);
    if (lines) pending_space_ = true;
  }
}

Block InlineText::take() {
  Block block = std::move(block_);
  block_ = {};
  pending_space_ = false;
  std::stable_sort(block.links.begin(), block.links.end(), [](const index::Link& a, const index::Link& b) { return a.begin < b.begin; });
  tidy(block);
  return block;
}

void InlineText::element(const GumboNode* node) {
  const GumboTag tag = node->v.element.tag;
  if (tag == GUMBO_TAG_INPUT && attribute(node, "type") == "checkbox" && style_ != Style::plain) {
    put(has_attribute(node, "checked") ? "[x]" : "[ ]");
    pending_space_ = true;
    return;
  }
  if (content_.dropped(node)) return;
  switch (tag) {
    case GUMBO_TAG_BR:
    case GUMBO_TAG_HR:
      if (style_ == Style::text && !block_.text.empty()) {
        pending_space_ = false;
        if (!at_line_start()) block_.text += '\n';
      } else {
        pending_space_ = true;
      }
      return;
    case GUMBO_TAG_CODE:
    case GUMBO_TAG_SAMP:
    case GUMBO_TAG_TT:
    case GUMBO_TAG_PRE: {
      std::string code;
      for (const char c : code_text(node)) {
        if (!space(c)) {
          code += c;
        } else if (!code.empty() && code.back() != ' ') {
          code += ' ';
        }
      }
      while (!code.empty() && code.back() == ' ') code.pop_back();
      if (!code.empty()) put(style_ == Style::plain ? code : code_span(code));
      return;
    }
    case GUMBO_TAG_STRONG:
    case GUMBO_TAG_B:
      mark("**", node);
      return;
    case GUMBO_TAG_DEL:
    case GUMBO_TAG_S:
    case GUMBO_TAG_STRIKE:
      mark("~~", node);
      return;
    case GUMBO_TAG_Q:
      put("\"");
      add_children(node);
      pending_space_ = false;
      put("\"");
      return;
    case GUMBO_TAG_A:
      link(node);
      return;
    case GUMBO_TAG_SUP: {
      const bool footnote = is_footnote_mark(node) && style_ != Style::plain;
      if (footnote) put("[");
      add_children(node);
      if (footnote) put("]");
      return;
    }
    case GUMBO_TAG_MATH: {
      // What the author wrote, where it is kept beside the drawing.
      std::vector<const GumboNode*> left{node};
      while (!left.empty()) {
        const GumboNode* at = left.back();
        left.pop_back();
        if (attribute(at, "encoding") == "application/x-tex") {
          put("$" + code_text(at) + "$");
          return;
        }
        for (const GumboNode* child : Children(at)) left.push_back(child);
      }
      add_children(node);
      return;
    }
    default:
      break;
  }
  if (!content_.is_block(node)) {
    add_children(node);
    return;
  }
  // A block among words, as in a cell: its words stand apart.
  if (!block_.text.empty()) {
    if (tag == GUMBO_TAG_LI && style_ == Style::cell && !block_.text.ends_with(';') && !block_.text.ends_with(':')) block_.text += ';';
    pending_space_ = true;
  }
  add_children(node);
  pending_space_ = !block_.text.empty();
}

void InlineText::put(std::string_view text) {
  if (pending_space_ && !at_line_start() && block_.text.back() != ' ') block_.text += ' ';
  pending_space_ = false;
  if (style_ != Style::cell) {
    // Backticks that are words must not read as the fence of a code block.
    if (style_ == Style::text && at_line_start() && text.starts_with("```")) block_.text += '\\';
    block_.text += text;
    return;
  }
  for (const char c : text) {
    if (c == '|') block_.text += '\\';
    block_.text += c;
  }
}

void InlineText::words(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (space(text[at])) {
      pending_space_ = true;
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !space(text[end])) ++end;
    put(text.substr(at, end - at));
    at = end;
  }
}

void InlineText::mark(std::string_view marker, const GumboNode* node) {
  if (style_ == Style::plain || content_.held(node).words == 0) return add_children(node);
  put("");
  const std::size_t begin = block_.text.size();
  add_children(node);
  // Where nothing came of it, or a marker of its own opens it, there is nothing to mark.
  const std::string_view inner = std::string_view(block_.text).substr(begin);
  if (inner.empty() || inner.starts_with(marker) || inner.find('\n') != std::string_view::npos) return;
  block_.text.insert(begin, marker);
  for (index::Link& each : block_.links) {
    if (each.begin < begin) continue;
    each.begin += static_cast<std::uint32_t>(marker.size());
    each.end += static_cast<std::uint32_t>(marker.size());
  }
  block_.text += marker;
}

void InlineText::link(const GumboNode* node) {
  if (is_permalink(node)) return;
  const std::string_view target = attribute(node, "href");
  const bool to_itself = target.starts_with('#') && node->parent != nullptr && attribute(node->parent, "id") == target.substr(1);
  // The text of a link opens where its first word stands.
  const bool space_before = pending_space_;
  pending_space_ = false;
  const std::size_t before = block_.text.size();
  const bool line_start = at_line_start();
  if (space_before && !line_start) block_.text += ' ';
  const std::size_t begin = block_.text.size();
  add_children(node);
  if (block_.text.size() <= begin) {
    block_.text.resize(before);
    pending_space_ = space_before || pending_space_;
    return;
  }
  std::size_t first = begin;
  if (block_.text[first] == ' ') ++first;
  if (first >= block_.text.size() || target.empty() || to_itself || style_ == Style::plain) return;
  block_.links.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(block_.text.size()), std::string(target)});
}

std::string plain_words(const Content& content, const GumboNode* node) {
  InlineText words(content, InlineText::Style::plain);
  words.add_children(node);
  std::string text = words.take().text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace polygraph::corpus
