#include "index/html_sections.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "index/html_fragment.hpp"
#include "index/html_tree.hpp"
#include "index/html_words.hpp"
#include "index/light_markdown.hpp"

namespace polygraph::corpus {
namespace {

using Style = InlineText::Style;

/// A definition under a heading of any level: deeper than `<h6>`, and deeper with each list it stands in.
constexpr int definition_level = 7;
/// Words of a term in a heading path; signatures go on for lines.
constexpr std::size_t term_limit = 120;
/// Cells that one `colspan` or `rowspan` may fill.
constexpr int span_limit = 50;
/// Cells that spans may add to a table.
constexpr int added_cells_limit = 10'000;

int heading_level(const GumboNode* node) noexcept {
  if (!is_element(node)) return 0;
  const GumboTag tag = node->v.element.tag;
  return tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6 ? static_cast<int>(tag) - static_cast<int>(GUMBO_TAG_H1) + 1 : 0;
}

int number(std::string_view text, int otherwise) noexcept {
  int value = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : otherwise;
}

/// The id that leads to a heading or a term: its own, that of a permalink or an empty anchor in it, or that of the section it
/// opens.
std::string anchor_of(const GumboNode* heading) {
  const auto usable = [](std::string_view id) { return !id.empty() && id.find_first_of(" \t\n\r\f") == std::string_view::npos; };
  if (usable(attribute(heading, "id"))) return visible(attribute(heading, "id"));
  const auto inner = outermost(heading, [&](const GumboNode* node) {
    return node != heading && (usable(attribute(node, "id")) || (is_element(node, GUMBO_TAG_A) && (usable(attribute(node, "name")) ||
                                                                                                 attribute(node, "href").starts_with('#'))));
  });
  for (const GumboNode* node : inner) {
    for (const char* name : {"id", "name"}) {
      if (usable(attribute(node, name))) return visible(attribute(node, name));
    }
    if (usable(attribute(node, "href").substr(1))) return visible(attribute(node, "href").substr(1));
  }
  const GumboNode* around = heading->parent;
  for (int level = 0; level < 3 && around != nullptr && is_element(around); ++level, around = around->parent) {
    if (is_element(around, GUMBO_TAG_BODY) || is_element(around, GUMBO_TAG_MAIN)) break;
    const auto headings = outermost(around, [](const GumboNode* node) { return heading_level(node) > 0; });
    if (headings.empty() || headings.front() != heading) break;
    if (usable(attribute(around, "id"))) return visible(attribute(around, "id"));
  }
  return {};
}

/// The language that a class or an attribute of a code element names.
std::string language_of(const GumboNode* node) {
  const auto known = [](std::string name) {
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    const bool plain = name.size() > 30 || std::any_of(name.begin(), name.end(), [](char c) {
      return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '#' || c == '-' || c == '_' || c == '.');
    });
    for (const std::string_view none : {"", "none", "text", "default", "plain", "plaintext", "txt", "undefined", "unknown", "fallback", "wrapper"}) {
      if (name == none) return std::string();
    }
    return plain ? std::string() : name;
  };
  for (const char* name : {"data-lang", "data-language"}) {
    if (std::string language = known(std::string(attribute(node, name))); !language.empty()) return language;
  }
  std::string_view classes = attribute(node, "class");
  while (!classes.empty()) {
    const std::size_t end = std::min(classes.find_first_of(" \t\n\r\f"), classes.size());
    const std::string_view each = classes.substr(0, end);
    classes.remove_prefix(std::min(end + 1, classes.size()));
    for (const std::string_view prefix : {"language-", "lang-", "highlight-source-", "highlight-", "sourceCode-"}) {
      if (!each.starts_with(prefix)) continue;
      if (std::string language = known(std::string(each.substr(prefix.size()))); !language.empty()) return language;
      break;
    }
  }
  return {};
}

/// Writes the content of a page as sections.
class Writer {
 public:
  explicit Writer(const Content& content) : content_(content) { sections_.emplace_back(); }

  PageText write() {
    if (content_.title() != nullptr) title_ = plain_words(content_, content_.title());
    Sink page;
    flow(content_.root(), page, 0);
    finish(page);
    return {title_, std::move(sections_)};
  }

  std::size_t headings = 0, linked_headings = 0;  ///< below the title

