#include "index/shortcodes.hpp"

#include <algorithm>
#include <utility>

namespace polygraph::corpus {
namespace {

constexpr std::string_view spaces = " \t\n";

struct Shortcode {
  bool closing = false;
  std::string name;
  std::vector<std::string> positional;
  std::map<std::string, std::string, std::less<>> named;
  std::size_t length = 0;  ///< bytes from `{{` to `}}`
};

std::string_view argument(const Shortcode& code, std::string_view name) {
  const auto found = code.named.find(name);
  if (found != code.named.end()) return found->second;
  return {};
}

std::string_view first_argument(const Shortcode& code) {
  return code.positional.empty() ? std::string_view() : std::string_view(code.positional.front());
}

/// Reads the shortcode that begins at `text` (which opens with `{{<` or `{{%`); nothing when it never ends.
std::optional<Shortcode> read(std::string_view text) {
  Shortcode code;
  const std::string end = text[2] == '<' ? ">}}" : "%}}";
  std::size_t at = 3;
  const auto skip_spaces = [&] { at = std::min(text.find_first_not_of(spaces, at), text.size()); };
  skip_spaces();
  if (at < text.size() && text[at] == '/') {
    code.closing = true;
    ++at;
  }
  const auto value = [&]() -> std::optional<std::string> {
    if (text[at] == '"' || text[at] == '`') {
      const char quote = text[at++];
      std::string out;
      for (; at < text.size() && text[at] != quote; ++at) {
        if (quote == '"' && text[at] == '\\' && at + 1 < text.size()) ++at;
        out += text[at];
      }
      if (at >= text.size()) return std::nullopt;
      ++at;
      return out;
    }
    const std::size_t begin = at;
    while (at < text.size() && spaces.find(text[at]) == std::string_view::npos && text[at] != '=' &&
           !text.substr(at).starts_with(end) && !text.substr(at).starts_with("/" + end)) {
      ++at;
    }
    return std::string(text.substr(begin, at - begin));
  };
  while (true) {
    skip_spaces();
    if (at >= text.size()) return std::nullopt;
    if (text.substr(at).starts_with("/" + end)) ++at;
    if (text.substr(at).starts_with(end)) {
      code.length = at + end.size();
      return code.name.empty() ? std::nullopt : std::optional(std::move(code));
    }
    const std::size_t before = at;
    std::optional<std::string> word = value();
    if (!word) return std::nullopt;
    if (at < text.size() && text[at] == '=') {
      ++at;
      if (at >= text.size()) return std::nullopt;
      std::optional<std::string> assigned = value();
      if (!assigned) return std::nullopt;
      code.named.insert_or_assign(std::move(*word), std::move(*assigned));
    } else if (code.name.empty()) {
      code.name = std::move(*word);
    } else {
      code.positional.push_back(std::move(*word));
    }
    if (at == before) return std::nullopt;
  }
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

class Resolver {
 public:
  Resolver(const ShortcodeContext& context, ShortcodeCounts& counts) : context_(context), counts_(counts) {}

  std::string resolve(std::string_view text, std::size_t line, int depth) {
    std::string out;
    out.reserve(text.size());
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t open = text.find("{{", at);
      if (open == std::string_view::npos || open + 2 >= text.size()) break;
      const auto copy_to = [&](std::size_t end) {
        line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                    text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        out.append(text, at, end - at);
        at = end;
      };
      if (text[open + 2] != '<' && text[open + 2] != '%') {  // `{{ .ID }}`: a Go template in an example
        copy_to(open + 2);
        continue;
      }
      copy_to(open);
      if (text.substr(open + 3).starts_with("/*")) {  // `{{</* name */>}}` shows the shortcode itself
        const std::size_t end = text.find("*/", open + 5);
        if (end != std::string_view::npos && text.substr(end + 3).starts_with("}}")) {
          out.append(text, open, 3);
          out.append(text, open + 5, end - open - 5);
          out.append(text, end + 2, 3);
          at = end + 5;
          continue;
        }
      }
      const std::optional<Shortcode> code = read(text.substr(open));
      if (!code) {
        unresolved(line, "a shortcode that begins here is not well formed");
        out.append(text, at, 3);
        at += 3;
        continue;
      }
      const std::size_t after = open + code->length;
      // Alone on its line, a shortcode stands for a block with that line's indentation.
      const std::size_t line_begin = out.rfind('\n') == std::string::npos ? 0 : out.rfind('\n') + 1;
      const std::string_view before = std::string_view(out).substr(line_begin);
      const std::size_t line_end = std::min(text.find('\n', after), text.size());
      const bool alone = before.find_first_not_of(" \t") == std::string_view::npos &&
                         text.substr(after, line_end - after).find_first_not_of(" \t") == std::string_view::npos;
      const std::string indent = alone ? std::string(before) : std::string();
      if (alone) out.resize(line_begin);
      out += replacement(*code, alone, indent, line, depth);
      line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(open),
                                                  text.begin() + static_cast<std::ptrdiff_t>(after), '\n'));
      at = alone ? line_end : after;
    }
    out.append(text, at, std::string_view::npos);
    return out;
  }

