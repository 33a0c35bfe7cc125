#include "index/anchors.hpp"

#include <utf8proc.h>

#include "wasm/text/utf8.hpp"

namespace polygraph::corpus {

std::string slug(std::string_view heading) {
  std::string out;
  for (std::size_t at = 0; at < heading.size();) {
    const text::CodePoint point = text::decode(heading, at);
    at += point.length;
    const auto value = static_cast<utf8proc_int32_t>(point.value);
    if (value == ' ') {
      out += '-';
      continue;
    }
    switch (utf8proc_category(value)) {
      case UTF8PROC_CATEGORY_LU:
      case UTF8PROC_CATEGORY_LL:
      case UTF8PROC_CATEGORY_LT:
      case UTF8PROC_CATEGORY_LM:
      case UTF8PROC_CATEGORY_LO:
      case UTF8PROC_CATEGORY_MN:
      case UTF8PROC_CATEGORY_MC:
      case UTF8PROC_CATEGORY_ND:
      case UTF8PROC_CATEGORY_NL:
        text::append(out, static_cast<char32_t>(utf8proc_tolower(value)));
        break;
      default:
        if (value == '-' || value == '_') out += static_cast<char>(value);
    }
  }
  return out;
}

std::string Anchors::of_heading(std::string_view heading) {
  const std::string base = slug(heading);
  const auto known = taken_.find(base);
  if (known == taken_.end()) return of_id(base);
  std::string candidate;
  do {
    candidate = base + "-" + std::to_string(++known->second);
  } while (taken_.contains(candidate));
  return of_id(candidate);
}

std::string Anchors::of_id(std::string_view id) {
  taken_.try_emplace(std::string(id), 0);
  return std::string(id);
}

}  // namespace polygraph::corpus