 private:
  /// Where blocks go: to the page's current section, or into a block that is being made.
  struct Sink {
    std::vector<Block>* blocks = nullptr;
    std::string label;  ///< "**npm**": opens the next block
    int definitions = 0;  ///< definition lists around this one
  };

  struct Heading {
    int level;
    std::string words;
  };

  void add(Sink& sink, Block block) {
    if (block.empty()) return;
    if (!sink.label.empty()) {
      Block labelled;
      labelled.text = std::exchange(sink.label, {});
      append(labelled, "\n\n", std::move(block), 0);
      block = std::move(labelled);
    }
    if (sink.blocks != nullptr) {
      sink.blocks->push_back(std::move(block));
      return;
    }
    if (resume_) {  // what follows a list of definitions belongs to the heading before it
      open_ = std::move(resume_->first);
      Section section;
      for (const Heading& heading : open_) section.path.push_back(heading.words);
      section.anchor = std::move(resume_->second);
      resume_.reset();
      sections_.push_back(std::move(section));
    }
    sections_.back().blocks.push_back(std::move(block));
  }

  void label(Sink& sink, const std::string& words) {
    finish(sink);
    if (!words.empty()) sink.label = "**" + words + "**";
  }

  /// A label that nothing followed is a line of its own.
  void finish(Sink& sink) {
    if (sink.label.empty()) return;
    Block block;
    block.text = std::exchange(sink.label, {});
    add(sink, std::move(block));
  }

  void paragraph(InlineText& run, Sink& sink) {
    Block block = run.take();
    mark_sentences(block);
    add(sink, std::move(block));
  }

  void flow(const GumboNode* parent, Sink& sink, int depth) {
    InlineText run(content_, Style::text);
    std::vector<const GumboNode*> labels;  // of tabs that stand together before their panels
    for (const GumboNode* child : Children(parent)) {
      if (!is_element(child)) {
        run.add(child);
        continue;
      }
      if (content_.is_tab_label(child)) {  // alone before its panel
        paragraph(run, sink);
        label(sink, plain_words(content_, child));
        continue;
      }
      if (attribute(child, "role") == "tablist") {
        tabs_ = outermost(child, [](const GumboNode* node) { return attribute(node, "role") == "tab"; });
        continue;
      }
      if (!content_.is_block(child)) {
        run.add(child);
        continue;
      }
      if (content_.dropped(child)) continue;
      paragraph(run, sink);
      const std::vector<const GumboNode*> group = tab_labels(child);
      if (!group.empty()) {
        labels = group;
        continue;
      }
      if (!labels.empty()) {
        panels(child, std::exchange(labels, {}), sink, depth);
        continue;
      }
      block(child, sink, depth);
    }
    paragraph(run, sink);
  }

  /// The labels in an element that holds radio buttons and their labels only.
  std::vector<const GumboNode*> tab_labels(const GumboNode* node) const {
    std::vector<const GumboNode*> labels;
    for (const GumboNode* child : elements(node)) {
      if (content_.is_tab_label(child)) {
        labels.push_back(child);
      } else if (content_.held(child).words > 0 && !content_.dropped(child)) {
        return {};
      }
    }
    return labels;
  }

  void panels(const GumboNode* node, const std::vector<const GumboNode*>& labels, Sink& sink, int depth) {
    const std::vector<const GumboNode*> each = elements(node);
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (i < labels.size()) label(sink, plain_words(content_, labels[i]));
      block(each[i], sink, depth);
      finish(sink);
    }
  }

  /// The label of an ARIA panel: of the tab that it names, that names it, or that is next.
  std::string panel_label(const GumboNode* panel) {
    auto tab = std::find_if(tabs_.begin(), tabs_.end(), [&](const GumboNode* each) {
      const std::string_view id = attribute(each, "id"), controls = attribute(each, "aria-controls");
      return (!id.empty() && id == attribute(panel, "aria-labelledby")) || (!controls.empty() && controls == attribute(panel, "id"));
    });
    if (tab == tabs_.end()) tab = tabs_.begin();
    if (tab == tabs_.end()) return {};
    std::string words = plain_words(content_, *tab);
    tabs_.erase(tab);
    return words;
  }

