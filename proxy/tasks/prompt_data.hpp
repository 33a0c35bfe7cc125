// What every prompt is made with: data that can't leave its place, and fields that are filled in one pass.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace polygraph::proxy {

/// Well-formed, and at most `longest` bytes, cut on a code point and marked with an ellipsis.
std::string cut(std::string_view text, std::size_t longest);

/// Without blanks and line ends around it.
std::string_view trimmed(std::string_view text);

/// Data between our tags, at most `longest` bytes of it, cut on a code point. Every `<` is escaped, not only that of our own tags: all data is
/// escaped alike, so what a passage and an answer have in common stays in common. Control characters but tab and newline can't
/// be seen by a person who reads along.
std::string as_data(std::string_view text, std::size_t longest);

/// `{{name}}` replaced in one pass, so that a value is never read as a template.
std::string filled(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

}  // namespace polygraph::proxy
