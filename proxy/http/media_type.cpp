#include "proxy/http/media_type.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace polygraph::http {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 27> types = {{
    {"html", "text/html; charset=utf-8"},
    {"htm", "text/html; charset=utf-8"},
    {"js", "text/javascript; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"wasm", "application/wasm"},
    {"json", "application/json"},
    {"map", "application/json"},
    {"jsonl", "application/jsonl"},
    {"webmanifest", "application/manifest+json"},
    {"polygraph", "application/octet-stream"},
    {"onnx", "application/octet-stream"},
    {"bin", "application/octet-stream"},
    {"txt", "text/plain; charset=utf-8"},
    {"md", "text/markdown; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"xml", "application/xml"},
    {"pdf", "application/pdf"},
    {"svg", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"avif", "image/avif"},
    {"ico", "image/x-icon"},
    {"woff2", "font/woff2"},
}};

constexpr std::size_t min_digest_digits = 8;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

std::string_view media_type(std::string_view file_name) noexcept {
  const auto dot = file_name.rfind('.');
  if (dot != std::string_view::npos) {
    const auto suffix = file_name.substr(dot + 1);
    for (const auto& [known, type] : types) {
      const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; };
      if (suffix.size() == known.size() && std::equal(suffix.begin(), suffix.end(), known.begin(), same)) return type;
    }
  }
  return "application/octet-stream";
}

bool is_hashed_name(std::string_view file_name) noexcept {
  const auto dot = file_name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == file_name.size()) return false;
  const auto stem = file_name.substr(0, dot);
  std::size_t digits = 0;
  while (digits < stem.size() && is_hex(stem[stem.size() - 1 - digits])) ++digits;
  if (digits < min_digest_digits || digits == stem.size()) return false;
  const char before = stem[stem.size() - 1 - digits];
  return before == '.' || before == '-';
}

}  // namespace polygraph::http