  void block(const GumboNode* node, Sink& sink, int depth) {
    if (depth > nesting_limit) return flattened(node, sink);
    if (const int level = heading_level(node); level > 0) return heading(node, level, sink);
    if (is_code(node)) return code(node, sink);
    switch (node->v.element.tag) {
      case GUMBO_TAG_P: {
        if (content_.held(node).blocks) break;
        InlineText run(content_, Style::text);
        run.add_children(node);
        return paragraph(run, sink);
      }
      case GUMBO_TAG_UL:
      case GUMBO_TAG_OL:
      case GUMBO_TAG_MENU:
        return list(node, sink, depth);
      case GUMBO_TAG_DL:
        return definitions(node, sink, depth);
      case GUMBO_TAG_TABLE:
        return table(node, sink, depth);
      case GUMBO_TAG_BLOCKQUOTE:
        return callout(node, sink, depth);
      case GUMBO_TAG_DETAILS:
        for (const GumboNode* child : elements(node)) {
          if (is_element(child, GUMBO_TAG_SUMMARY)) label(sink, plain_words(content_, child));
        }
        flow(node, sink, depth);
        return finish(sink);
      case GUMBO_TAG_SUMMARY:
        if (is_element(node->parent, GUMBO_TAG_DETAILS)) return;
        break;
      default:
        break;
    }
    if (is_callout(node)) return callout(node, sink, depth);
    if (attribute(node, "role") == "tabpanel") {
      label(sink, panel_label(node));
      const std::vector<const GumboNode*> left = tabs_;
      flow(node, sink, depth);
      finish(sink);
      tabs_ = left;  // tabs inside the panel were its own
      return;
    }
    flow(node, sink, depth);
  }

  void flattened(const GumboNode* node, Sink& sink) {
    InlineText run(content_, Style::text);
    run.add_children(node);
    paragraph(run, sink);
  }

  void heading(const GumboNode* node, int level, Sink& sink) {
    InlineText marked(content_, Style::cell);
    marked.add_children(node);
    const std::string line = marked.take().text;
    if (sink.blocks != nullptr) {
      if (line.empty()) return;
      Block block;
      block.text = std::string(static_cast<std::size_t>(level), '#') + " " + line;
      return add(sink, std::move(block));
    }
    finish(sink);
    std::string words = plain_words(content_, node);
    resume_.reset();
    while (!open_.empty() && open_.back().level >= level) open_.pop_back();
    if (node == content_.title() || (level == 1 && headings == 0 && same_words(words, title_))) {
      if (!sections_.back().blocks.empty()) sections_.emplace_back();
      return;
    }
    if (words.empty()) return;
    ++headings;
    if (content_.held(node).linked * 2 > content_.held(node).words && leads_away(node)) ++linked_headings;
    section(node, level, std::move(words), std::string(static_cast<std::size_t>(level), '#') + " " + line);
  }

  /// Whether a heading is, or stands in, a link to another page.
  static bool leads_away(const GumboNode* node) {
    const auto away = [](const GumboNode* link) { return !attribute(link, "href").empty() && !attribute(link, "href").starts_with('#'); };
    return !outermost(node, [&](const GumboNode* each) { return is_element(each, GUMBO_TAG_A) && away(each); }).empty();
  }

  void section(const GumboNode* node, int level, std::string words, std::string line) {
    open_.push_back({level, std::move(words)});
    Section section;
    for (const Heading& heading : open_) section.path.push_back(heading.words);
    section.anchor = anchor_of(node);
    section.heading_line = std::move(line);
    sections_.push_back(std::move(section));
  }

  // --- callouts -------------------------------------------------------------------------------------------------------

  static std::string kind_of_callout(const GumboNode* node) {
    for (const std::string_view kind : {"note", "tip", "info", "warning", "danger", "caution", "important", "hint", "seealso", "attention", "error",
                                        "success", "question", "example", "abstract", "todo", "deprecated"}) {
      if (has_class_word(node, {kind})) return std::string(kind);
    }
    return {};
  }

  static const GumboNode* callout_title(const GumboNode* node) {
    const auto children = elements(node);
    return !children.empty() && has_class_word(children.front(), {"title", "heading", "header", "label", "summary"}) ? children.front() : nullptr;
  }

