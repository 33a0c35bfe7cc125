#include "cli/mcp/passage_uri.hpp"

#include <fmt/format.h>

#include <charconv>

namespace polygraph::cli::mcp {
namespace {

constexpr std::string_view page_start = "polygraph://page/";
constexpr std::string_view passage_start = "polygraph://passage/";

std::string encoded(std::string_view text) {
  constexpr std::string_view kept = "-._~/";
  std::string out;
  for (const char c : text) {
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (alphanumeric || kept.find(c) != std::string_view::npos) out += c;
    else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const auto digits = text.substr(i + 1, 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || read.ec != std::errc() || read.ptr != digits.data() + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

}  // namespace

std::string page_uri(std::string_view page_id) { return std::string(page_start) + encoded(page_id); }

std::string passage_uri(std::string_view chunk_id) {
  const auto hash = chunk_id.rfind('#');
  return std::string(passage_start) + encoded(chunk_id.substr(0, hash)) + "/" + std::string(chunk_id.substr(hash + 1));
}

std::optional<std::string> id_of_uri(std::string_view uri) {
  if (uri.starts_with(page_start)) return decoded(uri.substr(page_start.size()));
  if (!uri.starts_with(passage_start)) return std::nullopt;
  uri.remove_prefix(passage_start.size());
  const auto slash = uri.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto page = decoded(uri.substr(0, slash));
  if (!page) return std::nullopt;
  return *page + "#" + std::string(uri.substr(slash + 1));
}

}  // namespace polygraph::cli::mcp