 private:
  void unresolved(std::size_t line, const std::string& why) {
    counts_.unresolved.push_back("line " + std::to_string(line) + ": " + why);
  }

  std::string replacement(const Shortcode& code, bool alone, const std::string& indent, std::size_t line, int depth) {
    if (code.closing) return {};
    const auto title_line = [&](std::string_view title) {
      ++counts_.resolved;
      return "\n" + indent + "**" + std::string(trimmed(title)) + "**\n";
    };
    if (code.name == "include") {
      const std::string_view name = code.positional.empty() ? argument(code, "file") : first_argument(code);
      if (depth >= include_depth_limit) {
        unresolved(line, "include \"" + std::string(name) + "\" is nested more than " + std::to_string(include_depth_limit) + " deep");
        return {};
      }
      const std::optional<std::string> content = context_.include ? context_.include(name) : std::nullopt;
      if (!content) {
        unresolved(line, "include \"" + std::string(name) + "\" names no file");
        return {};
      }
      ++counts_.resolved;
      const std::string inner = resolve(trimmed(*content), 1, depth + 1);
      if (!alone) return inner;
      std::string out;
      for (std::size_t begin = 0; begin <= inner.size();) {
        const std::size_t end = std::min(inner.find('\n', begin), inner.size());
        if (begin > 0) out += '\n';
        if (end > begin) out += indent + inner.substr(begin, end - begin);
        begin = end + 1;
      }
      return out;
    }
    if (code.name == "param") {
      const std::string_view name = first_argument(code);
      std::optional<std::string> value = context_.param ? context_.param(name) : std::nullopt;
      if (!value) {
        unresolved(line, "param \"" + std::string(name) + "\" has no value");
        return {};
      }
      ++counts_.resolved;
      return (alone ? indent : std::string()) + *value;
    }
    if (code.name == "tab") {
      const std::string_view name = code.named.contains("name") ? argument(code, "name") : first_argument(code);
      if (!trimmed(name).empty()) return title_line(name);
    }
    if (code.name == "accordion" && !trimmed(argument(code, "title")).empty()) return title_line(argument(code, "title"));
    if (code.name == "tabs" || code.name == "tab" || code.name == "accordion") {
      ++counts_.resolved;
      return {};
    }
    ++counts_.dropped[code.name];
    return {};
  }

  const ShortcodeContext& context_;
  ShortcodeCounts& counts_;
};

}  // namespace

std::string resolve_shortcodes(std::string_view text, const ShortcodeContext& context, ShortcodeCounts& counts,
                               std::size_t first_line) {
  return Resolver(context, counts).resolve(text, first_line, 0);
}

}  // namespace polygraph::corpus