  static bool is_callout(const GumboNode* node) {
    const GumboTag tag = node->v.element.tag;
    if (tag != GUMBO_TAG_DIV && tag != GUMBO_TAG_ASIDE && tag != GUMBO_TAG_SECTION && tag != GUMBO_TAG_UNKNOWN) return false;
    const bool named = attribute(node, "role") == "note" || attribute(node, "role") == "alert" ||
                       has_class_word(node, {"admonition", "callout", "alert", "hint", "notice", "aside", "topic", "sidebar", "custom", "infobox"});
    return named && (callout_title(node) != nullptr || !kind_of_callout(node).empty() || (tag == GUMBO_TAG_ASIDE && has_attribute(node, "aria-label")));
  }

  /// Whether words may be put before a block's first line without changing what it is.
  static bool runs_on(std::string_view block) {
    const std::size_t digits = std::min(block.find_first_not_of("0123456789"), block.size());
    const bool numbered = digits > 0 && block.substr(digits).starts_with(". ");
    return !numbered && !block.starts_with("- ") && !block.starts_with("```") && !block.starts_with('|') && !block.starts_with('#');
  }

  /// A quote or a note keeps its words; its label opens them.
  void callout(const GumboNode* node, Sink& sink, int depth) {
    const GumboNode* title = callout_title(node);
    std::string words = title == nullptr ? std::string() : plain_words(content_, title);
    if (words.empty() && node->v.element.tag != GUMBO_TAG_BLOCKQUOTE) words = visible(attribute(node, "aria-label"));
    if (words.empty()) words = kind_of_callout(node);
    while (!words.empty() && (words.back() == ':' || words.back() == ' ')) words.pop_back();
    words = capitalised(words);

    std::vector<Block> blocks;
    Sink inside{&blocks, {}, sink.definitions};
    callout_flow(node, title, inside, depth + 1);
    finish(inside);
    Block whole;
    for (Block& each : blocks) {
      if (!words.empty()) {
        if (runs_on(each.text)) {
          each = indented(std::move(each), "**" + words + ":** ", "");
        } else {
          whole.text = "**" + words + ":**";
        }
        words.clear();
      }
      append(whole, "\n\n", std::move(each), 0);
    }
    if (!words.empty()) whole.text = "**" + words + "**";
    add(sink, std::move(whole));
  }

  void callout_flow(const GumboNode* node, const GumboNode* title, Sink& sink, int depth) {
    if (title == nullptr) return flow(node, sink, depth);
    InlineText run(content_, Style::text);
    for (const GumboNode* child : Children(node)) {
      if (child == title) continue;
      if (!is_element(child) || !content_.is_block(child)) {
        run.add(child);
        continue;
      }
      if (content_.dropped(child)) continue;
      paragraph(run, sink);
      block(child, sink, depth);
    }
    paragraph(run, sink);
  }

  // --- code -----------------------------------------------------------------------------------------------------------

  /// `<pre>`, or what a highlighter puts around one: line numbers, a title, buttons.
  bool is_code(const GumboNode* node) const {
    if (is_element(node, GUMBO_TAG_PRE)) return true;
    const Held& held = content_.held(node);
    if (held.code == 0 || held.tabs || held.headings) return false;
    const GumboTag tag = node->v.element.tag;
    if (tag == GUMBO_TAG_TABLE) return rows(node).size() == 1 && has_line_numbers(node);
    if (tag != GUMBO_TAG_DIV && tag != GUMBO_TAG_FIGURE && tag != GUMBO_TAG_UNKNOWN && tag != GUMBO_TAG_SECTION) return false;
    if (!has_class_word(node, {"code", "codeblock", "highlight", "highlighter", "language", "lang", "snippet", "listing", "literal", "sourcecode", "chroma", "rouge"})) {
      return false;
    }
    // One block of code: another one, or a paragraph, and it is a frame around a text.
    std::size_t blocks = 0;
    for (const GumboNode* pre : outermost(node, [](const GumboNode* each) { return is_element(each, GUMBO_TAG_PRE); })) {
      if (!only_numbers(pre)) ++blocks;
    }
    return blocks == 1 && outermost(node, [](const GumboNode* each) { return is_element(each, GUMBO_TAG_UL) || is_element(each, GUMBO_TAG_OL); }).empty();
  }

