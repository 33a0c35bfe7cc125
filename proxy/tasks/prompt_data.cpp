#include "proxy/tasks/prompt_data.hpp"

#include "wasm/agent/reply.hpp"

namespace polygraph::proxy {
std::string cut(std::string_view text, std::size_t longest) {
  std::string sound = agent::well_formed(text);
  if (sound.size() <= longest) return sound;
  constexpr std::string_view ellipsis = "\xE2\x80\xA6";
  std::size_t end = longest - ellipsis.size();
  while (end > 0 && (static_cast<unsigned char>(sound[end]) & 0xC0) == 0x80) --end;
  sound.resize(end);
  return sound.append(ellipsis);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \n");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

std::string as_data(std::string_view text, std::size_t longest) {
  std::string out;
  for (const char c : cut(text, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '<') {
      out += "&lt;";
    } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out;
}

std::string filled(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find("{{");
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find("}}", open);
    const std::string_view name = text.substr(open + 2, close - open - 2);
    for (const auto& [field, value] : fields) {
      if (field == name) out += value;
    }
    text.remove_prefix(close + 2);
  }
  return out;
}

}  // namespace polygraph::proxy