  static bool only_numbers(const GumboNode* pre) {
    for (const GumboNode* around = pre; around != nullptr && is_element(around) && !is_element(around, GUMBO_TAG_TABLE); around = around->parent) {
      if (around != pre && Content::dropped_in_code(around)) return true;
      if (is_element(around, GUMBO_TAG_TD) && around->parent != nullptr && elements(around->parent).size() > 1) {
        const std::string text = code_text(pre);
        return text.find_first_not_of("0123456789 \n\t") == std::string::npos;
      }
    }
    return false;
  }

  static bool has_line_numbers(const GumboNode* table) {
    const auto pres = outermost(table, [](const GumboNode* each) { return is_element(each, GUMBO_TAG_PRE); });
    return std::any_of(pres.begin(), pres.end(), only_numbers) || pres.size() == 1;
  }

  void code(const GumboNode* node, Sink& sink) {
    std::string title;
    if (!is_element(node, GUMBO_TAG_PRE)) {
      const auto titles = outermost(node, [](const GumboNode* each) {
        return is_element(each, GUMBO_TAG_PRE) || is_element(each, GUMBO_TAG_FIGCAPTION) || is_element(each, GUMBO_TAG_CAPTION) ||
               has_class_word(each, {"title", "filename", "caption"});
      });
      for (const GumboNode* each : titles) {
        if (!is_element(each, GUMBO_TAG_PRE) && title.empty()) title = plain_words(content_, each);
      }
    }
    if (title.empty()) title = visible(attribute(node, "data-title"));
    for (const GumboNode* pre : outermost(node, [](const GumboNode* each) { return is_element(each, GUMBO_TAG_PRE); })) {
      if (only_numbers(pre)) continue;
      std::string text = code_text(pre);
      while (text.starts_with('\n')) text.erase(0, 1);
      if (text.find_first_not_of(" \t\n") == std::string::npos) continue;
      std::string info = code_language(pre);
      const bool one_line = title.find_first_of("\"`\n") == std::string::npos;
      if (!title.empty() && one_line) info = (info.empty() ? "text" : info) + " title=\"" + title + "\"";
      add(sink, fenced_code(text, info));
      title.clear();
    }
  }

  static std::string code_language(const GumboNode* pre) {
    for (const GumboNode* child : elements(pre)) {
      if (is_element(child, GUMBO_TAG_CODE)) {
        if (std::string language = language_of(child); !language.empty()) return language;
      }
    }
    const GumboNode* around = pre;
    for (int level = 0; level < 8 && around != nullptr && is_element(around); ++level, around = around->parent) {
      if (std::string language = language_of(around); !language.empty()) return language;
      if (level > 0 && elements(around).size() > 3) break;
    }
    return {};
  }

  // --- lists ----------------------------------------------------------------------------------------------------------

  Block item(const GumboNode* node, std::string_view marker, bool tight, Sink& sink, int depth) {
    std::vector<Block> blocks;
    Sink inside{&blocks, {}, sink.definitions};
    flow(node, inside, depth + 1);
    finish(inside);
    Block whole;
    for (Block& each : blocks) append(whole, tight ? "\n" : "\n\n", std::move(each), 0);
    if (whole.empty()) return {};
    return indented(std::move(whole), marker, std::string(marker.size(), ' '));
  }

  void list(const GumboNode* node, Sink& sink, int depth) {
    const bool ordered = is_element(node, GUMBO_TAG_OL);
    int next = number(attribute(node, "start"), 1);
    bool loose = false;
    for (const GumboNode* child : elements(node)) {
      std::size_t paragraphs = 0;
      for (const GumboNode* each : elements(child)) paragraphs += is_element(each, GUMBO_TAG_P);
      loose |= is_element(child, GUMBO_TAG_LI) && (paragraphs > 1 || content_.held(child).code > 0);
    }
    std::vector<Block> items;
    const std::string label = std::exchange(sink.label, {});
    for (const GumboNode* child : elements(node)) {
      if (content_.dropped(child)) continue;
      if (is_element(child, GUMBO_TAG_LI)) next = number(attribute(child, "value"), next);
      Block block = item(child, ordered ? std::to_string(next) + ". " : "- ", !loose, sink, depth);
      if (block.empty()) continue;
      if (is_element(child, GUMBO_TAG_LI) && next < 1'000'000'000) ++next;
      items.push_back(std::move(block));
    }
    sink.label = label;
    if (loose) {  // long items hold paragraphs and code: each is a block of its own
      for (Block& each : items) add(sink, std::move(each));
      return;
    }
    Block whole;
    for (Block& each : items) append(whole, "\n", std::move(each), 0);
    add(sink, std::move(whole));
  }

  /// Terms with an address of their own open sections; others are a list.
  void definitions(const GumboNode* node, Sink& sink, int depth) {
    std::vector<const GumboNode*> entries;
    for (const GumboNode* child : elements(node)) {
      if (is_element(child, GUMBO_TAG_DIV)) {
        for (const GumboNode* inner : elements(child)) entries.push_back(inner);
      } else {
        entries.push_back(child);
      }
    }
    const bool addressed = sink.blocks == nullptr && std::any_of(entries.begin(), entries.end(), [](const GumboNode* entry) {
      return is_element(entry, GUMBO_TAG_DT) && !attribute(entry, "id").empty();
    });
    if (addressed) {
      finish(sink);
      if (resume_) {
        open_ = resume_->first;
        resume_.reset();
      }
      const auto before = std::pair(open_, sections_.back().anchor);
      ++sink.definitions;
      for (const GumboNode* entry : entries) {
        if (is_element(entry, GUMBO_TAG_DT)) {
          term(entry, definition_level + sink.definitions, sink);
        } else if (!content_.dropped(entry)) {
          block(entry, sink, depth);
          finish(sink);
        }
      }
      --sink.definitions;
      resume_ = before;
      return;
    }

    Block whole;
    std::string terms;
    const std::string label = std::exchange(sink.label, {});
    const auto add_entry = [&](Block&& block) { append(whole, "\n", std::move(block), 0); };
    const auto bare_terms = [&] {
      if (terms.empty()) return;
      Block bare;
      bare.text = "- " + std::exchange(terms, {});
      add_entry(std::move(bare));
    };
    bool after_definition = true;
    for (const GumboNode* entry : entries) {
      if (content_.dropped(entry)) continue;
      if (is_element(entry, GUMBO_TAG_DT)) {
        if (after_definition) bare_terms();
        std::string words = plain_words(content_, entry);
        while (words.ends_with(':') || words.ends_with(' ')) words.pop_back();
        if (!words.empty()) terms += (terms.empty() ? "**" : ", **") + words + "**";
        after_definition = false;
        continue;
      }
      after_definition = true;
      std::vector<Block> blocks;
      Sink inside{&blocks, {}, sink.definitions};
      block(entry, inside, depth + 1);
      finish(inside);
      Block inner;
      for (Block& each : blocks) append(inner, "\n\n", std::move(each), 0);
      if (inner.empty()) continue;
      if (!terms.empty() && runs_on(inner.text)) {
        add_entry(indented(std::move(inner), "- " + std::exchange(terms, {}) + ": ", "  "));
      } else if (!terms.empty()) {
        Block entry_block;
        entry_block.text = "- " + std::exchange(terms, {}) + ":";
        append(entry_block, "\n", indented(std::move(inner), "  ", "  "), 0);
        add_entry(std::move(entry_block));
      } else {
        add_entry(indented(std::move(inner), "  ", "  "));
      }
    }
    bare_terms();
    sink.label = label;
    add(sink, std::move(whole));
  }

  void term(const GumboNode* node, int level, Sink& sink) {
    std::string words = plain_words(content_, node);
    while (words.ends_with(' ') || words.ends_with(':')) words.pop_back();
    if (words.empty()) return;
    while (!open_.empty() && open_.back().level >= level) open_.pop_back();
    std::string name = words.substr(0, words.find('('));
    if (name.empty()) name = words;
    if (characters(name) > term_limit) {
      std::size_t at = 0;
      for (std::size_t count = 0; count < term_limit; ++count) {
        do ++at;
        while (at < name.size() && (static_cast<unsigned char>(name[at]) & 0xC0) == 0x80);
      }
      name.resize(at);
    }
    while (name.ends_with(' ')) name.pop_back();
    finish(sink);
    section(node, level, std::move(name), "###### " + words);
  }

  // --- tables ---------------------------------------------------------------------------------------------------------

  static std::vector<const GumboNode*> rows(const GumboNode* table) {
    std::vector<const GumboNode*> out;
    for (const GumboNode* child : elements(table)) {
      for (const GumboNode* row : outermost(child, [](const GumboNode* each) { return is_element(each, GUMBO_TAG_TR) || is_element(each, GUMBO_TAG_TABLE); })) {
        if (is_element(row, GUMBO_TAG_TR)) out.push_back(row);
      }
    }
    return out;
  }

  void table(const GumboNode* node, Sink& sink, int depth) {
    const std::vector<const GumboNode*> all = rows(node);
    const Held& held = content_.held(node);
    const bool nested = !outermost(node, [&](const GumboNode* each) { return each != node && is_element(each, GUMBO_TAG_TABLE); }).empty();
    for (const GumboNode* child : elements(node)) {
      if (is_element(child, GUMBO_TAG_CAPTION)) label(sink, plain_words(content_, child));
    }
    if (nested || held.code > 0 || held.headings) {  // it lays a page out
      for (const GumboNode* row : all) {
        for (const GumboNode* cell : elements(row)) {
          if (!content_.dropped(cell)) flow(cell, sink, depth + 1);
        }
      }
      return finish(sink);
    }
    Block whole;
    std::map<std::size_t, std::pair<int, std::string>> from_above;  // by column: rows still to fill, and with what
    int added = 0;
    bool first = true;
    for (const GumboNode* row : all) {
      Block line;
      line.text = "|";
      std::size_t column = 0;
      bool head = true, words = false;
      const auto fill = [&] {
        for (auto above = from_above.find(column); above != from_above.end(); above = from_above.find(column)) {
          if (--above->second.first < 0) {
            from_above.erase(above);
            break;
          }
          line.text += above->second.second.empty() ? " |" : " " + above->second.second + " |";
          ++column;
        }
      };
      for (const GumboNode* cell : elements(row)) {
        if (!is_element(cell, GUMBO_TAG_TD) && !is_element(cell, GUMBO_TAG_TH)) continue;
        fill();
        InlineText inline_words(content_, Style::cell);
        if (!content_.dropped(cell)) inline_words.add_children(cell);
        Block content = inline_words.take();
        words |= !content.empty();
        head &= is_element(cell, GUMBO_TAG_TH);
        const int down = std::clamp(number(attribute(cell, "rowspan"), 1), 1, span_limit);
        if (down > 1 && added < added_cells_limit && content.text.size() <= term_limit) {
          from_above[column] = {down - 1, content.text};
          added += down - 1;
        }
        append(line, " ", std::move(content), 0);
        line.text += " |";
        ++column;
        for (int across = std::clamp(number(attribute(cell, "colspan"), 1), 1, span_limit); across > 1 && added < added_cells_limit; --across, ++added, ++column) {
          line.text += " |";
        }
      }
      fill();
      if (!words) continue;
      line.cuts.clear();  // a row is cut only where nothing else is left
      if (first) {
        line.text += "\n|";
        for (std::size_t i = 0; i < column; ++i) line.text += "---|";
      }
      append(whole, "\n", std::move(line), 0);
      const bool header = head || is_element(row->parent, GUMBO_TAG_THEAD);
      if (first && header && characters(whole.text) <= repeated_header_limit) whole.continuation = whole.text + "\n";
      first = false;
    }
    // The header alone is no piece: the first cut follows the first row.
    if (!whole.cuts.empty()) whole.cuts.erase(whole.cuts.begin());
    add(sink, std::move(whole));
  }

  const Content& content_;
  std::string title_;
  std::vector<Section> sections_;
  std::vector<Heading> open_;  ///< the headings that lead to the current section
  std::optional<std::pair<std::vector<Heading>, std::string>> resume_;
  std::vector<const GumboNode*> tabs_;  ///< of the last ARIA tab list, those whose panel has not come yet
};

}  // namespace

HtmlSections write_sections(const Content& content) {
  Writer writer(content);
  HtmlSections out;
  out.text = writer.write();
  out.headings = writer.headings;
  out.linked_headings = writer.linked_headings;
  return out;
}

}  // namespace polygraph::corpus
